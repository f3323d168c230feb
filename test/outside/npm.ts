import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { madeOnce } from "../made-once.ts"

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
  const isThere = madeOnce(folder, (making) => {
    writeFileSync(join(making, "package.json"), JSON.stringify({ private: true, dependencies }))
    const args = ["install", "--no-bin-links", "--ignore-scripts", "--no-audit"]
    return spawnSync("npm", args, { cwd: making, timeout: 300_000 }).status === 0
  })
  return isThere
    ? { modules: join(folder, "node_modules") }
    : `${Object.entries(dependencies)
        .map((one) => one.join("@"))
        .join(", ")} could not be installed from npm`
}
