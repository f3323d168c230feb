// A reader's thread, for what takes processor time: searches, and tiles that are hashed. The serving
// program has two, so that a broad search delays no list.

import { threadClock } from "../../clock.ts"
import type { Limits } from "../../limits.ts"
import { answer, givenToThread } from "../../runtime/worker-thread.ts"
import type { Log } from "../epochs.ts"
import { finderQuestions } from "../search/finder-thread.ts"
import { createSegmentSearch } from "../search/segment-search.ts"
import { recordedIn } from "../search/unfiled-entries.ts"
import { createLeafReader, type SignedTree } from "../tree-reads.ts"
import { openDatabase, type Database, type DatabaseConfig } from "./connection.ts"
import { segmentReads } from "./postgres-segments.ts"
import { indexReads, journalReads } from "./reads.ts"

export const readerModule = import.meta.filename

export interface ReaderOptions {
  readonly database: DatabaseConfig
  readonly limits: Pick<Limits, "searchCacheBytesMax">
}

export type ReaderQuestions = ReturnType<typeof questions>

const given = givenToThread<ReaderOptions>(readerModule)
if (given !== undefined) {
  const database = openDatabase(given.database)
  answer<ReaderQuestions>(questions(given.limits, database), () => database.close())
}

function questions({ searchCacheBytesMax }: ReaderOptions["limits"], database: Database) {
  const store = { journal: journalReads(database), index: indexReads(database) }
  const readLeaves = createLeafReader(store)
  const finding = createSegmentSearch({
    recorded: recordedIn(store.journal),
    segments: segmentReads(database),
    clock: threadClock,
    cacheBytes: searchCacheBytesMax,
  })
  return {
    leaves: ([log, tree, tile]: readonly [Log, SignedTree, number]) => readLeaves(log, tree, tile),
    ...finderQuestions(finding, store),
  }
}
