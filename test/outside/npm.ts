import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"

/**
 * The folder of these packages, installed once for all clones under this name; or why there is
 * none.
 */
export function npmWith(
  name: string,
  dependencies: Readonly<Record<string, string>>,
): { readonly modules: string } | string {
  const folder = join(
    tmpdir(),
    `tallystick-${name.replaceAll("/", "-")}-${userInfo().uid}-${Object.values(dependencies)
      .join("-")
      .replaceAll(/[^\w.-]/g, "_")}`,
  )
  const modules = join(folder, "node_modules")
  if (existsSync(folder)) return { modules }
  // Made beside, and moved when it is complete: two runs may come at once.
  const making = mkdtempSync(`${folder}-`)
  writeFileSync(join(making, "package.json"), JSON.stringify({ private: true, dependencies }))
  const args = ["install", "--no-bin-links", "--ignore-scripts", "--no-audit"]
  const { status } = spawnSync("npm", args, { cwd: making, timeout: 300_000 })
  if (status === 0 && !existsSync(folder)) renameSync(making, folder)
  else rmSync(making, { recursive: true })
  return existsSync(folder)
    ? { modules }
    : `${Object.entries(dependencies)
        .map((one) => one.join("@"))
        .join(", ")} could not be installed from npm`
}
