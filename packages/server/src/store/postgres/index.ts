// The index. Trees, checkpoints and audits move by compare and swap, so two processes
// may follow one workspace without harm.

import { assert, concat, hashBytes } from "@tallystick/proof"
import { bufferOf } from "../../runtime/buffer-of.ts"
import { formatAudit } from "../index-rows.ts"
import type { Index } from "../store.ts"
import type { Database } from "./connection.ts"
import { indexReads } from "./reads.ts"

const beginTree = `
  INSERT INTO tallystick.trees (workspace_id, epoch, size, hashes) VALUES ($1, $2, $3, $4)
  ON CONFLICT DO NOTHING RETURNING 1`
const moveTree = `UPDATE tallystick.trees SET size = $3, hashes = $4
  WHERE workspace_id = $1 AND epoch = $2 AND size = $5 RETURNING 1`
const beginTile = `INSERT INTO tallystick.tiles (workspace_id, epoch, level, tile, hashes)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (workspace_id, epoch, level, tile) DO UPDATE SET hashes = excluded.hashes
  RETURNING 1`
const growTile = `UPDATE tallystick.tiles SET hashes = substring(hashes FROM 1 FOR $6) || $5
  WHERE workspace_id = $1 AND epoch = $2 AND level = $3 AND tile = $4
    AND length(hashes) >= $6 RETURNING 1`
const beginCheckpoint = `
  INSERT INTO tallystick.checkpoints (workspace_id, epoch, size, root, note, signed_ms)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING 1`
const moveCheckpoint = `
  UPDATE tallystick.checkpoints SET size = $3, root = $4, note = $5, signed_ms = $6
  WHERE workspace_id = $1 AND epoch = $2 AND size = $7 RETURNING 1`
const beginAudit = `INSERT INTO tallystick.audits (workspace_id, state, version) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING RETURNING 1`
const moveAudit = `UPDATE tallystick.audits SET state = $2, version = $3
  WHERE workspace_id = $1 AND version = $3 - 1 RETURNING 1`
const putUse = `INSERT INTO tallystick.uses AS u (id, at_ms, address) VALUES ($1, $2, $3)
  ON CONFLICT (id) DO UPDATE SET at_ms = excluded.at_ms, address = excluded.address
  WHERE u.at_ms < excluded.at_ms`

export function createIndex(database: Database): Index {
  return {
    ...indexReads(database),

    growTree: (workspace, epoch, fromSize, { size, hashes }, growth) =>
      database.within(async ({ rows }) => {
        const tree = [workspace, epoch, size, bufferOf(concat(...hashes))]
        const moved = await (fromSize === 0
          ? rows(beginTree, tree)
          : rows(moveTree, [...tree, fromSize]))
        if (moved.length === 0) return false
        for (const { level, tile, offset, hashes: added } of growth) {
          const grown = [workspace, epoch, level, tile, bufferOf(added)]
          const kept = await (offset === 0
            ? rows(beginTile, grown)
            : rows(growTile, [...grown, offset * hashBytes]))
          assert(kept.length === 1, "a tile is filled without a gap")
        }
        return true
      }),

    async putCheckpoint(workspace, epoch, fromSize, { size, root, note, signedMs }) {
      const checkpoint = [workspace, epoch, size, bufferOf(root), note, signedMs]
      const moved = await (fromSize === 0
        ? database.rows(beginCheckpoint, checkpoint)
        : database.rows(moveCheckpoint, [...checkpoint, fromSize]))
      return moved.length === 1
    },

    async putAudit(workspace, audit) {
      const statement = audit.version === 1 ? beginAudit : moveAudit
      const moved = await database.rows(statement, [workspace, formatAudit(audit), audit.version])
      return moved.length === 1
    },

    putUses: (uses) =>
      database.within(async ({ rows }) => {
        // In the same order in every process: otherwise two could each wait for a row of the other.
        const sorted = uses.toSorted((one, other) => (one.id < other.id ? -1 : 1))
        for (const { id, atMs, from } of sorted) await rows(putUse, [id, atMs, from])
      }),
  }
}
