// What the pages are built of, and what those that lie there were built from. Plain JavaScript for
// Node 18: ready.mjs asks before there is another one.

import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** From where the service serves them. */
export const out = join(root, "packages", "server", "pages")
/** Written last: without it, a build was cut short. */
export const index = join(out, "pages.json")

export function pagesAreBuilt() {
  return existsSync(index) && JSON.parse(readFileSync(index, "utf8")).sources === sourcesHash()
}

/** By content: a checkout may change times, and not what is in a file. */
export function sourcesHash() {
  const hash = createHash("sha256")
  for (const path of sourcePaths())
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0")
  return hash.digest("hex")
}

function sourcePaths() {
  const packages = ["web", "proof", "client"].map((name) => join("packages", name))
  const sources = packages.flatMap((folder) =>
    readdirSync(join(root, folder, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.(tsx?|css)$/.test(path) && !path.endsWith(".test.ts"))
      .map((path) => join(folder, "src", path)),
  )
  const settings = packages.map((folder) => join(folder, "package.json"))
  return ["scripts/pages.mjs", "package-lock.json", ...settings, ...sources].sort()
}
