// Unpacked frames of a thread, the last that were read. A frame that is written anew has another
// version, so that nothing is shown that was destroyed meanwhile.

import { openFrame, type OpenFrame } from "./body-frame.ts"

export interface CachedFrame {
  readonly version: number
  readonly opened: OpenFrame
}

export interface FrameCache {
  /**
   * Those whose place begins so. Whoever reads others meanwhile keeps them: they may be gone from
   * here by then.
   */
  under(start: string): ReadonlyMap<string, CachedFrame>
  known(place: string, version: number): OpenFrame | undefined
  /** A frame that is damaged has no bodies. `read` gives the bytes of this version. */
  open(place: string, version: number, read: () => Uint8Array): OpenFrame
}

/** Of a thread: some hundred frames of ordinary entries. */
const usualBytesMax = 4 * 1024 * 1024

const noBodies: OpenFrame = {
  indexes: [],
  textBytes: 0,
  salted: () => undefined,
  without: () => undefined,
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
    // The one that was read last stands last.
    frames.delete(place)
    frames.set(place, there)
    return there.opened
  }
  return {
    under: (start) => new Map([...frames].filter(([place]) => place.startsWith(start))),
    known,
    open(place, version, read) {
      const there = known(place, version)
      if (there !== undefined) return there
      remove(place)
      const found = openFrame(read())
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
