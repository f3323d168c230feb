// Destroys bodies and disclosures of entries, both in rows and packed. A frame, or the disclosures
// of a stretch, are rewritten without the destroyed ones.

import type { DatabaseSync } from "node:sqlite"
import { equalBytes, type SequenceRange } from "@tallystick/proof"
import { isLess, type Remaining } from "../content-keeper.ts"
import { isWithin } from "../destroyed.ts"
import { frameWithout } from "../stretch.ts"
import { bytes } from "./database.ts"
import { disclosuresOf, packDisclosures } from "./packed-text.ts"
import { partReads, partWrites, type PartWrites, type Span } from "./part-tables.ts"
import { openSealed, openStretch, sealedWith, type Sealed } from "./stretch-format.ts"

/**
 * The cost of one step, about a millisecond, because it does not wait for the disk. Rewriting a
 * byte string costs twice as much as removing it, and each costs as much as several rows.
 */
const costPerStep = 128
const costOfWrite = 2
const costOfStretch = 4 * costOfWrite

/** All data is prepared before the step, so that the database is locked only during the writes. */
export interface Step {
  readonly writes: readonly (() => void)[]
  /** The last sequence of this step. */
  readonly last: number
}

export type PackedEntries = ReturnType<typeof packedEntries>

export function packedEntries(journal: DatabaseSync) {
  const stretches = partReads(journal, "stretches")
  const disclosures = partReads(journal, "disclosures")
  const row = journal.prepare("SELECT record FROM entries WHERE workspace = ? AND sequence = ?")
  return {
    stretches,
    disclosures,
    frames: partReads(journal, "frames"),
    records: (number: number, { first, last }: SequenceRange) => {
      const found: { readonly sequence: number; readonly record: Uint8Array }[] = []
      for (let sequence = first; sequence <= last; sequence++) {
        const span = stretches.at(number, sequence)
        const record = row.get(number, sequence)?.["record"]
        if (span === undefined) {
          if (record !== undefined) found.push({ sequence, record: bytes(record) })
          continue
        }
        const open = openStretch(stretches.bytes(number, span), span.end - span.first)
        for (; sequence < span.end && sequence <= last; sequence++)
          found.push({ sequence, record: open.record(sequence - span.first) })
        sequence -= 1
      }
      return found
    },
  }
}

export function bodyDestroying(
  journal: DatabaseSync,
  packed: PackedEntries,
): (number: number, ranges: readonly SequenceRange[]) => Step {
  const { stretches } = packed
  const emptied = emptying(journal, packed)
  const emptyRows = journal.prepare(
    "UPDATE entries SET salted = NULL, sealed = NULL WHERE workspace = ? AND sequence BETWEEN ? AND ?",
  )
  return (number, ranges) => {
    const isGone = isWithin(ranges)
    const writes: (() => void)[] = []
    let [left, done] = [costPerStep, -Infinity]
    for (const range of ranges)
      for (let first: number; (first = Math.max(range.first, done + 1)) <= range.last;) {
        if (left <= 0) return { writes, last: first - 1 }
        const span = stretches.at(number, first)
        if (span !== undefined) {
          const some = emptied(number, span, isGone)
          writes.push(...some)
          done = span.end - 1
          left -= Math.max(1, costOfWrite * some.length)
          continue
        }
        const next = stretches.next(number, first)?.first ?? Infinity
        const last = Math.min(range.last, next - 1, first + left - 1)
        writes.push(() => emptyRows.run(number, first, last))
        left -= last - first + 1
        done = last
      }
    return { writes, last: ranges.at(-1)?.last ?? 0 }
  }
}

/** Destroys the bodies and disclosures of these entries of a stretch. */
function emptying(
  journal: DatabaseSync,
  { frames, disclosures, records: recordsOf }: PackedEntries,
): (number: number, span: Span, isGone: (sequence: number) => boolean) => Step["writes"] {
  const frameWrites = partWrites(journal, "frames")
  const disclosureWrites = partWrites(journal, "disclosures")
  return (number, span, isGone) => {
    const writes: (() => void)[] = []
    const goneIn = ({ first, end }: Span): number[] =>
      Array.from({ length: end - first }, (_, place) => place).filter((at) => isGone(first + at))
    const range = { first: span.first, last: span.end - 1 }
    for (const one of frames.over(number, range)) {
      const [{ first, end }, count] = [one, one.end - one.first]
      if (goneIn(one).length === count) writes.push(() => frameWrites.remove(number, first))
      else {
        const frame = { first, count, bytes: frames.bytes(number, one) }
        const records = recordsOf(number, { first, last: end - 1 })
        const made = frameWithout(frame, records, isGone).bytes
        writes.push(...replaced(frameWrites, number, one, frame.bytes, made))
      }
    }
    for (const one of disclosures.over(number, range)) {
      const [gone, count] = [goneIn(one), one.end - one.first]
      if (gone.length === count) writes.push(() => disclosureWrites.remove(number, one.first))
      else {
        const before = disclosures.bytes(number, one)
        const others = new Map(gone.map((place) => [place, null]))
        const made = sealedWith(openSealed(before, count), count, others)
        writes.push(...replaced(disclosureWrites, number, one, before, made))
      }
    }
    return writes
  }
}

/** Rewrites it, or removes it if nothing remains. Does nothing if nothing changes. */
function replaced(
  writes: PartWrites,
  number: number,
  { first, end }: Span,
  before: Uint8Array,
  made: Uint8Array,
): Step["writes"] {
  if (equalBytes(before, made)) return []
  return [() => writes.remove(number, first), () => writes.put(number, first, end - first, made)]
}

export function disclosureDestroying(
  journal: DatabaseSync,
  { stretches, disclosures }: PackedEntries,
): (number: number, remaining: readonly Remaining[]) => Step {
  const rowOf = journal.prepare("SELECT sealed FROM entries WHERE workspace = ? AND sequence = ?")
  const keepInRow = journal.prepare(
    "UPDATE entries SET sealed = ? WHERE workspace = ? AND sequence = ?",
  )
  const disclosureWrites = partWrites(journal, "disclosures")

  /** The disclosures of a stretch, with only the remaining ones at these places. */
  const inStretch = (number: number, span: Span, changed: ReadonlyMap<number, Sealed>) => {
    const there = disclosures.at(number, span.first)
    const before = there === undefined ? new Uint8Array() : disclosures.bytes(number, span)
    const count = span.end - span.first
    const opened = openSealed(before, count)
    const less = new Map<number, Sealed>()
    for (const [place, sealed] of changed) {
      const all = disclosuresOf(typeof opened === "string" ? null : opened.sealed(place))
      if (isLess(all, disclosuresOf(sealed))) less.set(place, sealed)
    }
    return less.size > 0
      ? replaced(disclosureWrites, number, span, before, sealedWith(opened, count, less))
      : []
  }

  return (number, remaining) => {
    const writes: (() => void)[] = []
    const anew = new Map<number, { span: Span; changed: Map<number, Sealed> }>()
    let [left, last] = [costPerStep, 0]
    for (const { sequence, disclosures: some } of remaining) {
      if (left <= 0) break
      last = sequence
      // A copy, because packed bytes are valid only until the next call.
      const made = packDisclosures(Buffer.from(some, "latin1"))
      const sealed = made instanceof Uint8Array ? Uint8Array.from(made) : made
      const span = stretches.at(number, sequence)
      if (span === undefined) {
        const before = rowOf.get(number, sequence)?.["sealed"]
        if (isLess(disclosuresOf(before), some))
          writes.push(() => keepInRow.run(sealed, number, sequence))
        left -= 1
        continue
      }
      const known = anew.get(span.first)
      if (known === undefined) left -= costOfStretch
      const { changed } = known ?? { changed: new Map<number, Sealed>() }
      anew.set(span.first, { span, changed: changed.set(sequence - span.first, sealed) })
    }
    for (const { span, changed } of anew.values()) writes.push(...inStretch(number, span, changed))
    return { writes, last }
  }
}
