// The journal for the serving program. An append is one statement and so one transaction, for one
// workspace.

import { eventHash, parseRecord } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import { sha256 } from "../../runtime/sha256.ts"
import { listedValue } from "../documents.ts"
import type { Change, Group, Journal, Linked, Outcome } from "../store.ts"
import { binaryArray } from "./binary-array.ts"
import { codeOf, type Database, type Row, type Statement } from "./connection.ts"
import { headOf, journalReads } from "./reads.ts"

const appendGroup: Statement = {
  name: "append group",
  text: `SELECT outcome, head_sequence, head_hash, head_ms
         FROM tallystick.append_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
}

/** Waits for whoever holds the row, and lets go of it at once. */
const headAtRest: Statement = {
  name: "head at rest",
  text: `SELECT sequence, hash, time_ms FROM tallystick.heads
         WHERE workspace_id = $1 FOR UPDATE`,
}

const usedKeys: Statement = {
  name: "used keys",
  text: `
    SELECT k.place, e.sequence FROM unnest($2::text[]) WITH ORDINALITY AS k (idem, place)
    CROSS JOIN LATERAL (
      SELECT sequence FROM tallystick.entries e
      WHERE e.workspace_id = $1 AND e.idem = k.idem COLLATE "C" LIMIT 1
    ) e ORDER BY k.place`,
}

/** Raised by `append_group`: a document is not at the version that a change replaces. */
const conflictState = "TS409"
/** Of two keys only one can be in the unique index. */
const usedState = "23505"

/**
 * `seen` is told of each group that was recorded, or may have been, or whose documents another
 * process has changed: what is cached of them is not current.
 */
export function createJournal(database: Database, seen: (group: Group) => void): Journal {
  /** Undefined if no entry has one of the group's keys. */
  const usedOutcome = async ({ workspace, entries }: Group): Promise<Outcome | undefined> => {
    const idems = binaryArray("text", entries.map(idemOf))
    const rows = await database.rows(usedKeys, [workspace, idems])
    const keys = rows.map(([place, sequence]) => ({
      place: Number(place) - 1,
      sequence: Number(sequence),
    }))
    return keys.length === 0 ? undefined : { kind: "used", keys }
  }

  return {
    ...journalReads(database),
    async headAtRest(workspace) {
      const [row] = await database.rows(headAtRest, [workspace])
      return row && headOf(row)
    },
    async append(group) {
      try {
        const [row = []] = await database.unsafe(appendGroup, valuesOf(group))
        if (row[0] === "done") {
          seen(group)
          return { kind: "done" }
        }
        return (await usedOutcome(group)) ?? movedTo(row)
      } catch (error) {
        seen(group)
        const place = conflictOf(error)
        if (place !== undefined) return { kind: "conflict", place }
        const used = codeOf(error) === usedState ? await usedOutcome(group) : undefined
        if (used !== undefined) return used
        throw refusalOf(error) ?? error
      }
    },
  }
}

function idemOf({ idem }: Linked): string | undefined {
  return idem
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
    binaryArray("text", entries.map(idemOf)),
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
    changes.length === 0 ? null : JSON.stringify(changes.map(storedChange)),
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

/** A chain that has just been begun elsewhere may have no head yet. */
function movedTo([, sequence, hash, timeMs]: Row): Outcome {
  return sequence === null
    ? { kind: "moved" }
    : { kind: "moved", head: headOf([sequence, hash, timeMs]) }
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
