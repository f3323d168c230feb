// The journal for the serving program. An append is one statement and so one transaction, for one
// workspace.

import { eventHash, parseRecord } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import { sha256 } from "../../runtime/sha256.ts"
import { listedValue } from "../documents.ts"
import type { Change, Group, Head, Journal, Outcome } from "../store.ts"
import { binaryArray } from "./binary-array.ts"
import { codeOf, type Database, type Row, type Statement } from "./connection.ts"
import { headOf, journalReads } from "./reads.ts"

const appendGroup: Statement = {
  name: "append group",
  text: `SELECT outcome, head_sequence, head_hash, head_ms, places, sequences
         FROM tallystick.append_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
}

/** Raised by `append_group`: a document is not at the version that a change replaces. */
const conflictState = "TS409"

/** `kept` is told of each group that was recorded, or may have been. */
export function createJournal(database: Database, kept: (group: Group) => void): Journal {
  return {
    ...journalReads(database),
    async append(group) {
      try {
        const [row] = await database.unsafe(appendGroup, valuesOf(group))
        const outcome = outcomeOf(row ?? [])
        if (outcome.kind === "done") kept(group)
        return outcome
      } catch (error) {
        const place = conflictOf(error)
        if (place !== undefined) return { kind: "conflict", place }
        kept(group)
        throw refusalOf(error) ?? error
      }
    },
  }
}

function valuesOf({ workspace, from, entries, changes = [] }: Group): readonly unknown[] {
  const last = entries.at(-1)
  const hash = last === undefined ? from.hash : eventHash(last.record, sha256)
  const timeMs = (last && parseRecord(last.record)?.timeMs) ?? from.timeMs
  return [
    workspace,
    from.sequence,
    Buffer.from(from.hash),
    Buffer.from(hash),
    timeMs,
    binaryArray(
      "text",
      entries.map(({ receipt }) => receipt),
    ),
    binaryArray(
      "text",
      entries.map(({ idem }) => idem),
    ),
    binaryArray(
      "text",
      entries.map(({ disclosures }) => disclosures),
    ),
    binaryArray(
      "bytea",
      entries.map(({ record }) => [record]),
    ),
    binaryArray(
      "bytea",
      entries.map(({ bodySalt, body }) => [bodySalt, body]),
    ),
    JSON.stringify(changes.map(storedChange)),
  ]
}

function storedChange({ kind, id, version, value }: Change) {
  if (value === null) return { kind, id, version }
  const listed = listedValue(value)
  return {
    kind,
    id,
    version,
    value: JSON.stringify(value),
    ...(listed === value ? {} : { listed: JSON.stringify(listed) }),
  }
}

function outcomeOf([outcome, sequence, hash, timeMs, places, sequences]: Row): Outcome {
  switch (outcome) {
    case "done":
      return { kind: "done" }
    case "used":
      return { kind: "used", keys: keysOf(places, sequences) }
    default:
      return sequence === null
        ? { kind: "moved" }
        : { kind: "moved", head: headNow([sequence, hash, timeMs]) }
  }
}

/** A chain that another process has just begun has no head yet. */
function headNow(row: Row): Head | undefined {
  const head = headOf(row)
  return head.sequence === 0 ? undefined : head
}

function keysOf(places: unknown, sequences: unknown) {
  // Arrays of integers, of the same length.
  const [at, of] = [places as readonly number[], sequences as readonly number[]]
  return at.map((place, index) => ({ place, sequence: Number(of[index]) }))
}

function conflictOf(error: unknown): number | undefined {
  return codeOf(error) === conflictState && error instanceof Error && "detail" in error
    ? Number(error.detail)
    : undefined
}

/**
 * Of errors after which nothing was recorded. After any other, such as one at the commit, that is
 * not known.
 */
function refusalOf(error: unknown): LedgerError | undefined {
  const code = codeOf(error)
  if (code === "53100")
    return new LedgerError("storage_full", "the database's disk is full; nothing was recorded", {
      cause: error,
    })
  // Deadlocks, locks that were waited for too long, and statements that took too long.
  if (/^(40001|40P01|55P03|57014)$/.test(code))
    return new LedgerError("overloaded", "the database is too busy; nothing was recorded", {
      cause: error,
    })
  return undefined
}
