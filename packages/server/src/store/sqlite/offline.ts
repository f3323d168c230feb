// The files as the operator's tools hold them: while nobody serves, or as they were at one moment.

import { existsSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import type { FilingStore, JournalReader, Registry, WatchedStore } from "../store.ts"
import { copyDatabase, isMarked, markCopy, openStill, takeOffMark } from "./copy.ts"
import { isDamage, openForWriting, requireLedger } from "./database.ts"
import { readFormerJournal, upgradeJournal } from "./journal-upgrade.ts"
import { rewriteDocuments } from "./sqlite-documents.ts"
import { lockFolder } from "./lock.ts"
import { openSqliteFiling, openSqliteWatched, prepare, readerOf } from "./open-sqlite.ts"
import { registryOf } from "./registry.ts"
import { journalReads } from "./reads.ts"
import { removeDatabase } from "./search-file.ts"

/** What a program holds that makes all that is derived again. */
export interface DerivedStore {
  readonly watched: WatchedStore
  readonly filing: FilingStore
  close(): Promise<void>
}

/**
 * What a program holds that only looks: what is kept, as it was when it was opened, whoever writes
 * meanwhile.
 */
export interface Snapshot {
  readonly journal: JournalReader
  readonly registry: Registry
  /** Copies what is kept into a folder, and marks the copy as one; on the disk when it returns. */
  copyTo(folder: string, progress: (done: number, pages: number) => void): Promise<void>
  close(): Promise<void>
}

/** What a program holds that goes on from a copy, while nobody serves. */
export interface StoppedStore {
  readonly journal: JournalReader
  readonly registry: Registry
  readonly isCopy: boolean
  takeOffMark(): void
  /** Writes all documents anew: nothing of what they held before is left in the file. */
  rewriteDocuments(): void
  close(): Promise<void>
}

/**
 * For a program that makes everything derived again, while no other uses the folder: what was
 * derived before is removed first.
 */
export function openAnew(folder: string): DerivedStore {
  requireLedger(folder)
  const lock = lockFolder(folder)
  try {
    for (const file of ["index.db", "search.db"]) removeDatabase(join(folder, file))
    prepare(folder)
    const watched = openSqliteWatched(folder)
    const filing = openSqliteFiling(folder)
    return {
      watched,
      filing,
      async close() {
        await filing.close()
        await watched.close()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/**
 * For a program that looks at what is kept at this moment, and may copy it, while others use the
 * folder.
 */
export function openSnapshot(folder: string): Snapshot {
  requireLedger(folder)
  // First the index, so that it knows of nothing that the journal does not have.
  const index = openIndexStill(join(folder, "index.db"))
  const journal = openStill(join(folder, "journal.db"))
  readFormerJournal(journal)
  return {
    journal: readerOf(journalReads(journal)),
    registry: registryOf(journal),
    async copyTo(target, progress) {
      await copyDatabase(journal, join(target, "journal.db"), progress)
      markCopy(join(target, "journal.db"))
      // It could be made again, but for the signatures: with it a copy can prove what it holds
      // while it is only read.
      if (index !== undefined) await copyDatabase(index, join(target, "index.db"), () => {})
    },
    async close() {
      journal.close()
      index?.close()
    },
  }
}

/** A copy without it is still a copy: where it is not there, or is damaged, it is left out. */
function openIndexStill(path: string): DatabaseSync | undefined {
  try {
    return existsSync(path) ? openStill(path) : undefined
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/** For a program that goes on from a copy, while no other uses the folder. */
export function openStopped(folder: string): StoppedStore {
  requireLedger(folder)
  const lock = lockFolder(folder)
  try {
    upgradeJournal(folder)
    const journal = openForWriting(join(folder, "journal.db"), "journal", "full")
    return {
      journal: readerOf(journalReads(journal)),
      registry: registryOf(journal),
      isCopy: isMarked(journal),
      takeOffMark: () => takeOffMark(journal),
      rewriteDocuments: () => rewriteDocuments(journal),
      async close() {
        journal.close()
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}
