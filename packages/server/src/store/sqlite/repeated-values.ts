// Finds receipts and idempotency keys that two entries of a workspace have. Eight bytes of each are
// sorted as numbers; whole values are compared only where these are there twice.

import type { DatabaseSync } from "node:sqlite"
import { packIdem, packReceipt } from "./packed-text.ts"
import { partReads } from "./part-tables.ts"
import { openStretch } from "./stretch-format.ts"

type What = "receipt" | "idem"
/** As the writer keeps it: bytes, or a text that has no such bytes. */
type Value = Uint8Array | string
type EachValue = (value: Value, sequence: number) => void

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
      valuesOf(number, what, (value) => ends.add(value, share, shares))
      ends.addTwice(twice)
    }
    return twice.size === 0 ? undefined : firstAgain(twice, (each) => valuesOf(number, what, each))
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
function valueReads(journal: DatabaseSync): (number: number, what: What, each: EachValue) => void {
  const stretches = partReads(journal, "stretches")
  // Somebody may have written as text what the service packs.
  const pack = { receipt: packReceipt, idem: packIdem }
  return (number, what, each) => {
    const add = (value: unknown, sequence: number): void => {
      const packed = typeof value === "string" ? pack[what](Buffer.from(value)) : value
      if (packed instanceof Uint8Array || typeof packed === "string") each(packed, sequence)
    }
    const rows = journal.prepare(
      `SELECT ${what}, sequence FROM entries WHERE workspace = ? AND ${what} IS NOT NULL`,
    )
    rows.setReturnArrays(true)
    // As the statement selects them.
    for (const row of rows.iterate(number) as unknown as Iterable<readonly [unknown, number]>)
      add(row[0], row[1])
    const all = { first: Number.MIN_SAFE_INTEGER, last: Number.MAX_SAFE_INTEGER }
    for (const span of stretches.over(number, all)) {
      const open = openStretch(stretches.bytes(number, span), span.end - span.first)
      for (let sequence = span.first; sequence < span.end; sequence++)
        add(open.packed[what](sequence - span.first), sequence)
    }
  }
}
