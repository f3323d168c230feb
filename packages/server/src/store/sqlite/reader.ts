// The reader's thread: answers all reads of the serving program, so that a long scan never stalls a
// request.

import { join } from "node:path"
import { openForReading } from "./database.ts"
import { auditReads, documentReads, indexReads, journalReads, type Place } from "./reads.ts"
import type { Log } from "../epochs.ts"
import { createLeafReader, type TreeStore, type SignedTree } from "../tree-reads.ts"
import { findableUpTo } from "../search/unfiled-entries.ts"
import { cachedSegmentReads } from "./sqlite-segments.ts"
import { answer, givenToThread } from "../../runtime/worker-thread.ts"

export const readerModule = import.meta.filename

export type ReaderQuestions = ReturnType<typeof questions>

const folder = givenToThread<string>(readerModule)
if (folder !== undefined) {
  const journal = openForReading(join(folder, "journal.db"))
  const index = openForReading(join(folder, "index.db"))
  const search = openForReading(join(folder, "search.db"))
  answer<ReaderQuestions>(
    questions(
      journalReads(journal),
      documentReads(journal),
      indexReads(index),
      auditReads(index),
      cachedSegmentReads(search),
    ),
    () => {
      journal.close()
      index.close()
      search.close()
    },
  )
}

type JournalReads = ReturnType<typeof journalReads>
type DocumentReads = ReturnType<typeof documentReads>
type IndexReads = ReturnType<typeof indexReads>

/** A question has one argument, so that it is one message. */
function questions(
  journal: JournalReads,
  documents: DocumentReads,
  index: IndexReads,
  audit: ReturnType<typeof auditReads>,
  segments: ReturnType<typeof cachedSegmentReads>,
) {
  const kept: TreeStore = {
    journal: { records: async (...asked) => journal.records(...asked) },
    index: { tiles: async (...asked) => index.tiles(...asked) },
  }
  const readLeaves = createLeafReader(kept)
  return {
    head: (workspace: string) => journal.head(workspace),
    at: ([workspace, sequences, bytesMax]: Parameters<JournalReads["at"]>) =>
      journal.at(workspace, sequences, bytesMax),
    after: ([workspace, sequence, limit]: Parameters<JournalReads["after"]>) =>
      journal.after(workspace, sequence, limit),
    linked: ([workspace, sequence, limit]: Parameters<JournalReads["linked"]>) =>
      journal.linked(workspace, sequence, limit),
    records: ([workspace, sequence, count]: Parameters<JournalReads["records"]>) =>
      journal.records(workspace, sequence, count),
    recordsAt: ([workspace, sequences]: Parameters<JournalReads["recordsAt"]>) =>
      journal.recordsAt(workspace, sequences),
    places: ([afterN, limit]: Parameters<JournalReads["places"]>) => journal.places(afterN, limit),
    byReceipt([workspace, receipt]: readonly [string, string]) {
      for (const n of index.entriesOfReceipt(receipt)) {
        const place = journal.place(n)
        if (place?.workspace === workspace && place.receipt === receipt)
          return journal.at(workspace, [place.sequence])[0]
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
    get: ([kind, workspace, id]: Parameters<DocumentReads["get"]>) =>
      documents.get(kind, workspace, id),
    workspaceOf: ([kind, id]: Parameters<DocumentReads["workspaceOf"]>) =>
      documents.workspaceOf(kind, id),
    list: ([kind, workspace, before, limit]: Parameters<DocumentReads["list"]>) =>
      documents.list(kind, workspace, before, limit),
    count: ([kind, workspace]: Parameters<DocumentReads["count"]>) =>
      documents.count(kind, workspace),
    position: (workspace: string) => index.position(workspace),
    findableUpTo: (workspace: string) =>
      findableUpTo(segments.list(workspace), journal.head(workspace)?.sequence ?? 0),
    tree: ([workspace, epoch]: Parameters<IndexReads["tree"]>) => index.tree(workspace, epoch),
    tiles: ([workspace, epoch, tiles]: Parameters<IndexReads["tiles"]>) =>
      index.tiles(workspace, epoch, tiles),
    checkpoint: ([workspace, epoch]: Parameters<IndexReads["checkpoint"]>) =>
      index.checkpoint(workspace, epoch),
    audit,
    // In this thread, because a tile that is read for the first time takes hundreds of hashes.
    leaves: ([log, tree, tile]: readonly [Log, SignedTree, number]) => readLeaves(log, tree, tile),
  }
}
