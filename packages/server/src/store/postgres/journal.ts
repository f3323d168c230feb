// The journal for the serving program. An append is one statement, and so one transaction. In a
// cluster it is for one workspace. If all tables are on one server, groups of several workspaces
// share one.

import { eventHash, parseRecord } from "@tallystick/proof"
import type { Clock } from "../../clock.ts"
import { LedgerError } from "../../error.ts"
import { sha256 } from "../../runtime/sha256.ts"
import { listedValue, type Change } from "../documents.ts"
import { shareCommits, type CommitLimits } from "../share-commits.ts"
import type { Group, Head, Linked, Outcome } from "../entries.ts"
import type { Journal } from "../store.ts"
import { binaryArray, type Element, type ElementType } from "./binary-array.ts"
import { bytes, stateOf, nowMs, type Database, type Row } from "./connection.ts"
import { headOf, journalReads } from "./reads.ts"

const appendGroup = `SELECT outcome, head_sequence, head_hash, head_ms, last_hash
  FROM tallystick.append_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

/**
 * Appends each group whose head matches, whose head is not locked by others, and whose keys are
 * new. Returns the places of these groups. It waits for no row lock. A key is looked up only after
 * its head was locked, because otherwise the head could have moved.
 */
const appendGroups = `
  WITH asked AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[], $6::bigint[])
      WITH ORDINALITY AS g (workspace_id, from_sequence, from_hash, sequence, hash, time_ms, place)
  ), given AS (
    SELECT * FROM unnest($7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::text[], $12::bytea[], $13::bytea[])
      AS e (place, sequence, receipt, idem, sealed, record, salted)
  ), held AS (
    SELECT g.place FROM asked g JOIN tallystick.heads h
      ON h.workspace_id = g.workspace_id AND h.sequence = g.from_sequence AND h.hash = g.from_hash
    FOR UPDATE OF h SKIP LOCKED
  ), used AS (
    SELECT e.place FROM given e JOIN asked g ON g.place = e.place
    CROSS JOIN LATERAL (
      SELECT FROM tallystick.entries k
      WHERE k.workspace_id = g.workspace_id AND k.idem = e.idem LIMIT 1
    ) k
  ), free AS (
    SELECT g.* FROM asked g
    WHERE g.place IN (SELECT place FROM held) AND g.place NOT IN (SELECT place FROM used)
  ), moved AS (
    UPDATE tallystick.heads h
    SET sequence = f.sequence, hash = f.hash, time_ms = f.time_ms,
        moved_ms = ${nowMs}
    FROM free f WHERE h.workspace_id = f.workspace_id
  ), written AS (
    INSERT INTO tallystick.entries (workspace_id, sequence, receipt, idem, record, sealed, salted)
    SELECT f.workspace_id, e.sequence, e.receipt, e.idem, e.record, e.sealed, e.salted
    FROM given e JOIN free f ON f.place = e.place
  )
  SELECT place FROM free`

const usedKeys = `
  SELECT k.place, e.sequence FROM unnest($2::text[]) WITH ORDINALITY AS k (idem, place)
  CROSS JOIN LATERAL (
    SELECT sequence FROM tallystick.entries e
    WHERE e.workspace_id = $1 AND e.idem = k.idem COLLATE "C" LIMIT 1
  ) e ORDER BY k.place`

/** `append_group` raises it if a document is not at the version that a change replaces. */
const conflictState = "TS409"
/** A violation of the unique index of keys. */
const usedState = "23505"

/** A statement has taken too long. */
const timedOut = "57014"

/** After these errors nothing was recorded, and each group may succeed alone. */
const apartStates = /^(23505|40001|40P01|55P03)$/
/** How long a commit that waits for another server's commit may delay those of other workspaces. */
const holdUpMs = 50

export interface JournalParts {
  readonly database: Database
  readonly isCluster: boolean
  readonly limits: CommitLimits
  readonly clock: Clock
  /**
   * Called for each group that was recorded, or may have been, or whose documents another process
   * has changed: their cached documents are out of date.
   */
  readonly seen: (group: Group) => void
}

export function createJournal(parts: JournalParts): Journal {
  const { database, isCluster, limits, clock } = parts
  const share = shareCommits(limits, async (groups) => {
    const [only] = groups
    if (only === undefined || groups.length > 1) return await appendTogether(parts, groups)
    const outcome = appendAlone(parts, only)
    await Promise.race([outcome.catch(() => undefined), clock.sleep(holdUpMs)])
    return [outcome]
  })
  return {
    ...journalReads(database),
    append(group) {
      const { from, changes = [] } = group
      const isAlone = isCluster || changes.length > 0 || from.sequence === 0
      return isAlone ? appendAlone(parts, group) : share(group)
    },
  }
}

async function appendTogether(
  parts: JournalParts,
  groups: readonly Group[],
): Promise<readonly (Outcome | Promise<Outcome>)[]> {
  try {
    const rows = await parts.database.unsafe(appendGroups, valuesOfAll(groups))
    const done = new Set(rows.map(([place]) => Number(place) - 1))
    return groups.map((group, place) => {
      if (!done.has(place)) return appendAlone(parts, group)
      parts.seen(group)
      return { kind: "done" }
    })
  } catch (error) {
    if (apartStates.test(stateOf(error))) return groups.map((group) => appendAlone(parts, group))
    for (const group of groups) parts.seen(group)
    throw refusalOf(error, parts.isCluster) ?? error
  }
}

async function appendAlone(
  { database, isCluster, seen }: JournalParts,
  group: Group,
): Promise<Outcome> {
  try {
    const [row = []] = await database.unsafe(appendGroup, valuesOf(group))
    if (row[0] === "done") {
      seen(group)
      return { kind: "done", ...relinkedIn(row) }
    }
    return (await usedOutcome(database, group)) ?? movedTo(row)
  } catch (error) {
    seen(group)
    const place = conflictOf(error)
    if (place !== undefined) return { kind: "conflict", place }
    const used = stateOf(error) === usedState ? await usedOutcome(database, group) : undefined
    if (used !== undefined) return used
    throw refusalOf(error, isCluster) ?? error
  }
}

/** Undefined if no entry has one of the group's keys. */
async function usedOutcome(
  database: Database,
  { workspace, entries }: Group,
): Promise<Outcome | undefined> {
  const idems = binaryArray("text", entries.map(idemOf))
  const rows = await database.rows(usedKeys, [workspace, idems])
  const keys = rows.map(([place, sequence]) => ({
    place: Number(place) - 1,
    sequence: Number(sequence),
  }))
  return keys.length === 0 ? undefined : { kind: "used", keys }
}

function idemOf({ idem }: Linked): string | undefined {
  return idem
}

function valuesOf(group: Group): readonly unknown[] {
  const { workspace, from, entries, changes = [], mayMove = false } = group
  const to = headAfter(group)
  return [
    workspace,
    from.sequence,
    Buffer.from(from.hash),
    Buffer.from(to.hash),
    to.timeMs,
    ...columnsOf(entries),
    changes.length === 0 ? null : JSON.stringify(changes.map(storedChange)),
    mayMove,
  ]
}

function valuesOfAll(groups: readonly Group[]): readonly unknown[] {
  const heads = groups.map(headAfter)
  const [places, sequences]: [number[], number[]] = [[], []]
  for (const [at, { from, entries }] of groups.entries())
    for (const place of entries.keys()) {
      places.push(at + 1)
      sequences.push(from.sequence + place + 1)
    }
  const column = (type: ElementType, of: (group: Group) => Element) =>
    binaryArray(type, groups.map(of))
  const after = (type: ElementType, of: (head: Head) => Element) => binaryArray(type, heads.map(of))
  return [
    column("text", ({ workspace }) => workspace),
    column("int8", ({ from }) => from.sequence),
    column("bytea", ({ from }) => [from.hash]),
    after("int8", ({ sequence }) => sequence),
    after("bytea", ({ hash }) => [hash]),
    after("int8", ({ timeMs }) => timeMs),
    binaryArray("int8", places),
    binaryArray("int8", sequences),
    ...columnsOf(groups.flatMap(({ entries }) => entries)),
  ]
}

/** The head after the group is appended with its own links. */
function headAfter({ from, entries }: Group): Head {
  const last = entries.at(-1)
  return {
    sequence: from.sequence + entries.length,
    hash: last === undefined ? from.hash : eventHash(last.record, sha256),
    timeMs: (last && parseRecord(last.record)?.timeMs) ?? from.timeMs,
  }
}

/** The columns: receipts, keys, disclosures, records, and bodies after their salts. */
function columnsOf(entries: readonly Linked[]): readonly Buffer[] {
  const column = (type: ElementType, of: (entry: Linked) => Element) =>
    binaryArray(type, entries.map(of))
  return [
    column("text", ({ receipt }) => receipt),
    column("text", idemOf),
    column("text", ({ disclosures }) => disclosures),
    column("bytea", ({ record }) => [record]),
    column("bytea", ({ bodySalt, body }) => [bodySalt, body]),
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

/** A chain that another process has just begun may have no head yet. */
function movedTo([, sequence, hash, timeMs]: Row): Outcome {
  return sequence === null
    ? { kind: "moved" }
    : { kind: "moved", head: headOf([sequence, hash, timeMs]) }
}

/** The head to which the entries were relinked. Undefined if it is the one of the group. */
function relinkedIn([, sequence, hash, timeMs, lastHash]: Row) {
  return lastHash === null
    ? {}
    : { relinked: { from: headOf([sequence, hash, timeMs]), lastHash: bytes(lastHash) } }
}

function conflictOf(error: unknown): number | undefined {
  return stateOf(error) === conflictState && error instanceof Error && "detail" in error
    ? Number(error.detail)
    : undefined
}

/**
 * The refusal for an error after which nothing was recorded. After any other error, such as one at
 * the commit, that is unknown.
 */
function refusalOf(error: unknown, isCluster: boolean): LedgerError | undefined {
  const code = stateOf(error)
  if (code === "53100")
    return new LedgerError("storage_full", "the database's disk is full; nothing was recorded", {
      cause: error,
    })
  // A transaction that may only read, such as on a standby, and a right that is missing.
  if (/^(25006|42501)$/.test(code))
    return new LedgerError("read_only", "the database takes no writes; nothing was recorded", {
      cause: error,
    })
  // A coordinator gives up a statement that its node may have committed, or commits meanwhile.
  if (code === timedOut && isCluster) return undefined
  // Deadlocks, and timeouts of locks and statements. No timeout ends a commit.
  if (/^(40001|40P01|55P03)$/.test(code) || code === timedOut)
    return new LedgerError("overloaded", "the database is too busy; nothing was recorded", {
      cause: error,
    })
  return undefined
}
