// Files that survive a power cut. The content of a file is on the disk once the file is synced, and
// its name once its folder is synced.

import {
  closeSync,
  constants,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"

/**
 * Replaces a file completely or not at all. The file is on the disk when this returns. A crash may
 * leave `<path>.new` behind. If root writes it, it belongs to the owner of the file `ownerOf`.
 */
export function replaceFile(path: string, content: string | Uint8Array, ownerOf?: string): void {
  writeSynced(`${path}.new`, content, constants.O_NOFOLLOW | replacing, ownerOf)
  renameSync(`${path}.new`, path)
  syncPath(dirname(path))
}

const replacing = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC

/** Writes a file that only its owner can read. "wx" requires that it does not exist. */
export function writeSynced(
  path: string,
  content: string | Uint8Array,
  flags: number | "wx" = replacing,
  ownerOf?: string,
): void {
  const file = openSync(path, flags, 0o600)
  try {
    if (ownerOf !== undefined && process.getuid?.() === 0) {
      const { uid, gid } = statSync(ownerOf)
      fchownSync(file, uid, gid)
    }
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
