// Goes through the matches of a search from the oldest on. A search itself begins at the newest.

import type { HeldEntries } from "../store/held-entries.ts"
import type { Hits } from "../store/search/search.ts"

/** A part of the chain that was searched. */
export interface Window {
  /** Its matches, ascending. */
  readonly sequences: readonly number[]
  readonly last: number
  /** The first matches, if they were read with the search. */
  readonly held: HeldEntries | undefined
}

/** Finds all matches from one sequence to another, both included, `allAtOnce` at most. */
export type FindWithin = (first: number, last: number) => Promise<Hits>

/** Matches in one question, if no page is shown. */
export const allAtOnce = 1000

/**
 * A search begins at the newest entry, so this asks for windows from the oldest on: wider ones
 * where few entries match, narrower ones where a window has too many matches. Entries get their
 * sequences in the order of recording, and a recorded entry can be found. Ends at `last`, or at the
 * newest entry when the last window was searched. A search that fails is repeated in a narrower
 * window if `failed` resolves, which gets the number of failures in a row.
 */
export async function* oldestFirst(
  first: number,
  last: number,
  find: FindWithin,
  failed?: (error: unknown, times: number) => Promise<void>,
): AsyncGenerator<Window, void, undefined> {
  let width = allAtOnce
  let failures = 0
  for (let from = first; ;) {
    const to = Math.min(last, from + width - 1)
    let hits: Hits
    try {
      hits = await find(from, to)
    } catch (error) {
      if (failed === undefined) throw error
      await failed(error, ++failures)
      width = narrower(width)
      continue
    }
    failures = 0
    // Never with the narrowest window, which has no more entries than one answer.
    if (hits.hasMore) {
      width = narrower(width)
      continue
    }
    const { sequences, end, held } = hits
    // A search index that has more entries than the journal is not followed beyond it.
    const recorded = sequences.filter((sequence) => sequence <= end).toReversed()
    yield { sequences: recorded, last: Math.min(to, end), held }
    if (to >= Math.min(last, end)) return
    from = to + 1
    if (sequences.length <= allAtOnce / 4) width *= 4
  }
}

function narrower(width: number): number {
  return Math.max(allAtOnce, Math.floor(width / 4))
}
