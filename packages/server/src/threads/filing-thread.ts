// Runs the filing program in a thread of its own. It has a low priority and starts a moment after
// the service: a search reads entries that are not filed yet from the journal.

import { pause, systemClock } from "../clock.ts"
import { detailOf, LedgerError } from "../error.ts"
import { followBeside } from "./follower-thread.ts"
import { startFiling, type FilingReport } from "../followers/filing.ts"
import { findDue, type DueEntries, type DueQuestion } from "../lifetime/due-entries.ts"
import type { DestroyedContent } from "../followers/segment-cleaning.ts"
import { startPacker, type PackerReport } from "../followers/packer.ts"
import { createSegmentArchiving, type SegmentArchiving } from "../followers/segment-archiving.ts"
import type { Limits } from "../limits.ts"
import type { ContentKeeperBeside } from "../store/content-keeper.ts"
import { asRefusal } from "../store/archive/archived-bodies.ts"
import { openArchive } from "../store/archive/open-archive.ts"
import { archiveOf, openFiling, type StorePlace } from "../store/open.ts"
import type { Store } from "../store/store.ts"
import { createPace } from "../runtime/pace.ts"
import { lowerPriority } from "../runtime/thread-priority.ts"
import {
  answer,
  asking,
  givenToThread,
  startThread,
  startWhenAsked,
} from "../runtime/worker-thread.ts"

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

/** Its start would take processor time from the threads that answer the first requests. */
export const firstPokeMs = 1000
const startAgainMs = 1000

/**
 * The first question starts the thread: at the latest after a moment, if there are entries. Calls
 * `onDeath` when it ends unexpectedly, but not when it cannot start, which is tried again.
 */
export function fileBeside(
  options: FilingOptions,
  store: Pick<Store, "grown">,
  onReport: (report: FilingReport | PackerReport) => void,
  onDeath: (cause: Error) => void,
): FilingBeside {
  // Few large steps cost less than many small ones.
  const { fileEveryMs, findWaitMs } = options.limits
  const listener = { onReport, onDeath }
  const started = startWhenAsked<FilingQuestions>(() =>
    startThread(import.meta.filename, options, listener),
  )
  const runs = async (): Promise<boolean> => {
    try {
      await started.ask("poke", [])
      return true
    } catch (error) {
      const cause = error instanceof LedgerError ? error.cause : error
      onReport({ kind: "failed", detail: detailOf(cause) })
      return false
    }
  }
  const grown: Store["grown"] = async function* (end) {
    const begun = pause(systemClock, firstPokeMs, end)
    for await (const workspaces of store.grown(end)) {
      await begun
      if (workspaces.length === 0) continue
      // A disk that fails may recover.
      while (!end.aborted && !(await runs())) await pause(systemClock, startAgainMs, end)
      // The next start files what is left.
      if (end.aborted) return
      yield workspaces
    }
  }
  const thread = followBeside(started, { grown }, fileEveryMs, onDeath)
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
    content: {
      ...asking(
        thread,
        "pack",
        "frames",
        "dropBodies",
        "putFrames",
        "destroyBodies",
        "keepDisclosures",
        "clearLog",
        "overwriteCopies",
      ),
      // A folder belongs to one process, which need not ask the thread.
      isOurs: async (workspace) =>
        options.place.databaseUrl === undefined || (await thread.ask("isOurs", workspace)),
    },
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
    asRefusal,
  )
}
