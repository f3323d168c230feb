// Makes the index of keys and receipts again from the journal, and compares it.

import type { DatabaseSync } from "node:sqlite"
import type { Keyed, KeptIndex } from "../whole-ledger.ts"
import { versionOf } from "./database.ts"
import { bucketOf, entriesOf, makeRun, pieceChars, runOf, type Run } from "./key-runs.ts"
import type { journalReads } from "./reads.ts"
import { repeatedInRuns, type AllRuns } from "./repeated-in-runs.ts"

/** The first layout of the index whose buckets hold the ends of keys. */
const endsLayout = 4
/** Runs that the index lacks are held in memory, two megabytes each. Mostly one is not complete. */
const restRunsMax = 4

export function runChecks(
  index: DatabaseSync,
  entries: Pick<ReturnType<typeof journalReads>, "place" | "places" | "lastN">,
): Pick<KeptIndex, "runs" | "keyed" | "repeated"> {
  const isFormer = versionOf(index) < endsLayout
  const runs = index.prepare("SELECT run FROM runs ORDER BY run")
  const kept = index.prepare(
    "SELECT lowest_receipt, highest_receipt, filter FROM runs WHERE run = ?",
  )
  const buckets = index.prepare(
    "SELECT bucket, keys, receipts FROM buckets WHERE run = ? ORDER BY bucket",
  )
  const texts = { keys: bucketReads(index, "keys"), receipts: bucketReads(index, "receipts") }

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
    async repeated() {
      const all = allRuns()
      return all && repeatedInRuns(all)
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

  /** The runs of the index, and those of the entries after them. Undefined if these are too many. */
  function allRuns(): AllRuns | undefined {
    const known = runs.all().length
    const last = runOf(entries.lastN())
    if (last >= known + restRunsMax) return undefined
    const rest: Run[] = []
    for (let run = known; run <= last; run++) rest.push(makeRun(run, entriesOf(entries, run)))
    return {
      texts: (of, bucket) => [...texts[of](bucket), ...rest.map((run) => run[of][bucket] ?? "")],
      placeOf: (n) => entries.place(n),
    }
  }
}

/** Reads a bucket of each run, in order. */
function bucketReads(index: DatabaseSync, of: "keys" | "receipts"): (bucket: number) => string[] {
  const texts = index.prepare(
    `SELECT ${of} AS text FROM runs LEFT JOIN buckets ON buckets.run = runs.run AND bucket = ? ORDER BY runs.run`,
  )
  return (bucket) => texts.all(bucket).map(({ text }) => String(text ?? ""))
}
