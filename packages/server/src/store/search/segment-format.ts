// What a segment is made of, and how it is kept.
//
// An entry stands in a segment under its keys. A key is bytes:
//
//     names 0xFF tag value        a field: its names joined by 0xFE, whose it is, its value in lower case
//     0xFE filter 0xFF value      what filters ask for: project, lane, visible, and so on, as they are
//
// The tag is n, a or t for nobody's, the actor's or the target's; in upper case where the words of
// the value can be found. UTF-8 has neither 0xFE nor 0xFF, so no value is taken for something else.
//
// Streams, and columns with a place for each entry:
//
//     keys         all keys in order (key-stream.ts); a key's number is its place here
//     entries      for each key the entries that have it, counted from 0 (list-stream.ts)
//     words        in upper case the tag, and a word of a value, in order
//     values       for each word the numbers of the keys whose value has it
//     occurred     milliseconds since the earliest, as planes: a part with the lowest byte of each, the next …
//                  in blocks of 65,536 entries; planes of block b have items from 8b on
//     nanos        the nanoseconds beyond them; no plane if all are 0
//     made         milliseconds that id and receipt begin with, since the earliest, as planes
//     ids          of each id the 130 random bits behind its time, in 17 bytes; 4,096 of them a part
//     receipts     the same of receipts
//     entryUnions  of lists of `entries` that follow each other, the entries that are in one of them:
//                  for as few lists as have ⌈count/8⌉ entries together, if these are 16 lists at least;
//                  those that are left at the end have none
//     valueUnions  the same of `values`, also for ⌈count/8⌉ numbers together
//
// A search for what many keys begin with reads unions in place of lists. Segments with fewer entries
// than a block have none.
//
// Ids in the ledger's own form stand in the columns, because they are random and would be half of
// all keys; the filters `id` and `receipt` say which entries have one. Others are values like any.
//
// The header is part 0:
//
//     "TSS3"
//     varint first high, first low · varint count · keys · words      first: a sequence, in two halves of 26 bits
//     varint entries of a block · for each block, in milliseconds since 1970
//         f64 earliest and latest occurred · f64 earliest and latest made
//     varint · (varint length · names)         lists of more than one name, in order
//     of either unions: varint · (varint lists without one before it · varint lists that it is of)
//     for each of these eleven: varint parts, and for each part
//         varint first item, less that of the part before · varint raw bytes · SHA-256 of them
//         varint length · separator
//     SHA-256 of the header so far
//
// Parts 1, 2, … are those of the eleven in order, each compressed by zstd. Hashes are of what was
// compressed, so a header does not depend on the version of zstd.

import { hash } from "node:crypto"
import { packZstd, peekZstd, unpackZstd } from "../../runtime/zstd.ts"
import { ByteWriter } from "./byte-writer.ts"
import { varintAt, type StreamPart } from "./key-stream.ts"
import type { ListSpan } from "./list-stream.ts"
import { createPartCache, type PartCache } from "./part-cache.ts"
import {
  SegmentDamaged,
  SegmentGone,
  type OpenSegment,
  type SegmentParts,
  type Steps,
  type Turns,
} from "./segments.ts"

export const streamNames = [
  "keys",
  "entries",
  "words",
  "values",
  "occurred",
  "nanos",
  "made",
  "ids",
  "receipts",
  "entryUnions",
  "valueUnions",
] as const
export type StreamName = (typeof streamNames)[number]

/** What a header says beside its parts. */
export interface SegmentFacts {
  readonly first: number
  readonly count: number
  readonly keys: number
  readonly words: number
  /** Columns are in blocks of so many entries; the last one may have fewer. */
  readonly blockRows: number
  readonly blocks: readonly BlockTimes[]
  /** Lists of more than one name, joined as in keys. */
  readonly namesTogether: readonly Uint8Array[]
  /** Of which lists each union is. */
  readonly entryUnions: readonly ListSpan[]
  readonly valueUnions: readonly ListSpan[]
}

export interface BlockTimes {
  readonly occurred: Span
  readonly made: Span
}

export interface Span {
  readonly earliest: number
  readonly latest: number
}

/** A segment that was made: in memory, not compressed, or what is left of its parts. */
export interface MadeSegment<P = StreamPart> {
  readonly facts: SegmentFacts
  readonly streams: Readonly<Record<StreamName, readonly P[]>>
}

/** What a header says of a part. */
export interface PartSum extends Pick<StreamPart, "first" | "separator"> {
  readonly rawBytes: number
  readonly hash: Uint8Array
}

const magic = Buffer.from("TSS3")
const hashBytes = 32
const half = 2 ** 26

/** What is kept of a segment: its header and its parts. */
export function packSegment(made: MadeSegment): SegmentParts {
  const streams = recordOf((name) => made.streams[name].map(sumOf))
  const parts = streamNames.flatMap((name) => made.streams[name].map(packPart))
  return [headerOf({ ...made, streams }), ...parts]
}

export function packPart({ raw }: StreamPart): Uint8Array {
  return packZstd(raw, 1)
}

export function sumOf({ first, separator, raw }: StreamPart): PartSum {
  return { first, separator, rawBytes: raw.length, hash: sha256(raw) }
}

/** The hash that a segment is known by, in hex. */
export function hashOfHeader([header = new Uint8Array()]: SegmentParts): string {
  return Buffer.from(header.subarray(-hashBytes)).toString("hex")
}

export function headerOf({ facts, streams }: MadeSegment<PartSum>): Buffer {
  const header = new ByteWriter()
  header.append(magic)
  header.varint(Math.floor(facts.first / half))
  header.varint(facts.first % half)
  for (const number of [facts.count, facts.keys, facts.words, facts.blockRows])
    header.varint(number)
  for (const { earliest, latest } of facts.blocks.flatMap(({ occurred, made }) => [
    occurred,
    made,
  ])) {
    header.f64(earliest)
    header.f64(latest)
  }
  header.varint(facts.namesTogether.length)
  for (const names of facts.namesTogether) {
    header.varint(names.length)
    header.append(names)
  }
  for (const spans of [facts.entryUnions, facts.valueUnions]) {
    header.varint(spans.length)
    let before = 0
    for (const { from, end } of spans) {
      header.varint(from - before)
      header.varint(end - from)
      before = end
    }
  }
  for (const name of streamNames) {
    header.varint(streams[name].length)
    let before = 0
    for (const { first, rawBytes, hash: hashed, separator } of streams[name]) {
      header.varint(first - before)
      before = first
      header.varint(rawBytes)
      header.append(hashed)
      header.varint(separator.length)
      header.append(separator)
    }
  }
  header.append(sha256(header.bytes.subarray(0, header.length)))
  return header.take()
}

function sha256(bytes: Uint8Array): Buffer {
  return Buffer.from(hash("sha256", bytes, "latin1"), "latin1")
}

/** Where a part is, and how it can be known. */
interface PartPlace {
  readonly part: number
  readonly stream: StreamName
  readonly first: number
  readonly rawBytes: number
  readonly hash: string
  readonly separator: Uint8Array
}

/** A segment whose header was read. Its parts come from the cache, or are asked for. */
export interface Segment extends OpenSegment {
  readonly facts: SegmentFacts
  readonly streams: Readonly<Record<StreamName, readonly PartPlace[]>>
  /** A part as it was before it was compressed, if it is in memory. */
  held(place: PartPlace): Uint8Array | undefined
  /** The same part, which is asked for if it is not. */
  raw(place: PartPlace): Steps<Uint8Array>
}

/** Opens a segment by its header. Throws `SegmentDamaged` if it is not one that was made here. */
export function openSegment(
  header: Uint8Array,
  cache: PartCache,
  unpack: (kept: Uint8Array, place: PartPlace) => Uint8Array = unpacked,
): Segment {
  const end = header.length - hashBytes
  if (end < magic.length || !sha256(header.subarray(0, end)).equals(header.subarray(end)))
    throw new SegmentDamaged("the header of a segment is damaged")
  const { facts, streams } = parseHeader(header.subarray(0, end))
  const id = hashOfHeader([header])
  const keys: string[] = []
  const keyOf = ({ part }: PartPlace): string => (keys[part] ??= `${id}:${part}`)
  const segment: Segment = {
    hash: id,
    first: facts.first,
    count: facts.count,
    facts,
    streams,
    held: (place) => cache.get(keyOf(place)),
    *raw(place) {
      const known = cache.get(keyOf(place))
      if (known !== undefined) return known
      const kept = yield { segment, part: place.part }
      if (kept === undefined) throw new SegmentGone("a part of a segment is not kept any more")
      const raw = unpack(kept, place)
      cache.set(keyOf(place), raw)
      return raw
    },
  }
  return segment
}

/**
 * Opens a segment whose parts are read once, for a merge that packs what it makes at once. All
 * parts of a stream unpack into one buffer, so a part is valid until the next one of its stream is
 * asked for. In buffers of their own they would wait for the garbage collector.
 */
export function openSource(header: Uint8Array): Segment {
  const buffers = new Map<StreamName, Buffer>()
  const segment = openSegment(header, createPartCache(0), (kept, place) => {
    const raw = unpacked(kept, place, peekZstd)
    const { stream } = place
    let buffer = buffers.get(stream)
    if (buffer === undefined) {
      const most = segment.streams[stream].reduce((n, { rawBytes }) => Math.max(n, rawBytes), 0)
      buffer = Buffer.allocUnsafeSlow(most)
      buffers.set(stream, buffer)
    }
    raw.copy(buffer)
    return buffer.subarray(0, raw.length)
  })
  return segment
}

function unpacked(
  kept: Uint8Array,
  { part, rawBytes, hash: expected }: PartPlace,
  unpack = unpackZstd,
): Buffer {
  let raw: Buffer | undefined
  try {
    raw = unpack(kept, rawBytes)
  } catch (cause) {
    throw new SegmentDamaged(`part ${part} of a segment is damaged`, { cause })
  }
  if (raw.length !== rawBytes || hash("sha256", raw, "latin1") !== expected)
    throw new SegmentDamaged(`part ${part} of a segment is damaged`)
  return raw
}

/** Opens what is in memory. It asks for nothing. */
export function openMade({ facts, streams }: MadeSegment): Segment {
  const parts: Uint8Array[] = []
  const placed = recordOf((name) =>
    streams[name].map(({ first, raw, separator }) => ({
      part: parts.push(raw) - 1,
      stream: name,
      first,
      rawBytes: raw.length,
      hash: "",
      separator,
    })),
  )
  const held = ({ part }: PartPlace): Uint8Array => parts[part] ?? new Uint8Array()
  return {
    hash: "",
    first: facts.first,
    count: facts.count,
    facts,
    streams: placed,
    held,
    // eslint-disable-next-line require-yield
    *raw(place) {
      return held(place)
    },
  }
}

/** In the order in which parts are kept. */
export function recordOf<T>(make: (name: StreamName) => T): Record<StreamName, T> {
  // Every name is given.
  return Object.fromEntries(streamNames.map((name) => [name, make(name)])) as Record<StreamName, T>
}

/** The bytes have the hash that they were written with. */
function parseHeader(bytes: Uint8Array): Pick<Segment, "facts" | "streams"> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const place = { at: magic.length }
  const varint = (): number => varintAt(bytes, place)
  const f64 = (): number => view.getFloat64((place.at += 8) - 8, true)
  const some = (): Uint8Array => {
    const length = varint()
    return bytes.slice(place.at, (place.at += length))
  }
  if (!magic.equals(bytes.subarray(0, magic.length)))
    throw new SegmentDamaged("a segment is of another version")
  /** Each takes a byte at least, whatever somebody has written there. */
  const many = <T>(one: () => T): T[] => {
    const length = varint()
    if (length > bytes.length) throw new SegmentDamaged("the header of a segment is damaged")
    return Array.from({ length }, one)
  }
  const span = (): Span => ({ earliest: f64(), latest: f64() })
  const spans = (): ListSpan[] => {
    let end = 0
    return many(() => {
      const from = end + varint()
      end = from + varint()
      return { from, end }
    })
  }
  const counts = {
    first: varint() * half + varint(),
    count: varint(),
    keys: varint(),
    words: varint(),
    blockRows: varint(),
  }
  const facts: SegmentFacts = {
    ...counts,
    blocks: Array.from({ length: Math.ceil(counts.count / counts.blockRows) }, () => ({
      occurred: span(),
      made: span(),
    })),
    namesTogether: many(some),
    entryUnions: spans(),
    valueUnions: spans(),
  }
  let part = 0
  const streams = recordOf((stream) => {
    let first = 0
    return many((): PartPlace => {
      first += varint()
      const rawBytes = varint()
      const hashed = Buffer.from(bytes.subarray(place.at, (place.at += hashBytes)))
      const expected = hashed.toString("latin1")
      return { part: ++part, stream, first, rawBytes, hash: expected, separator: some() }
    })
  })
  return { facts, streams }
}

/** Runs to the end, with a reader that answers at once. */
export function runSteps<T>(
  steps: Steps<T>,
  read: (segment: OpenSegment, part: number) => Uint8Array | undefined,
): T {
  let step = steps.next()
  while (!step.done) {
    const asked = step.value
    step = steps.next(asked === undefined ? undefined : read(asked.segment, asked.part))
  }
  return step.value
}

/** Runs to the end, and pauses when the turn is up. */
export async function* runInTurns<T>(
  steps: Steps<T>,
  isUp: () => boolean,
  read: (part: number) => Promise<Uint8Array | undefined> = async () => undefined,
): Turns<T> {
  for (let step = steps.next(); ;) {
    if (step.done === true) return step.value
    if (isUp()) yield
    step = steps.next(step.value && (await read(step.value.part)))
  }
}
