import type { TestContext } from "node:test"

// Random numbers for tests. The same seed draws the same numbers again.

export interface Chance {
  /** A whole number from 0 to just below `end`. */
  readonly below: (end: number) => number
  /** True in this many of a hundred cases. */
  readonly percent: (share: number) => boolean
  readonly pick: <T>(list: readonly T[]) => T
}

export function createChance(seed: number): Chance {
  let state = seed >>> 0
  // Mulberry32: small, and even enough to choose test cases by.
  const draw = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number): number => Math.floor(draw() * end)
  return {
    below,
    percent: (share) => draw() * 100 < share,
    pick(list) {
      const picked = list[below(list.length)]
      if (picked === undefined) throw new Error("an empty list has nothing to pick")
      return picked
    },
  }
}

/** The seed of a run, printed with it. `SEED=… npm test -- <file>` has the same run again. */
export function seedOf(test: TestContext): number {
  const seed = newSeed()
  test.diagnostic(`seed ${seed}`)
  return seed
}

/** For numbers that are drawn outside a test: print it in the titles. */
export function newSeed(): number {
  return Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 32))
}
