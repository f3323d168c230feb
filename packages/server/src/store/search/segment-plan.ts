// Decides which segments cover which entries, and which one to make next.

import { assert } from "@tallystick/proof"
import type { Stray } from "../whole-ledger.ts"
import { segmentSizes, type KeptSegment, type SegmentName } from "./segments.ts"

/** A segment to make: of entries, or of those that it absorbs. */
export interface PlannedSegment {
  readonly name: SegmentName
  readonly absorbs: readonly KeptSegment[]
}

/** Of entries that come fast. */
export const usualLevel = 1
/** Larger segments are merged only: to make one of entries takes as much memory as it has. */
const madeLevelMax = 2
/**
 * Segments that together are larger stay as they are: an erasure holds what it rewrites. Ordinary
 * entries have a twentieth of it in a segment that is made of entries, and half of it in the largest.
 */
const mergedBytesMax = [64, 64, 64, 128].map((mebibytes) => mebibytes * 1024 * 1024)

export function sizeOf(level: number): number {
  const size = segmentSizes[level]
  assert(size !== undefined, "a segment has one of the levels")
  return size
}

export function firstOf({ level, k }: SegmentName): number {
  return k * sizeOf(level) + 1
}

export function lastOf({ level, k }: SegmentName): number {
  return (k + 1) * sizeOf(level)
}

/** Up to this sequence segments follow each other without a gap. They are in order. */
export function positionOf(kept: readonly SegmentName[]): number {
  let position = 0
  for (const segment of kept)
    if (firstOf(segment) <= position + 1) position = Math.max(position, lastOf(segment))
  return position
}

/**
 * What is wrong with the segments of a workspace, in sentences: those that do not follow the one
 * before them, and of those without a hash (`unlisted`) what no merge has left. `kept` is in order.
 */
export function* segmentStrays(
  workspace: string,
  kept: readonly SegmentName[],
  unlisted: readonly SegmentName[],
  search: string,
): Generator<Stray> {
  const strayOf = (segment: SegmentName, what: string): Stray => ({
    workspace,
    sequence: firstOf(segment),
    what: `segment ${segment.k} of level ${segment.level} in ${search} ${what}`,
  })
  let position = 0
  for (const segment of kept) {
    if (firstOf(segment) !== position + 1)
      yield strayOf(segment, `does not follow the previous one, which ends with entry ${position}`)
    position = lastOf(segment)
  }
  for (const segment of straysOf(unlisted, kept))
    yield strayOf(segment, "has no hash, and no merge has left it")
}

/** What they would be merged of is not listed, and no larger segment has absorbed them. */
function straysOf(
  unlisted: readonly SegmentName[],
  kept: readonly SegmentName[],
): readonly SegmentName[] {
  return unlisted.filter((name) => {
    const [first, last] = [firstOf(name), lastOf(name)]
    const isIn = (one: SegmentName): boolean => first <= firstOf(one) && lastOf(one) <= last
    const sources = kept.filter((one) => one.level === name.level - 1 && isIn(one))
    const isStaged =
      sources.length > 0 && sources.length === sizeOf(name.level) / sizeOf(name.level - 1)
    return !isStaged && !kept.some((one) => firstOf(one) <= first && last <= lastOf(one))
  })
}

/** The segment that has this entry, which is not behind their position. */
export function coverOf<S extends SegmentName>(kept: readonly S[], sequence: number): S {
  const found = kept.findLast((one) => firstOf(one) <= sequence && sequence <= lastOf(one))
  assert(found !== undefined, "there is no gap before the position")
  return found
}

/**
 * The segment of new entries that is due, of a journal that ends there: the largest that fits and
 * is made of entries, and none below `least`.
 */
export function dueOf(
  kept: readonly SegmentName[],
  end: number,
  least = usualLevel,
): SegmentName | undefined {
  const position = positionOf(kept)
  for (let level = madeLevelMax; level >= 0; level--) {
    const size = sizeOf(level)
    // What follows small ones is small as well, until they fill a larger one.
    const isAllowed = level >= least || position % sizeOf(usualLevel) !== 0
    if (isAllowed && position % size === 0 && end - position >= size)
      return { level, k: position / size }
  }
  return undefined
}

/** The next smaller level, which begins with the same entry. */
export function smallerOf({ level, k }: SegmentName): SegmentName | undefined {
  if (level === 0) return undefined
  return { level: level - 1, k: (k * sizeOf(level)) / sizeOf(level - 1) }
}

/** Segments that make one of the next level, if that is not too large. */
export function mergeOf(kept: readonly KeptSegment[]): PlannedSegment | undefined {
  for (let level = 1; level < segmentSizes.length; level++) {
    const ratio = sizeOf(level) / sizeOf(level - 1)
    const small = Map.groupBy(
      kept.filter((one) => one.level === level - 1),
      ({ k }) => Math.floor(k / ratio),
    )
    for (const [k, absorbs] of small) {
      const bytes = absorbs.reduce((sum, one) => sum + one.bytes, 0)
      if (absorbs.length === ratio && bytes <= (mergedBytesMax[level] ?? 0))
        return { name: { level, k }, absorbs }
    }
  }
  return undefined
}
