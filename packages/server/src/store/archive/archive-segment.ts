// Makes a segment from frames, and checks a stored segment with every body in it.

import { assert, parseRecord, recordBytes } from "@tallystick/proof"
import { fits, frameEntries, frameOfStaying, openFrame, type OpenFrame } from "../body-frame.ts"
import type { Frame } from "../content-keeper.ts"
import type { ArchiveSegmentDocument } from "../documents.ts"
import type { Log } from "../epochs.ts"
import type { ArchiveStorage, StoredFile } from "./archive-storage.ts"
import { sha256Hex } from "./s3-signature.ts"
import {
  formatSegment,
  readFramePlaces,
  type FramePlace,
  type SegmentFrame,
} from "./segment-file.ts"

export interface MadeSegment {
  readonly document: ArchiveSegmentDocument
  readonly content: Uint8Array
}

/** A frame that may have been unpacked already. */
interface MeasuredFrame extends Frame {
  readonly textBytes?: number
}

/** Makes the segment of consecutive frames of one ledger. Undefined if none of them has a body. */
export function makeSegment(
  frames: readonly MeasuredFrame[],
  ledgerId: string,
  { before }: Pick<Log, "before">,
): MadeSegment | undefined {
  const withBodies = frames.flatMap(({ first, bytes, textBytes }) =>
    bytes.length === 0
      ? []
      : [{ index: first - 1 - before, bytes, textBytes: textBytes ?? textBytesOf(first, bytes) }],
  )
  const [first, last] = [frames[0], frames.at(-1)]
  return first === undefined || last === undefined
    ? undefined
    : segmentOf(
        { ledgerId, first: first.first, last: last.first + last.count - 1 },
        first.first - 1 - before,
        withBodies,
      )
}

function textBytesOf(first: number, frame: Uint8Array): number {
  const opened = openFrame(frame)
  if (typeof opened === "string") throw new Error(`the frame of entry ${first} ${opened}`)
  return opened.textBytes
}

type SegmentPlace = Pick<ArchiveSegmentDocument, "ledgerId" | "first" | "last">

function segmentOf(
  { ledgerId, first, last }: SegmentPlace,
  index: number,
  frames: readonly SegmentFrame[],
): MadeSegment | undefined {
  if (frames.length === 0) return undefined
  const content = formatSegment(index, frames)
  const hash = sha256Hex(content)
  const document = {
    ledgerId,
    first,
    last,
    file: segmentFile(ledgerId, index, hash),
    bytes: content.length,
    sha256: hash,
    textBytes: frames.reduce((sum, { textBytes }) => sum + textBytes, 0),
  }
  return { document, content }
}

/** A segment that was read and has the recorded hash. */
export interface ReadSegment {
  readonly content: Uint8Array
  readonly places: readonly FramePlace[]
}

/** A fault is a phrase that follows "the segment". */
export async function readSegment(
  storage: Pick<ArchiveStorage, "get">,
  segment: ArchiveSegmentDocument,
): Promise<ReadSegment | string> {
  const content = await storage.get(segment.file, { start: 0, end: segment.bytes })
  if (content === undefined) return "is not in the archive"
  if (sha256Hex(content) !== segment.sha256) return "is not the file that was recorded"
  const { index } = segmentPrefix(segment)
  const places = await readFramePlaces(index, content.length, async ({ start, end }) =>
    content.subarray(start, end),
  )
  return typeof places === "string" ? places : { content, places }
}

/**
 * The segment without the bodies of some entries, which are named by their indexes. Frames that
 * keep all their bodies are copied unchanged. Undefined if no body remains. The same document if
 * nothing changes. `turn` lets other work run after each repacked frame.
 */
export async function segmentWithout(
  segment: ArchiveSegmentDocument,
  { content, places }: ReadSegment,
  gone: ReadonlySet<number>,
  turn: () => Promise<void>,
): Promise<MadeSegment | undefined> {
  const frames: SegmentFrame[] = []
  let isSame = true
  for (const { index, range, textBytes } of places) {
    const bytes = content.subarray(range.start, range.end)
    if (!hasAny(gone, index, placesIn(index))) {
      frames.push({ index, bytes, textBytes })
      continue
    }
    const left = frameOfStaying(bytes, (one) => gone.has(one)) ?? { bytes, textBytes }
    if (typeof left === "string") throw new Error(`the frame at index ${index} ${left}`)
    isSame &&= left.bytes === bytes
    if (left.bytes.length > 0) frames.push({ index, ...left })
    await turn()
  }
  return isSame
    ? { document: segment, content }
    : segmentOf(segment, segmentPrefix(segment).index, frames)
}

function hasAny(indexes: ReadonlySet<number>, first: number, count: number): boolean {
  for (let index = first; index < first + count; index++) if (indexes.has(index)) return true
  return false
}

/** The largest number of entries in a frame that begins with this index. */
function placesIn(index: number): number {
  return frameEntries - (index % frameEntries)
}

/** The name of a segment's file: the ledger, the index of the first entry, and the content. */
function segmentFile(ledgerId: string, index: number, hash: string): string {
  return `${ledgerId}/${String(index).padStart(12, "0")}-${hash}.jsonl.zst`
}

/** The index of a segment's first entry, and the common prefix of the names of all its versions. */
export function segmentPrefix({
  ledgerId,
  file,
}: Pick<ArchiveSegmentDocument, "ledgerId" | "file">): {
  readonly index: number
  readonly prefix: string
} {
  const digits = /\/(\d+)-/.exec(file)?.[1] ?? ""
  return { index: Number(digits), prefix: `${ledgerId}/${digits}-` }
}

/** Whether a file has a body with one of these indexes. True if it cannot be read as a segment. */
export async function mayHaveBody(
  storage: Pick<ArchiveStorage, "get">,
  { name, bytes }: StoredFile,
  isOne: (index: number) => boolean,
  turn: () => Promise<void>,
): Promise<boolean> {
  const content = bytes > 0 && (await storage.get(name, { start: 0, end: bytes }))
  if (content === undefined || content === false) return false
  const places = await readFramePlaces(0, bytes, async ({ start, end }) =>
    content.subarray(start, end),
  )
  if (typeof places === "string") return true
  for (const { range } of places) {
    const opened = openFrame(content.subarray(range.start, range.end))
    if (typeof opened === "string" || opened.indexes.some(isOne)) return true
    await turn()
  }
  return false
}

export interface CheckedSegment {
  /** A phrase that follows "the segment". Undefined if there is no fault. */
  readonly fault: string | undefined
  /**
   * Its frames, in the form of the journal, each up to its last body. Entries after that are
   * destroyed, or were not packed when an older version made the segment.
   */
  readonly frames: readonly Frame[]
}

/**
 * Reads a segment back and hashes all of it: checks the file against its document, and each body
 * against the record of its entry. `recordsFrom` returns records as `JournalReader.records` does.
 */
export async function checkSegment(
  storage: Pick<ArchiveStorage, "get">,
  segment: ArchiveSegmentDocument,
  recordsFrom: (sequence: number, count: number) => Promise<Uint8Array>,
): Promise<CheckedSegment> {
  const broken = (fault: string): CheckedSegment => ({ fault, frames: [] })
  const read = await readSegment(storage, segment)
  if (typeof read === "string") return broken(read)
  const { content, places } = read
  const { index: firstIndex } = segmentPrefix(segment)
  const frames: Frame[] = []
  for (const [at, { index, range }] of places.entries()) {
    const first = segment.first + index - firstIndex
    const next = places[at + 1]
    // The next frame may be missing, if all of its bodies were destroyed.
    const end = Math.min(
      next === undefined ? segment.last + 1 : segment.first + next.index - firstIndex,
      first + placesIn(index),
    )
    if (first > segment.last || end > segment.last + 1)
      return broken("has more entries than it should")
    const bytes = content.subarray(range.start, range.end)
    const opened = openedOf(bytes, index, await recordsFrom(first, end - first))
    if (typeof opened === "string") return broken(opened)
    frames.push({ first, count: (opened.indexes.at(-1) ?? index) - index + 1, bytes })
  }
  assert(frames.length > 0, "a segment has a body")
  return { fault: undefined, frames }
}

function openedOf(bytes: Uint8Array, firstIndex: number, records: Uint8Array): OpenFrame | string {
  const opened = openFrame(bytes)
  if (typeof opened === "string") return `has a frame that ${opened}`
  for (const index of opened.indexes) {
    const at = (index - firstIndex) * recordBytes
    const fields = parseRecord(records.subarray(at, at + recordBytes))
    const salted = opened.salted(index)
    if (fields === undefined || salted === undefined || fields.index !== index)
      return `has a body of entry ${index}, which is not its own`
    if (!fits(fields, salted))
      return `has a body that the entry with index ${index} does not commit to`
  }
  return opened
}
