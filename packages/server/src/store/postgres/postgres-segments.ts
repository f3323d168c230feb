// Segments of the search: one row for each part, and one row that ties a segment to the journal.

import { assert, eventHash } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import { hashOfHeader } from "../search/segment-format.ts"
import { lastOf } from "../search/segment-plan.ts"
import { findableUpTo } from "../search/unfiled-entries.ts"
import { partsPerSweep, type SegmentKeeper, type SegmentReader } from "../search/segments.ts"
import type { JournalReader } from "../store.ts"
import type { OwnLeases } from "./leases.ts"
import { optionalBytes, type Database, type Queries } from "./connection.ts"

const listOfSegments =
  "SELECT level, k, hash, bytes FROM tallystick.segments WHERE workspace_id = $1 AND hash <> ''"
const namesAndHead = `SELECT s.level, s.k, h.sequence FROM tallystick.heads h
  LEFT JOIN tallystick.segments s ON s.workspace_id = h.workspace_id AND s.hash <> ''
  WHERE h.workspace_id = $1`
const onePart = `SELECT bytes FROM tallystick.parts
  WHERE workspace_id = $1 AND level = $2 AND k = $3 AND part = $4`
const removeParts = "DELETE FROM tallystick.parts WHERE workspace_id = $1 AND level = $2 AND k = $3"
const removeSegment =
  "DELETE FROM tallystick.segments WHERE workspace_id = $1 AND level = $2 AND k = $3"
const addPart = `INSERT INTO tallystick.parts (workspace_id, level, k, part, bytes)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (workspace_id, level, k, part) DO UPDATE SET bytes = excluded.bytes`
const addSegment = `
  INSERT INTO tallystick.segments (workspace_id, level, k, hash, bytes, last_record, form)
  VALUES ($1, $2, $3, $4, $5, $6, 3)
  ON CONFLICT (workspace_id, level, k) DO UPDATE
  SET hash = excluded.hash, bytes = excluded.bytes, last_record = excluded.last_record`
// A row of `segments` without a hash has parts that nobody reads: they are staged, or a larger
// segment has absorbed theirs.
const hashOfSegment = `SELECT hash FROM tallystick.segments
  WHERE workspace_id = $1 AND level = $2 AND k = $3 FOR UPDATE`
const stagedParts = `SELECT count(*) FROM tallystick.parts
  WHERE workspace_id = $1 AND level = $2 AND k = $3 AND part > 0`
const unlistSegment = `UPDATE tallystick.segments SET hash = '', bytes = 0, last_record = ''
  WHERE workspace_id = $1 AND level = $2 AND k = $3`
const unlistedSegment = `SELECT level, k FROM tallystick.segments
  WHERE workspace_id = $1 AND hash = '' LIMIT 1`
const removeSomeParts = `
  DELETE FROM tallystick.parts WHERE workspace_id = $1 AND level = $2 AND k = $3
  AND part IN (
    SELECT part FROM tallystick.parts
    WHERE workspace_id = $1 AND level = $2 AND k = $3 LIMIT ${partsPerSweep}
  ) RETURNING part`

export function segmentReads(database: Queries): SegmentReader {
  return {
    async list(workspace) {
      const rows = await database.rows(listOfSegments, [workspace])
      return rows
        .map(([level, k, hash, bytes]) => ({
          level: Number(level),
          k: Number(k),
          hash: String(hash),
          bytes: Number(bytes),
        }))
        .toSorted((segment, other) => lastOf(segment) - lastOf(other))
    },
    async part(workspace, { level, k }, part) {
      const [row] = await database.rows(onePart, [workspace, level, k, part])
      return optionalBytes(row?.[0])
    },
  }
}

/** The last entry that a search finds: each receipt asks, so it is one statement. */
export async function findablePosition(database: Queries, workspace: string): Promise<number> {
  const rows = await database.rows(namesAndHead, [workspace])
  const kept = rows
    .filter(([level]) => level !== null)
    .map(([level, k]) => ({ level: Number(level), k: Number(k) }))
    .toSorted((segment, other) => lastOf(segment) - lastOf(other))
  return findableUpTo(kept, Number(rows[0]?.[2] ?? 0))
}

export function createSegments(
  database: Database,
  journal: Pick<JournalReader, "recordsAt" | "head">,
  leases: Pick<OwnLeases, "requireOurs">,
): SegmentKeeper {
  /**
   * Another process that has taken the lease may have removed rows that these changes would
   * restore. The lease is checked last, so that it is not locked for long, because it has to be
   * renewed.
   */
  const change = <T>(workspace: string, act: (rows: Queries["rows"]) => Promise<T>): Promise<T> =>
    database.within(async ({ rows }) => {
      const done = await act(rows)
      await leases.requireOurs(rows, workspace)
      return done
    })
  return {
    ...segmentReads(database),
    async put(workspace, name, parts, absorbed, staged) {
      const { sequence = 0 } = (await journal.head(workspace)) ?? {}
      assert(sequence >= lastOf(name), "the journal has the last entry of the segment")
      const [record] = await journal.recordsAt(workspace, [lastOf(name)])
      const lastRecord = record === undefined ? new Uint8Array() : eventHash(record, sha256)
      await change(workspace, async (rows) => {
        const { level, k } = name
        if (staged !== undefined) {
          const [found] = await rows(stagedParts, [workspace, level, k])
          assert(Number(found?.[0]) === staged.count, "all parts were staged")
        }
        const removes = staged === undefined ? [removeSegment, removeParts] : [unlistSegment]
        for (const gone of staged === undefined ? [name, ...absorbed] : absorbed)
          for (const remove of removes) await rows(remove, [workspace, gone.level, gone.k])
        let bytes = staged?.bytes ?? 0
        for (const [part, kept] of parts.entries()) {
          await rows(addPart, [workspace, level, k, part, Buffer.from(kept)])
          bytes += kept.length
        }
        const hash = hashOfHeader(parts)
        await rows(addSegment, [workspace, level, k, hash, bytes, Buffer.from(lastRecord)])
      })
    },
    async stage(workspace, { level, k }, from, parts) {
      await change(workspace, async (rows) => {
        const [listed] = await rows(hashOfSegment, [workspace, level, k])
        assert((listed?.[0] ?? "") === "", "a listed segment is not staged")
        await rows(addSegment, [workspace, level, k, "", 0, Buffer.alloc(0)])
        for (const [at, kept] of parts.entries())
          await rows(addPart, [workspace, level, k, from + at, Buffer.from(kept)])
      })
    },
    sweep: (workspace) =>
      change(workspace, async (rows) => {
        const [found] = await rows(unlistedSegment, [workspace])
        if (found === undefined) return false
        const name = [workspace, found[0], found[1]]
        if ((await rows(removeSomeParts, name)).length === 0) await rows(removeSegment, name)
        return true
      }),
    // Removing dead rows (VACUUM) is left to the operator.
    clearLog: async () => true,
  }
}
