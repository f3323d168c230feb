// Packs the bodies of entries into frames (store/content-keeper.ts) once nothing reads them one
// after another any more: a signed checkpoint covers them, and a segment of the search has them.
// Oldest first, some stretches at a time, with pauses, because a commit waits while one is stored:
// longer ones while much is recorded, because packing can wait and who records cannot.

import type { Clock } from "../clock.ts"
import { epochsOf } from "../store/epochs.ts"
import { positionOf } from "../store/search/segment-plan.ts"
import type { FilingStore } from "../store/store.ts"
import { detailOf, startLoop } from "./loop.ts"

export type PackerReport =
  | { readonly kind: "packed"; readonly entries: number; readonly bytes: number }
  | { readonly kind: "not packed"; readonly detail: string }

export interface Packer {
  /** A workspace has grown to `end`, or may have been filed further. */
  grown(workspace: string, end: number): void
  close(): Promise<void>
}

export interface PackerParts {
  readonly store: Pick<FilingStore, "leases" | "segments" | "registry" | "index" | "content">
  readonly clock: Clock
  readonly report: (report: PackerReport) => void
}

/** Below it no look is worth its reads. */
const entriesMin = 64
/** After some stretches. A third of the time of each holds the database, so it is mostly free. */
const [pauseMs, stretchesPerPause] = [4, 4]
/** After each, while more entries than this are recorded in a second: what is packed costs a sixth of that. */
const busyPauseMs = 100
const busyPerSecond = 4000

interface Progress {
  /** Up to here, entries were packed or passed over. */
  done: number
  /** Up to here, entries may be packed. */
  end: number
}

export function startPacker({ store, clock, report }: PackerParts): Packer {
  const { leases, segments, registry, index, content } = store
  const progress = new Map<string, Progress>()
  const recorded = createRate(clock)
  let sincePause = 0
  const loop = startLoop({
    leases,
    clock,
    step: () => packSome(),
    left(workspace) {
      progress.delete(workspace)
      recorded.forget(workspace)
    },
    dueMs: () => Infinity,
    finish: async () => {},
  })

  return {
    grown(workspace, end) {
      recorded.grown(workspace, end)
      const { done = 0 } = progress.get(workspace) ?? {}
      if (end - done >= entriesMin) loop.poke([workspace])
    },
    close: () => loop.close(),
  }

  /** Packs the next stretch of the workspace that has waited longest. */
  async function packSome(): Promise<void> {
    for await (const workspace of loop.line.waiting()) {
      loop.line.leave(workspace)
      try {
        if (!(await packNext(workspace))) continue
        // Behind the others.
        loop.poke([workspace])
        await pause()
        return
      } catch (error) {
        loop.line.retry([workspace])
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
    const known = progress.get(workspace) ?? { done: 0, end: 0 }
    progress.set(workspace, known)
    if (known.end - known.done < entriesMin) known.end = await packableUpTo(workspace)
    const packed = await content.pack(workspace, known.done, known.end)
    if (packed === undefined) return false
    known.done = packed.last
    if (packed.entries > 0) report({ kind: "packed", entries: packed.entries, bytes: packed.bytes })
    return true
  }

  async function packableUpTo(workspace: string): Promise<number> {
    const document = await registry.get("workspace", workspace, workspace)
    if (document === undefined) return 0
    const [{ number, before }] = epochsOf(document)
    const checkpoint = await index.checkpoint(workspace, number)
    const covered = before + (checkpoint?.size ?? 0)
    const filed = positionOf(await segments.list(workspace))
    // The checkpoint that covers them is under way.
    if (covered < filed) loop.line.retry([workspace])
    return Math.min(covered, filed)
  }
}

/** How many entries all workspaces together have grown by in a second, of the last whole one. */
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
