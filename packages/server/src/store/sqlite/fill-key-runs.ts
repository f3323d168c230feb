// Puts runs of entries into the index (key-runs.ts).

import type { DatabaseSync } from "node:sqlite"
import { within } from "./database.ts"
import type { journalReads } from "./reads.ts"
import { entriesOf, makeRun, runEntries } from "./key-runs.ts"

type Entries = Pick<ReturnType<typeof journalReads>, "places" | "lastN">

/** Fills the next run if all of its entries exist. Returns whether it did. */
export function fillRun(journal: Entries, index: DatabaseSync): boolean {
  const run = Number(index.prepare("SELECT count(*) AS runs FROM runs").get()?.["runs"] ?? 0)
  if (journal.lastN() < (run + 1) * runEntries) return false
  putRun(journal, index, run)
  return true
}

/** Makes a run of the entries that exist. */
export function putRun(journal: Pick<Entries, "places">, index: DatabaseSync, run: number): void {
  const made = makeRun(run, entriesOf(journal, run))
  const addBucket = index.prepare(
    "INSERT INTO buckets (run, bucket, keys, receipts) VALUES (?, ?, ?, ?)",
  )
  const addRun = index.prepare(
    "INSERT INTO runs (run, lowest_receipt, highest_receipt, filter) VALUES (?, ?, ?, ?)",
  )
  within(index, () => {
    for (const [bucket, keys] of made.keys.entries())
      addBucket.run(run, bucket, keys, made.receipts[bucket] ?? "")
    addRun.run(run, made.lowestReceipt, made.highestReceipt, made.filter)
  })
}
