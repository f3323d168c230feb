// A reader's thread. The serving program has three: a long read stalls no request that needs none,
// and a broad search delays neither a list nor a look-up.

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
import { readHeld, type HeldLog } from "../held-entries.ts"
import type { Log } from "../epochs.ts"
import { createSegmentSearch } from "../search/segment-search.ts"
import { findableUpTo, recordedIn } from "../search/unfiled-entries.ts"
import { createLeafReader, type SignedTree } from "../tree-reads.ts"
import { openForReading } from "./database.ts"
import { finderQuestions } from "../search/finder-thread.ts"
import { plainOf } from "./joined-entries.ts"
import { auditReads, documentReads, indexReads, journalReads, readerOf, useReads } from "./reads.ts"
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
type DocumentReads = ReturnType<typeof documentReads>
type IndexReads = ReturnType<typeof indexReads>

/** A question has one argument, so that it is one message. */
function questions(
  { searchCacheBytesMax }: ReaderOptions["limits"],
  journalFile: DatabaseSync,
  indexFile: DatabaseSync,
  searchFile: DatabaseSync,
  bodies: ArchivedBodies,
) {
  const [journal, documents] = [journalReads(journalFile), documentReads(journalFile)]
  const index = indexReads(indexFile)
  const segments = cachedSegmentReads(searchFile)
  const store = {
    journal: withArchived(readerOf(journal), bodies),
    index: {
      tiles: async (...asked: Parameters<IndexReads["tiles"]>) => index.tiles(...asked),
      checkpoint: async (...asked: Parameters<IndexReads["checkpoint"]>) =>
        index.checkpoint(...asked),
    },
  }
  const readLeaves = createLeafReader(store)
  const finding = createSegmentSearch({
    recorded: recordedIn(store.journal),
    segments: segmentReaderOf(segments),
    clock: threadClock,
    cacheBytes: searchCacheBytesMax,
  })
  return {
    head: (workspace: string) => journal.head(workspace),
    at: ([workspace, sequences, bytesMax]: Parameters<JournalReads["at"]>) =>
      store.journal.at(workspace, sequences, bytesMax),
    after: async ([workspace, sequence, limit]: Parameters<JournalReads["after"]>) =>
      (await store.journal.after(workspace, sequence, limit)).map(plainOf),
    linked: ([workspace, sequence, limit]: Parameters<JournalReads["linked"]>) =>
      store.journal.linked(workspace, sequence, limit),
    records: ([workspace, sequence, count]: Parameters<JournalReads["records"]>) =>
      journal.records(workspace, sequence, count),
    recordsAt: ([workspace, sequences]: Parameters<JournalReads["recordsAt"]>) =>
      journal.recordsAt(workspace, sequences),
    places: ([afterN, limit]: Parameters<JournalReads["places"]>) => [
      ...journal.places(afterN, limit),
    ],
    async byReceipt([workspace, receipt]: readonly [string, string]) {
      for (const n of index.entriesOfReceipt(receipt)) {
        const place = journal.place(n)
        if (place?.workspace === workspace && place.receipt === receipt)
          return (await store.journal.at(workspace, [place.sequence]))[0]
      }
      return undefined
    },
    /** The entries with these keys, found in the runs that may have them. */
    used: (
      suspects: readonly { readonly run: number; readonly idem: string }[],
    ): (Place | undefined)[] =>
      suspects.map(({ run, idem }) =>
        Iterator.from(index.entriesOfKey(run, idem))
          .map((n) => journal.place(n))
          .find((place) => place?.idem === idem),
      ),
    filters: (fromRun: number) => index.filters(fromRun),
    ...documentQuestions(documents),
    position: (workspace: string) => index.position(workspace),
    findableUpTo: (workspace: string) =>
      findableUpTo(segments.list(workspace), journal.head(workspace)?.sequence ?? 0),
    tree: ([workspace, epoch]: Parameters<IndexReads["tree"]>) => index.tree(workspace, epoch),
    tiles: ([workspace, epoch, tiles]: Parameters<IndexReads["tiles"]>) =>
      index.tiles(workspace, epoch, tiles),
    checkpoint: ([workspace, epoch]: Parameters<IndexReads["checkpoint"]>) =>
      index.checkpoint(workspace, epoch),
    audit: auditReads(indexFile),
    uses: useReads(indexFile),
    // In this thread, because a tile that is read for the first time takes hundreds of hashes.
    leaves: ([log, tree, tile]: readonly [Log, SignedTree, number]) => readLeaves(log, tree, tile),
    held: ([log, sequences, bytesMax]: readonly [HeldLog, readonly number[], number]) =>
      readHeld(store, log, sequences, bytesMax),
    ...finderQuestions(finding, store),
  }
}

function documentQuestions(documents: DocumentReads) {
  return {
    get: ([kind, workspace, id]: Parameters<DocumentReads["get"]>) =>
      documents.get(kind, workspace, id),
    workspaceOf: ([kind, id]: Parameters<DocumentReads["workspaceOf"]>) =>
      documents.workspaceOf(kind, id),
    list: ([kind, workspace, before, limit]: Parameters<DocumentReads["list"]>) =>
      documents.list(kind, workspace, before, limit),
    count: ([kind, workspace]: Parameters<DocumentReads["count"]>) =>
      documents.count(kind, workspace),
  }
}
