// Makes stretches of entries. Before a stretch replaces rows, it is opened and compared with them.

import type { DatabaseSync } from "node:sqlite"
import { assert, equalBytes } from "@tallystick/proof"
import { disclosuresOf, idemOf, receiptOf } from "./packed-text.ts"
import { partWrites } from "./part-tables.ts"
import { openSealed, openStretch, packSealed, packStretch, type Sealed } from "./stretch-format.ts"

/** The columns of an entry that is not in a stretch yet. */
export interface Unpacked {
  readonly n: number
  readonly sequence: number
  readonly record: Uint8Array
  readonly receipt: unknown
  readonly idem: unknown
  readonly sealed: unknown
}

/** Makes the stretch of consecutive entries, and returns the function that writes it. */
export function stretchPuts(
  journal: DatabaseSync,
): (number: number, entries: readonly Unpacked[]) => () => void {
  const stretches = partWrites(journal, "stretches")
  const disclosures = partWrites(journal, "disclosures")
  const place = journal.prepare(
    "INSERT INTO places (n, workspace, sequence, count) VALUES (?, ?, ?, ?)",
  )
  return (number, entries) => {
    const count = entries.length
    const [first] = entries
    assert(first !== undefined, "a stretch has an entry")
    const stretch = packStretch(entries)
    const sealed = packSealed(entries.map((entry) => entry.sealed))
    expectSame(entries, stretch, sealed)
    return () => {
      stretches.put(number, first.sequence, count, stretch)
      disclosures.put(number, first.sequence, count, sealed)
      for (const run of runsOf(entries)) place.run(run.n, number, run.sequence, run.count)
    }
  }
}

/** Asserts that what was packed opens to the same values. */
function expectSame(entries: readonly Unpacked[], stretch: Uint8Array, sealed: Uint8Array): void {
  const open = openStretch(stretch, entries.length)
  const disclosures = sealed.length === 0 ? undefined : openSealed(sealed, entries.length)
  assert(typeof disclosures !== "string", "the disclosures are readable")
  for (const [place, entry] of entries.entries()) {
    const same: boolean =
      equalBytes(open.record(place), entry.record) &&
      open.receipt(place) === receiptOf(entry.receipt) &&
      open.idem(place) === idemOf(entry.idem) &&
      isSame(disclosures?.sealed(place) ?? null, entry.sealed)
    assert(same, `entry ${entry.sequence} is read from its stretch as from its row`)
  }
}

function isSame(packed: Sealed, sealed: unknown): boolean {
  return packed instanceof Uint8Array && sealed instanceof Uint8Array
    ? equalBytes(packed, sealed)
    : disclosuresOf(packed) === disclosuresOf(sealed)
}

/** Runs of entries with consecutive numbers. */
function runsOf(entries: readonly Unpacked[]) {
  const runs: { readonly n: number; readonly sequence: number; count: number }[] = []
  for (const { n, sequence } of entries) {
    const run = runs.at(-1)
    if (run !== undefined && run.n + run.count === n) run.count += 1
    else runs.push({ n, sequence, count: 1 })
  }
  return runs
}
