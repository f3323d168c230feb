// A thread's cache of unpacked frames. A rewritten frame gets another version, so that destroyed
// content is never served from the cache.

import type { OpenFrame } from "./body-frame.ts"

export interface CachedFrame {
  readonly version: number
  readonly opened: OpenFrame
}

export interface FrameCache {
  /**
   * The cached frames whose place begins with `start`. The caller must keep the result while it
   * reads others, because the cache may evict them.
   */
  under(start: string): ReadonlyMap<string, CachedFrame>
  known(place: string, version: number): OpenFrame | undefined
  /**
   * Caches what `open` returns for the bytes of this version. A damaged frame has no bodies.
   */
  open(place: string, version: number, open: () => OpenFrame | string): OpenFrame
}

/** For a thread: some hundred frames of ordinary entries. */
const usualBytesMax = 4 * 1024 * 1024

const noBodies: OpenFrame = {
  indexes: [],
  textBytes: 0,
  salted: () => undefined,
}

export function createFrameCache(bytesMax = usualBytesMax): FrameCache {
  const frames = new Map<string, CachedFrame>()
  let bytes = 0
  const remove = (place: string): void => {
    bytes -= frames.get(place)?.opened.textBytes ?? 0
    frames.delete(place)
  }
  const known = (place: string, version: number): OpenFrame | undefined => {
    const there = frames.get(place)
    if (there?.version !== version) return undefined
    // The most recently used frame is the last in the map.
    frames.delete(place)
    frames.set(place, there)
    return there.opened
  }
  return {
    under: (start) => new Map([...frames].filter(([place]) => place.startsWith(start))),
    known,
    open(place, version, open) {
      const there = known(place, version)
      if (there !== undefined) return there
      remove(place)
      const found = open()
      const opened = typeof found === "string" ? noBodies : found
      frames.set(place, { version, opened })
      bytes += opened.textBytes
      for (const oldest of frames.keys()) {
        if (bytes <= bytesMax || oldest === place) break
        remove(oldest)
      }
      return opened
    },
  }
}
