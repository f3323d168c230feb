// The search file as a whole: whether it belongs to the journal that it lies beside, and making it
// again if not.

import { rmSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { equalBytes, eventHash } from "@tallystick/proof"
import { sha256 } from "../../runtime/sha256.ts"
import { isDamage, openForWriting } from "./database.ts"
import type { journalReads } from "./reads.ts"
import { filedWorkspaces } from "./search-reads.ts"

/**
 * Makes or migrates the file. One that is damaged, or knows of entries that the journal does not
 * have, is removed and begun anew.
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
    using search = openForWriting(path, "search", "normal")
    return belongsTo(search, journal)
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  }
}

/**
 * The last entry of each workspace that was filed must be the one that the journal has in its
 * place.
 */
function belongsTo(search: DatabaseSync, journal: ReturnType<typeof journalReads>): boolean {
  const workspaceOf = filedWorkspaces(search)
  for (const { id } of search.prepare("SELECT id FROM workspaces").iterate()) {
    const filed = workspaceOf(String(id))
    if (filed === undefined) continue
    const record = journal.records(String(id), filed.position, 1)
    if (record.length === 0 || !equalBytes(eventHash(record, sha256), filed.hash)) return false
  }
  return true
}
