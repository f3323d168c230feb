import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"

/**
 * The folders of these versions of Node, installed once for all clones; or why there are none. Not among the packages of a clone: they
 * are 150 MB each, and all of them would be its `node`.
 */
export function nodesOf(versions: readonly string[]): { readonly bin: (version: string) => string } | string {
  const name = platformPackage()
  if (name === undefined) return `npm has no Node for ${process.platform}-${process.arch}`
  const folder = join(tmpdir(), `tallystick-nodes-${userInfo().uid}-${versions.join("-")}`)
  const bin = (version: string): string => join(folder, "node_modules", version, "bin")
  if (existsSync(folder)) return { bin }
  // Made beside, and moved when it is complete: two runs may come at once.
  const making = mkdtempSync(`${folder}-`)
  const dependencies = Object.fromEntries(versions.map((version) => [version, `npm:${name}@${version}`]))
  writeFileSync(join(making, "package.json"), JSON.stringify({ private: true, dependencies }))
  const { status } = spawnSync("npm", ["install", "--no-bin-links", "--ignore-scripts", "--no-audit"], { cwd: making, timeout: 300_000 })
  if (status === 0 && !existsSync(folder)) renameSync(making, folder)
  else rmSync(making, { recursive: true })
  return existsSync(folder) ? { bin } : `Node ${versions.join(", ")} could not be installed from npm`
}

/** As the repository pins its own. */
function platformPackage(): string | undefined {
  const manifest = readFileSync(join(import.meta.dirname, "..", "..", "package.json"), "utf8")
  const { optionalDependencies } = JSON.parse(manifest) as { optionalDependencies: object }
  return Object.keys(optionalDependencies).find((name) => name.endsWith(`-${process.platform}-${process.arch}`))
}
