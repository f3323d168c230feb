// Pages of a feed: the oldest matches after a sequence.

import type { FairQueue } from "../runtime/fair-queue.ts"
import type { Wanted } from "../store/search/search.ts"
import type { HeldEntries } from "../store/held-entries.ts"
import type { Workspace } from "../store/documents.ts"
import { alsoRead, buildPage, type PageSource } from "./build-page.ts"
import { allAtOnce, oldestFirst, type FindWithin } from "./oldest-first.ts"
import type { Finding } from "./search-scheduling.ts"

/** Which matches after a sequence are shown, oldest first. */
export interface FeedRequest {
  readonly wanted: Wanted
  readonly storage: "hot" | "archive" | "all"
  readonly after: number
  /** At least one. */
  readonly limit: number
  /** Bytes of its entries. A page has at least one entry. */
  readonly bytesMax: number
}

export interface FeedPage {
  readonly events: readonly Uint8Array[]
  /** The sequences of these events, ascending. */
  readonly sequences: readonly number[]
  /** All matches up to this sequence were shown, and none will ever be added. */
  readonly nextAfter: number
  readonly hasMore: boolean
}

export type Bounds = Pick<Wanted, "firstSequence" | "lastSequence">

interface PageAfterParts extends PageSource {
  readonly finding: Finding
  readonly reading: FairQueue
}

export function createPageAfter({ finding, reading, ...source }: PageAfterParts) {
  return async (
    workspace: Workspace,
    { wanted, after, limit, bytesMax }: FeedRequest,
    bounds: Bounds,
    nowMs: number,
  ): Promise<FeedPage> => {
    const { id } = workspace
    const limits = { pageBytesMax: Math.min(bytesMax, source.limits.pageBytesMax) }
    const which = { limit, isOldest: true }
    const also = alsoRead({ ...source, limits }, reading, workspace, which, false)
    const first = Math.max(after + 1, bounds.firstSequence ?? 1)
    const { found, last, held } = await oldestIn(
      first,
      // Entries that are not in the archive yet will be later.
      bounds.lastSequence ?? Number.MAX_SAFE_INTEGER,
      limit + 1,
      (firstSequence, lastSequence) => {
        const within = { ...wanted, firstSequence, lastSequence }
        return finding.find(id, within, Number.MAX_SAFE_INTEGER, allAtOnce, undefined, also)
      },
    )
    const sequences = found.slice(0, limit)
    const end = Math.max(after, last)
    if (sequences.length === 0) return { events: [], sequences, nextAfter: end, hasMore: false }
    const { events } = await reading.run(id, undefined, () =>
      buildPage(
        { ...source, limits },
        workspace,
        { sequences, ...(held && { held }) },
        { isProven: false, wanted },
        nowMs,
      ),
    )
    const shown = sequences.slice(0, events.length)
    const hasMore = shown.length < found.length
    const nextAfter = hasMore ? (shown.at(-1) ?? after) : end
    return { events, sequences: shown, nextAfter, hasMore }
  }
}

/** The oldest matches of a range. */
interface Oldest {
  readonly found: readonly number[]
  /** Entries up to this sequence were searched. */
  readonly last: number
  /** The first matches, if they were read with the search. */
  readonly held: HeldEntries | undefined
}

async function oldestIn(
  first: number,
  last: number,
  count: number,
  find: FindWithin,
): Promise<Oldest> {
  const found: number[] = []
  let held: HeldEntries | undefined
  let lookedUpTo = first - 1
  for await (const window of oldestFirst(first, last, find)) {
    if (found.length === 0) held = window.held
    found.push(...window.sequences)
    lookedUpTo = window.last
    if (found.length >= count) break
  }
  return { found: found.slice(0, count), last: lookedUpTo, held }
}
