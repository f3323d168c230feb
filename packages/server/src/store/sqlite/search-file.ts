// Checks that the search file belongs to the journal, and replaces it if not.

import { existsSync, rmSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { equalBytes } from "@tallystick/proof"
import { full, isDamage, layoutOf, openForWriting } from "./database.ts"
import type { journalReads } from "./reads.ts"
import { lastRecordOf, segmentReads } from "./sqlite-segments.ts"
import { sqliteCodeOf } from "../../error.ts"

/** Older files have a full-text index, or segments of another form. */
export const segmentsSince = 7

/**
 * Creates the file if it is missing. A file that is damaged, has an older layout, or has entries
 * that the journal lacks is removed and created anew.
 */
export function prepareSearch(path: string, journal: ReturnType<typeof journalReads>): void {
  if (isUsable(path, journal)) return
  removeDatabase(path)
  openForWriting(path, "search", "normal").close()
}

export function removeDatabase(path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true })
}

function isUsable(path: string, journal: ReturnType<typeof journalReads>): boolean {
  try {
    if (isFormer(path)) return false
    using search = openForWriting(path, "search", "normal")
    return belongsTo(search, journal)
  } catch (error) {
    if (isDamage(error) || sqliteCodeOf(error) === full) return false
    throw error
  }
}

function isFormer(path: string): boolean {
  const layout = existsSync(path) ? layoutOf(path) : 0
  return layout > 0 && layout < segmentsSince
}

/** The last entry of each workspace's segments must be the journal's entry with that sequence. */
function belongsTo(search: DatabaseSync, journal: ReturnType<typeof journalReads>): boolean {
  const reads = segmentReads(search)
  for (const workspace of reads.workspaces()) {
    const last = reads.list(workspace).at(-1)
    if (last === undefined) continue
    if (!equalBytes(lastRecordOf(journal, workspace, last), last.lastRecord)) return false
  }
  return true
}
