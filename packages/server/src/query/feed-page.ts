// Pages of a feed: the oldest matches after a sequence.

import type { FairQueue } from "../runtime/fair-queue.ts"
import type { Hits, Wanted } from "../store/search/search.ts"
import type { Document } from "../store/store.ts"
import { buildPage, type PageSource } from "./build-page.ts"
import type { Finding } from "./search-scheduling.ts"

/** Which matches after a sequence are shown, oldest first. */
export interface FeedRequest {
  readonly wanted: Wanted
  readonly storage: "hot" | "archive" | "all"
  readonly after: number
  /** At least one. */
  readonly limit: number
  /** Of its entries. A page has one at least. */
  readonly bytesMax: number
}

export interface FeedPage {
  readonly events: readonly Uint8Array[]
  /** Of these events, ascending. */
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

/** Matches that are asked for at once, where no page is shown. */
export const allAtOnce = 1000

export function createPageAfter({ finding, reading, ...source }: PageAfterParts) {
  return async (
    workspace: Document<"workspace">,
    { wanted, after, limit, bytesMax }: FeedRequest,
    bounds: Bounds,
    nowMs: number,
  ): Promise<FeedPage> => {
    const { id } = workspace
    // Entries get their sequences in the order in which they are recorded, and what is recorded is
    // found. What is not in the archive yet will be.
    const head = (await source.store.journal.head(id))?.sequence ?? 0
    const last = Math.min(head, bounds.lastSequence ?? head)
    const first = Math.max(after + 1, bounds.firstSequence ?? 1)
    const found = await oldestIn(first, last, limit + 1, (firstSequence, lastSequence) => {
      const within = { ...wanted, firstSequence, lastSequence }
      return finding.find(id, within, Number.MAX_SAFE_INTEGER, allAtOnce, undefined)
    })
    const sequences = found.slice(0, limit)
    const end = Math.max(after, last)
    if (sequences.length === 0) return { events: [], sequences, nextAfter: end, hasMore: false }
    const pageBytesMax = Math.min(bytesMax, source.limits.pageBytesMax)
    const { events } = await reading.run(id, undefined, () =>
      buildPage(
        { ...source, limits: { pageBytesMax } },
        workspace,
        sequences,
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

/**
 * The oldest matches of a range. A search begins at the newest, so it is asked for windows from the
 * oldest on: wider ones where little matches, narrower ones where a window has too much.
 */
async function oldestIn(
  first: number,
  last: number,
  count: number,
  find: (first: number, last: number) => Promise<Hits>,
): Promise<readonly number[]> {
  const found: number[] = []
  let width = allAtOnce
  for (let from = first; from <= last && found.length < count;) {
    const to = Math.min(last, from + width - 1)
    const { sequences, hasMore } = await find(from, to)
    // Never with the narrowest window, which has no more entries than one answer.
    if (hasMore) {
      width = Math.max(allAtOnce, Math.floor(width / 4))
      continue
    }
    found.push(...sequences.toReversed())
    from = to + 1
    width *= 4
  }
  return found.slice(0, count)
}
