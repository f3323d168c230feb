// The files for the operator's tools: while no service runs, or as a snapshot.

import { existsSync, renameSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { StartError } from "../../error.ts"
import { syncPath } from "../../runtime/durable-file.ts"
import type { DerivedStore, Snapshot, StoppedStore } from "../offline.ts"
import { copyDatabase, isMarked, markCopy, openStill, takeOffMark } from "./copy.ts"
import { isDamage, openForWriting, requireLedger } from "./database.ts"
import { readFormerJournal, upgradeJournal } from "./journal-upgrade.ts"
import { replaceDocuments, rewriteDocuments, storedDocuments } from "./sqlite-documents.ts"
import { lockForChange } from "./lock.ts"
import { openSqliteFiling, openSqliteWatched, prepare } from "./open-sqlite.ts"
import { registryOf } from "./registry.ts"
import { journalReads, readerOf } from "./reads.ts"
import { removeDatabase } from "./search-file.ts"

/** A snapshot that can be copied while others write to its folder. */
export interface SqliteSnapshot extends Snapshot {
  /** Copies the data into a folder, and marks it as a copy. It is on the disk on return. */
  copyTo(folder: string, progress: (done: number, pages: number) => void): Promise<void>
}

/**
 * Removes all derived data, for a program that rebuilds it. No other program may use the folder.
 */
export function openSqliteAnew(folder: string): DerivedStore {
  requireLedger(folder)
  using opening = new DisposableStack()
  opening.use(lockForChange(folder))
  upgradeJournal(folder)
  requireWhole(join(folder, "journal.db"))
  for (const file of ["index.db", "search.db"]) removeDatabase(join(folder, file))
  prepare(folder)
  const watched = openSqliteWatched(folder)
  const filing = openSqliteFiling(folder)
  const lock = opening.move()
  return {
    watched,
    filing,
    async close() {
      await filing.close()
      await watched.close()
      lock.dispose()
    },
  }
}

/** Reads every page. From a damaged journal, nothing could be made again. */
function requireWhole(path: string): void {
  using journal = openForWriting(path, "journal", "full")
  const fault = journal.prepare("PRAGMA quick_check(1)").get()?.["quick_check"]
  if (fault !== "ok")
    throw new StartError(
      `${path} is damaged (${String(fault).replaceAll("\n", " ")}), so nothing was changed: look at the disk, and restore a backup`,
    )
}

/** For a program that reads or copies a snapshot of this moment while others use the folder. */
export function openSqliteSnapshot(folder: string): SqliteSnapshot {
  requireLedger(folder)
  // The index is opened first, so that it contains nothing that the journal lacks.
  const index = openIndexStill(join(folder, "index.db"))
  const journal = openStill(join(folder, "journal.db"))
  readFormerJournal(journal)
  return {
    journal: readerOf(journalReads(journal)),
    registry: registryOf(journal),
    async copyTo(target, progress) {
      const unmarked = join(target, "journal.db.unmarked")
      await copyDatabase(journal, unmarked, progress)
      markCopy(unmarked)
      // A backup that is killed must not leave what looks like the original.
      renameSync(unmarked, join(target, "journal.db"))
      syncPath(target)
      // It could be rebuilt, except for the signatures: with them a copy can prove its entries
      // while it is read-only.
      if (index !== undefined) await copyDatabase(index, join(target, "index.db"), () => {})
    },
    async close() {
      journal.close()
      index?.close()
    },
  }
}

/** Leaves the index out if it is missing or damaged: the copy is complete without it. */
function openIndexStill(path: string): DatabaseSync | undefined {
  try {
    return existsSync(path) ? openStill(path) : undefined
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/** For a program that turns a copy into the ledger. No other program may use the folder. */
export function openSqliteStopped(folder: string): StoppedStore {
  requireLedger(folder)
  using opening = new DisposableStack()
  opening.use(lockForChange(folder))
  upgradeJournal(folder)
  const journal = opening.use(openForWriting(join(folder, "journal.db"), "journal", "full"))
  const store = {
    journal: readerOf(journalReads(journal)),
    registry: registryOf(journal),
    isCopy: isMarked(journal),
  }
  const opened = opening.move()
  return {
    ...store,
    documents: () => storedDocuments(journal),
    replaceDocuments: (documents) => replaceDocuments(journal, documents),
    takeOffMark: () => takeOffMark(journal),
    rewriteDocuments: async () => rewriteDocuments(journal),
    close: async () => opened.dispose(),
  }
}
