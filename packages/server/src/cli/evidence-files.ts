// Reads files from an untrusted source, which may try to make the reader wait for ever or run out
// of memory: only regular files are read, up to the size that evidence can have.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
} from "node:fs"
import { join, relative, sep } from "node:path"
import { isExportedLines, isZip } from "@tallystick/proof"

/** The message names the file and says why it is not read. */
export class Unreadable extends Error {}

const mebibyte = 1024 * 1024

/**
 * By default the largest pack is 1 GiB, plus what a ZIP adds to its files. Lines are read one at a
 * time.
 */
const largestBytesMax = 1280 * mebibyte
/** Parsing holds text in memory several times. 256 of the largest events fill half of this. */
const textBytesMax = 256 * mebibyte
/**
 * Files of a folder that are neither lines nor a table. The largest is a bundle, whose entries could
 * have 64 KiB each.
 */
const partBytesMax = 32 * mebibyte
/** As much as tells the kind of a file: the first line of an export can be long. */
const startBytesMax = 4 * mebibyte

export function readEvidence(path: string): Uint8Array {
  return readRegular(path, (start) =>
    isZip(start) || isExportedLines(start) ? largestBytesMax : textBytesMax,
  )
}

/**
 * Returns a reader of the folder's files by their paths in it. Refuses links, which could lead
 * elsewhere.
 */
export function filesBelow(folder: string): (path: string) => Uint8Array | undefined {
  const root = realpathSync(folder)
  return (path) => {
    const at = join(root, path)
    if (lstatSync(at, { throwIfNoEntry: false }) === undefined) return undefined
    if (realpathSync(at) !== at)
      throw new Unreadable(
        `${join(folder, path)} is a link or is reached through one, and evidence has no links`,
      )
    return readRegular(at, () => (/\.(?:csv|jsonl)$/.test(path) ? textBytesMax : partBytesMax))
  }
}

/** Paths of everything in the folder that is not a folder. Links are not followed. */
export function pathsBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/"))
    .toSorted()
}

function readRegular(path: string, bytesMax: (start: Uint8Array) => number): Uint8Array {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new Unreadable(`${path} is not a regular file`)
    const { size } = stats
    const start = new Uint8Array(Math.min(size, startBytesMax))
    readSync(file, start, 0, start.length, 0)
    const most = bytesMax(start)
    if (size > most) throw new Unreadable(`${path} has ${size} bytes; at most ${most} are read`)
    // The file may change meanwhile: bytes beyond `size` are ignored, and it may end early.
    const bytes = new Uint8Array(size)
    let at = 0
    for (let read = -1; read !== 0 && at < size; at += read)
      read = readSync(file, bytes, at, size - at, at)
    return bytes.subarray(0, at)
  } finally {
    closeSync(file)
  }
}
