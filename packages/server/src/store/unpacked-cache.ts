// A thread's cache of what it has unpacked. What is rewritten gets another version, so that destroyed
// content is never served from the cache.

import { createLru } from "../runtime/lru-cache.ts"

/** The overhead of a value. */
const besideBytes = 1000

export function createUnpackedCache<T>(bytesMax: number, bytesOf: (opened: T) => number) {
  const cache = createLru<{ readonly version: number; readonly opened: T }>(
    bytesMax,
    ({ opened }) => bytesOf(opened) + besideBytes,
  )
  const known = (place: string, version: number): T | undefined => {
    const there = cache.get(place)
    return there?.version === version ? there.opened : undefined
  }
  return {
    entries: () => cache.entries(),
    known,
    /** Caches what `open` returns for the bytes of this version. */
    open(place: string, version: number, open: () => T): T {
      const there = known(place, version)
      if (there !== undefined) return there
      const opened = open()
      cache.set(place, { version, opened })
      return opened
    },
  }
}
