// An archive segment is one file of seekable zstd: concatenated frames (../body-frame.ts), and
// after them two skippable frames, which every zstd decoder ignores. The first says which entry
// each frame begins with; the second is the seek table of zstd's contrib/seekable_format.
//
//     frame …                            the lines of up to 64 entries each
//     5D 2A 4D 18, length, index …       for each frame the index of its first entry less that of
//                                        the segment's, 4 bytes
//     5E 2A 4D 18, length,
//       bytes, text bytes …              of each frame, and of the one with the indexes: 4 bytes each
//       number of these, 00, B1 EA 92 8F
//
// All numbers are little-endian, 4 bytes.

import { firstWhere } from "../../runtime/first-where.ts"
import type { ByteRange } from "./archive-storage.ts"

export interface SegmentFrame {
  /** The index of its first entry in its ledger. */
  readonly index: number
  readonly bytes: Uint8Array
  readonly textBytes: number
}

export interface FramePlace {
  readonly index: number
  readonly range: ByteRange
  readonly textBytes: number
}

const indexMagic = 0x184d2a5d
const tableMagic = 0x184d2a5e
const seekableMagic = 0x8f92eab1
const headBytes = 8
const footBytes = 9
/** The end of the file, which is read first. For most segments it contains both frames. */
const endBytes = 8 * 1024
/**
 * More than the entries of a segment. With so many frames, the tables at the end have a quarter of
 * a MiB.
 */
const framesMax = 16_385

/** The frames are in order, and there is at least one. */
export function formatSegment(first: number, frames: readonly SegmentFrame[]): Uint8Array {
  const indexes = Buffer.alloc(headBytes + 4 * frames.length)
  indexes.writeUInt32LE(indexMagic, 0)
  indexes.writeUInt32LE(4 * frames.length, 4)
  for (const [place, { index }] of frames.entries())
    indexes.writeUInt32LE(index - first, headBytes + 4 * place)
  const listed = [...frames, { bytes: indexes, textBytes: 0 }]
  const table = Buffer.alloc(headBytes + 8 * listed.length + footBytes)
  table.writeUInt32LE(tableMagic, 0)
  table.writeUInt32LE(table.length - headBytes, 4)
  for (const [place, { bytes, textBytes }] of listed.entries()) {
    table.writeUInt32LE(bytes.length, headBytes + 8 * place)
    table.writeUInt32LE(textBytes, headBytes + 8 * place + 4)
  }
  table.writeUInt32LE(listed.length, table.length - footBytes)
  table.writeUInt32LE(seekableMagic, table.length - 4)
  return Buffer.concat([...listed.map(({ bytes }) => bytes), table])
}

/**
 * Reads the places of a segment's frames, in order, from the end of its file. `read` returns
 * exactly the bytes of a range. A fault is a phrase that follows "the segment".
 */
export async function readFramePlaces(
  first: number,
  fileBytes: number,
  read: (range: ByteRange) => Promise<Uint8Array>,
): Promise<readonly FramePlace[] | string> {
  if (fileBytes < footBytes) return "is too short"
  const from = Math.max(0, fileBytes - endBytes)
  let end = Buffer.from(await read({ start: from, end: fileBytes }))
  const count = end.readUInt32LE(end.length - footBytes)
  if (end.readUInt32LE(end.length - 4) !== seekableMagic || end.at(-5) !== 0)
    return "does not end with a seek table"
  if (count < 2 || count > framesMax) return "has a seek table of another length"
  const tableBytes = headBytes + 8 * count + footBytes
  const indexBytes = headBytes + 4 * (count - 1)
  const wanted = tableBytes + indexBytes
  if (wanted > fileBytes) return "has a seek table of another length"
  if (wanted > end.length)
    end = Buffer.from(await read({ start: fileBytes - wanted, end: fileBytes }))
  const table = end.subarray(end.length - tableBytes)
  const indexes = end.subarray(end.length - wanted, end.length - tableBytes)
  if (!isSkippable(table, tableMagic) || !isSkippable(indexes, indexMagic))
    return "has a seek table that is not of the form in docs/format.md"
  return placesOf(first, fileBytes - tableBytes, table, indexes)
}

function isSkippable(bytes: Buffer, magic: number): boolean {
  return bytes.readUInt32LE(0) === magic && bytes.readUInt32LE(4) === bytes.length - headBytes
}

function placesOf(
  first: number,
  framesEnd: number,
  table: Buffer,
  indexes: Buffer,
): readonly FramePlace[] | string {
  const count = (indexes.length - headBytes) / 4
  const places: FramePlace[] = []
  let start = 0
  for (let place = 0; place < count; place++) {
    const bytes = table.readUInt32LE(headBytes + 8 * place)
    const textBytes = table.readUInt32LE(headBytes + 8 * place + 4)
    const index = first + indexes.readUInt32LE(headBytes + 4 * place)
    if (bytes === 0 || textBytes === 0 || index <= (places.at(-1)?.index ?? first - 1))
      return "has frames that are not in order"
    places.push({ index, range: { start, end: start + bytes }, textBytes })
    start += bytes
  }
  const last = headBytes + 8 * count
  if (table.readUInt32LE(last) !== indexes.length || table.readUInt32LE(last + 4) !== 0)
    return "has a seek table that is not of the form in docs/format.md"
  return start + indexes.length === framesEnd ? places : "has another length than its frames"
}

export function frameOf(places: readonly FramePlace[], index: number): FramePlace | undefined {
  return places[firstWhere(places, (place) => place.index > index) - 1]
}
