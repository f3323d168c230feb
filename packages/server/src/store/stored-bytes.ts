// How large an entry is. Reads are bounded by this.

import type { Stored } from "./store.ts"

export function bytesOf(stored: Pick<Stored, "body" | "disclosures"> | undefined): number {
  return stored === undefined ? 0 : (stored.body?.length ?? 0) + stored.disclosures.length
}

/** The first entries, one at least, with no more than `bytesMax` together. */
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
