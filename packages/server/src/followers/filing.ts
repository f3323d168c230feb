// Builds the search: when all entries of a segment are recorded, it reads them and stores the
// segment. Then it merges small segments into larger ones. Searches also cover the entries in no
// segment yet (store/search/unfiled-entries.ts), so they need not wait. Failures are retried.

import type { Clock } from "../clock.ts"
import { detailOf, OvertakenError } from "../error.ts"
import type { Limits } from "../limits.ts"
import { packSegment } from "../store/search/segment-format.ts"
import {
  dueOf,
  firstOf,
  mergeOf,
  positionOf,
  sizeOf,
  smallerOf,
  usualLevel,
  type PlannedSegment,
} from "../store/search/segment-plan.ts"
import type { KeptSegment, SegmentName, StagedParts } from "../store/search/segments.ts"
import type { FilingStore } from "../store/store.ts"
import { earliest, startLoop } from "./loop.ts"
import { addEntries, builderOf, createCleaner, type DestroyedContent } from "./segment-cleaning.ts"
import { mergeInPieces } from "./segment-merging.ts"

export type FilingReport =
  | {
      readonly kind: "filed"
      readonly positions: readonly (readonly [workspace: string, position: number, end: number])[]
    }
  /** Another server makes the segments of this workspace. */
  | { readonly kind: "left"; readonly workspace: string }
  | { readonly kind: "failed"; readonly detail: string }

export interface Filing {
  /** These workspaces have new entries, or may have. */
  poke(workspaces: readonly string[]): void
  /**
   * Resolves when so few entries are in no segment that a search can look through them; to the last
   * sequence at the time of the call. Rejects if a segment cannot be made.
   */
  catchUp(workspace: string): Promise<number>
  /**
   * Removes destroyed content of these entries from the search. When it resolves, no segment has
   * any of it, and none will.
   */
  forget(workspace: string, destroyed: DestroyedContent): Promise<void>
  close(): Promise<void>
}

export interface FilingParts {
  readonly store: FilingStore
  readonly clock: Clock
  readonly limits: Limits
  readonly report: (report: FilingReport) => void
}

/** How fast a workspace grows. */
interface Pace {
  /** The segment of the usual size that its newest entries are to be in, counted from 0. */
  readonly block: number
  /** When there were enough of them for a small one. */
  readonly sinceMs: number
  /** Whether those before it took longer than entries wait. */
  readonly isSlow: boolean
}

/** Makes one segment, in steps of some ten milliseconds. */
interface Job {
  readonly workspace: string
  readonly steps: AsyncGenerator<undefined, void>
}

/**
 * The most bytes of bodies in one segment. If there are more, smaller segments are made. The
 * smallest segment, of the largest entries, has about as much.
 */
const segmentBytesMax = 64 * 1024 * 1024
/** How long entries wait for others, to become a segment of the usual size together. */
const fillMs = 1000
/** Pause before a retry: readers of the search hold an earlier state for some milliseconds. */
const clearEveryMs = 50

export function startFiling({ store, clock, limits, report }: FilingParts): Filing {
  const { journal, segments, leases } = store
  /** The stored segments of each workspace that were read so far. */
  const lists = new Map<string, readonly KeptSegment[]>()
  /** Workspaces without parts of unlisted segments. */
  const swept = new Set<string>()
  /** Workspaces with a large segment to make. It waits until no small one is due. */
  const large = new Set<string>()
  const paces = new Map<string, Pace>()
  /** Workspaces whose entries wait for others, until when. */
  const waiting = new Map<string, number>()
  let small: Job | undefined
  let growing: Job | undefined
  const step = (): Promise<void> => makeSome().catch(() => undefined)
  const loop = startLoop({
    leases,
    clock,
    step,
    dueMs: () => earliest(waiting),
    left(workspace) {
      // What the other server stores is read again when the workspace comes back.
      forgetJobs(workspace)
      paces.delete(workspace)
      waiting.delete(workspace)
      report({ kind: "left", workspace })
    },
  })

  return {
    poke: (workspaces) => loop.poke(workspaces),
    async catchUp(workspace) {
      const sequence = (await journal.head(workspace))?.sequence ?? 0
      // One segment at a time, because other workspaces have turns too.
      while (await loop.ask(workspace, () => makeAsked(workspace, sequence))) continue
      return sequence
    },
    async forget(workspace, destroyed) {
      const cleanNext = createCleaner(store, limits, workspace, destroyed)
      await loop.ask(workspace, async () => drop(workspace))
      // One segment at a time, because other workspaces have turns too.
      while (await loop.ask(workspace, cleanNext)) drop(workspace)
      // A merge that began meanwhile has the content in its stored parts.
      await loop.ask(workspace, async () => {
        drop(workspace)
        while (await segments.sweep(workspace)) await leases.hold(workspace)
      })
      while (!(await segments.clearLog())) await clock.sleep(clearEveryMs)
    },
    close: () => loop.close(),
  }

  /** Restarts jobs that have read the earlier state of entries or segments. */
  function drop(workspace: string): void {
    forgetJobs(workspace)
    loop.queue.add([workspace])
  }

  function forgetJobs(workspace: string): void {
    if (small?.workspace === workspace) small = undefined
    if (growing?.workspace === workspace) growing = undefined
    lists.delete(workspace)
    swept.delete(workspace)
    large.delete(workspace)
  }

  /** Does a step of a due small segment, or else of a merge. */
  async function makeSome(): Promise<void> {
    for (const [workspace, untilMs] of waiting)
      if (untilMs <= clock.elapsed() && waiting.delete(workspace)) loop.queue.add([workspace])
    small ??= await nextSmall()
    growing ??= small === undefined ? await nextLarge() : undefined
    const job = small ?? growing
    if (job === undefined) return
    const { workspace } = job
    // The loop does not sleep until everything is made.
    loop.poke([workspace])
    try {
      // An unused lease is given back, and a large segment takes longer than that.
      if ((await leases.hold(workspace)) !== true) forgetJobs(workspace)
      else if ((await job.steps.next()).done === true) end(job)
    } catch (error) {
      fail(workspace, error)
    }
  }

  function end(job: Job): void {
    if (small === job) small = undefined
    else growing = undefined
  }

  function fail(workspace: string, error: unknown): void {
    forgetJobs(workspace)
    loop.queue.retry([workspace])
    if (error instanceof OvertakenError) return
    report({ kind: "failed", detail: `${workspace}: ${detailOf(error)}` })
  }

  /** The workspace that has waited longest and has enough new entries. */
  async function nextSmall(): Promise<Job | undefined> {
    const seen: (readonly [string, number, number])[] = []
    let found: Job | undefined
    for await (const workspace of loop.queue.waiting()) {
      loop.queue.leave(workspace)
      try {
        const [kept, end] = await Promise.all([listOf(workspace), endOf(workspace)])
        const due = dueOf(kept, end, leastLevel(workspace, positionOf(kept), end))
        const merge = due === undefined ? mergeOf(kept) : undefined
        seen.push([workspace, due === undefined ? end : positionOf(kept), end])
        if (due !== undefined && due.level <= usualLevel)
          found = { workspace, steps: build(workspace, due) }
        else if (merge !== undefined && merge.name.level <= usualLevel)
          found = { workspace, steps: grow(workspace, merge) }
        else if (due !== undefined || merge !== undefined || !swept.has(workspace))
          large.add(workspace)
      } catch (error) {
        // A workspace that cannot be read does not stop the others.
        fail(workspace, error)
      }
      if (found !== undefined) break
    }
    if (seen.length > 0) report({ kind: "filed", positions: seen })
    return found
  }

  /**
   * The smallest segment that is worth making. Entries in no segment cost each search, so they wait
   * for others only where these come soon. They cost less in one segment than in several.
   */
  function leastLevel(workspace: string, position: number, end: number): number {
    if (end - position < sizeOf(0)) return usualLevel
    const nowMs = clock.elapsed()
    const block = Math.floor(position / sizeOf(usualLevel))
    let pace = paces.get(workspace)
    if (pace?.block !== block) {
      const tookMs = pace === undefined ? Infinity : (nowMs - pace.sinceMs) / (block - pace.block)
      pace = { block, sinceMs: nowMs, isSlow: tookMs >= fillMs }
      paces.set(workspace, pace)
    }
    const untilMs = pace.sinceMs + fillMs
    if (pace.isSlow || untilMs <= nowMs) return 0
    waiting.set(workspace, untilMs)
    return usualLevel
  }

  async function nextLarge(): Promise<Job | undefined> {
    for (const workspace of large) {
      large.delete(workspace)
      try {
        const [kept, end] = await Promise.all([listOf(workspace), endOf(workspace)])
        const due = dueOf(kept, end)
        if (!swept.has(workspace)) return { workspace, steps: sweep(workspace) }
        if (due !== undefined) return { workspace, steps: build(workspace, due) }
        const merge = mergeOf(kept)
        if (merge !== undefined) return { workspace, steps: grow(workspace, merge) }
      } catch (error) {
        fail(workspace, error)
      }
    }
    return undefined
  }

  /** Makes the largest segment that is there to be made. Returns whether there was one. */
  async function makeAsked(workspace: string, sequence: number): Promise<boolean> {
    try {
      // Another process may have filed since.
      lists.delete(workspace)
      const kept = await listOf(workspace)
      const due = dueOf(kept, sequence, 0)
      if (due === undefined) return false
      for await (const _ of build(workspace, due)) await leases.hold(workspace)
      const position = positionOf(await listOf(workspace))
      report({ kind: "filed", positions: [[workspace, position, sequence]] })
      return true
    } catch (error) {
      fail(workspace, error)
      throw error
    }
  }

  async function* build(workspace: string, name: SegmentName): AsyncGenerator<undefined, void> {
    const builder = builderOf(name)
    for await (const bytes of addEntries(builder, journal, limits, workspace, name)) {
      const smaller = bytes > segmentBytesMax ? smallerOf(name) : undefined
      if (smaller !== undefined) {
        yield* build(workspace, smaller)
        return
      }
      yield
    }
    // This takes a fifth of a second for 65,536 entries, without a pause: nothing else runs in this
    // thread, and a search that waits for a segment needs all of it.
    await keep(workspace, { name, absorbs: [] }, packSegment(builder.finish()))
  }

  async function* grow(
    workspace: string,
    planned: PlannedSegment,
  ): AsyncGenerator<undefined, void> {
    const { parts, staged } = yield* mergeInPieces({ segments, clock, limits }, workspace, planned)
    await keep(workspace, planned, parts, staged)
    // A large merge that is under way has stored parts, and sweeps at its end.
    const isLarge = planned.name.level > usualLevel
    if (isLarge || growing?.workspace !== workspace) yield* sweep(workspace)
  }

  /** Sources that a merge has absorbed, or parts of an interrupted merge. */
  async function* sweep(workspace: string): AsyncGenerator<undefined, void> {
    while (await segments.sweep(workspace)) yield
    swept.add(workspace)
  }

  async function keep(
    workspace: string,
    { name, absorbs }: PlannedSegment,
    parts: readonly Uint8Array[],
    staged?: StagedParts,
  ): Promise<void> {
    // Meanwhile, `makeAsked` or another process may have made the same segment, a larger one, or
    // smaller ones of some of its entries.
    const kept = await segments.list(workspace)
    const isNew =
      absorbs.length > 0
        ? absorbs.every((one) => kept.some(({ hash }) => hash === one.hash))
        : positionOf(kept) === firstOf(name) - 1
    if (isNew) await segments.put(workspace, name, parts, absorbs, staged)
    lists.set(workspace, await segments.list(workspace))
  }

  async function listOf(workspace: string): Promise<readonly KeptSegment[]> {
    const kept = lists.get(workspace) ?? (await segments.list(workspace))
    lists.set(workspace, kept)
    return kept
  }

  async function endOf(workspace: string): Promise<number> {
    return (await journal.head(workspace))?.sequence ?? 0
  }
}
