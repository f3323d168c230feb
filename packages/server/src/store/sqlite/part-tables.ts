// Stores byte strings of consecutive entries in parts: as one row each they would leave much of
// each page empty. Frames, stretches and their disclosures are stored in this way.

import type { DatabaseSync } from "node:sqlite"
import type { SequenceRange } from "@tallystick/proof"
import { frameEntries } from "../body-frame.ts"
import { stretchPartBytes } from "./stretch-format.ts"

export type PartTable = "stretches" | "disclosures" | "frames"

/** The entries of one byte string. */
export interface Span {
  /** A rewritten byte string gets another version, so readers notice that theirs is out of date. */
  readonly version: number
  readonly first: number
  /** The sequence after the last. */
  readonly end: number
}

/** `number` is that of a workspace. */
export function partReads(journal: DatabaseSync, table: PartTable) {
  const at = journal.prepare(
    `SELECT number, first, count FROM ${table}
     WHERE workspace = ? AND first <= ? AND part = 0 ORDER BY first DESC LIMIT 1`,
  )
  const next = journal.prepare(
    `SELECT number, first, count FROM ${table}
     WHERE workspace = ? AND first > ? AND part = 0 ORDER BY first LIMIT 1`,
  )
  const parts = journal.prepare(
    `SELECT CAST(group_concat(bytes, '') AS BLOB)
     FROM (SELECT bytes FROM ${table} WHERE workspace = ? AND first = ? ORDER BY part)`,
  )
  // One statement instead of two for an entry that is read alone.
  const atWithBytes = journal.prepare(
    `SELECT number, first, count, CASE WHEN first + max(count, 1) > ?2 THEN (
       SELECT CAST(group_concat(bytes, '') AS BLOB)
       FROM (SELECT bytes FROM ${table} WHERE workspace = ?1 AND first = one.first ORDER BY part)
     ) END
     FROM ${table} AS one
     WHERE workspace = ?1 AND first <= ?2 AND part = 0 ORDER BY first DESC LIMIT 1`,
  )
  for (const statement of [at, next, parts, atWithBytes]) statement.setReturnArrays(true)
  const reads = {
    at(number: number, sequence: number): Span | undefined {
      const span = spanOf(at.get(number, sequence))
      return span !== undefined && sequence < span.end ? span : undefined
    },
    next: (number: number, sequence: number): Span | undefined =>
      spanOf(next.get(number, sequence)),
    bytes(number: number, { first }: Pick<Span, "first">): Uint8Array {
      // The column of the statement. Null without a row.
      const [bytes] = parts.get(number, first) as unknown as readonly [Uint8Array | null]
      return bytes ?? new Uint8Array()
    },
    /**
     * Returns what `make` returns for the bytes. Their memory is freed at once: in a thread with a
     * small heap, twenty megabytes of such buffers would trigger a full garbage collection.
     */
    made: <T>(number: number, span: Pick<Span, "first">, make: (bytes: Uint8Array) => T): T =>
      madeOf(reads.bytes(number, span), make),
    /** The same for the span that contains this entry. Undefined if there is none. */
    madeAt<T>(
      number: number,
      sequence: number,
      make: (bytes: Uint8Array, span: Span) => T,
    ): T | undefined {
      const row = atWithBytes.get(number, sequence)
      const span = spanOf(row)
      if (span === undefined || sequence >= span.end) return undefined
      // The columns of the statement, in array mode.
      const bytes = (row as unknown as readonly (Uint8Array | null)[])[3] ?? new Uint8Array()
      return madeOf(bytes, (given) => make(given, span))
    },
    /** The spans that have entries of this range, in order. */
    *over(number: number, { first, last }: SequenceRange): Generator<Span> {
      let span = reads.at(number, first) ?? reads.next(number, first)
      for (; span !== undefined && span.first <= last; span = reads.next(number, span.first))
        yield span
    },
  }
  return reads
}

function madeOf<T>(bytes: Uint8Array, make: (bytes: Uint8Array) => T): T {
  const made = make(bytes)
  // The driver allocates separate memory for these bytes.
  ;(bytes.buffer as ArrayBuffer).transfer(0)
  return made
}

function spanOf(row: unknown): Span | undefined {
  // The columns of the statement, in array mode.
  const found = row as readonly [version: number, first: number, count: number] | undefined
  if (found === undefined) return undefined
  const [version, first, count] = found
  return { version, first, end: first + likelyCount(count) }
}

/** Somebody may have changed the count in the file. */
export function likelyCount(count: number): number {
  return Math.min(Math.max(count, 1), frameEntries)
}

export type PartWrites = ReturnType<typeof partWrites>

export function partWrites(journal: DatabaseSync, table: PartTable) {
  const put = journal.prepare(
    `INSERT INTO ${table} (workspace, first, part, count, bytes) VALUES (?, ?, ?, ?, ?)`,
  )
  const remove = journal.prepare(`DELETE FROM ${table} WHERE workspace = ? AND first = ?`)
  return {
    /** Empty bytes are stored as no row. */
    put: (number: number, first: number, count: number, bytes: Uint8Array): void => {
      for (let part = 0; part * stretchPartBytes < bytes.length; part++) {
        const from = part * stretchPartBytes
        put.run(number, first, part, count, bytes.subarray(from, from + stretchPartBytes))
      }
    },
    remove: (number: number, first: number): void => void remove.run(number, first),
  }
}

/**
 * Reads in one snapshot, so that entries that are packed meanwhile are neither missed nor read
 * twice.
 */
export function momentOf(journal: DatabaseSync): <T>(read: () => T) => T {
  const begin = journal.prepare("BEGIN")
  const end = journal.prepare("COMMIT")
  return (read) => {
    if (journal.isTransaction) return read()
    begin.run()
    try {
      return read()
    } finally {
      end.run()
    }
  }
}
