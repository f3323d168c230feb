// Segments: what a search knows of a run of a workspace's entries, as a few byte strings that any
// engine can keep. A segment is a function of its entries: made directly or by merging, it has the
// same header, byte for byte, and the header has the SHA-256 of every other part. So putting one
// twice does no harm, and `fsck` knows which header it must have.
//
// This file has the types. The code, from the entry to the answer:
//
//   entry-scanner.ts, searchable-fields.ts   what can be searched in an entry
//   segment-builder.ts                       makes a segment from entries
//   segment-merge.ts                         merges neighbours, or drops erased fields
//   entry-pairs.ts, segment-rewrite.ts       whether a segment is the one of its entries
//   segment-format.ts                        how segments are kept; opens them
//   segment-lookup.ts, segment-query.ts      which entries of a segment match
//   segment-counts.ts                        counts of the matches
//   segment-search.ts                        asks all segments of a workspace, newest first
//   segment-plan.ts                          which segment covers an entry, and which to make next

/** Level `l`, place `k`: entries `k * size + 1` to `(k + 1) * size`, where size is `sizes[l]`. */
export interface SegmentName {
  readonly level: number
  readonly k: number
}

/**
 * Entries of a segment at each level, each a multiple of the one before. The smallest level is for
 * entries that come slowly, and for large ones: 4,096 of 256 KiB are a gigabyte, which no process
 * should hold at once. The largest are always merged.
 */
export const segmentSizes: readonly number[] = [256, 4096, 65_536, 1_048_576]

/** What is kept of a segment, by the number of its part. Part 0 is the header. */
export type SegmentParts = readonly Uint8Array[]

/** A segment that is kept: its name, and the SHA-256 that its header ends with, in hex. */
export interface KeptSegment extends SegmentName {
  /** Changes with the content, so it is the right key for whatever is remembered of a segment. */
  readonly hash: string
  /** Of all its parts together: what a merge takes to hold. */
  readonly bytes: number
}

/** A kept segment with the hash of its last entry's record, which ties it to its journal. */
export interface SegmentRow extends KeptSegment {
  readonly lastRecord: Uint8Array
}

/** What reads need of an engine. One row for each part: (workspace, level, k, part) → bytes. */
export interface SegmentReader {
  /** In the order of their entries. */
  list(workspace: string): Promise<readonly KeptSegment[]>
  /** Undefined where nothing is kept under this name: it was merged away, or never was. */
  part(workspace: string, name: SegmentName, part: number): Promise<Uint8Array | undefined>
}

/** How many parts were staged, and their bytes. */
export interface StagedParts {
  readonly count: number
  readonly bytes: number
}

/** Of parts that one step of a sweep removes: about a megabyte. */
export const partsPerSweep = 64

export interface SegmentKeeper extends SegmentReader {
  /**
   * Puts a segment, in place of what stood under its name, and deletes those that it absorbed, in
   * one transaction. Doing it twice changes nothing. If parts were staged, `parts` is the header
   * alone; parts of absorbed segments are left to `sweep` then.
   */
  put(
    workspace: string,
    name: SegmentName,
    parts: SegmentParts,
    absorbed: readonly SegmentName[],
    staged?: StagedParts,
  ): Promise<void>
  /**
   * Keeps parts of a large segment, from this number on, before it is put. It must not be listed:
   * nobody reads them until then.
   */
  stage(workspace: string, name: SegmentName, from: number, parts: SegmentParts): Promise<void>
  /**
   * Removes some parts of segments that are not listed, whether staged or absorbed. False if there
   * are none.
   */
  sweep(workspace: string): Promise<boolean>
  /**
   * Removes what segments had before from the engine's log of changes as well. False while another
   * connection reads an earlier state: ask again.
   */
  clearLog(): Promise<boolean>
}

/**
 * Work in steps of well under a millisecond. It asks for a part by its number and must be given its
 * bytes as they are kept, or `undefined` if it is gone; where it yields `undefined` it only offers
 * to pause. Whoever runs it decides how many steps are one turn.
 */
export type Steps<T> = Generator<PartAsked | undefined, T, Uint8Array | undefined>

/** Steps in turns: between two of them others may have theirs. */
export type Turns<T> = AsyncGenerator<undefined, T>

export interface PartAsked {
  readonly segment: OpenSegment
  readonly part: number
}

/** A segment that can be asked. `parts` remembers raw parts, by this segment's hash. */
export interface OpenSegment {
  readonly hash: string
  /** Sequence of its first entry. */
  readonly first: number
  readonly count: number
}

/** A part was asked for that is not kept any more: begin again with the segments of now. */
export class SegmentGone extends Error {}

/** A kept part is not what was written: `reindex` makes the search again. */
export class SegmentDamaged extends Error {}

/** The entries of one segment that match. */
export interface Matches {
  readonly count: number
  /** Newest first, all below `before`; at most `limit`. */
  readonly newestBelow: (before: number, limit: number) => number[]
}
