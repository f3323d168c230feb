// Runs the filing program in a thread of its own. It has a low priority: a search reads entries
// that are not filed yet from the journal.

import { systemClock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { followBeside } from "./follower-thread.ts"
import { startFiling, type FilingReport } from "../followers/filing.ts"
import { findDue, type DueEntries, type DueQuestion } from "../lifetime/due-entries.ts"
import type { DestroyedContent } from "../followers/segment-cleaning.ts"
import { startPacker, type PackerReport } from "../followers/packer.ts"
import { createSegmentArchiving, type SegmentArchiving } from "../followers/segment-archiving.ts"
import type { Limits } from "../limits.ts"
import type { ContentKeeperBeside } from "../store/content-keeper.ts"
import { openArchive } from "../store/archive/open-archive.ts"
import { archiveOf, openFiling, type StorePlace } from "../store/open.ts"
import type { Store } from "../store/store.ts"
import { createPace } from "../runtime/pace.ts"
import { lowerPriority } from "../runtime/thread-priority.ts"
import { answer, asking, givenToThread } from "../runtime/worker-thread.ts"

export interface FilingOptions {
  readonly place: StorePlace
  /** Whether bodies may be packed. In a copy they are not, because a copy must not change. */
  readonly packs: boolean
  readonly limits: Limits
}

export interface FilingBeside {
  /**
   * Resolves when everything that was recorded until now is filed. Rejects with a LedgerError if
   * that takes too long.
   */
  catchUp(workspace: string): Promise<void>
  /** Like `Filing.forget`. */
  forget(workspace: string, destroyed: DestroyedContent): Promise<void>
  readonly content: ContentKeeperBeside
  /** Some of the entries whose retention has ended. */
  due(question: DueQuestion): Promise<DueEntries>
  readonly archiving: SegmentArchiving
  close(): Promise<void>
}

type FilingQuestions = Pick<FilingBeside, "forget" | "due"> &
  Pick<ContentKeeperBeside, keyof ContentKeeperBeside> &
  Pick<SegmentArchiving, keyof SegmentArchiving> & {
    poke(workspaces: readonly string[]): void
    catchUp(workspace: string): Promise<number>
  }

/** The thread gets less processor time than the others, but never none. */
const niceness = 10

/** Calls `onDeath` when the thread ends unexpectedly. */
export async function fileBeside(
  options: FilingOptions,
  store: Pick<Store, "grown">,
  onReport: (report: FilingReport | PackerReport) => void,
  onDeath: (cause: Error) => void,
): Promise<FilingBeside> {
  // Few large steps cost less than many small ones.
  const { fileEveryMs, findWaitMs } = options.limits
  const listener = { onReport, onDeath }
  const thread = await followBeside<FilingQuestions, FilingReport | PackerReport>(
    import.meta.filename,
    options,
    store,
    fileEveryMs,
    listener,
  )
  return {
    async catchUp(workspace) {
      const position = await Promise.race([
        thread.ask("catchUp", workspace).catch(() => undefined),
        systemClock.sleep(findWaitMs).then(() => undefined),
      ])
      if (position === undefined)
        throw new LedgerError(
          "ledger_unavailable",
          "what was recorded last cannot be found yet; ask again in a moment",
        )
    },
    ...asking(thread, "forget", "due"),
    content: asking(
      thread,
      "pack",
      "frames",
      "dropBodies",
      "putFrames",
      "destroyBodies",
      "keepDisclosures",
      "clearLog",
      "isOurs",
    ),
    archiving: asking(
      thread,
      "oldest",
      "write",
      "drop",
      "without",
      "restore",
      "files",
      "discard",
      "discardStrays",
    ),
    close: () => thread.close(),
  }
}

const options = givenToThread<FilingOptions>(import.meta.filename)
if (options !== undefined) {
  lowerPriority(niceness)
  const store = await openFiling(options.place)
  const pace = createPace(systemClock, options.limits.pieceMs)
  const storage = openArchive(archiveOf(options.place), systemClock)
  const filing = startFiling({
    store,
    clock: systemClock,
    limits: options.limits,
    report(said) {
      report(said)
      if (said.kind === "filed")
        for (const [workspace, , end] of said.positions) packer?.grown(workspace, end)
    },
  })
  const packer = options.packs
    ? startPacker({
        store,
        clock: systemClock,
        limits: options.limits,
        report: (said) => report(said),
      })
    : undefined
  const report = answer<FilingQuestions, FilingReport | PackerReport>(
    {
      ...filing,
      due: (question) => findDue(store.journal, question, pace),
      ...store.content,
      isOurs: async (workspace) => (await store.leases.hold(workspace)) === true,
      ...createSegmentArchiving(store, storage, systemClock),
    },
    async () => {
      await filing.close()
      await packer?.close()
      storage.close()
      await store.close()
    },
  )
}
