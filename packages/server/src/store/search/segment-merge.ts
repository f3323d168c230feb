// Merges neighbouring segments into one: the same bytes as if it had been made of all their entries
// at once. Of one segment it makes the same without what was erased.

import { strict as assert } from "node:assert"
import { nameEnd, nameJoin, ownerOf } from "./key-groups.ts"
import { compareBytes, type KeyCursor } from "./key-stream.ts"
import type { Owner } from "./search.ts"
import { ColumnWriter } from "./segment-columns.ts"
import type { MadeSegment, Segment } from "./segment-format.ts"
import { ListedKeys, Range, type Dictionary } from "./segment-lookup.ts"
import { SegmentWriter } from "./segment-writer.ts"
import type { Steps } from "./segments.ts"

/** Whether a sealed field of this owner is gone from this entry. */
export type IsErased = (owner: Exclude<Owner, "nobody">, sequence: number) => boolean

/** Where a key of a source was not written again, because no entry has it any more. */
const gone = 0xffffffff

export function* mergeSegments(
  segments: readonly Segment[],
  isErased?: IsErased,
): Steps<MadeSegment> {
  const [{ first } = { first: 0 }] = segments
  const count = segments.reduce((sum, segment) => sum + segment.count, 0)
  let next = first
  for (const segment of segments) {
    assert(segment.first === next, "only neighbours are merged")
    next += segment.count
  }
  const writer = new SegmentWriter(count)
  const numbers = segments.map(({ facts }) => new Uint32Array(facts.keys))
  yield* mergeKeys(segments, numbers, writer, isErased)
  yield* mergeWords(segments, numbers, writer)
  const columns = new ColumnWriter(count)
  for (const segment of segments) yield* columns.copy(segment, segment.first - first)
  return writer.finish(first, columns)
}

/** Writes every key once, and notes under which number each segment's keys stand now. */
function* mergeKeys(
  segments: readonly Segment[],
  numbers: readonly Uint32Array[],
  writer: SegmentWriter,
  isErased: IsErased | undefined,
): Steps<void> {
  const [{ first } = { first: 0 }] = segments
  let entries = new Uint32Array(1024)
  yield* eachKey(segments, "keys", ({ key, length }, same) => {
    let count = 0
    for (const { shown, segment } of same) {
      const { list } = shown
      if (count + list.count > entries.length) entries = grown(entries, count + list.count)
      list.copyTo(entries, count, segment.first - first)
      count += list.count
    }
    if (isErased !== undefined) count = kept(entries, count, first, ownerIn(key, length), isErased)
    for (const { place, shown } of same) {
      const of = numbers[place]
      if (of !== undefined) of[shown.number] = count === 0 ? gone : writer.keyCount
    }
    if (count > 0) writer.key(key, length, entries, 0, count)
  })
}

/** Leaves the entries from which this is not erased, in front, and says how many they are. */
function kept(
  entries: Uint32Array,
  count: number,
  first: number,
  owner: Owner,
  isErased: IsErased,
): number {
  if (owner === "nobody") return count
  let left = 0
  for (let at = 0; at < count; at++) {
    const entry = entries[at] ?? 0
    if (!isErased(owner, first + entry)) entries[left++] = entry
  }
  return left
}

function ownerIn(key: Uint8Array, length: number): Owner {
  if (key[0] === nameJoin) return "nobody"
  const end = key.subarray(0, length).indexOf(nameEnd)
  return ownerOf(key[end + 1] ?? 0)
}

function* mergeWords(
  segments: readonly Segment[],
  numbers: readonly Uint32Array[],
  writer: SegmentWriter,
): Steps<void> {
  let values = new Uint32Array(1024)
  yield* eachKey(segments, "words", ({ key, length }, same) => {
    let count = 0
    for (const { shown, place } of same) {
      const { list } = shown
      if (count + list.count > values.length) values = grown(values, count + list.count)
      list.copyTo(values, count, 0)
      const of = numbers[place] ?? new Uint32Array()
      const end = count + list.count
      for (let at = count; at < end; at++) {
        const number = of[values[at] ?? 0] ?? gone
        if (number !== gone) values[count++] = number
      }
    }
    if (same.length > 1) count = distinct(values, count)
    if (count > 0) writer.word(key, length, values, 0, count)
  })
}

/** In order, each once. */
function distinct(values: Uint32Array, count: number): number {
  values.subarray(0, count).sort()
  let left = 0
  for (let at = 0; at < count; at++)
    if (at === 0 || values[at] !== values[left - 1]) values[left++] = values[at] ?? 0
  return left
}

function grown(array: Uint32Array, needed: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(needed * 2)
  larger.set(array)
  return larger
}

/** One segment's keys or words with their lists. */
interface Source {
  readonly segment: Segment
  /** Its place among the segments. */
  readonly place: number
  readonly shown: ListedKeys
}

/** Visits every key or word once, in order, with the sources that show it, in order. */
function* eachKey(
  segments: readonly Segment[],
  of: Dictionary,
  visit: (key: KeyCursor, same: readonly Source[]) => void,
): Steps<void> {
  const sources: Source[] = []
  for (const [place, segment] of segments.entries()) {
    const shown = new ListedKeys(segment, of, new Range(0, segment.facts[of]))
    if (!shown.advance()) yield* shown.load()
    insert(sources, { segment, place, shown })
  }
  for (let lowest = sources[0]; lowest !== undefined; lowest = sources[0]) {
    let count = 1
    for (let other = sources[1]; other !== undefined; other = sources[++count])
      if (compare(lowest, other) !== 0) break
    const same = sources.splice(0, count)
    visit(lowest.shown.key, same)
    for (const source of same) {
      if (!source.shown.advance()) yield* source.shown.load()
      insert(sources, source)
    }
  }
}

/** Keeps sources in the order of their keys, and of their places; without those that have ended. */
function insert(sources: Source[], source: Source): void {
  if (source.shown.isPast) return
  let [low, high] = [0, sources.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = sources[middle]
    const difference =
      other === undefined ? -1 : compare(source, other) || source.place - other.place
    if (difference > 0) low = middle + 1
    else high = middle
  }
  sources.splice(low, 0, source)
}

function compare({ shown: { key: one } }: Source, { shown: { key: other } }: Source): number {
  return compareBytes(one.key, one.length, other.key, other.length)
}
