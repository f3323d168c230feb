// The columns of a segment, with a row for every entry: when it occurred, when its ids were made,
// and the random bits of the ids.

import type { StreamPart } from "./key-stream.ts"
import type { Segment, Span, StreamName } from "./segment-format.ts"
import type { Steps } from "./segments.ts"

/** The random part of an id in the ledger's form: 26 digits of five bits. */
export const randomBytes = 17
export const idLength = 40
export const timeDigits = 10
const rowsPerPart = 4096

const absent = Number.NaN

type Columns = Pick<
  Record<StreamName, readonly StreamPart[]>,
  "occurred" | "nanos" | "made" | "ids" | "receipts"
>

/** Collects the columns. A column without values is absent. */
export class ColumnWriter {
  occurred: Float64Array
  nanos: Uint32Array
  made: Float64Array
  ids: Buffer
  receipts: Buffer
  /** How many entries have a value. */
  readonly #rows = { id: 0, receipt: 0 }

  constructor(entries: number) {
    this.occurred = new Float64Array(entries)
    this.nanos = new Uint32Array(entries)
    this.made = new Float64Array(entries).fill(absent)
    this.ids = Buffer.alloc(entries * randomBytes)
    this.receipts = Buffer.alloc(entries * randomBytes)
  }

  /** Puts an id without its prefix into its column; false if it has another form. */
  setId(entry: number, field: "id" | "receipt", from: Uint8Array, start: number): boolean {
    const rows = this.#rowsOf(field)
    const row = entry * randomBytes
    const time = readId(from, start, rows, row)
    const made = this.made[entry] ?? absent
    // Both are made at the same time. What is not has its place among the values.
    if (Number.isNaN(time) || (!Number.isNaN(made) && made !== time)) {
      rows.fill(0, row, row + randomBytes)
      return false
    }
    this.made[entry] = time
    this.#rows[field]++
    return true
  }

  /** Removes the entry's ids. */
  clearIds(entry: number, has: { readonly id: boolean; readonly receipt: boolean }): void {
    this.made[entry] = absent
    for (const field of ["id", "receipt"] as const) {
      if (!has[field]) continue
      this.#rows[field]--
      this.#rowsOf(field).fill(0, entry * randomBytes, (entry + 1) * randomBytes)
    }
  }

  #rowsOf(field: "id" | "receipt"): Buffer {
    return field === "id" ? this.ids : this.receipts
  }

  /** Copies the columns of another segment, from a row on. */
  *copy(segment: Segment, from: number): Steps<void> {
    this.occurred.set(yield* timesIn(segment, "occurred"), from)
    this.nanos.set(yield* numbersIn(segment, "nanos"), from)
    this.made.set(yield* timesIn(segment, "made"), from)
    for (const [field, column] of [
      ["id", "ids"],
      ["receipt", "receipts"],
    ] as const) {
      for (const place of segment.streams[column]) {
        this.#rows[field]++
        this.#rowsOf(field).set(yield* segment.raw(place), (from + place.first) * randomBytes)
      }
    }
  }

  finish(count: number): { readonly occurred: Span; readonly made: Span; readonly parts: Columns } {
    const occurred = spanOf(this.occurred, count)
    const made = spanOf(this.made, count)
    const parts: Columns = {
      occurred: planesOf((at) => placeIn(occurred, this.occurred[at]), count, widthOf(occurred)),
      nanos: planesOf(
        (at) => this.nanos[at] ?? 0,
        count,
        bytesFor(this.nanos.subarray(0, count).reduce((most, one) => Math.max(most, one), 0)),
      ),
      made: planesOf((at) => placeIn(made, this.made[at]), count, widthOf(made)),
      ids: this.#rows.id > 0 ? rowsOf(this.ids, count) : [],
      receipts: this.#rows.receipt > 0 ? rowsOf(this.receipts, count) : [],
    }
    return { occurred, made, parts }
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
function placeIn({ earliest }: Span, time = absent): number {
  return Number.isNaN(time) ? 0 : time - earliest + 1
}

function widthOf({ earliest, latest }: Span): number {
  return bytesFor(latest - earliest + 1)
}

function bytesFor(most: number): number {
  let bytes = 0
  for (let rest = most; rest >= 1; rest /= 256) bytes++
  return bytes
}

function planesOf(numberAt: (at: number) => number, count: number, width: number): StreamPart[] {
  return Array.from({ length: width }, (_, plane) => {
    const raw = new Uint8Array(count)
    const unit = 256 ** plane
    for (let at = 0; at < count; at++) raw[at] = Math.floor(numberAt(at) / unit) % 256
    return { first: plane, separator: new Uint8Array(), raw }
  })
}

function rowsOf(rows: Buffer, count: number): StreamPart[] {
  const parts: StreamPart[] = []
  for (let first = 0; first < count; first += rowsPerPart) {
    const end = Math.min(first + rowsPerPart, count)
    const raw = Buffer.from(rows.subarray(first * randomBytes, end * randomBytes))
    parts.push({ first, separator: new Uint8Array(), raw })
  }
  return parts
}

/** Milliseconds since 1970 of each entry; NaN if it has none. */
export function* timesIn(segment: Segment, column: "occurred" | "made"): Steps<Float64Array> {
  const { earliest } = segment.facts[column]
  const times = yield* numbersIn(segment, column)
  for (let at = 0; at < times.length; at++) {
    const place = times[at] ?? 0
    times[at] = place === 0 ? absent : earliest + place - 1
  }
  return times
}

export function* numbersIn(
  segment: Segment,
  column: "occurred" | "made" | "nanos",
): Steps<Float64Array> {
  const numbers = new Float64Array(segment.count)
  let unit = 1
  for (const place of segment.streams[column]) {
    const raw = yield* segment.raw(place)
    for (let at = 0; at < numbers.length; at++)
      numbers[at] = (numbers[at] ?? 0) + (raw[at] ?? 0) * unit
    unit *= 256
  }
  return numbers
}

/** The random bytes of an entry's id or receipt. The entry must have one in the column. */
export function* randomOf(
  segment: Segment,
  column: "ids" | "receipts",
  entry: number,
): Steps<Uint8Array> {
  const place = segment.streams[column][Math.floor(entry / rowsPerPart)]
  if (place === undefined) return new Uint8Array(randomBytes)
  const start = (entry % rowsPerPart) * randomBytes
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
