// Files that survive a power cut. The content of a file is on the disk once the file is synced, and
// its name once its folder is synced.

import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

/**
 * Replaces a file completely or not at all. The file is on the disk when this returns. A crash may
 * leave `<path>.new` behind.
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  writeSynced(`${path}.new`, content)
  renameSync(`${path}.new`, path)
  syncPath(dirname(path))
}

/** Writes a file that only its owner can read. "wx" requires that it does not exist. */
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

export function syncPath(path: string): void {
  const file = openSync(path, "r")
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
