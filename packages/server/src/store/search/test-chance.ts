// Random numbers for the tests of this folder, the same for the same seed.

/** Returns integers from 0 to `end`, which is excluded. */
export function chanceOf(seed: number): (end: number) => number {
  let state = seed
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * end)
  }
}
