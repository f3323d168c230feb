// Opens the SQLite driver: for the program that serves, with threads of a writer and three readers;
// and for the programs that watch, file and export, with their own connections in their own threads.

import { join } from "node:path"
import { LedgerError } from "../../error.ts"
import type { Config } from "../../config.ts"
import { cacheRegistry } from "../cached-documents.ts"
import { countDocuments } from "../counted-documents.ts"
import { createGrowth, ownLeases } from "../growth.ts"
import type { FilingStore, ReadStore, Store, WatchedStore } from "../store.ts"
import { archiveIn } from "../archive/open-archive.ts"
import { removeCompactCopy } from "./compact-journal.ts"
import { copied, isMarked } from "./copy.ts"
import { createContentKeeper } from "./content.ts"
import { openForReading, openForWriting } from "./database.ts"
import { fillRun } from "./fill-key-runs.ts"
import { findWith } from "../search/finder-thread.ts"
import { createIndex } from "./index.ts"
import { createJournal } from "./journal.ts"
import type { CopyProgress } from "./journal-copy.ts"
import { upgradeJournal } from "./journal-upgrade.ts"
import { lockFolder } from "./lock.ts"
import { briefCacheBytes, indexReads, journalReads, readerOf, promised } from "./reads.ts"
import { registryOf } from "./registry.ts"
import { readerModule, type ReaderOptions, type ReaderQuestions } from "./reader.ts"
import { prepareSearch } from "./search-file.ts"
import { createTail, type Tail } from "./recent-keys.ts"
import { runEntries } from "./key-runs.ts"
import { createSegments } from "./sqlite-segments.ts"
import {
  asking,
  startThread,
  startWhenAsked,
  type Questions,
  type Thread,
} from "../../runtime/worker-thread.ts"
import { makeFolderOf } from "../../runtime/make-folder.ts"
import { receivedHeld } from "../held-entries.ts"
import { leavesFrom } from "../leaf-reader.ts"
import { writerModule, type WriterOptions, type WriterQuestions } from "./writer.ts"

export type StoreConfig = Pick<Config, "data" | "limits"> & Partial<Pick<Config, "archive">>

/**
 * Calls `onDeath` when a storage thread has died. The outcome of its work is unknown, so the
 * process must end. Calls `progress` while it upgrades data of an older version.
 */
export async function openSqlite(
  config: StoreConfig,
  onDeath: (cause: Error) => void,
  progress?: CopyProgress,
): Promise<Store> {
  makeFolderOf("TALLYSTICK_DATA", config.data)
  using opening = new DisposableStack()
  opening.use(lockFolder(config.data))
  const store = await openLocked(config, onDeath, progress)
  const lock = opening.move()
  return {
    ...store,
    async close() {
      await store.close()
      lock.dispose()
    },
  }
}

async function openLocked(
  { data: folder, limits, archive = archiveIn(folder) }: StoreConfig,
  onDeath: (cause: Error) => void,
  progress: CopyProgress | undefined,
): Promise<Store> {
  const { isCopy } = prepare(folder, progress)
  const options = { folder, limits, archive } satisfies ReaderOptions
  const startReader = () => startThread<ReaderQuestions>(readerModule, options, { onDeath })
  // They load their code while this thread reads the tail.
  const starting = Promise.all([
    startThread<WriterQuestions>(writerModule, { folder, limits } satisfies WriterOptions, {
      onDeath,
    }),
    startReader(),
  ])
  const tail = await whileStarting(starting, () => readTail(folder))
  const [writer, firstReader] = await starting
  const reader = reading(firstReader)
  const lists = reading(startWhenAsked(startReader))
  const searches = reading(startWhenAsked(startReader))
  const registry = cacheRegistry({
    staleMsMax: 0,
    // The reader returns a document of the requested kind.
    get: (kind, workspace, id) => reader.ask("get", kind, workspace, id) as never,
    list: (...asked) => reader.ask("list", ...asked) as never,
    ...asking(reader, "workspaceOf"),
    count: (...asked) => countDocuments((...some) => reader.ask("countAfter", ...some), ...asked),
  })
  const growth = createGrowth(() => registry)
  return {
    journal: createJournal(writer, reader, tail, limits, ({ workspace, changes = [] }) => {
      registry.forget(workspace, changes)
      growth.report(workspace)
    }),
    registry,
    grown: growth.grown,
    index: asking(reader, "tree", "tiles", "checkpoint", "audit", "uses"),
    leaves: leavesFrom(reader).leaves,
    held: async (...asked) => receivedHeld(await reader.ask("held", ...asked)),
    search: {
      position: (workspace) => reader.ask("findableUpTo", workspace),
      ...findWith(lists, searches),
    },
    readOnly: isCopy ? copied : undefined,
    async ready() {
      const { full } = await writer.ask("append", { packed: new Uint8Array(), groups: [] })
      if (full) throw new LedgerError("storage_full", "the disk is nearly full")
      return undefined
    },
    databaseBytes: async () => undefined,
    async close() {
      for (const one of [searches, lists, reader]) await one.close()
      // The writer closes last: the last connection to close moves the log into the file and
      // removes it.
      await writer.close()
    },
  }
}

/** A reader thread rejects if its files cannot be read. The caller may retry. */
function reading<Q extends Questions>(thread: Thread<Q>): Thread<Q> {
  return {
    ...thread,
    ask: (...asked) =>
      thread.ask(...asked).catch((cause: unknown) => {
        if (cause instanceof LedgerError) throw cause
        throw new LedgerError(
          "ledger_unavailable",
          "what is stored cannot be read at this moment; repeat the request",
          { cause },
        )
      }),
  }
}

/** For the program that watches, after the serving program has opened the folder. */
export function openSqliteWatched(folder: string): WatchedStore {
  const journal = openForReading(join(folder, "journal.db"))
  const index = openForWriting(join(folder, "index.db"), "index", "normal")
  const reads = journalReads(journal)
  return {
    journal: readerOf(reads),
    leases: ownLeases,
    registry: registryOf(journal),
    index: createIndex(index, reads),
    async close() {
      journal.close()
      index.close()
    },
  }
}

/** For the program that files, after the serving program has opened the folder. */
export function openSqliteFiling(folder: string): FilingStore {
  const journal = openForReading(join(folder, "journal.db"))
  // If a power cut undoes the packing, the rows are still there.
  const packing = openForWriting(join(folder, "journal.db"), "journal", "normal")
  const index = openForReading(join(folder, "index.db"))
  const search = openForWriting(join(folder, "search.db"), "search", "normal")
  const reads = journalReads(journal)
  return {
    journal: readerOf(reads),
    leases: ownLeases,
    registry: registryOf(journal),
    index: promised(indexReads(index), "checkpoint"),
    segments: createSegments(search, reads),
    content: createContentKeeper(packing, search),
    async close() {
      journal.close()
      packing.close()
      index.close()
      search.close()
    },
  }
}

/** For the program that exports, after the serving program has opened the folder. */
export function openSqliteReading(folder: string): ReadStore {
  const journal = openForReading(join(folder, "journal.db"))
  const index = openForReading(join(folder, "index.db"))
  return {
    journal: readerOf(journalReads(journal, briefCacheBytes)),
    registry: registryOf(journal),
    index: promised(indexReads(index), "tiles", "checkpoint"),
    async close() {
      journal.close()
      index.close()
    },
  }
}

/** Creates or migrates the three files, and fills the index with the runs that are due. */
export function prepare(folder: string, progress?: CopyProgress): { readonly isCopy: boolean } {
  removeCompactCopy(folder)
  upgradeJournal(folder, progress)
  openForWriting(join(folder, "journal.db"), "journal", "full").close()
  using index = openForWriting(join(folder, "index.db"), "index", "normal")
  using journal = openForReading(join(folder, "journal.db"))
  const reads = journalReads(journal)
  prepareSearch(join(folder, "search.db"), reads)
  // All runs are due if an older version has filled the index.
  const due = reads.lastN() - indexReads(index).runs() * runEntries
  for (let filled = 0; fillRun(reads, index); progress?.(filled, due)) filled += runEntries
  // The journal is older than the index. New keys would be missed, because their runs seem to be
  // complete already.
  if (indexReads(index).runs() * runEntries > reads.lastN())
    throw new Error(
      `index.db in ${folder} is of a later journal than journal.db; remove it, and it is made again`,
    )
  return { isCopy: isMarked(journal) }
}

function readTail(folder: string): Tail {
  using index = openForReading(join(folder, "index.db"))
  using journal = openForReading(join(folder, "journal.db"))
  const tail = createTail()
  for (const { run, filter } of indexReads(index).filters(0)) tail.settle(run, filter)
  for (const place of journalReads(journal).places(tail.settledN(), Number.MAX_SAFE_INTEGER))
    tail.add(place)
  return tail
}

/** If it throws, no thread stays running. */
async function whileStarting<T>(
  starting: Promise<readonly { close(): Promise<void> }[]>,
  act: () => T,
): Promise<T> {
  try {
    return act()
  } catch (error) {
    for (const thread of await starting) await thread.close()
    throw error
  }
}
