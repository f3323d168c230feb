// Finds entries by their number across all workspaces, both in rows and in stretches.

import type { DatabaseSync } from "node:sqlite"
import { atMost } from "./database.ts"
import { entriesPerRow, integersOf } from "./joined-entries.ts"
import { idemBytes, idemOf, receiptBytes, receiptOf } from "./packed-text.ts"
import { likelyCount, momentOf } from "./part-tables.ts"
import type { Stretch, StretchReads } from "./stretch-reads.ts"
import { workspaceIds } from "./workspace-numbers.ts"

export interface Place {
  readonly n: number
  /** Empty if the journal has no such workspace, which `fsck` finds. */
  readonly workspace: string
  readonly sequence: number
  readonly receipt: string
  readonly idem: string | undefined
}

/** Reads by the number of an entry across all workspaces. */
export function placeReads(journal: DatabaseSync, stretches: StretchReads) {
  const atOnce = momentOf(journal)
  const placeColumns = "n, workspace, sequence, receipt, idem FROM entries"
  const one = journal.prepare(`SELECT ${placeColumns} WHERE n = ?`)
  const lastN = journal.prepare("SELECT max(n) AS n FROM entries")
  const runColumns = "n, workspace, sequence, count FROM places"
  const runAt = journal.prepare(`SELECT ${runColumns} WHERE n <= ? ORDER BY n DESC LIMIT 1`)
  const nextRun = journal.prepare(`SELECT ${runColumns} WHERE n > ? ORDER BY n LIMIT 1`)
  for (const statement of [one, runAt, nextRun]) statement.setReturnArrays(true)
  const rowsOf = placeRows(journal)
  const knownId = workspaceIds(journal)
  const idOf = (number: number): string => knownId(number) ?? ""
  const placeOf = ([n, number, sequence, receipt, idem]: PlaceColumns): Place => ({
    n,
    workspace: idOf(number),
    sequence,
    receipt: receiptOf(receipt),
    idem: idemOf(idem),
  })
  const runOf = (row: unknown): Run | undefined => {
    // The columns of the statements, in array mode.
    const run = row as Run | undefined
    return run && [run[0], run[1], run[2], likelyCount(run[3])]
  }

  /** The entries of a run from this number on, without those that are in no stretch. */
  const packed = ([first, number, sequence]: Run, from: number, end: number): Place[] => {
    const found: Place[] = []
    let stretch: Stretch | undefined
    for (let n = from; n < end; n++) {
      const at = sequence + n - first
      if (stretch === undefined || at >= stretch.end) stretch = stretches.at(number, at)
      if (stretch === undefined) continue
      const { open, first: start } = stretch
      const [receipt, idem] = [open.receipt(at - start), open.idem(at - start)]
      found.push({ n, workspace: idOf(number), sequence: at, receipt, idem })
    }
    return found
  }
  /**
   * Some of the following entries, and the last number that was read. Undefined if there are none.
   */
  const following = (
    after: number,
    limit: number,
  ): { readonly places: Place[]; readonly last: number } | undefined => {
    const before = runOf(runAt.get(after + 1))
    const next = runOf(nextRun.get(after + 1))
    const isIn = before !== undefined && after + 1 < before[0] + before[3]
    const rows = isIn ? [] : rowsOf(after, next?.[0] ?? Number.MAX_SAFE_INTEGER, limit)
    const last = rows.at(-1)?.[0]
    if (last !== undefined) return { places: rows.map(placeOf), last }
    const run = isIn ? before : next
    if (run === undefined) return undefined
    const from = Math.max(run[0], after + 1)
    const end = Math.min(run[0] + run[3], from + limit)
    return { places: packed(run, from, end), last: end - 1 }
  }

  return {
    place: (n: number): Place | undefined =>
      atOnce(() => {
        const row = one.get(n)
        // The columns of the statement, in array mode.
        if (row !== undefined) return placeOf(row as unknown as PlaceColumns)
        const run = runOf(runAt.get(n))
        return run !== undefined && n < run[0] + run[3] ? packed(run, n, n + 1)[0] : undefined
      }),
    lastN: (): number => Number(lastN.get()?.["n"] ?? 0),
    *places(afterN: number, limit: number): Iterable<Place> {
      for (let [after, left] = [afterN, limit]; left > 0;) {
        const some = atOnce(() => following(after, Math.min(left, entriesPerRow)))
        if (some === undefined) return
        yield* some.places
        after = some.last
        left -= some.places.length
      }
    },
  }
}

/** Packed entries with consecutive numbers and consecutive sequences. */
type Run = readonly [n: number, workspace: number, sequence: number, count: number]

/** Entries with rows, between two numbers. */
function placeRows(
  journal: DatabaseSync,
): (after: number, before: number, limit: number) => readonly PlaceColumns[] {
  const following = `SELECT n, workspace, sequence, receipt, idem FROM entries WHERE n > ? AND n < ? ORDER BY n ${atMost}`
  const oneByOne = journal.prepare(following)
  // Joins values of fixed length, because separate rows cost more than processing them. An entry
  // whose receipt or key is text, as in an older version, counts as one of the `others`.
  const joined = journal.prepare(
    `SELECT total((receipt >= x'') IS NOT TRUE OR length(receipt) <> ${receiptBytes} OR idem < x'' OR length(idem) <> ${idemBytes}),
            group_concat(n), group_concat(workspace),
            group_concat(sequence), group_concat(idem IS NULL),
            CAST(group_concat(receipt, '') AS BLOB),
            CAST(group_concat(ifnull(idem, zeroblob(${idemBytes})), '') AS BLOB)
     FROM (${following})`,
  )
  for (const statement of [oneByOne, joined]) statement.setReturnArrays(true)
  return (after, before, limit) => {
    // The columns of the statements, in array mode.
    const [others, ns, workspaces, sequences, areKeyless, receipts, keys] = joined.get(
      after,
      before,
      limit,
    ) as unknown as JoinedPlaces
    if (ns === null) return []
    if (others > 0) return oneByOne.all(after, before, limit) as unknown as PlaceColumns[]
    const [workspace, sequence, isKeyless] = [workspaces, sequences, areKeyless].map(integersOf)
    return integersOf(ns).map((n, at): PlaceColumns => {
      const idem = isKeyless?.[at] === 1 ? null : part(keys, at, idemBytes)
      const receipt = part(receipts, at, receiptBytes)
      return [n, workspace?.[at] ?? 0, sequence?.[at] ?? 0, receipt, idem]
    })
  }
}

type PlaceColumns = readonly [
  n: number,
  workspace: number,
  sequence: number,
  receipt: unknown,
  idem: unknown,
]

/** Without entries, all values but the first are null. */
type JoinedPlaces = readonly [
  others: number,
  ns: string | null,
  workspaces: string,
  sequences: string,
  areKeyless: string,
  receipts: Uint8Array,
  keys: Uint8Array,
]

/** The part at this place, if all parts have this length. */
function part(bytes: Uint8Array, at: number, length: number): Uint8Array {
  return bytes.subarray(at * length, (at + 1) * length)
}
