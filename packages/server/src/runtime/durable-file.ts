// Files that survive a power cut. A file's bytes are on the disk once it is synced, its name once
// its folder is.

import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

/**
 * Puts a file in the place of what is there, whole or not at all; on the disk when it returns. A
 * crash may leave `<path>.new` behind.
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  writeSynced(`${path}.new`, content)
  renameSync(`${path}.new`, path)
  syncPath(dirname(path))
}

/** Writes a file for its owner alone. "wx": it must not be there. */
export function writeSynced(
  path: string,
  content: string | Uint8Array,
  flag: "w" | "wx" = "w",
): void {
  const file = openSync(path, flag, 0o600)
  try {
    writeFileSync(file, content)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Of a file or a folder. */
export function syncPath(path: string): void {
  const file = openSync(path, "r")
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
