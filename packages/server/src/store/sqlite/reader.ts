// A reader thread. The serving program has three, so that a long read does not stall requests that
// need none, and a broad search delays neither lists nor look-ups.

import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { systemClock, threadClock } from "../../clock.ts"
import type { ArchivePlace } from "../../config.ts"
import type { Limits } from "../../limits.ts"
import { answer, givenToThread } from "../../runtime/worker-thread.ts"
import {
  openArchivedBodies,
  withArchived,
  type ArchivedBodies,
} from "../archive/archived-bodies.ts"
import { readHeld, sentHeld, type HeldLog } from "../held-entries.ts"
import { sentOf } from "../sent-entries.ts"
import { findableUpTo } from "../search/unfiled-entries.ts"
import { openForReading } from "./database.ts"
import { readerQuestions } from "../search/finder-thread.ts"
import {
  auditReads,
  documentReads,
  indexReads,
  journalReads,
  readerOf,
  useReads,
  promised,
} from "./reads.ts"
import type { Place } from "./place-reads.ts"
import { registryOf } from "./registry.ts"
import { cachedSegmentReads, segmentReaderOf } from "./sqlite-segments.ts"

export const readerModule = import.meta.filename

export interface ReaderOptions {
  readonly folder: string
  readonly limits: Pick<Limits, "searchCacheBytesMax">
  readonly archive: ArchivePlace
}

export type ReaderQuestions = ReturnType<typeof questions>

const given = givenToThread<ReaderOptions>(readerModule)
if (given !== undefined) {
  const journal = openForReading(join(given.folder, "journal.db"))
  const index = openForReading(join(given.folder, "index.db"))
  const search = openForReading(join(given.folder, "search.db"))
  const bodies = openArchivedBodies(given.archive, registryOf(journal), systemClock)
  answer<ReaderQuestions>(questions(given.limits, journal, index, search, bodies), () => {
    bodies.close()
    journal.close()
    index.close()
    search.close()
  })
}

type JournalReads = ReturnType<typeof journalReads>

function questions(
  { searchCacheBytesMax }: ReaderOptions["limits"],
  journalFile: DatabaseSync,
  indexFile: DatabaseSync,
  searchFile: DatabaseSync,
  bodies: ArchivedBodies,
) {
  const journal = journalReads(journalFile)
  const index = indexReads(indexFile)
  const segments = cachedSegmentReads(searchFile)
  const store = {
    journal: withArchived(readerOf(journal), bodies),
    index: promised(index, "tiles", "checkpoint"),
    segments: segmentReaderOf(segments),
  }
  const finding = readerQuestions(store, threadClock, searchCacheBytesMax)
  return {
    ...store.journal,
    at: async (...[workspace, ...asked]: Parameters<JournalReads["at"]>) =>
      sentOf(workspace, await store.journal.at(workspace, ...asked)),
    after: async (...[workspace, ...asked]: Parameters<JournalReads["after"]>) =>
      sentOf(workspace, await store.journal.after(workspace, ...asked)),
    places: (...asked: Parameters<JournalReads["places"]>) => [...journal.places(...asked)],
    async byReceipt(workspace: string, receipt: string) {
      for (const n of index.entriesOfReceipt(receipt)) {
        const place = journal.place(n)
        if (place?.workspace === workspace && place.receipt === receipt)
          return sentOf(workspace, await store.journal.at(workspace, [place.sequence]))
      }
      return sentOf(workspace, [])
    },
    /** The entries with these keys, from the runs that may contain them. */
    used: (
      suspects: readonly { readonly run: number; readonly idem: string }[],
    ): (Place | undefined)[] =>
      suspects.map(({ run, idem }) =>
        Iterator.from(index.entriesOfKey(run, idem))
          .map((n) => journal.place(n))
          .find((place) => place?.idem === idem),
      ),
    ...documentReads(journalFile),
    ...index,
    audit: auditReads(indexFile),
    uses: useReads(indexFile),
    findableUpTo: (workspace: string) =>
      findableUpTo(segments.list(workspace), journal.head(workspace)?.sequence ?? 0),
    ...finding,
    held: async (log: HeldLog, sequences: readonly number[], bytesMax: number) =>
      sentHeld(log, await readHeld({ ...store, ...finding }, log, sequences, bytesMax)),
  }
}
