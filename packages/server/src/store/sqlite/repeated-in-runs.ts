// Finds receipts and idempotency keys that two entries of a workspace have, by the index of keys
// (key-runs.ts): names that are equal have the same end, in the same bucket. So no name is read but
// the few whose ends are there twice.

import type { RepeatedName } from "../whole-ledger.ts"
import { buckets, entryAt, pieceChars } from "./key-runs.ts"
import type { Place } from "./place-reads.ts"

/** The last characters of a name that are compared first: as one number they are exact. */
const comparedChars = 8
/** The end of a name has ten characters. */
const comparedAt = 2

/** The index of keys. */
export interface AllRuns {
  /** A bucket of each run, beginning with the first. */
  readonly texts: (of: "keys" | "receipts", bucket: number) => readonly string[]
  readonly placeOf: (n: number) => Place | undefined
}

/** Of each workspace the first entries with the receipt, and with the key, of an entry before. */
export function repeatedInRuns({ texts, placeOf }: AllRuns): readonly RepeatedName[] {
  const first = new Map<string, RepeatedName>()
  for (const [of, what] of [
    ["receipts", "receipt"],
    ["keys", "idem"],
  ] as const)
    for (let bucket = 0; bucket < buckets; bucket++)
      for (const alike of entriesAlike(texts(of, bucket)))
        for (const found of repeatedAmong(what, alike, placeOf)) {
          const kind = `${what} ${found.workspace}`
          if (found.sequence < (first.get(kind)?.sequence ?? Infinity)) first.set(kind, found)
        }
  return [...first.values()]
}

/** The numbers of entries whose names have the same end. */
function entriesAlike(texts: readonly string[]): Iterable<readonly number[]> {
  const ends = new Float64Array(texts.reduce((sum, { length }) => sum + length, 0) / pieceChars)
  let count = 0
  for (const text of texts)
    for (let at = 0; at < text.length; at += pieceChars) ends[count++] = endAt(text, at)
  ends.sort()
  const twice = new Set(ends.filter((end, at) => at > 0 && end === ends[at - 1]))
  const alike = new Map<number, number[]>()
  if (twice.size === 0) return alike.values()
  for (const [run, text] of texts.entries())
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
  placeOf: AllRuns["placeOf"],
): readonly RepeatedName[] {
  const places = alike.flatMap((n) => placeOf(n) ?? [])
  return [...Map.groupBy(places, (place) => `${place.workspace} ${place[what]}`).values()].flatMap(
    (same) => {
      const [, again] = same.toSorted((one, other) => one.sequence - other.sequence)
      return again === undefined
        ? []
        : [{ workspace: again.workspace, what, sequence: again.sequence }]
    },
  )
}
