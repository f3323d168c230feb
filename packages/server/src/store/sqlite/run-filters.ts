// The filters of all runs in memory (key-runs.ts), for one look-up in all of them.

import { joinFilters, joinedFilters, joinedMayHold, mayHold, probe } from "./key-runs.ts"

export interface RunFilters {
  add(filter: Uint8Array): void
  count(): number
  /** The runs that may have this key. It is empty for nearly every new key. */
  runsOf(idem: string): readonly number[]
}

const none: readonly number[] = []

export function createRunFilters(): RunFilters {
  const joined: Int32Array[] = []
  let single: Uint8Array[] = []
  return {
    add(filter) {
      single.push(filter)
      if (single.length < joinedFilters) return
      joined.push(joinFilters(single))
      single = []
    },
    count: () => joined.length * joinedFilters + single.length,
    runsOf(idem) {
      const wanted = probe(idem)
      let found: number[] | undefined
      let run = 0
      for (const filters of joined) {
        for (let left = joinedMayHold(filters, wanted); left !== 0; left &= left - 1)
          (found ??= []).push(run + 31 - Math.clz32(left & -left))
        run += joinedFilters
      }
      for (const filter of single) {
        if (mayHold(filter, wanted)) (found ??= []).push(run)
        run += 1
      }
      return found ?? none
    },
  }
}
