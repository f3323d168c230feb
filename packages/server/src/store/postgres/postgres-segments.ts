// Segments of the search: one row for each part, and one row that ties a segment to the journal.

import { strict as assert } from "node:assert"
import { eventHash } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import { hashOfHeader } from "../search/segment-format.ts"
import { lastOf } from "../search/segment-plan.ts"
import type { SegmentKeeper, SegmentReader } from "../search/segments.ts"
import type { JournalReader } from "../store.ts"
import { optionalBytes, type Database, type Queries, type Statement } from "./connection.ts"

const listOfSegments: Statement = {
  name: "segments",
  text: "SELECT level, k, hash, bytes FROM tallystick.segments WHERE workspace_id = $1",
}
const onePart: Statement = {
  name: "part",
  text: `SELECT bytes FROM tallystick.parts
         WHERE workspace_id = $1 AND level = $2 AND k = $3 AND part = $4`,
}
const removeParts: Statement = {
  name: "remove parts",
  text: "DELETE FROM tallystick.parts WHERE workspace_id = $1 AND level = $2 AND k = $3",
}
const removeSegment: Statement = {
  name: "remove segment",
  text: "DELETE FROM tallystick.segments WHERE workspace_id = $1 AND level = $2 AND k = $3",
}
const addPart: Statement = {
  name: "add part",
  text: `INSERT INTO tallystick.parts (workspace_id, level, k, part, bytes)
         VALUES ($1, $2, $3, $4, $5)`,
}
const addSegment: Statement = {
  name: "add segment",
  text: `INSERT INTO tallystick.segments (workspace_id, level, k, hash, bytes, last_record)
         VALUES ($1, $2, $3, $4, $5, $6)`,
}

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

export function createSegments(
  database: Database,
  journal: Pick<JournalReader, "recordsAt" | "head">,
): SegmentKeeper {
  return {
    ...segmentReads(database),
    async put(workspace, name, parts, absorbed) {
      const { sequence = 0 } = (await journal.head(workspace)) ?? {}
      assert(sequence >= lastOf(name), "the journal has the last entry of the segment")
      const [record] = await journal.recordsAt(workspace, [lastOf(name)])
      const lastRecord = record === undefined ? new Uint8Array() : eventHash(record, sha256)
      await database.within(async ({ rows }) => {
        for (const { level, k } of [name, ...absorbed])
          for (const remove of [removeSegment, removeParts])
            await rows(remove, [workspace, level, k])
        const { level, k } = name
        let bytes = 0
        for (const [part, kept] of parts.entries()) {
          await rows(addPart, [workspace, level, k, part, Buffer.from(kept)])
          bytes += kept.length
        }
        const hash = hashOfHeader(parts)
        await rows(addSegment, [workspace, level, k, hash, bytes, Buffer.from(lastRecord)])
      })
    },
    // Rows as they were before are the operator's to vacuum.
    clearLog: async () => true,
  }
}
