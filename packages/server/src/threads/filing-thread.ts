// Runs the filing program in a thread of its own. It has a low priority: a search reads entries
// that are not filed yet from the journal.

import { systemClock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { followBeside } from "./follower-thread.ts"
import { startFiling, type FilingReport } from "../followers/filing.ts"
import { turn } from "../followers/loop.ts"
import { findDue, type DueEntries, type DueQuestion } from "../lifetime/due-entries.ts"
import type { DestroyedContent } from "../followers/segment-cleaning.ts"
import { startPacker, type PackerReport } from "../followers/packer.ts"
import type { DueSegment } from "../followers/due-frames.ts"
import { createSegmentArchiving, type SegmentArchiving } from "../followers/segment-archiving.ts"
import type { Limits } from "../limits.ts"
import type { ContentKeeper, ContentKeeperBeside } from "../store/content-keeper.ts"
import { openArchive } from "../store/archive/open-archive.ts"
import { archiveOf, openFiling, type StorePlace } from "../store/open.ts"
import type { FilingStore, Store } from "../store/store.ts"
import { lowerPriority } from "../runtime/thread-priority.ts"
import { answer, givenToThread } from "../runtime/worker-thread.ts"

export interface FilingOptions {
  readonly place: StorePlace
  /** Whether bodies may be packed: the data of a copy is not changed. */
  readonly packs: boolean
  readonly limits: Limits
}

export interface FilingBeside {
  /**
   * Resolves when everything that was recorded until now is filed; a LedgerError if that takes too
   * long.
   */
  catchUp(workspace: string): Promise<void>
  /** As `Filing.forget`. */
  forget(workspace: string, destroyed: DestroyedContent): Promise<void>
  readonly content: ContentKeeperBeside
  /** A part of the entries whose time is over. */
  due(question: DueQuestion): Promise<DueEntries>
  readonly archiving: SegmentArchiving
  close(): Promise<void>
}

type ContentQuestions = ReturnType<typeof contentQuestions>
type ArchivingQuestions = ReturnType<typeof archivingQuestions>

type FilingQuestions = ContentQuestions &
  ArchivingQuestions & {
    poke(workspaces: readonly string[]): void
    catchUp(workspace: string): Promise<number>
    forget(asked: readonly [workspace: string, destroyed: DestroyedContent]): Promise<void>
    due(question: DueQuestion): Promise<DueEntries>
  }

/** The thread gets less processor time than the others, but some. */
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
    forget: (...asked) => thread.ask("forget", asked),
    due: (question) => thread.ask("due", question),
    content: {
      pack: (...asked) => thread.ask("pack", asked),
      frames: (...asked) => thread.ask("frames", asked),
      dropBodies: (...asked) => thread.ask("dropBodies", asked),
      putFrames: (...asked) => thread.ask("putFrames", asked),
      destroyBodies: (...asked) => thread.ask("destroyBodies", asked),
      keepDisclosures: (...asked) => thread.ask("keepDisclosures", asked),
      clearLog: () => thread.ask("clearLog", undefined),
      isOurs: (workspace) => thread.ask("isOurs", workspace),
    },
    archiving: {
      oldest: (workspace) => thread.ask("oldestFrame", workspace),
      write: (due) => thread.ask("writeSegment", due),
      drop: (...asked) => thread.ask("dropSegment", asked),
      without: (...asked) => thread.ask("segmentWithout", asked),
      restore: (...asked) => thread.ask("restoreSegment", asked),
      discard: (segment) => thread.ask("discardSegment", segment),
      clean: (...asked) => thread.ask("cleanSegment", asked),
    },
    close: () => thread.close(),
  }
}

/** A question has one argument, so that it is one message. */
function contentQuestions(
  { content, leases }: Pick<FilingStore, "content" | "leases">,
  takenOver: (workspace: string) => void,
) {
  type Asked<K extends keyof ContentKeeper> = Parameters<ContentKeeper[K]>
  const ours = new Set<string>()
  return {
    pack: (asked: Asked<"pack">) => content.pack(...asked),
    frames: (asked: Asked<"frames">) => content.frames(...asked),
    dropBodies: (asked: Asked<"dropBodies">) => content.dropBodies(...asked),
    putFrames: (asked: Asked<"putFrames">) => content.putFrames(...asked),
    destroyBodies: (asked: Asked<"destroyBodies">) => content.destroyBodies(...asked),
    keepDisclosures: (asked: Asked<"keepDisclosures">) => content.keepDisclosures(...asked),
    clearLog: (_: undefined) => content.clearLog(),
    async isOurs(workspace: string) {
      const isOurs = (await leases.hold(workspace)) === true
      // The question may take the lease of a process that died, and nobody else says so then.
      if (isOurs && !ours.has(workspace)) takenOver(workspace)
      if (isOurs) ours.add(workspace)
      else ours.delete(workspace)
      return isOurs
    },
  }
}

function archivingQuestions(archiving: SegmentArchiving) {
  type Asked<K extends keyof SegmentArchiving> = Parameters<SegmentArchiving[K]>
  return {
    oldestFrame: (workspace: string) => archiving.oldest(workspace),
    writeSegment: (due: DueSegment) => archiving.write(due),
    dropSegment: (asked: Asked<"drop">) => archiving.drop(...asked),
    segmentWithout: (asked: Asked<"without">) => archiving.without(...asked),
    restoreSegment: (asked: Asked<"restore">) => archiving.restore(...asked),
    discardSegment: (segment: Parameters<SegmentArchiving["discard"]>[0]) =>
      archiving.discard(segment),
    cleanSegment: (asked: Asked<"clean">) => archiving.clean(...asked),
  }
}

const options = givenToThread<FilingOptions>(import.meta.filename)
if (options !== undefined) {
  lowerPriority(niceness)
  const store = await openFiling(options.place)
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
        filing,
        clock: systemClock,
        limits: options.limits,
        report: (said) => report(said),
      })
    : undefined
  const report = answer<FilingQuestions, FilingReport | PackerReport>(
    {
      poke: (workspaces) => filing.poke(workspaces),
      catchUp: (workspace) => filing.catchUp(workspace),
      forget: (asked) => filing.forget(...asked),
      due: (question) => findDue(store.journal, question, turn),
      ...contentQuestions(store, (workspace) => filing.poke([workspace])),
      ...archivingQuestions(createSegmentArchiving(store, storage, systemClock)),
    },
    async () => {
      await filing.close()
      await packer?.close()
      storage.close()
      await store.close()
    },
  )
}
