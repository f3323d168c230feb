// Makes folders one by one, from the top. Node's recursive `mkdir` never returns below /proc, where
// a folder is there in which nothing can be made.

import { mkdirSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { detailOf, StartError } from "../error.ts"

/**
 * Makes the folder, for its owner alone, and the missing ones above it. Returns the topmost folder
 * that it made.
 */
export function makeFolder(path: string): string | undefined {
  const whole = resolve(path)
  if (isFolder(whole)) return undefined
  const above = whole === dirname(whole) ? undefined : makeFolder(dirname(whole))
  try {
    mkdirSync(whole, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(whole)) throw error
    return above
  }
  return above ?? whole
}

/** The same for the folder of a setting, which the error names. */
export function makeFolderOf(setting: string, path: string): void {
  try {
    makeFolder(path)
  } catch (cause) {
    throw new StartError(`${setting} names a folder that cannot be made: ${detailOf(cause)}`, {
      cause,
    })
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
