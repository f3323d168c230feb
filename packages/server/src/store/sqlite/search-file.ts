// The search file as a whole: whether it belongs to the journal that it lies beside, and making it
// again if not.

import { existsSync, rmSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { equalBytes, eventHash } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import { lastOf } from "../search/segment-plan.ts"
import { isDamage, layoutOf, openForWriting } from "./database.ts"
import type { journalReads } from "./reads.ts"
import { segmentReads } from "./sqlite-segments.ts"

/** Files of before had a full-text index, of which nothing can be used. */
export const segmentsSince = 3

/**
 * Makes the file where there is none. One that is damaged, of a former layout, or that knows of
 * entries which the journal does not have, is removed and begun anew.
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
    if (isDamage(error)) return false
    throw error
  }
}

function isFormer(path: string): boolean {
  const layout = existsSync(path) ? layoutOf(path) : 0
  return layout > 0 && layout < segmentsSince
}

/**
 * The last entry of each workspace's segments must be the one that the journal has in its place.
 */
function belongsTo(search: DatabaseSync, journal: ReturnType<typeof journalReads>): boolean {
  const reads = segmentReads(search)
  for (const workspace of reads.workspaces()) {
    const last = reads.list(workspace).at(-1)
    if (last === undefined) continue
    const [record] = journal.recordsAt(workspace, [lastOf(last)])
    if (record === undefined || !equalBytes(eventHash(record, sha256), last.lastRecord))
      return false
  }
  return true
}
