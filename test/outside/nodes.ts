import { readFileSync } from "node:fs"
import { join } from "node:path"
import { npmWith } from "./npm.ts"

/**
 * The folders of these versions of Node, installed once for all clones; or why there are none. Not
 * among the packages of a clone: they are 150 MB each, and all of them would be its `node`.
 */
export function nodesOf(
  versions: readonly string[],
): { readonly bin: (version: string) => string } | string {
  const name = platformPackage()
  if (name === undefined) return `npm has no Node for ${process.platform}-${process.arch}`
  const installed = npmWith(
    "nodes",
    Object.fromEntries(versions.map((version) => [version, `npm:${name}@${version}`])),
  )
  return typeof installed === "string"
    ? installed
    : { bin: (version) => join(installed.modules, version, "bin") }
}

/** As the repository pins its own. */
function platformPackage(): string | undefined {
  const manifest = readFileSync(join(import.meta.dirname, "..", "..", "package.json"), "utf8")
  const { optionalDependencies } = JSON.parse(manifest) as { optionalDependencies: object }
  return Object.keys(optionalDependencies).find((name) =>
    name.endsWith(`-${process.platform}-${process.arch}`),
  )
}
