// Makes the index of keys and receipts again from the journal, and compares it.

import type { DatabaseSync } from "node:sqlite"
import type { Keyed, KeptIndex } from "../whole-ledger.ts"
import { versionOf } from "./database.ts"
import { bucketOf, entriesOf, makeRun, pieceChars, type Run } from "./key-runs.ts"
import type { journalReads } from "./reads.ts"

/** The first layout of the index whose buckets hold the ends of keys. */
const endsLayout = 4

export function runChecks(
  index: DatabaseSync,
  entries: Pick<ReturnType<typeof journalReads>, "place" | "places">,
): Pick<KeptIndex, "runs" | "keyed"> {
  const isFormer = versionOf(index) < endsLayout
  const runs = index.prepare("SELECT run FROM runs ORDER BY run")
  const kept = index.prepare(
    "SELECT lowest_receipt, highest_receipt, filter FROM runs WHERE run = ?",
  )
  const buckets = index.prepare(
    "SELECT bucket, keys, receipts FROM buckets WHERE run = ? ORDER BY bucket",
  )

  return {
    // The next start rebuilds runs of an older layout.
    runs: async () => (isFormer ? [] : runs.all().map((row) => Number(row["run"]))),
    async keyed(run) {
      const made = makeRun(run, entriesOf(entries, run))
      const { lowest_receipt: lowest, highest_receipt: highest, filter } = kept.get(run) ?? {}
      const ends = lowest === made.lowestReceipt && highest === made.highestReceipt
      const isFiltered = filter instanceof Uint8Array && Buffer.compare(filter, made.filter) === 0
      return { run, wrong: firstWrong(run, made), isWhole: ends && isFiltered }
    },
  }

  function firstWrong(run: number, made: Run): Keyed["wrong"] {
    const found = new Map(buckets.all(run).map((row) => [Number(row["bucket"]), row]))
    for (const what of ["keys", "receipts"] as const) {
      for (const [bucket, expected] of made[what].entries()) {
        const text = String(found.get(bucket)?.[what] ?? "")
        if (text === expected) continue
        const n = placeWhereUnlike(run, what, expected, text, bucket)
        const place = n === undefined ? undefined : entries.place(n)
        return { what, place: place && { workspace: place.workspace, sequence: place.sequence } }
      }
    }
    return undefined
  }

  /**
   * The number of the entry at whose piece the stored text of a bucket first differs from the
   * expected text.
   */
  function placeWhereUnlike(
    run: number,
    what: "keys" | "receipts",
    expected: string,
    found: string,
    bucket: number,
  ): number | undefined {
    let at = 0
    while (at < expected.length && expected[at] === found[at]) at++
    let start = 0
    for (const row of entriesOf(entries, run)) {
      const key = what === "keys" ? row.idem : row.receipt
      if (key === undefined || bucketOf(key) !== bucket) continue
      start += pieceChars
      if (at < start) return row.n
    }
    return undefined
  }
}
