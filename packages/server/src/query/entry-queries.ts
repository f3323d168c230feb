// Queries for entries. The search only finds their sequences. They are read from the journal and
// verified (`build-page.ts`).

import type { Clock } from "../clock.ts"
import { parseRecord } from "@tallystick/proof"
import type { FairQueue } from "../runtime/fair-queue.ts"
import type { Workspace } from "../store/documents.ts"
import type { Store } from "../store/store.ts"
import type { Counted, Counting } from "../store/search/search.ts"
import type { Finding } from "./search-scheduling.ts"
import { alsoRead, buildPage, type PageSource, type Reader, type BuiltPage } from "./build-page.ts"
import { createPageAfter, type Bounds, type FeedPage, type FeedRequest } from "./feed-page.ts"
import { allAtOnce, oldestFirst } from "./oldest-first.ts"
import { archivedBefore } from "./verified-entries.ts"

export interface PageRequest extends Reader {
  readonly storage: "hot" | "archive" | "all"
  /** Entries below this sequence; 0 begins at the newest. */
  readonly cursor: number
  /** At least one. A page has fewer if entries are large. */
  readonly limit: number
}

export interface EntryPage extends BuiltPage {
  readonly total: number
  readonly nextCursor: number
  readonly hasMore: boolean
}

/** The query whose matches are counted. */
export type CountRequest = Pick<PageRequest, "wanted" | "storage" | "signal">

/** Only matches after one sequence and up to another. */
export interface MatchesRequest extends CountRequest {
  readonly after: number
  readonly end: number
  /** Resolves when a search that failed is to be repeated. Gets the number of failures in a row. */
  readonly failed: (error: unknown, times: number) => Promise<void>
}

export interface Queries {
  /** Exact counts of all matches. No entries are read for it. */
  count(
    workspace: Workspace,
    request: CountRequest,
    counting: Counting,
  ): Promise<readonly Counted[]>
  page(workspace: Workspace, request: PageRequest): Promise<EntryPage>
  /** Entries that are known by their sequences, in that order. Fewer if they are large. */
  read(workspace: Workspace, sequences: readonly number[], reader: Reader): Promise<BuiltPage>
  /** The number of entries in the archive, which are the first of the chain. */
  archived(workspace: Workspace): Promise<number>
  /** The last entry that was recorded at this time or before; 0 if there was none. */
  lastAt(workspace: Workspace, timeMs: number): Promise<number>
  after(workspace: Workspace, request: FeedRequest): Promise<FeedPage>
  /** The sequences of all matches, ascending; only their number if there are more than `most`. */
  all(
    workspace: Workspace,
    request: CountRequest,
    most: number,
  ): Promise<{ readonly sequences: readonly number[]; readonly total: number }>
  /** The sequences of matches, ascending, some at a time, however many there are. */
  matches(
    workspace: Workspace,
    request: MatchesRequest,
  ): AsyncGenerator<readonly number[], void, undefined>
}

export interface QueryParts extends PageSource {
  readonly finding: Finding
  /** Limits how many pages are built at once: each holds its entries in memory. */
  readonly reading: FairQueue
  readonly clock: Pick<Clock, "now">
}

export function createQueries({ finding, reading, clock, ...source }: QueryParts): Queries {
  const { store } = source
  const { find } = finding
  const hotFrom = createArchiveEnds(store)
  const boundsFor = async (
    workspace: Workspace,
    storage: PageRequest["storage"],
    nowMs = clock.now(),
  ): Promise<Bounds> =>
    storage === "all" ? {} : boundsOf(storage, await hotFrom(workspace, nowMs))
  const pageAfter = createPageAfter({ finding, reading, ...source })

  return {
    async count(workspace, { wanted, storage, signal }, counting) {
      const bounds = await boundsFor(workspace, storage)
      return await finding.count(workspace.id, { ...wanted, ...bounds }, counting, signal)
    },

    async page(workspace, { storage, cursor, limit, ...reader }) {
      const { wanted, signal } = reader
      const nowMs = clock.now()
      const bounds = await boundsFor(workspace, storage, nowMs)
      const before = cursor === 0 ? Number.MAX_SAFE_INTEGER : cursor
      const within = { ...wanted, ...bounds }
      const which = { limit, isOldest: false }
      const also = alsoRead(source, reading, workspace, which, reader.isProven)
      const found = await find(workspace.id, within, before, limit, signal, also)
      const { sequences, total, hasMore } = found
      if (sequences.length === 0)
        return { events: [], verified: true, total, nextCursor: 0, hasMore }
      const shown = await reading.run(workspace.id, signal, () =>
        buildPage(source, workspace, found, reader, nowMs),
      )
      const { length } = shown.events
      return {
        ...shown,
        total,
        nextCursor: sequences[length - 1] ?? 0,
        hasMore: hasMore || length < sequences.length,
      }
    },

    read: (workspace, sequences, reader) =>
      reading.run(workspace.id, reader.signal, () =>
        buildPage(source, workspace, { sequences }, reader, clock.now()),
      ),

    archived: async (workspace) => (await hotFrom(workspace, clock.now())) - 1,

    lastAt: async ({ id }, timeMs) => (await lastBefore(store, id, timeMs + 1)).last,

    async after(workspace, request) {
      const nowMs = clock.now()
      const bounds = await boundsFor(workspace, request.storage, nowMs)
      return pageAfter(workspace, request, bounds, nowMs)
    },

    async all(workspace, { wanted, storage, signal }, most) {
      const bounds = await boundsFor(workspace, storage)
      const sequences: number[] = []
      for (let before = Number.MAX_SAFE_INTEGER; ;) {
        const hits = await find(workspace.id, { ...wanted, ...bounds }, before, allAtOnce, signal)
        if (hits.total > most) return { sequences: [], total: hits.total }
        sequences.push(...hits.sequences)
        before = hits.sequences.at(-1) ?? 0
        if (!hits.hasMore || before === 0)
          return { sequences: sequences.toReversed(), total: sequences.length }
      }
    },

    async *matches(workspace, { wanted, storage, after, end, signal, failed }) {
      const { firstSequence = 1, lastSequence = end } = await boundsFor(workspace, storage)
      const first = Math.max(after + 1, firstSequence)
      const last = Math.min(end, lastSequence)
      if (first > last) return
      const findIn = (from: number, to: number) => {
        const within = { ...wanted, firstSequence: from, lastSequence: to }
        return find(workspace.id, within, Number.MAX_SAFE_INTEGER, allAtOnce, signal)
      }
      for await (const { sequences } of oldestFirst(first, last, findIn, failed))
        if (sequences.length > 0) yield sequences
    },
  }
}

function boundsOf(storage: "hot" | "archive", hotFrom: number): Bounds {
  return storage === "hot" ? { firstSequence: hotFrom } : { lastSequence: hotFrom - 1 }
}

/**
 * The first sequence that is not in the archive yet. Records never change, so the result holds from
 * the border that it was read for until the border passes the time of that entry.
 */
function createArchiveEnds(
  store: Pick<Store, "journal">,
): (workspace: Workspace, nowMs: number) => Promise<number> {
  const ends = new Map<
    string,
    { readonly hotFrom: number; readonly fromMs: number; readonly untilMs: number }
  >()

  return async (workspace, nowMs) => {
    const borderMs = archivedBefore(workspace, nowMs)
    const known = ends.get(workspace.id)
    // The border goes back if the setting is changed, or if a clock that was ahead is set right.
    const isAfter = known !== undefined && known.fromMs <= borderMs
    if (isAfter && borderMs <= known.untilMs) return known.hotFrom
    const archived = isAfter ? known.hotFrom - 1 : 0
    const { last, nextMs } = await lastBefore(store, workspace.id, borderMs, archived)
    ends.set(workspace.id, { hotFrom: last + 1, fromMs: borderMs, untilMs: nextMs })
    return last + 1
  }
}

/**
 * The last entry that was recorded before a time, and the time of the next one, -Infinity without
 * one. Times never decrease along a chain, so a binary search finds it. It begins at an entry that
 * is known to be old enough.
 */
async function lastBefore(
  { journal }: Pick<Store, "journal">,
  workspace: string,
  beforeMs: number,
  known = 0,
): Promise<{ readonly last: number; readonly nextMs: number }> {
  let nextMs = -Infinity
  const isBefore = async (sequence: number): Promise<boolean> => {
    const timeMs = parseRecord(await journal.records(workspace, sequence, 1))?.timeMs ?? -Infinity
    if (timeMs >= beforeMs) nextMs = timeMs
    return timeMs !== -Infinity && timeMs < beforeMs
  }
  let last = known
  if (await isBefore(last + 1)) {
    let next = last + 2
    for (let step = 1; await isBefore(next); step *= 2, next += step) last = next
    while (next - last > 1) {
      const middle = Math.floor((last + next) / 2)
      if (await isBefore(middle)) last = middle
      else next = middle
    }
  }
  return { last, nextMs }
}
