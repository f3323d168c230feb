// Packs the bodies of entries into frames (store/content-keeper.ts) once nothing reads them one
// after another any more: a signed checkpoint covers them, and segments of the search have them and
// the rest of their 4,096, or they are old. Oldest first, some stretches at a time, with pauses,
// because a commit waits while a stretch is stored. The pauses are longer under load, because
// packing can wait and writers cannot.

import type { Clock } from "../clock.ts"
import { detailOf } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Packed } from "../store/content-keeper.ts"
import { sizeOf, usualLevel } from "../store/search/segment-plan.ts"
import type { FilingStore } from "../store/store.ts"
import { startLoop } from "./loop.ts"
import { lastBefore, settledOf } from "./packable-entries.ts"

export type PackerReport =
  | { readonly kind: "packed"; readonly entries: number; readonly bytes: number }
  | { readonly kind: "not packed"; readonly detail: string }

export interface Packer {
  /** A workspace has grown to `end`, or may have been filed further. */
  grown(workspace: string, end: number): void
  close(): Promise<void>
}

export interface PackerParts {
  readonly store: FilingStore
  readonly clock: Clock
  readonly limits: Pick<Limits, "packAfterMs">
  readonly report: (report: PackerReport) => void
}

/** With fewer new entries, a check is not worth its reads. */
const entriesMin = 64
/**
 * Pause after some stretches. A stretch holds the database for a third of its time, so the database
 * is mostly free.
 */
const [pauseMs, stretchesPerPause] = [4, 4]
/**
 * Pause after each stretch while more entries than this are recorded in a second. Then about a
 * sixth of them is packed.
 */
const busyPauseMs = 100
const busyPerSecond = 4000
/** How often a workspace without new entries is checked for entries that have grown old. */
const looksPerWait = 24

interface Progress {
  /** The last known entry. */
  head: number
  /** Up to here, entries were packed or passed over. */
  done: number
  /** Up to here, entries may be packed. */
  end: number
}

export function startPacker({ store, clock, limits, report }: PackerParts): Packer {
  const { leases, content } = store
  const lookEveryMs = limits.packAfterMs / looksPerWait
  const progress = new Map<string, Progress>()
  const recorded = createRate(clock)
  let sincePause = 0
  let nextLookMs = clock.elapsed() + lookEveryMs
  const loop = startLoop({
    leases,
    clock,
    step: () => packSome(),
    left(workspace) {
      const known = progress.get(workspace)
      if (known !== undefined) progress.set(workspace, { head: known.head, done: 0, end: 0 })
      recorded.forget(workspace)
    },
    dueMs: () => nextLookMs,
  })

  return {
    grown(workspace, end) {
      recorded.grown(workspace, end)
      const known = progress.get(workspace) ?? { head: 0, done: 0, end: 0 }
      progress.set(workspace, known)
      known.head = end
      if (isWorthALook(known)) loop.poke([workspace])
    },
    close: () => loop.close(),
  }

  function lookAtOld(): void {
    if (clock.elapsed() < nextLookMs) return
    nextLookMs = clock.elapsed() + lookEveryMs
    for (const [workspace, known] of progress) if (isWorthALook(known)) loop.poke([workspace])
  }

  /** Packs the next stretch of the workspace that has waited longest. */
  async function packSome(): Promise<void> {
    lookAtOld()
    for await (const workspace of loop.queue.waiting()) {
      loop.queue.leave(workspace)
      try {
        if (!(await packNext(workspace))) continue
        // The workspace goes to the end of the queue.
        loop.poke([workspace])
        await pause()
        return
      } catch (error) {
        loop.queue.retry([workspace])
        report({ kind: "not packed", detail: `${workspace}: ${detailOf(error)}` })
      }
    }
  }

  async function pause(): Promise<void> {
    const isBusy = recorded.perSecond() > busyPerSecond
    if (!isBusy && ++sincePause < stretchesPerPause) return
    sincePause = 0
    await clock.sleep(isBusy ? busyPauseMs : pauseMs)
  }

  async function packNext(workspace: string): Promise<boolean> {
    const known = progress.get(workspace)
    if (known === undefined) return false
    let packed: Packed | undefined
    if (known.end - known.done >= entriesMin)
      packed = await content.pack(workspace, known.done, known.end)
    // Everything that was due is packed, perhaps by another server.
    if (packed === undefined) {
      known.end = await packableUpTo(workspace, known.head)
      packed = await content.pack(workspace, known.done, known.end)
    }
    if (packed === undefined) return false
    known.done = packed.last
    if (packed.entries > 0) report({ kind: "packed", entries: packed.entries, bytes: packed.bytes })
    return true
  }

  async function packableUpTo(workspace: string, head: number): Promise<number> {
    const { covered, filed } = await settledOf(store, workspace)
    // The newest ones are read most, and stay in their rows.
    const full = filed - (filed % sizeOf(usualLevel))
    // The checkpoint that covers them is being made.
    if (covered < full) loop.queue.retry([workspace])
    // With this many more entries, a segment is being made.
    if (head - full >= sizeOf(usualLevel)) return Math.min(covered, full)
    const beforeMs = clock.now() - limits.packAfterMs
    const old = await lastBefore(store, workspace, beforeMs, full, covered)
    return Math.min(covered, old)
  }
}

function isWorthALook({ head, done }: Progress): boolean {
  return head - done >= entriesMin
}

/** The number of new entries of all workspaces in the last whole second. */
function createRate(clock: Clock) {
  const ends = new Map<string, number>()
  let [begunMs, count, perSecond] = [clock.elapsed(), 0, 0]
  return {
    grown(workspace: string, end: number): void {
      count += end - (ends.get(workspace) ?? end)
      ends.set(workspace, end)
    },
    forget: (workspace: string): void => void ends.delete(workspace),
    perSecond(): number {
      const passedMs = clock.elapsed() - begunMs
      if (passedMs < 1000) return perSecond
      perSecond = (count * 1000) / passedMs
      begunMs += passedMs
      count = 0
      return perSecond
    },
  }
}
