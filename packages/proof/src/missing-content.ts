import type { Destroyed, DestroyedWhy } from "./destroyed.ts"
import { addRange, lengthOfRanges, withoutRanges, type SequenceRange } from "./ranges.ts"

/**
 * Collects missing bodies and sealed fields until an entry explains them. Entries are added in the
 * order of the chain, and an entry explains only earlier ones.
 */
export type MissingContent = {
  readonly counts: MissingCounts
  addBody(sequence: number): void
  addFields(sequence: number, digests: readonly string[]): void
  explain(destroyed: Destroyed): void
}

export type MissingCounts = {
  /** Bodies that no entry explains. */
  readonly missingBodies: number
  readonly expiredBodies: number
  readonly erasedBodies: number
  /** Missing sealed fields of present bodies that no entry explains. */
  readonly withheld: number
  readonly erasedFields: number
}

export function createMissingContent(): MissingContent {
  const counts = {
    missingBodies: 0,
    expiredBodies: 0,
    erasedBodies: 0,
    withheld: 0,
    erasedFields: 0,
  }
  const inPlace: Record<DestroyedWhy, "expiredBodies" | "erasedBodies"> = {
    expired: "expiredBodies",
    erased: "erasedBodies",
  }
  let bodies: SequenceRange[] = []
  const fields = new Set<string>()

  return {
    counts,
    addBody(sequence) {
      counts.missingBodies += 1
      addRange(bodies, { first: sequence, last: sequence })
    },
    addFields(sequence, digests) {
      counts.withheld += digests.length
      for (const digest of digests) fields.add(`${sequence} ${digest}`)
    },
    explain({ why, bodies: ranges, fields: erased }) {
      for (const { sequence, digests } of erased)
        for (const digest of digests) {
          if (!fields.delete(`${sequence} ${digest}`)) continue
          counts.withheld -= 1
          counts.erasedFields += 1
        }
      const left = ranges.length === 0 ? bodies : withoutRanges(bodies, ranges)
      const explained = lengthOfRanges(bodies) - lengthOfRanges(left)
      bodies = left
      counts.missingBodies -= explained
      counts[inPlace[why]] += explained
    },
  }
}
