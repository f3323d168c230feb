// Makes stored segments again without destroyed content, so that no search finds an entry by it and
// no file has it.

import { assert } from "@tallystick/proof"
import type { SequenceRange } from "@tallystick/proof"
import type { Limits } from "../limits.ts"
import { firstWhere } from "../runtime/first-where.ts"
import type { StreamPart } from "../store/search/key-stream.ts"
import { createSegmentBuilder, type SegmentBuilder } from "../store/search/segment-builder.ts"
import {
  hashOfHeader,
  headerOf,
  openMade,
  openSource,
  packPart,
  sumOf,
  type MadeSegment,
  type PartSum,
  type Segment,
} from "../store/search/segment-format.ts"
import { replaceEntries, type IsErased } from "../store/search/segment-merge.ts"
import { firstOf, lastOf } from "../store/search/segment-plan.ts"
import {
  SegmentDamaged,
  type KeptSegment,
  type SegmentName,
  type SegmentParts,
  type Steps,
} from "../store/search/segments.ts"
import { bytesOf, type Stored } from "../store/entries.ts"
import type { FilingStore } from "../store/store.ts"
import { turn } from "./loop.ts"

/** The destroyed content of a workspace's entries, by sequence. */
export interface DestroyedContent {
  /** Ranges of entries whose bodies are gone. */
  readonly bodies: readonly SequenceRange[]
  /** Entries whose sealed fields of the actor, or of the target, are gone. */
  readonly actor: readonly number[]
  readonly target: readonly number[]
}

interface CleaningParts extends Pick<FilingStore, "journal" | "segments"> {
  readonly pause: () => Promise<void>
}

/**
 * Returns a function that cleans the next segment of the workspace that needs it, and returns
 * whether there was one.
 */
export function createCleaner(
  { journal, segments, leases }: Pick<FilingStore, "journal" | "segments" | "leases">,
  limits: Limits,
  workspace: string,
  { bodies: ranges, actor, target }: DestroyedContent,
): () => Promise<boolean> {
  const pause = async (): Promise<void> => {
    // An unused lease is given back, and a large segment takes longer than that.
    await leases.hold(workspace)
    await turn()
  }
  const parts: CleaningParts = { journal, segments, pause }
  const bodies = ranges.toSorted((a, b) => a.first - b.first)
  const owned = { actor: new Set(actor), target: new Set(target) }
  const fields = Float64Array.from([...actor, ...target]).sort()
  /** Hashes of the segments that are clean. */
  const clean = new Set<string>()
  const lacksBodies = (segment: KeptSegment): boolean =>
    bodies.some(({ first, last }) => first <= lastOf(segment) && last >= firstOf(segment))
  const lacks = (segment: KeptSegment): boolean =>
    lacksBodies(segment) || isAmong(fields, firstOf(segment), lastOf(segment))
  const isErased: IsErased = (owner, sequence) => owned[owner].has(sequence)
  const make = async (segment: KeptSegment): Promise<SegmentParts> => {
    const gone = within(bodies, firstOf(segment), lastOf(segment))
    // Without its body an entry has other keys, such as its time. If they are few, they are
    // replaced in the segment.
    if (2 * gone.length < lastOf(segment) - firstOf(segment)) {
      try {
        return await strip(parts, workspace, segment, gone, isErased)
      } catch (error) {
        // What is destroyed does not wait until somebody repairs the search.
        if (!(error instanceof SegmentDamaged)) throw error
      }
    }
    return rebuild(parts, limits, workspace, segment)
  }

  return async () => {
    const kept = await segments.list(workspace)
    const segment = kept.find((one) => !clean.has(one.hash) && lacks(one))
    if (segment === undefined) return false
    const made = await make(segment)
    const now = await segments.list(workspace)
    // It was merged meanwhile; the merged segment is next.
    if (!now.some(({ hash }) => hash === segment.hash)) return true
    const hash = hashOfHeader(made)
    if (hash !== segment.hash) await segments.put(workspace, segment, made, [])
    clean.add(hash)
    return true
  }
}

/** Makes the segment from the current entries. */
async function rebuild(
  { journal, pause }: CleaningParts,
  limits: Limits,
  workspace: string,
  segment: KeptSegment,
): Promise<SegmentParts> {
  const builder = builderOf(segment)
  for await (const _ of addEntries(builder, journal, limits, workspace, segment)) await pause()
  return packedInTurns(pause, (take) => builder.finishing(take))
}

export function builderOf(name: SegmentName): SegmentBuilder {
  return createSegmentBuilder(firstOf(name), lastOf(name) - firstOf(name) + 1)
}

/** Adds the recorded entries of a segment. After each read it says how many bytes there were. */
export async function* addEntries(
  builder: SegmentBuilder,
  journal: FilingStore["journal"],
  { fileEntriesMax }: Pick<Limits, "fileEntriesMax">,
  workspace: string,
  name: SegmentName,
): AsyncGenerator<number, void> {
  const end = lastOf(name)
  let bytes = 0
  for (let last = firstOf(name) - 1; last < end;) {
    const entries = await journal.after(workspace, last, Math.min(fileEntriesMax, end - last))
    if (entries.length === 0) throw new Error("the journal cannot be read, or ends before its head")
    for (const entry of entries) {
      const { sequence } = entry
      assert(sequence > last && sequence <= last + holeMax, "the journal gives entries in order")
      if (sequence <= end) builder.add(entry)
      bytes += bytesOf(entry)
      last = sequence
    }
    yield bytes
  }
  // A missing entry stays findable, so that a reader sees that it is missing.
  builder.addMissing(end)
}

/** Without what is erased, and with the current state of entries whose bodies were destroyed. */
async function strip(
  parts: CleaningParts,
  workspace: string,
  segment: KeptSegment,
  gone: readonly number[],
  isErased: IsErased,
): Promise<SegmentParts> {
  const { segments, pause } = parts
  const other = gone.length === 0 ? undefined : await current(parts, workspace, segment, gone)
  const [first, end] = [firstOf(segment), lastOf(segment)]
  const isGone = new Uint8Array(end - first + 1)
  for (const sequence of gone) isGone[sequence - first] = 1
  const isReplaced = (sequence: number): boolean => isGone[sequence - first] === 1
  const header = await segments.part(workspace, segment, 0)
  if (header === undefined) throw new Error("a listed segment has no header")
  const opened = openSource(header)
  return packedInTurns(
    pause,
    (take) => replaceEntries(opened, { isErased, other, isReplaced }, take),
    (part) => segments.part(workspace, segment, part),
  )
}

/** A segment of these entries of another one. The others are missing. */
async function current(
  { journal, pause }: CleaningParts,
  workspace: string,
  segment: KeptSegment,
  sequences: readonly number[],
): Promise<Segment> {
  const builder = builderOf(segment)
  for (let at = 0; at < sequences.length;) {
    const entries = await journal.at(workspace, sequences.slice(at, at + goneAtOnce), goneBytesMax)
    await inTurns(pause, adding(builder, entries))
    at += entries.length
    await pause()
  }
  await inTurns(pause, builder.addingMissing(lastOf(segment)))
  const making = builder.finishing((part) => part)
  return openMade(await inTurns(pause, making))
}

function* adding(builder: SegmentBuilder, entries: readonly (Stored | undefined)[]): Steps<void> {
  for (const entry of entries) {
    if (entry === undefined) continue
    yield* builder.addingMissing(entry.sequence - 1)
    builder.add(entry)
  }
}

/** Makes a segment, and packs each part when it is finished. */
async function packedInTurns(
  pause: () => Promise<void>,
  making: (take: (part: StreamPart) => PartSum) => Steps<MadeSegment<PartSum>>,
  read?: (part: number) => Promise<Uint8Array | undefined>,
): Promise<SegmentParts> {
  const parts: Uint8Array[] = []
  const steps = making((part) => {
    parts.push(packPart(part))
    return sumOf(part)
  })
  return [headerOf(await inTurns(pause, steps, read)), ...parts]
}

async function inTurns<T>(
  pause: () => Promise<void>,
  steps: Steps<T>,
  read: (part: number) => Promise<Uint8Array | undefined> = async () => undefined,
): Promise<T> {
  let count = 0
  for (let step = steps.next(); ;) {
    if (step.done === true) return step.value
    if (++count % stepsPerTurn === 0) await pause()
    step = steps.next(step.value && (await read(step.value.part)))
  }
}

/** Some milliseconds of work. */
const stepsPerTurn = 64
/** How many entries in a row may be missing. A larger gap means that a sequence is wrong. */
const holeMax = 1000
/** More entries at once if they have no bodies, because they are small. */
const goneAtOnce = 256
const goneBytesMax = 4 * 1024 * 1024

/** The sequences from `first` to `last` in these ranges, which are in order. */
function within(
  ranges: DestroyedContent["bodies"],
  first: number,
  last: number,
): readonly number[] {
  const all: number[] = []
  let next = first
  for (const { first: from, last: to } of ranges)
    for (next = Math.max(from, next); next <= Math.min(to, last); next++) all.push(next)
  return all
}

/** Whether a sorted list has a number in this range. */
function isAmong(sorted: Float64Array, first: number, last: number): boolean {
  return (sorted[firstWhere(sorted, (one) => one >= first)] ?? Infinity) <= last
}
