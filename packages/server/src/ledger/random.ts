// Random bytes by argument: production takes them from the platform's generator a pool at a time, a
// test from a seed.

import { randomFillSync } from "node:crypto"

/** Fills with bytes that nobody can guess. */
export type Random = (into: Uint8Array) => void

const poolBytes = 65_536

/**
 * One call to the generator serves a thousand small ones. What was handed out is copied and never
 * handed out again.
 */
export function pooledRandom(): Random {
  const pool = Buffer.alloc(poolBytes)
  let used = poolBytes
  return (into) => {
    if (used + into.length > poolBytes) {
      randomFillSync(pool)
      used = 0
    }
    pool.copy(into, 0, used, used + into.length)
    used += into.length
  }
}
