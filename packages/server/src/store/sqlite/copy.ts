// Copies a database file while others write to it. The mark of a copy is in the header of its
// journal, so it stays with the file.

import { backup, DatabaseSync } from "node:sqlite"
import { syncPath } from "../../runtime/durable-file.ts"
import { sqliteCodeOf, StartError } from "../../error.ts"
import { openForReading, orDamaged } from "./database.ts"

/** Pages between two reports of progress: 32 MiB. */
const pagesPerStep = 4096
/** "copy"; the header of an original has 0 in this place, which SQLite leaves to applications. */
const copyMark = 0x636f7079

/**
 * The original may have grown since. If the copy grew too, there would be two histories under one
 * name.
 */
export const copied =
  "the data is a copy that tallystick backup made; it can be read, but not written to. To continue from it, stop the service and run tallystick resume; after that, never start the original again"

/** Opens a file for reading and copying. It sees a snapshot of this moment while others write. */
export function openStill(path: string): DatabaseSync {
  try {
    const database = openForReading(path)
    // Without a transaction, a copy would restart at each commit of another connection.
    database.exec("BEGIN; SELECT count(*) FROM sqlite_schema;")
    return database
  } catch (cause) {
    throw orDamaged(path, cause)
  }
}

/** Copies such a database into a new file without a log. It is on the disk on return. */
export async function copyDatabase(
  from: DatabaseSync,
  path: string,
  progress: (done: number, pages: number) => void,
): Promise<void> {
  try {
    await backup(from, path, {
      rate: pagesPerStep,
      progress: ({ totalPages, remainingPages }) =>
        progress(totalPages - remainingPages, totalPages),
    })
    using copy = new DatabaseSync(path)
    copy.exec("PRAGMA journal_mode = DELETE;")
  } catch (cause) {
    if (sqliteCodeOf(cause) === 0) throw cause
    throw new StartError(
      `${path} could not be made: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  }
  syncPath(path)
}

/** Marks a file. Nobody may have it open. */
export function markCopy(path: string): void {
  const copy = new DatabaseSync(path)
  try {
    copy.exec(`PRAGMA synchronous = FULL; PRAGMA application_id = ${copyMark};`)
  } finally {
    copy.close()
  }
  syncPath(path)
}

/** Removes the mark from a file that is open for writing. The change is on the disk on return. */
export function takeOffMark(journal: DatabaseSync): void {
  journal.exec("PRAGMA application_id = 0;")
}

export function isMarked(journal: DatabaseSync): boolean {
  return journal.prepare("PRAGMA application_id").get()?.["application_id"] === copyMark
}
