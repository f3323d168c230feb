// Finds receipts and idempotency keys that two entries of a workspace have. Eight bytes of each are
// sorted as numbers; whole values are compared only where these are there twice.

import type { DatabaseSync } from "node:sqlite"
import { atMost } from "./database.ts"
import { idemBytes, packIdem, packReceipt, receiptBytes } from "./packed-text.ts"
import { partReads } from "./part-tables.ts"
import { openStretch } from "./stretch-format.ts"

type What = "receipt" | "idem"
/** As the writer keeps it: bytes, or a text that has no such bytes. */
type Value = Uint8Array | string
type EachValue = (value: Value, sequence: number) => void
/** Whether the sequences of entries are read too. */
type Reading = "numbered" | "joined"

/** Rows that are read as one. */
const rowsPerRead = 1024
/** Values that are sorted at once, of eight bytes each. Of more, a share is looked at at a time. */
const sortedMax = 2 ** 22

/** The first entry that has the value of an entry before it. */
export function repeatedValues(
  journal: DatabaseSync,
  most = sortedMax,
): (number: number, what: What) => number | undefined {
  const valuesOf = valueReads(journal)
  const count = journal.prepare(
    `SELECT (SELECT count(*) FROM entries WHERE workspace = ?1)
       + (SELECT total(count) FROM stretches WHERE workspace = ?1 AND part = 0) AS count`,
  )
  return (number, what) => {
    const shares = Math.ceil(Number(count.get(number)?.["count"] ?? 0) / most)
    const twice = new Set<bigint>()
    for (let share = 0; share < shares; share++) {
      const ends = new Ends()
      valuesOf(number, what, "joined", (value) => ends.add(value, share, shares))
      ends.addTwice(twice)
    }
    return twice.size === 0
      ? undefined
      : firstAgain(twice, (each) => valuesOf(number, what, "numbered", each))
  }
}

function firstAgain(
  twice: ReadonlySet<bigint>,
  values: (each: EachValue) => void,
): number | undefined {
  const entries = new Map<string, number[]>()
  const end = new Ends()
  values((value, sequence) => {
    if (!twice.has(end.of(value))) return
    const known = typeof value === "string" ? `text ${value}` : Buffer.from(value).toString("hex")
    entries.set(known, [...(entries.get(known) ?? []), sequence])
  })
  const again = entries
    .values()
    .flatMap((sequences) => sequences.toSorted((a, b) => a - b).slice(1, 2))
  return again.reduce<number | undefined>((least, one) => Math.min(least ?? one, one), undefined)
}

/** The ends of values, which are random in the service's own. The last bits of a receipt are zero. */
class Ends {
  #halves = new Uint32Array(2048)
  #count = 0

  add(value: Value, share: number, shares: number): void {
    this.#put(value)
    if (shares > 1 && (this.#halves[this.#count * 2] ?? 0) % shares !== share) return
    if (++this.#count * 2 < this.#halves.length) return
    const larger = new Uint32Array(this.#halves.length * 2)
    larger.set(this.#halves)
    this.#halves = larger
  }

  of(value: Value): bigint {
    this.#put(value)
    return new BigUint64Array(this.#halves.buffer)[this.#count] ?? 0n
  }

  /** Adds what is there more than once. */
  addTwice(twice: Set<bigint>): void {
    const sorted = new BigUint64Array(this.#halves.buffer, 0, this.#count).sort()
    // Halves are compared, because each bigint is an object.
    const halves = this.#halves
    for (let at = 2; at < this.#count * 2; at += 2)
      if (halves[at] === halves[at - 2] && halves[at + 1] === halves[at - 1])
        twice.add(sorted[at / 2] ?? 0n)
  }

  #put(value: Value): void {
    const bytes = typeof value === "string" ? Buffer.from(value) : value
    const end = bytes.length - 1
    this.#halves[this.#count * 2] = fourAt(bytes, end - 4)
    this.#halves[this.#count * 2 + 1] = fourAt(bytes, end - 8)
  }
}

function fourAt(bytes: Uint8Array, from: number): number {
  let four = 0
  for (let at = from; at < from + 4; at++) four = (four << 8) | (at < 0 ? 0 : (bytes[at] ?? 0))
  return four
}

/** Visits all values of a workspace: those of rows, and those of stretches. */
function valueReads(
  journal: DatabaseSync,
): (number: number, what: What, reading: Reading, each: EachValue) => void {
  const stretches = partReads(journal, "stretches")
  const rowsOf = { receipt: rowReads(journal, "receipt"), idem: rowReads(journal, "idem") }
  // Somebody may have written as text what the service packs.
  const pack = { receipt: packReceipt, idem: packIdem }
  return (number, what, reading, each) => {
    const add = (value: unknown, sequence: number): void => {
      const packed = typeof value === "string" ? pack[what](Buffer.from(value)) : value
      if (packed instanceof Uint8Array || typeof packed === "string") each(packed, sequence)
    }
    rowsOf[what](number, reading, add)
    const all = { first: Number.MIN_SAFE_INTEGER, last: Number.MAX_SAFE_INTEGER }
    for (const span of stretches.over(number, all)) {
      const open = openStretch(stretches.bytes(number, span), span.end - span.first)
      for (let sequence = span.first; sequence < span.end; sequence++)
        add(open.packed[what](sequence - span.first), sequence)
    }
  }
}

/**
 * Visits the values of rows, joined where all have the service's form: a row for each costs most.
 * The sequence of a joined value is that of the last one.
 */
function rowReads(
  journal: DatabaseSync,
  what: What,
): (number: number, reading: Reading, each: (value: unknown, sequence: number) => void) => void {
  const bytes = { receipt: receiptBytes, idem: idemBytes }[what]
  const following = `SELECT ${what} AS value, sequence FROM entries
    WHERE workspace = ? AND sequence > ? AND value IS NOT NULL ORDER BY sequence ${atMost}`
  const oneByOne = journal.prepare(following)
  const joined = journal.prepare(
    `SELECT max(sequence), total(value < x'' OR length(value) <> ${bytes}),
       CAST(group_concat(value, '') AS BLOB) FROM (${following})`,
  )
  for (const statement of [oneByOne, joined]) statement.setReturnArrays(true)
  return (number, reading, each) => {
    for (let after = Number.MIN_SAFE_INTEGER; ;) {
      // The columns of the statements, in array mode.
      const [last, others, values] = joined.get(number, after, rowsPerRead) as unknown as Joined
      if (last === null || values === null) return
      if (reading === "joined" && others === 0)
        for (let at = 0; at < values.length; at += bytes)
          each(values.subarray(at, at + bytes), last)
      else
        for (const row of oneByOne.iterate(number, after, rowsPerRead))
          each(...(row as unknown as readonly [unknown, number]))
      after = last
    }
  }
}

/** Without rows, the first and the last are null. */
type Joined = readonly [last: number | null, others: number, values: Uint8Array | null]
