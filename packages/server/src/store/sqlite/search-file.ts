// Checks that the search file belongs to the journal beside it, and makes it again if not.

import { strict as assert } from "node:assert"
import { existsSync, rmSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { equalBytes } from "@tallystick/proof"
import { emptyLog, errorCode, isDamage, layoutOf, openFile, openForWriting } from "./database.ts"
import type { journalReads } from "./reads.ts"
import { lastRecordOf, segmentReads } from "./sqlite-segments.ts"

/** Older files have a full-text index, or segments without the keys that wrote entries. */
export const segmentsSince = 4

/**
 * Makes the file if it is missing. A file that is damaged, has an older layout, or has entries that
 * the journal lacks is removed and begun again.
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
    compactOnce(path)
    using search = openForWriting(path, "search", "normal")
    return belongsTo(search, journal)
  } catch (error) {
    if (isDamage(error) || errorCode(error) === diskIsFull) return false
    throw error
  }
}

/** SQLite's code. */
const diskIsFull = 13
/** Before this layout, deleted segments stayed in free parts of the file. */
const overwrittenSince = 5

/** Writes the file anew, without what was deleted from it. A gigabyte takes some ten seconds. */
function compactOnce(path: string): void {
  const layout = existsSync(path) ? layoutOf(path) : 0
  if (layout === 0 || layout >= overwrittenSince) return
  using search = openFile(path)
  search.exec("VACUUM")
  assert(emptyLog(search, 0), "nobody reads the file at a start")
}

function isFormer(path: string): boolean {
  const layout = existsSync(path) ? layoutOf(path) : 0
  return layout > 0 && layout < segmentsSince
}

/** The last entry of each workspace's segments must be the journal's entry in that place. */
function belongsTo(search: DatabaseSync, journal: ReturnType<typeof journalReads>): boolean {
  const reads = segmentReads(search)
  for (const workspace of reads.workspaces()) {
    const last = reads.list(workspace).at(-1)
    if (last === undefined) continue
    if (!equalBytes(lastRecordOf(journal, workspace, last), last.lastRecord)) return false
  }
  return true
}
