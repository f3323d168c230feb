// Files that somebody was given. Whoever made them may want the reader to wait for ever or to run out of memory: only regular files are
// read, and of a size that evidence has.

import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, realpathSync } from "node:fs"
import { join, relative, sep } from "node:path"

/** Says in one sentence which file is not read, and why. */
export class Unreadable extends Error {}

const mebibyte = 1024 * 1024

/** The largest pack that a service makes unless it is told otherwise is of 1 GiB, without what a ZIP puts around its files. */
const packBytesMax = 1280 * mebibyte
/** Text is in memory several times while it is read. 256 of the largest events fill half of it. */
const textBytesMax = 256 * mebibyte
/** Of an export, what is not bodies or disclosures: the largest is a bundle, whose entries could have 64 KiB each. */
const partBytesMax = 32 * mebibyte

export const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4

/** A file that was named on the command line. */
export function readEvidence(path: string): Uint8Array {
  return readRegular(path, (start) => (isZip(start) ? packBytesMax : textBytesMax))
}

/** The files of a folder, by their paths in it. None of them lies elsewhere. */
export function filesBelow(folder: string): (path: string) => Uint8Array | undefined {
  const root = realpathSync(folder)
  return (path) => {
    const at = join(root, path)
    if (lstatSync(at, { throwIfNoEntry: false }) === undefined) return undefined
    if (realpathSync(at) !== at) throw new Unreadable(`${join(folder, path)} is a link or lies behind one, and an export has none`)
    return readRegular(at, () => (/^(?:epochs\/\d+\/)?(?:bodies|disclosures)\//.test(path) ? textBytesMax : partBytesMax))
  }
}

/** All that a folder has but folders, by their paths in it. What lies behind a link is not looked at. */
export function pathsBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/"))
    .toSorted()
}

function readRegular(path: string, bytesMax: (start: Uint8Array) => number): Uint8Array {
  // Without O_NONBLOCK, to open a pipe would wait for somebody who writes to it.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new Unreadable(`${path} is no regular file`)
    const { size } = stats
    const start = new Uint8Array(Math.min(size, 4))
    readSync(file, start, 0, start.length, 0)
    const most = bytesMax(start)
    if (size > most) throw new Unreadable(`${path} has ${size} bytes, and no more than ${most} are read`)
    // What was added meanwhile is not there; what was taken away is missing.
    const bytes = new Uint8Array(size)
    let at = 0
    for (let read = -1; read !== 0 && at < size; at += read) read = readSync(file, bytes, at, size - at, at)
    return bytes.subarray(0, at)
  } finally {
    closeSync(file)
  }
}
