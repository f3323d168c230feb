import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"

/**
 * The folder of the programs of a Python that has these packages, installed once for all clones; or
 * why there is none.
 */
export function pythonWith(...packages: readonly string[]): { readonly bin: string } | string {
  const folder = join(
    tmpdir(),
    `tallystick-python-${userInfo().uid}-${packages.join("-").replace(/[^a-z0-9.-]/gi, "_")}`,
  )
  const bin = join(folder, "bin")
  if (existsSync(folder)) return { bin }
  if (spawnSync("python3", ["-c", "import venv, ensurepip"]).status !== 0)
    return "Python with venv is not installed here"
  // Made beside, and moved when it is complete: two runs may come at once. A moved environment goes
  // on to work if it is asked by its own python.
  const making = mkdtempSync(`${folder}-`)
  const made = spawnSync("python3", ["-m", "venv", "--symlinks", making], { timeout: 60_000 })
  const python = join(making, "bin", "python")
  const installed =
    made.status === 0 &&
    spawnSync(python, ["-m", "pip", "install", "--quiet", ...packages], { timeout: 180_000 })
      .status === 0
  if (installed && !existsSync(folder)) renameSync(making, folder)
  else rmSync(making, { recursive: true })
  return existsSync(folder) ? { bin } : `${packages.join(" and ")} could not be installed from PyPI`
}
