// Random bytes, given as an argument: production uses a pool of the platform's generator, tests a
// seed.

import { randomFillSync } from "node:crypto"

/** Fills the array with unpredictable bytes. */
export type Random = (into: Uint8Array) => void

const poolBytes = 65_536

/** One call to the generator serves a thousand small requests. Bytes are handed out once. */
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
