// The columns of a segment, with a row for every entry: when it occurred, when its ids were made,
// and the random bits of the ids. They are in blocks of entries, each with times of its own, so
// that a search reads those of the times that it asks for, and a large segment has its parts from
// those that it was merged of.

import { assert } from "@tallystick/proof"
import type { StreamPart } from "./key-stream.ts"
import type { BlockTimes, Segment, SegmentFacts, Span } from "./segment-format.ts"
import type { Steps } from "./segments.ts"

/** The random part of an id in the ledger's form: 26 digits of five bits. */
export const randomBytes = 17
export const idLength = 40
export const timeDigits = 10
const rowsPerPart = 4096
export const usualBlockRows = 65_536
/** Planes of a block have items from `block * planesMax` on. */
const planesMax = 8

const absent = Number.NaN

type Column = "occurred" | "nanos" | "made" | "ids" | "receipts"

/** What a segment has of its columns. */
export type MadeColumns<P> = Pick<SegmentFacts, "blockRows" | "blocks"> & {
  readonly parts: Readonly<Record<Column, readonly P[]>>
}

const idColumns = ["ids", "receipts"] as const

/** The random bits of ids, a row for each entry. */
export class IdColumn {
  readonly rows: Buffer
  /** How many entries have one. */
  count = 0

  constructor(entries: number) {
    this.rows = Buffer.alloc(entries * randomBytes)
  }

  clear(entry: number): void {
    this.rows.fill(0, entry * randomBytes, (entry + 1) * randomBytes)
    this.count--
  }
}

/** Collects the columns of one block at most. A column without values is absent. */
export class ColumnWriter {
  occurred: Float64Array
  nanos: Uint32Array
  made: Float64Array
  readonly ids: IdColumn
  readonly receipts: IdColumn
  readonly #blockRows: number

  constructor(entries: number, blockRows: number) {
    assert(entries <= blockRows, "the columns of a larger segment are copied")
    this.#blockRows = blockRows
    this.occurred = new Float64Array(entries)
    this.nanos = new Uint32Array(entries)
    this.made = new Float64Array(entries).fill(absent)
    this.ids = new IdColumn(entries)
    this.receipts = new IdColumn(entries)
  }

  /** Puts an id without its prefix into its column; false if it has another form. */
  setId(entry: number, column: IdColumn, from: Uint8Array, start: number): boolean {
    const { rows } = column
    const row = entry * randomBytes
    const time = readId(from, start, rows, row)
    const made = this.made[entry] ?? absent
    // Both are made at the same time. What is not has its place among the values.
    if (Number.isNaN(time) || (!Number.isNaN(made) && made !== time)) {
      rows.fill(0, row, row + randomBytes)
      return false
    }
    this.made[entry] = time
    column.count++
    return true
  }

  /** Copies the columns of a block of another segment, from a row on. */
  *copy(segment: Segment, from: number, block = 0): Steps<void> {
    this.occurred.set(yield* timesIn(segment, "occurred", block), from)
    this.nanos.set(yield* numbersIn(segment, "nanos", block), from)
    this.made.set(yield* timesIn(segment, "made", block), from)
    const { blockRows } = segment.facts
    for (const name of idColumns) {
      const column = this[name]
      for (const place of segment.streams[name]) {
        const row = place.first - block * blockRows
        if (row < 0 || row >= blockRows) continue
        column.count++
        column.rows.set(yield* segment.raw(place), (from + row) * randomBytes)
      }
    }
  }

  /** Takes these rows from another one of as many entries. */
  replace(other: ColumnWriter, isReplaced: (row: number) => boolean): void {
    for (let row = 0; row < this.occurred.length; row++) {
      if (!isReplaced(row)) continue
      this.occurred[row] = other.occurred[row] ?? 0
      this.nanos[row] = other.nanos[row] ?? 0
      this.made[row] = other.made[row] ?? absent
      const [start, end] = [row * randomBytes, (row + 1) * randomBytes]
      for (const name of idColumns) other[name].rows.copy(this[name].rows, start, start, end)
    }
    // Random bits are not all zero.
    for (const name of idColumns)
      this[name].count = this[name].rows.some((byte) => byte !== 0) ? 1 : 0
  }

  *finish<P>(count: number, take: (part: StreamPart) => P): Steps<MadeColumns<P>> {
    const occurred = spanOf(this.occurred, count)
    const made = spanOf(this.made, count)
    const nanos = this.nanos.subarray(0, count)
    const nanosMax = nanos.reduce((most, one) => Math.max(most, one), 0)
    const parts = {
      occurred: yield* takenOf(
        planesOf(placesIn(occurred, this.occurred, count), widthOf(occurred)),
        take,
      ),
      nanos: yield* takenOf(planesOf(nanos, bytesFor(nanosMax)), take),
      made: yield* takenOf(planesOf(placesIn(made, this.made, count), widthOf(made)), take),
      ids: yield* takenOf(rowsOf(this.ids, count), take),
      receipts: yield* takenOf(rowsOf(this.receipts, count), take),
    }
    return { blockRows: this.#blockRows, blocks: [{ occurred, made }], parts }
  }
}

/** The columns of a segment; in some places those of another one of the same entries. */
export function* replaceRows<P>(
  segment: Segment,
  other: Segment,
  isReplaced: (entry: number) => boolean,
  take: (part: StreamPart) => P,
): Steps<MadeColumns<P>> {
  const { blockRows } = segment.facts
  const made: MadeColumns<StreamPart>[] = []
  for (const { block, from, end } of blocksOf(segment)) {
    const columns = new ColumnWriter(end - from, blockRows)
    const others = new ColumnWriter(end - from, blockRows)
    yield* columns.copy(segment, 0, block)
    yield* others.copy(other, 0, block)
    columns.replace(others, (row) => isReplaced(from + row))
    made.push(yield* columns.finish(end - from, (part) => part))
  }
  return joinBlocks(made, take)
}

/** The columns of blocks that were made one by one. */
export function joinBlocks<Q extends { readonly first: number }, P>(
  made: readonly MadeColumns<Q>[],
  take: (part: Q) => P,
): MadeColumns<P> {
  const blockRows = made[0]?.blockRows ?? usualBlockRows
  const all = (column: Column): readonly P[] =>
    made.flatMap(({ parts }, block) =>
      parts[column].map((part) =>
        take({ ...part, first: part.first + block * unitOf(column, blockRows) }),
      ),
    )
  const [occurred, nanos, times] = [all("occurred"), all("nanos"), all("made")]
  const parts = { occurred, nanos, made: times, ids: all("ids"), receipts: all("receipts") }
  return { blockRows, blocks: made.flatMap(({ blocks }) => blocks), parts }
}

/** How far the numbers of a column's parts go on from block to block. */
function unitOf(column: Column, blockRows: number): number {
  return column === "ids" || column === "receipts" ? blockRows : planesMax
}

/** The columns of segments of whole blocks, end to end. */
export function* copyBlocks<P>(
  segments: readonly Segment[],
  first: number,
  blockRows: number,
  take: (part: StreamPart) => P,
): Steps<MadeColumns<P>> {
  const parts: Record<Column, P[]> = { occurred: [], nanos: [], made: [], ids: [], receipts: [] }
  for (const column of ["occurred", "nanos", "made", "ids", "receipts"] as const)
    for (const segment of segments) {
      const rows = segment.first - first
      assert(segment.facts.blockRows === blockRows, "segments have blocks of one size")
      assert(rows % blockRows === 0, "a block belongs to one segment")
      const more = (rows / blockRows) * unitOf(column, blockRows)
      for (const place of segment.streams[column]) {
        const raw = yield* segment.raw(place)
        parts[column].push(take({ first: place.first + more, separator: new Uint8Array(), raw }))
      }
    }
  return { blockRows, blocks: segments.flatMap(({ facts }) => facts.blocks), parts }
}

/** The blocks of a segment: their times, and which entries they have. */
export function* blocksOf({
  count,
  facts: { blockRows, blocks },
}: Segment): Generator<
  BlockTimes & { readonly block: number; readonly from: number; readonly end: number }
> {
  for (const [block, times] of blocks.entries())
    yield {
      block,
      ...times,
      from: block * blockRows,
      end: Math.min((block + 1) * blockRows, count),
    }
}

function spanOf(times: Float64Array, count: number): Span {
  let [earliest, latest] = [Infinity, -Infinity]
  for (let at = 0; at < count; at++) {
    const time = times[at] ?? absent
    if (time < earliest) earliest = time
    if (time > latest) latest = time
  }
  return latest < earliest ? { earliest: 0, latest: -1 } : { earliest, latest }
}

/** Counted from 1: 0 means absent. */
function placesIn({ earliest }: Span, times: Float64Array, count: number): Float64Array {
  const places = new Float64Array(count)
  for (let at = 0; at < count; at++) {
    const time = times[at] ?? absent
    places[at] = Number.isNaN(time) ? 0 : time - earliest + 1
  }
  return places
}

function widthOf({ earliest, latest }: Span): number {
  return bytesFor(latest - earliest + 1)
}

function bytesFor(most: number): number {
  let bytes = 0
  for (let rest = most; rest >= 1; rest /= 256) bytes++
  return bytes
}

/** A part in a step. */
function* takenOf<P>(parts: Iterable<StreamPart>, take: (part: StreamPart) => P): Steps<P[]> {
  const taken: P[] = []
  for (const part of parts) {
    taken.push(take(part))
    yield
  }
  return taken
}

function* planesOf(numbers: Float64Array | Uint32Array, width: number): Generator<StreamPart> {
  for (let plane = 0; plane < width; plane++) {
    const raw = new Uint8Array(numbers.length)
    const unit = 256 ** plane
    for (let at = 0; at < raw.length; at++) raw[at] = Math.floor((numbers[at] ?? 0) / unit) & 0xff
    yield { first: plane, separator: new Uint8Array(), raw }
  }
}

function* rowsOf(column: IdColumn, entries: number): Generator<StreamPart> {
  const { rows } = column
  const count = column.count > 0 ? entries : 0
  for (let first = 0; first < count; first += rowsPerPart) {
    const end = Math.min(first + rowsPerPart, count)
    const raw = Buffer.from(rows.subarray(first * randomBytes, end * randomBytes))
    yield { first, separator: new Uint8Array(), raw }
  }
}

/** Milliseconds since 1970 of each entry of a block; NaN if it has none. */
export function* timesIn(
  segment: Segment,
  column: "occurred" | "made",
  block: number,
): Steps<Float64Array> {
  const earliest = segment.facts.blocks[block]?.[column].earliest ?? 0
  const times = yield* numbersIn(segment, column, block)
  for (let at = 0; at < times.length; at++) {
    const place = times[at] ?? 0
    times[at] = place === 0 ? absent : earliest + place - 1
  }
  return times
}

export function* numbersIn(
  segment: Segment,
  column: "occurred" | "made" | "nanos",
  block: number,
): Steps<Float64Array> {
  const { blockRows } = segment.facts
  const numbers = new Float64Array(Math.min(blockRows, segment.count - block * blockRows))
  for (const place of segment.streams[column]) {
    if (Math.floor(place.first / planesMax) !== block) continue
    const unit = 256 ** (place.first % planesMax)
    const raw = yield* segment.raw(place)
    for (let at = 0; at < numbers.length; at++)
      numbers[at] = (numbers[at] ?? 0) + (raw[at] ?? 0) * unit
  }
  return numbers
}

/** The random bytes of an entry's id or receipt. The entry must have one in the column. */
export function* randomOf(
  segment: Segment,
  column: "ids" | "receipts",
  entry: number,
): Steps<Uint8Array> {
  // Blocks begin new parts, and those of a block without ids are absent.
  const place = segment.streams[column].findLast(({ first }) => first <= entry)
  if (place === undefined) return new Uint8Array(randomBytes)
  const start = (entry - place.first) * randomBytes
  return (yield* segment.raw(place)).subarray(start, start + randomBytes)
}

export const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const digitOf = new Int8Array(256).fill(-1)
for (let value = 0; value < digits.length; value++) digitOf[digits.charCodeAt(value)] = value

/**
 * The time of an id in the ledger's form, from behind its prefix, and its random bits into a row;
 * NaN if it has another form.
 */
function readId(from: Uint8Array, start: number, row: Uint8Array, rowAt: number): number {
  let time = 0
  for (let at = start; at < start + timeDigits; at++) {
    const digit = digitOf[from[at] ?? 0] ?? -1
    if (digit < 0) return absent
    time = time * 32 + digit
  }
  return readRandom(from, start + timeDigits, start + idLength - 4, row, rowAt) ? time : absent
}

/** Packs digits of five bits; false if a character is not a digit. */
export function readRandom(
  from: Uint8Array,
  start: number,
  end: number,
  row: Uint8Array,
  rowAt: number,
): boolean {
  let bits = 0
  let held = 0
  let place = rowAt
  for (let at = start; at < end; at++) {
    const digit = digitOf[from[at] ?? 0] ?? -1
    if (digit < 0) return false
    bits = ((bits << 5) | digit) & 0xffff
    held += 5
    if (held < 8) continue
    held -= 8
    row[place++] = bits >>> held
  }
  if (held > 0) row[place] = bits << (8 - held)
  return true
}
