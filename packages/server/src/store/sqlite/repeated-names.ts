// Finds receipts and idempotency keys that two entries of a workspace have, by the index of keys
// (key-runs.ts): names that are equal have the same end, in the same bucket. So no name is read but
// the few whose ends are there twice.

import type { DatabaseSync } from "node:sqlite"
import type { RepeatedName } from "../whole-ledger.ts"
import { openTemporary } from "./database.ts"
import { putRun } from "./fill-key-runs.ts"
import { buckets, entryAt, pieceChars, runEntries, runOf } from "./key-runs.ts"
import type { journalReads } from "./reads.ts"

/** The last characters of a name that are compared first: as one number they are exact. */
const comparedChars = 8
/** The end of a name has ten characters. */
const comparedAt = 2

type Entries = Pick<ReturnType<typeof journalReads>, "place" | "places">

/** The text of a bucket, and the run that it is of. */
type BucketOfRun = readonly [run: number, text: string]

/**
 * Of each workspace the first entries with the receipt, and with the key, of an entry before. What
 * the index lacks is put into a temporary one.
 */
export function repeatedNames(entries: Entries, index?: DatabaseSync): readonly RepeatedName[] {
  using rest = openTemporary("index")
  const next = index?.prepare("SELECT count(*) AS runs FROM runs").get()?.["runs"]
  for (let run = Number(next ?? 0); ; run++) {
    const [following] = entries.places(run * runEntries, 1)
    if (following === undefined) break
    run = runOf(following.n)
    putRun(entries, rest, run)
  }
  const first = new Map<string, RepeatedName>()
  for (const [of, what] of [
    ["receipts", "receipt"],
    ["keys", "idem"],
  ] as const) {
    const reads = [index, rest].flatMap((one) => (one === undefined ? [] : bucketReads(one, of)))
    for (let bucket = 0; bucket < buckets; bucket++)
      for (const alike of entriesAlike(reads.flatMap((read) => read(bucket))))
        for (const found of repeatedAmong(what, alike, entries)) {
          const kind = `${what} ${found.workspace}`
          if (found.sequence < (first.get(kind)?.sequence ?? Infinity)) first.set(kind, found)
        }
  }
  return [...first.values()]
}

/** Reads a bucket of each run. A CROSS JOIN begins with the runs; else SQLite reads all buckets. */
function bucketReads(
  index: DatabaseSync,
  of: "keys" | "receipts",
): (bucket: number) => readonly BucketOfRun[] {
  const texts = index.prepare(
    `SELECT runs.run, ${of} AS text FROM runs CROSS JOIN buckets ON buckets.run = runs.run AND bucket = ?`,
  )
  return (bucket) => texts.all(bucket).map(({ run, text }) => [Number(run), String(text)])
}

/** The numbers of entries whose names have the same end. */
function entriesAlike(texts: readonly BucketOfRun[]): Iterable<readonly number[]> {
  const ends = new Float64Array(texts.reduce((sum, [, { length }]) => sum + length, 0) / pieceChars)
  let count = 0
  for (const [, text] of texts)
    for (let at = 0; at < text.length; at += pieceChars) ends[count++] = endAt(text, at)
  ends.sort()
  const twice = new Set(ends.filter((end, at) => at > 0 && end === ends[at - 1]))
  const alike = new Map<number, number[]>()
  if (twice.size === 0) return alike.values()
  for (const [run, text] of texts)
    for (let at = 0; at < text.length; at += pieceChars) {
      const end = endAt(text, at)
      if (twice.has(end)) alike.set(end, [...(alike.get(end) ?? []), entryAt(run, text, at)])
    }
  return alike.values()
}

/** Six bits of each character: letters, digits of base 32 among them, differ in these. */
function endAt(text: string, piece: number): number {
  let end = 0
  for (let at = piece + comparedAt; at < piece + comparedAt + comparedChars; at++)
    end = end * 64 + (text.charCodeAt(at) & 63)
  return end
}

function repeatedAmong(
  what: RepeatedName["what"],
  alike: readonly number[],
  { place }: Pick<Entries, "place">,
): readonly RepeatedName[] {
  const places = alike.flatMap((n) => place(n) ?? [])
  return [...Map.groupBy(places, (one) => `${one.workspace} ${one[what]}`).values()].flatMap(
    (same) => {
      const [, again] = same.toSorted((one, other) => one.sequence - other.sequence)
      return again === undefined
        ? []
        : [{ workspace: again.workspace, what, sequence: again.sequence }]
    },
  )
}
