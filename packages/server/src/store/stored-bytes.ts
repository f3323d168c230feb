// How large an entry is: what reads are bounded by.

import type { Stored } from "./store.ts"

/** What an entry takes to read and to look at. */
export function bytesOf(stored: Pick<Stored, "body" | "disclosures"> | undefined): number {
  return stored === undefined ? 0 : (stored.body?.length ?? 0) + stored.disclosures.length
}

/**
 * The first of these, one at least, before they are more than `bytesMax` together. What comes
 * behind them is not asked for but the next.
 */
export function* upToBytes<T extends Stored | undefined>(
  entries: Iterable<T>,
  bytesMax: number,
): Generator<T> {
  let bytes = 0
  let isFirst = true
  for (const entry of entries) {
    bytes += bytesOf(entry)
    if (bytes > bytesMax && !isFirst) return
    isFirst = false
    yield entry
  }
}
