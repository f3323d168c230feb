// The index for the watching program: the only connection that writes it.

import type { DatabaseSync } from "node:sqlite"
import { assert, concat, hashBytes } from "@tallystick/proof"
import { formatAudit } from "../index-rows.ts"
import type { Index } from "../store.ts"
import { within } from "./database.ts"
import { fillRun } from "./fill-key-runs.ts"
import { auditReads, indexReads, logName, useReads, type journalReads, promised } from "./reads.ts"

export function createIndex(index: DatabaseSync, journal: ReturnType<typeof journalReads>): Index {
  const reads = indexReads(index)
  const addTree = index.prepare(
    "INSERT OR IGNORE INTO trees (workspace, size, hashes) VALUES (?, ?, ?)",
  )
  const moveTree = index.prepare(
    "UPDATE trees SET size = ?, hashes = ? WHERE workspace = ? AND size = ?",
  )
  const putTile = index.prepare(
    "INSERT INTO tiles (workspace, level, tile, hashes) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET hashes = ?4",
  )
  const addCheckpoint = index.prepare(
    "INSERT OR IGNORE INTO checkpoints (workspace, size, root, note, signed_ms) VALUES (?, ?, ?, ?, ?)",
  )
  const moveCheckpoint = index.prepare(
    "UPDATE checkpoints SET size = ?, root = ?, note = ?, signed_ms = ? WHERE workspace = ? AND size = ?",
  )

  return {
    ...promised(reads, "tree", "tiles", "checkpoint"),

    async growTree(workspace, epoch, fromSize, tree, growth) {
      const hasGrown = within(index, () => {
        const log = logName(workspace, epoch)
        const hashes = concat(...tree.hashes)
        const moved =
          fromSize === 0
            ? addTree.run(log, tree.size, hashes)
            : moveTree.run(tree.size, hashes, log, fromSize)
        if (moved.changes !== 1) return false
        for (const { level, tile, offset, hashes: added } of growth) {
          const before =
            reads.tiles(workspace, epoch, [{ level, tile }])[0]?.subarray(0, offset * hashBytes) ??
            new Uint8Array()
          assert(before.length === offset * hashBytes, "a tile is filled without a gap")
          putTile.run(log, level, tile, concat(before, added))
        }
        return true
      })
      // The new entries may have completed a run of keys.
      while (fillRun(journal, index)) continue
      return hasGrown
    },

    async putCheckpoint(workspace, epoch, fromSize, { size, root, note, signedMs }) {
      const log = logName(workspace, epoch)
      const moved =
        fromSize === 0
          ? addCheckpoint.run(log, size, root, note, signedMs)
          : moveCheckpoint.run(size, root, note, signedMs, log, fromSize)
      return moved.changes === 1
    },

    ...auditsIn(index),
    ...usesIn(index),
  }
}

function auditsIn(index: DatabaseSync): Pick<Index, "audit" | "putAudit"> {
  const audit = auditReads(index)
  const add = index.prepare(
    "INSERT OR IGNORE INTO audits (workspace, version, state) VALUES (?, 1, ?)",
  )
  const move = index.prepare(
    "UPDATE audits SET version = version + 1, state = ? WHERE workspace = ? AND version = ? - 1",
  )
  return {
    audit: async (workspace) => audit(workspace),
    async putAudit(workspace, state) {
      const text = formatAudit(state)
      const moved =
        state.version === 1 ? add.run(workspace, text) : move.run(text, workspace, state.version)
      return moved.changes === 1
    },
  }
}

function usesIn(index: DatabaseSync): Pick<Index, "uses" | "putUses"> {
  const uses = useReads(index)
  const put = index.prepare(
    `INSERT INTO uses (id, at_ms, address) VALUES (?1, ?2, ?3)
     ON CONFLICT DO UPDATE SET at_ms = ?2, address = ?3 WHERE at_ms < ?2`,
  )
  return {
    uses: async (ids) => uses(ids),
    putUses: async (used) =>
      within(index, () => {
        for (const { id, atMs, from } of used) put.run(id, atMs, from)
      }),
  }
}
