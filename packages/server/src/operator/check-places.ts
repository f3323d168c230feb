// Checks that the paths in the settings can serve their purpose.

import { statSync, type Stats } from "node:fs"
import { relative, resolve } from "node:path"
import type { Config } from "../config.ts"
import { StartError } from "../error.ts"

type Places = Pick<Config, "data" | "heads" | "archive">

/** A missing path is fine. Throws also without the permission to look. */
export function checkPlaces({ data, heads, archive }: Places): void {
  requireFolder("TALLYSTICK_DATA", data)
  if (statsOf(heads)?.isDirectory() === true)
    throw new StartError(`TALLYSTICK_HEADS must name a file, and ${heads} is a folder`)
  if (archive.kind === "folder") requireFolder("TALLYSTICK_ARCHIVE", archive.path)
}

/** A copy of the data would include such a heads file, so nobody would notice that it is a copy. */
export function isInData(data: string, heads: string): boolean {
  return !relative(resolve(data), resolve(heads)).startsWith("..")
}

function requireFolder(name: string, path: string): void {
  if (statsOf(path)?.isDirectory() === false)
    throw new StartError(`${name} must name a folder, and ${path} is none`)
}

/** Undefined if nothing is there. Throws without the permission to look. */
export function statsOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
