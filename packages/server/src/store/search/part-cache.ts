// Parts of segments that are remembered as they were before they were compressed.

import { assert } from "@tallystick/proof"
import { createLru, type Lru } from "../../runtime/lru-cache.ts"

/** What is remembered of parts, by any number of segments together. */
export type PartCache = Pick<Lru<Uint8Array>, "get" | "set">

/** Remembers the parts that were used last, up to so many bytes. */
export function createPartCache(bytesMax: number): PartCache {
  return createLru<Uint8Array>(bytesMax, ({ length }) => length)
}

export interface FreedParts extends PartCache {
  /**
   * Begins a reading, and returns what ends it. What the cache was given or asked for meanwhile
   * stays as it is until then.
   */
  read(): () => void
}

/**
 * The same for readings that may pause. The memory of a part that is not remembered any more is
 * freed once no reading can have it: the garbage collector would begin for every 32 MiB of such
 * parts, though there is hardly any other garbage. A reading that never ends costs no more than
 * that.
 */
export function createFreedParts(bytesMax: number): FreedParts {
  let begun = 0
  /** Those under way, by their numbers, oldest first. */
  const readings = new Set<number>()
  /** Parts to be freed, oldest first, each with the newest reading that may have it. */
  const left = new Set<{ readonly raw: Uint8Array; readonly newest: number }>()
  let leftBytes = 0

  const parts = createLru<Uint8Array>(
    bytesMax,
    ({ length }) => length,
    (raw) => {
      left.add({ raw, newest: begun })
      leftBytes += raw.length
      for (const part of left) {
        if (leftBytes <= bytesMax) break
        // The garbage collector frees it.
        left.delete(part)
        leftBytes -= part.raw.length
      }
    },
  )

  const free = (): void => {
    const [oldest = Infinity] = readings
    for (const part of left) {
      if (part.newest >= oldest) break
      left.delete(part)
      leftBytes -= part.raw.length
      freeMemory(part.raw)
    }
  }

  return {
    get(key) {
      assert(readings.size > 0, "parts are used by a reading")
      return parts.get(key)
    },
    set(key, raw) {
      assert(readings.size > 0, "parts are used by a reading")
      parts.set(key, raw)
    },
    read() {
      const reading = ++begun
      readings.add(reading)
      return () => {
        readings.delete(reading)
        free()
      }
    },
  }
}

/** Of bytes that share it with others it is left alone. */
function freeMemory({ buffer, length }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0)
}
