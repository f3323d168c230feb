// Finds orphan rows, and heads that do not match the last entry.

import { equalBytes, eventHash, parseRecord } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import { segmentStrays } from "../search/segment-plan.ts"
import type { SegmentRow } from "../search/segments.ts"
import type { Stray, Whole } from "../whole-ledger.ts"
import { bytes, type Queries } from "./connection.ts"
import { bodyOfFunction } from "./migrate.ts"
import { headOf } from "./reads.ts"
import { listedKinds } from "./stored-documents.ts"

export type PartNames = Whole["names"]

const headsAfter = `SELECT workspace_id, sequence, hash, time_ms FROM tallystick.heads
  WHERE workspace_id > $1 ORDER BY workspace_id LIMIT 1000`
const firstEntry = "SELECT min(sequence) FROM tallystick.entries WHERE workspace_id = $1"
const lastEntry = `SELECT sequence, record FROM tallystick.entries
  WHERE workspace_id = $1 ORDER BY sequence DESC LIMIT 1`
const lostDocument = `SELECT d.kind, d.id, d.workspace_id FROM tallystick.documents d
  WHERE d.workspace_id <> 'instance' AND NOT EXISTS (
    SELECT FROM tallystick.documents w
    WHERE w.workspace_id = d.workspace_id AND w.kind = 'workspace' AND w.id = d.workspace_id
  ) LIMIT 1`
const unlistedDocument = `SELECT d.kind, d.id, d.workspace_id FROM tallystick.documents d
  WHERE d.kind IN (${listedKinds}) AND NOT EXISTS (
    SELECT FROM tallystick.directory l
    WHERE l.kind = d.kind AND l.id = d.id AND l.workspace_id = d.workspace_id
      AND l.created = d.created
  ) LIMIT 1`
const directoryCounts = `SELECT (SELECT count(*) FROM tallystick.directory),
  (SELECT count(*) FROM tallystick.documents WHERE kind IN (${listedKinds}))`
const foreignRules = `
  SELECT 'trigger ' || t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = 'tallystick'::regnamespace AND NOT t.tgisinternal
  UNION ALL
  SELECT 'rule ' || r.rulename FROM pg_rules r WHERE r.schemaname = 'tallystick'`
const appendFunction = `SELECT prosrc FROM pg_proc
  WHERE pronamespace = 'tallystick'::regnamespace AND proname = 'append_group'`

/**
 * Entries that are in no chain, heads that do not match their chain, and documents without a
 * workspace.
 */
export async function* journalStrays(
  database: Queries,
  { journal }: PartNames,
  workspaces: () => Promise<readonly string[]>,
): AsyncGenerator<Stray> {
  yield* foreignCode(database)
  const withHead = new Set<string>()
  for await (const { workspace, what, sequence } of headStrays(database, withHead))
    yield { workspace, sequence, what }
  for (const workspace of await workspaces()) {
    if (!withHead.has(workspace))
      yield { workspace, what: `${journal} has entries of it, but no head` }
    const [first] = await database.rows(firstEntry, [workspace])
    if (Number(first?.[0]) < 1)
      yield { workspace, what: `there is an entry ${String(first?.[0])}, but the first entry is 1` }
  }
  const [lost] = await database.rows(lostDocument)
  if (lost !== undefined)
    yield {
      workspace: String(lost[2]),
      what: `the registry has the ${String(lost[0])} ${String(lost[1])} of it, but no such workspace`,
    }
  yield* directoryStrays(database)
}

/**
 * Checks heads, because the next entry is linked to the head. Adds the workspaces that have one to
 * `found`.
 */
async function* headStrays(database: Queries, found: Set<string>) {
  for (let after = ""; ;) {
    const rows = await database.rows(headsAfter, [after])
    if (rows.length === 0) return
    for (const [id, ...row] of rows) {
      const [workspace, head] = [String(id), headOf(row)]
      found.add(workspace)
      after = workspace
      const [last] = await database.rows(lastEntry, [workspace])
      const sequence = Number(last?.[0] ?? 0)
      const record = last === undefined ? undefined : bytes(last[1])
      if (record === undefined && head.sequence === 0) continue
      if (head.sequence !== sequence || record === undefined)
        yield {
          workspace,
          sequence: head.sequence,
          what: `the head says that it is the last entry, which is ${sequence}`,
        }
      else if (
        !equalBytes(head.hash, eventHash(record, sha256)) ||
        head.timeMs !== parseRecord(record)?.timeMs
      )
        yield { workspace, sequence, what: "the head has another hash or time for it" }
    }
  }
}

/** A foreign trigger could change later writes. */
async function* foreignCode(database: Queries): AsyncGenerator<Stray> {
  for (const [name] of await database.rows(foreignRules))
    yield { what: `the database has a ${String(name)}, which this program did not make` }
  const [source] = await database.rows(appendFunction)
  if (source?.[0] !== bodyOfFunction("append_group"))
    yield { what: "the database does not have append_group as this program made it" }
}

async function* directoryStrays(database: Queries): AsyncGenerator<Stray> {
  const [unlisted] = await database.rows(unlistedDocument)
  const [counts] = await database.rows(directoryCounts)
  if (unlisted !== undefined)
    yield {
      workspace: String(unlisted[2]),
      what: `the directory does not lead to its ${String(unlisted[0])} ${String(unlisted[1])}`,
      isDerived: true,
    }
  else if (Number(counts?.[0]) !== Number(counts?.[1]))
    yield {
      what: `the directory has ${String(counts?.[0])} rows for ${String(counts?.[1])} documents`,
      isDerived: true,
    }
}

const knownLogs = `SELECT id, coalesce(json_array_length(value::json -> 'former'), 0)
  FROM tallystick.documents WHERE kind = 'workspace'`
const derivedTables = ["trees", "tiles", "checkpoints"] as const
const logsOf = (table: (typeof derivedTables)[number]) =>
  `SELECT DISTINCT workspace_id, epoch FROM tallystick.${table}`

/** Derived rows without a workspace or an epoch. */
export async function* indexStrays(database: Queries, names: PartNames): AsyncGenerator<Stray> {
  const known = await epochCounts(database)
  for (const table of derivedTables)
    for (const [workspace, epoch] of await database.rows(logsOf(table)))
      if (Number(epoch) < 1 || Number(epoch) > (known.get(String(workspace)) ?? 0))
        yield {
          workspace: String(workspace),
          what: `${names.index} has ${table} of its epoch ${String(epoch)}, but the registry has no such workspace or epoch`,
        }
}

/** The number of epochs of each workspace in the registry. */
async function epochCounts(database: Queries): Promise<ReadonlyMap<string, number>> {
  const rows = await database.rows(knownLogs)
  return new Map(rows.map(([id, former]) => [String(id), Number(former) + 1]))
}

const segmentWorkspaces = "SELECT DISTINCT workspace_id FROM tallystick.segments"
const unlistedSegments =
  "SELECT level, k FROM tallystick.segments WHERE workspace_id = $1 AND hash = ''"
const lostPart = `SELECT p.workspace_id, p.level, p.k FROM tallystick.parts p
  WHERE NOT EXISTS (
    SELECT FROM tallystick.segments s
    WHERE s.workspace_id = p.workspace_id AND s.level = p.level AND s.k = p.k
  ) LIMIT 1`

/** Segments without a workspace, after a gap, or without a hash; and parts without a segment. */
export async function* searchStrays(
  database: Queries,
  { search }: PartNames,
  segments: (workspace: string) => Promise<readonly SegmentRow[]>,
): AsyncGenerator<Stray> {
  const known = await epochCounts(database)
  for (const [id] of await database.rows(segmentWorkspaces)) {
    const workspace = String(id)
    if (!known.has(workspace))
      yield {
        workspace,
        what: `${search} has segments of it, but the registry has no such workspace`,
      }
    const unlisted = (await database.rows(unlistedSegments, [workspace])).map(([level, k]) => ({
      level: Number(level),
      k: Number(k),
    }))
    yield* segmentStrays(workspace, await segments(workspace), unlisted, search)
  }
  const [lost] = await database.rows(lostPart)
  if (lost !== undefined)
    yield {
      workspace: String(lost[0]),
      what: `${search} has parts of a segment ${String(lost[2])} of level ${String(lost[1])} that it does not list`,
    }
}
