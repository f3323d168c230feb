import { spawnSync } from "node:child_process"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { madeOnce } from "../made-once.ts"

/**
 * The folder of the programs of a Python that has these packages, installed once for all clones; or
 * why there is none.
 */
export function pythonWith(...packages: readonly string[]): { readonly bin: string } | string {
  const folder = join(
    tmpdir(),
    `tallystick-python-${userInfo().uid}-${packages.join("-").replace(/[^a-z0-9.-]/gi, "_")}`,
  )
  if (spawnSync("python3", ["-c", "import venv, ensurepip"]).status !== 0)
    return "Python with venv is not installed here"
  const runs = (program: string, args: readonly string[], timeout: number): boolean =>
    spawnSync(program, args, { timeout }).status === 0
  // It is moved, and goes on to work if it is asked by its own python.
  const isThere = madeOnce(
    folder,
    (making) =>
      runs("python3", ["-m", "venv", "--symlinks", making], 60_000) &&
      runs(
        join(making, "bin", "python"),
        ["-m", "pip", "install", "--quiet", ...packages],
        180_000,
      ),
  )
  return isThere
    ? { bin: join(folder, "bin") }
    : `${packages.join(" and ")} could not be installed from PyPI`
}
