// Reads consecutive entries of a workspace: packed ones a stretch at a time, and the others many
// rows joined into one.

import type { DatabaseSync } from "node:sqlite"
import { bodyTag, concat, recordBytes } from "@tallystick/proof"
import { bytesOf, type Stored } from "../entries.ts"
import { withBodies, type LinkedRows } from "../linked-rows.ts"
import { bytes, atMost } from "./database.ts"
import { entriesPerRow, integersOf, rowReads, type Rows } from "./joined-entries.ts"
import type { FrameReads, Stretch, StretchReads } from "./stretch-reads.ts"

type Row = Readonly<Record<string, unknown>>

/**
 * A bound in bytes besides the number of entries: a thousand of the largest would be a quarter of a
 * gigabyte.
 */
const afterBytesMax = 8 * 1024 * 1024

/** Each of these reads sees one snapshot: see `momentOf`. */
export function consecutiveReads(
  journal: DatabaseSync,
  frames: FrameReads,
  stretches: StretchReads,
) {
  const rowsOf = rowReads(journal, frames)
  const linkedRows = linkedReads(journal, frames)
  const recordRows = recordReads(journal)
  return {
    after(workspace: string, number: number, after: number, limit: number): Stored[] {
      const entries: Stored[] = []
      let bytes = 0
      const take = (some: readonly Stored[]): void => {
        for (const entry of some) {
          if (bytes >= afterBytesMax) return
          entries.push(entry)
          bytes += bytesOf(entry)
        }
      }
      inOrder(stretches, number, after, limit, {
        packed: (...span) => take(stretches.entries(workspace, number, ...span)),
        rows(span) {
          const some = rowsOf({ workspace, number, ...span })
          take(some)
          return some.map(({ sequence }) => sequence)
        },
        isEnough: () => bytes >= afterBytesMax,
      })
      return entries
    },
    linked(number: number, sequence: number, limit: number): LinkedRows[] {
      const pieces: LinkedRows[] = []
      let bytes = 0
      const take = (rows: LinkedRows): readonly number[] => {
        if (rows.sequences.length > 0) pieces.push(rows)
        bytes += rows.bodies.length
        return rows.sequences
      }
      inOrder(stretches, number, sequence, limit, {
        packed: (...span) => void take(stretches.linked(number, ...span)),
        rows: (span) => take(linkedRows(number, span)),
        isEnough: () => bytes >= afterBytesMax,
      })
      return pieces
    },
    records(number: number, sequence: number, count: number): Uint8Array {
      const records: Uint8Array[] = []
      let [next, isWhole] = [sequence, true]
      const take = (some: Uint8Array): void => {
        records.push(some)
        next += some.length / recordBytes
      }
      inOrder(stretches, number, sequence - 1, count, {
        packed(stretch, from, end) {
          isWhole = from === next
          if (isWhole) take(stretches.records(stretch, from, end))
        },
        rows(span) {
          const from = next
          if (span.after + 1 === next) take(recordRows(number, span))
          return Array.from({ length: next - from }, (_, at) => from + at)
        },
        isEnough: () => !isWhole,
      })
      return records.length === 1 ? (records[0] ?? new Uint8Array()) : concat(...records)
    },
  }
}

/** Entries of a stretch, from one sequence up to another. */
type PackedSpan = readonly [stretch: Stretch, from: number, end: number]
/** Entries with rows. */
type RowSpan = Pick<Rows, "after" | "before" | "limit">

/**
 * Visits entries in order, packed ones a stretch at a time. `rows` reads entries that have rows,
 * and returns their sequences.
 */
function inOrder(
  stretches: StretchReads,
  number: number,
  after: number,
  limit: number,
  read: {
    packed(...span: PackedSpan): void
    rows(span: RowSpan): readonly number[]
    isEnough(): boolean
  },
): void {
  let [last, left] = [after, limit]
  while (left > 0 && !read.isEnough()) {
    const stretch = stretches.at(number, last + 1)
    if (stretch !== undefined) {
      const end = Math.min(stretch.end, last + 1 + left)
      read.packed(stretch, last + 1, end)
      left -= end - last - 1
      last = end - 1
      continue
    }
    const next = stretches.nextFirst(number, last + 1)
    const some = Math.min(left, entriesPerRow)
    const found = read.rows({ after: last, before: next ?? Number.MAX_SAFE_INTEGER, limit: some })
    left -= found.length
    if (found.length < some && next === undefined) return
    last = found.length < some ? (next ?? last) - 1 : (found.at(-1) ?? last)
  }
}

/**
 * Reads several entries joined into one row. Separate rows would cost as much as hashing the
 * entries.
 */
function linkedReads(
  journal: DatabaseSync,
  frames: FrameReads,
): (number: number, span: RowSpan) => LinkedRows {
  // The subquery orders the rows; a check of the chain would notice a wrong order. The separator is
  // the prefix that each value has when it is hashed.
  const joined = journal.prepare(
    `SELECT group_concat(sequence), CAST(x'00' || group_concat(record, x'00') AS BLOB),
            group_concat(ifnull(length(salted) + ${bodyTag.length}, 0)),
            CAST('${bodyTag}' || group_concat(salted, '${bodyTag}') AS BLOB)
     FROM (SELECT sequence, CASE length(record) WHEN ${recordBytes} THEN record ELSE zeroblob(${recordBytes}) END AS record, salted
           FROM entries WHERE workspace = ? AND sequence > ? AND sequence < ? ORDER BY sequence ${atMost})`,
  )
  joined.setReturnArrays(true)
  return (number, { after, before, limit }) => {
    // The columns of the statement. Without rows, they are null.
    const [sequences, leaves, lengths, bodies] = joined.get(
      number,
      after,
      before,
      limit,
    ) as unknown as readonly [string | null, Uint8Array | null, string | null, Uint8Array | null]
    return withBodies(frames(number), {
      sequences: integersOf(sequences),
      leaves: leaves ?? new Uint8Array(),
      lengths: integersOf(lengths),
      bodies: bodies ?? new Uint8Array(),
    })
  }
}

/** The records after a sequence, up to the first gap. */
function recordReads(journal: DatabaseSync): (number: number, span: RowSpan) => Uint8Array {
  const following = `SELECT sequence, record FROM entries WHERE workspace = ? AND sequence > ? AND sequence < ? ORDER BY sequence ${atMost}`
  const oneByOne = journal.prepare(following)
  // Separate rows would take four times as long.
  const joined = journal.prepare(
    `SELECT max(sequence) - count(*) + 1, sum(length(record) <> ${recordBytes}), CAST(group_concat(record, '') AS BLOB)
     FROM (${following})`,
  )
  joined.setReturnArrays(true)
  return (number, { after, before, limit }) => {
    const first = after + 1
    // The columns of the statement. Without rows, they are null.
    const [from, others, records] = joined.get(
      number,
      after,
      before,
      limit,
    ) as unknown as readonly [number | null, number | null, Uint8Array | null]
    if (records === null) return new Uint8Array()
    return from === first && others === 0
      ? records
      : joinRecords(oneByOne.all(number, after, before, limit), first)
  }
}

function joinRecords(rows: readonly Row[], first: number): Uint8Array {
  const joined = new Uint8Array(rows.length * recordBytes)
  for (const [place, row] of rows.entries()) {
    const record = bytes(row["record"])
    // A value of another length is no record.
    if (Number(row["sequence"]) !== first + place || record.length !== recordBytes)
      return joined.slice(0, place * recordBytes)
    joined.set(record, place * recordBytes)
  }
  return joined
}
