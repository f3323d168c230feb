// The head of a chain, from its last row.

import type { DatabaseSync } from "node:sqlite"
import { eventHash, parseRecord } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import type { Head } from "../entries.ts"
import { bytes } from "./database.ts"

/**
 * By the number of a workspace; undefined if it has no entry. A record that cannot be parsed has a
 * hash, but no time.
 */
export function headReads(journal: DatabaseSync): (workspace: number) => Head | undefined {
  const last = journal.prepare(
    "SELECT sequence, record FROM entries WHERE workspace = ? ORDER BY sequence DESC LIMIT 1",
  )
  return (workspace) => {
    const row = last.get(workspace)
    if (row === undefined) return undefined
    const record = bytes(row["record"])
    return {
      sequence: Number(row["sequence"]),
      hash: eventHash(record, sha256),
      timeMs: parseRecord(record)?.timeMs ?? 0,
    }
  }
}
