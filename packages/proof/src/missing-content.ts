import type { Destroyed, DestroyedWhy, SequenceRange } from "./destroyed.ts"

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
  /** Ascending, without overlap. */
  let bodies: [first: number, last: number][] = []
  const fields = new Set<string>()

  return {
    counts,
    addBody(sequence) {
      counts.missingBodies += 1
      const last = bodies.at(-1)
      if (last?.[1] === sequence - 1) last[1] = sequence
      else bodies.push([sequence, sequence])
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
      const left = ranges.length === 0 ? bodies : without(bodies, ranges)
      const explained = lengthOf(bodies) - lengthOf(left)
      bodies = left
      counts.missingBodies -= explained
      counts[inPlace[why]] += explained
    },
  }
}

/** Both are ascending, without overlap. */
function without(
  all: readonly SequenceRange[],
  taken: readonly SequenceRange[],
): [number, number][] {
  const left: [number, number][] = []
  let next = 0
  for (const [first, last] of all) {
    let from = first
    while (next < taken.length && (taken[next]?.[1] ?? 0) < first) next += 1
    for (let at = next; from <= last; at++) {
      const [start, end] = taken[at] ?? [Infinity, Infinity]
      if (start > from) left.push([from, Math.min(last, start - 1)])
      from = end + 1
    }
  }
  return left
}

function lengthOf(ranges: readonly SequenceRange[]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}
