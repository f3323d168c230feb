// A reader thread for work that takes processor time: searches, and hashing of tiles. The serving
// program has two, so that a broad search does not delay lists.

import { systemClock, threadClock } from "../../clock.ts"
import type { ArchivePlace } from "../../config.ts"
import type { Limits } from "../../limits.ts"
import { answer, givenToThread } from "../../runtime/worker-thread.ts"
import { openArchivedBodies, withArchived } from "../archive/archived-bodies.ts"
import { readerQuestions, type FinderQuestions } from "../search/finder-thread.ts"
import type { LeafReader } from "../leaf-reader.ts"
import { openDatabase, type DatabaseConfig } from "./connection.ts"
import { segmentReads } from "./postgres-segments.ts"
import { indexReads, journalReads } from "./reads.ts"
import { registryOf } from "./registry.ts"

export const readerModule = import.meta.filename

export interface ReaderOptions {
  readonly database: DatabaseConfig
  readonly limits: Pick<Limits, "searchCacheBytesMax">
  readonly archive: ArchivePlace
}

export type ReaderQuestions = FinderQuestions & LeafReader

const given = givenToThread<ReaderOptions>(readerModule)
if (given !== undefined) {
  const database = openDatabase(given.database)
  const bodies = openArchivedBodies(given.archive, registryOf(database), systemClock)
  const store = {
    journal: withArchived(journalReads(database), bodies),
    index: indexReads(database),
    segments: segmentReads(database),
  }
  answer<ReaderQuestions>(
    readerQuestions(store, threadClock, given.limits.searchCacheBytesMax),
    () => {
      bodies.close()
      return database.close()
    },
  )
}
