import { assert } from "./assert.ts"
import { concat, equalBytes, fromUtf8, utf8 } from "./encoding.ts"

/**
 * ZIP archives of one form: files as they are, not compressed, one after the other, and the
 * directory behind them. For given names and contents there is exactly one such archive, so to read
 * one is to build it again and compare:
 *
 *     for each file     "PK" 03 04  10   0  0  time crc size size nameLength 0  name  content
 *     for each file     "PK" 01 02  10  10  0  0  time crc size size nameLength 0 0 0 0 0  offset  name
 *     at the end        "PK" 05 06   0   0  n  n  bytes of the directory  offset of the directory  0
 *
 * Names are ASCII, in the order of their bytes, each once. The time is 1980-01-01 00:00, the first
 * that a ZIP can say. There are no extra fields, comments, attributes, data descriptors, nor the
 * 64-bit forms: an archive has fewer than 65,535 files and 4 GiB.
 */
export type ZipFile = { readonly name: string; readonly size: number; readonly crc: number }

const zipFilesMax = 65_534
const zipBytesMax = 2 ** 32 - 2

/** The header before a file's content. */
export function zipFileHeader(file: ZipFile): Uint8Array {
  return concat(fields([4, 0x04034b50], [2, zipVersion], ...common(file)), utf8(file.name))
}

/** The directory after the last file's content. */
export function zipDirectory(files: readonly ZipFile[]): Uint8Array {
  assert(files.length <= zipFilesMax, "more files need another form of ZIP")
  let offset = 0
  const entries = files.map((file) => {
    const place = [
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0],
      [4, offset],
    ] as const
    offset += headerBytes + file.name.length + file.size
    return concat(
      fields([4, 0x02014b50], [2, zipVersion], [2, zipVersion], ...common(file), ...place),
      utf8(file.name),
    )
  })
  const bytes = entries.reduce((sum, entry) => sum + entry.length, 0)
  assert(offset + bytes <= zipBytesMax, "a larger archive needs another form of ZIP")
  entries.push(
    fields(
      [4, 0x06054b50],
      [2, 0],
      [2, 0],
      [2, files.length],
      [2, files.length],
      [4, bytes],
      [4, offset],
      [2, 0],
    ),
  )
  // Not by concat: a stack may be too small for so many arguments.
  const directory = new Uint8Array(bytes + directoryEndBytes)
  let at = 0
  for (const entry of entries) {
    directory.set(entry, at)
    at += entry.length
  }
  return directory
}

/** Length of the archive. */
export function zipBytes(files: readonly ZipFile[]): number {
  return files.reduce(
    (sum, { name, size }) => sum + headerBytes + size + directoryEntryBytes + 2 * name.length,
    directoryEndBytes,
  )
}

/**
 * The files of an archive by name, in their order; undefined if any byte differs from this form.
 * They are views of `archive`.
 */
export function readZip(archive: Uint8Array): ReadonlyMap<string, Uint8Array> | undefined {
  if (archive.length > zipBytesMax) return undefined
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength)
  const contents = new Map<string, Uint8Array>()
  const files: ZipFile[] = []
  let at = 0
  let previous = ""
  while (at + headerBytes <= archive.length && view.getUint32(at, true) === 0x04034b50) {
    const [size, nameLength] = [view.getUint32(at + 18, true), view.getUint16(at + 26, true)]
    const start = at + headerBytes + nameLength
    const name = fromUtf8(archive.subarray(at + headerBytes, start))
    if (
      name === undefined ||
      !isZipName(name) ||
      name <= previous ||
      start + size > archive.length ||
      files.length === zipFilesMax
    )
      return undefined
    const content = archive.subarray(start, start + size)
    const file = { name, size, crc: crc32(content) }
    if (!equalBytes(archive.subarray(at, start), zipFileHeader(file))) return undefined
    files.push(file)
    contents.set(name, content)
    previous = name
    at = start + size
  }
  // The rest is compared as a whole, so its length need not be known; but it is only built if it
  // fits.
  if (zipBytes(files) !== archive.length) return undefined
  return equalBytes(archive.subarray(at), zipDirectory(files)) ? contents : undefined
}

/**
 * CRC-32 of a file in a ZIP; `crc` continues from earlier bytes. It finds accidents and proves
 * nothing.
 */
export function crc32(bytes: Uint8Array, crc = 0): number {
  let rest = ~crc
  for (const byte of bytes) rest = (crcTable[(rest ^ byte) & 0xff] ?? 0) ^ (rest >>> 8)
  return ~rest >>> 0
}

/** Paths below the place where an archive is unpacked, in characters that every system takes. */
export function isZipName(name: string): boolean {
  return name.length <= 255 && /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(name)
}

/** 1.0: all that a file without compression needs. */
const zipVersion = 10
const headerBytes = 30
const directoryEntryBytes = 46
const directoryEndBytes = 22

type Field = readonly [width: 2 | 4, value: number]

/** From the flags to the length of the extra field, which both headers have. */
function common({ name, size, crc }: ZipFile): readonly Field[] {
  assert(isZipName(name) && size <= zipBytesMax, "a file has a valid name, and is not too large")
  return [
    [2, 0],
    [2, 0],
    [2, 0],
    [2, 0x21],
    [4, crc],
    [4, size],
    [4, size],
    [2, name.length],
    [2, 0],
  ]
}

function fields(...list: readonly Field[]): Uint8Array {
  const bytes = new Uint8Array(list.reduce((sum, [width]) => sum + width, 0))
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const [width, value] of list) {
    if (width === 2) view.setUint16(at, value, true)
    else view.setUint32(at, value, true)
    at += width
  }
  return bytes
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value
})
