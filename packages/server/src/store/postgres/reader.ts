// A reader thread for work that takes processor time: searches, and hashing of tiles. The serving
// program has two, so that a broad search does not delay lists.

import { systemClock, threadClock } from "../../clock.ts"
import type { ArchivePlace } from "../../config.ts"
import type { Limits } from "../../limits.ts"
import { answer, givenToThread } from "../../runtime/worker-thread.ts"
import {
  openArchivedBodies,
  withArchived,
  type ArchivedBodies,
} from "../archive/archived-bodies.ts"
import { finderQuestions } from "../search/finder-thread.ts"
import { createSegmentSearch } from "../search/segment-search.ts"
import { recordedIn } from "../search/unfiled-entries.ts"
import { createLeafReader } from "../leaf-reader.ts"
import { openDatabase, type Database, type DatabaseConfig } from "./connection.ts"
import { segmentReads } from "./postgres-segments.ts"
import { indexReads, journalReads } from "./reads.ts"
import { registryOf } from "./registry.ts"

export const readerModule = import.meta.filename

export interface ReaderOptions {
  readonly database: DatabaseConfig
  readonly limits: Pick<Limits, "searchCacheBytesMax">
  readonly archive: ArchivePlace
}

export type ReaderQuestions = ReturnType<typeof questions>

const given = givenToThread<ReaderOptions>(readerModule)
if (given !== undefined) {
  const database = openDatabase(given.database)
  const bodies = openArchivedBodies(given.archive, registryOf(database), systemClock)
  answer<ReaderQuestions>(questions(given.limits, database, bodies), () => {
    bodies.close()
    return database.close()
  })
}

function questions(
  { searchCacheBytesMax }: ReaderOptions["limits"],
  database: Database,
  bodies: ArchivedBodies,
) {
  const journal = withArchived(journalReads(database), bodies)
  const store = { journal, index: indexReads(database) }
  const finding = createSegmentSearch({
    recorded: recordedIn(store.journal),
    segments: segmentReads(database),
    clock: threadClock,
    cacheBytes: searchCacheBytesMax,
  })
  const leaves = createLeafReader(store)
  return {
    ...leaves,
    ...finderQuestions(finding, { ...store, ...leaves }),
  }
}
