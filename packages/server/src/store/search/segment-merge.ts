// Merges neighbouring segments into one: the same bytes as if it had been made of all their entries
// at once. Of one segment it makes the same without what was erased.

import { strict as assert } from "node:assert"
import { nameEnd, nameJoin, ownerOf } from "./key-groups.ts"
import { compareBytes, KeyCursor } from "./key-stream.ts"
import { ListCursor } from "./list-stream.ts"
import type { Owner } from "./search.ts"
import { ColumnWriter } from "./segment-columns.ts"
import type { MadeSegment, Segment } from "./segment-format.ts"
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
  const merged = new Merged(segments, "keys", "entries", ({ count }) => count)
  yield* merged.begin()
  let entries = new Uint32Array(1024)
  while (merged.sources.length > 0) {
    let count = 0
    const same = merged.same()
    for (const { lists, segment } of same) {
      if (count + lists.count > entries.length) entries = grown(entries, count + lists.count)
      lists.copyTo(entries, count, segment.first - first)
      count += lists.count
    }
    const { key, length } = same[0]?.keys ?? nothing
    if (isErased !== undefined) count = kept(entries, count, first, ownerIn(key, length), isErased)
    for (const { place, number } of same) {
      const of = numbers[place]
      if (of !== undefined) of[number] = count === 0 ? gone : writer.keyCount
    }
    if (count > 0) writer.key(key, length, entries, 0, count)
    if (!merged.advance(same)) yield* merged.load()
  }
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
  const merged = new Merged(segments, "words", "values", ({ facts }) => facts.keys)
  yield* merged.begin()
  let values = new Uint32Array(1024)
  while (merged.sources.length > 0) {
    let count = 0
    const same = merged.same()
    for (const { lists, place } of same) {
      if (count + lists.count > values.length) values = grown(values, count + lists.count)
      lists.copyTo(values, count, 0)
      const of = numbers[place] ?? new Uint32Array()
      const end = count + lists.count
      for (let at = count; at < end; at++) {
        const number = of[values[at] ?? 0] ?? gone
        if (number !== gone) values[count++] = number
      }
    }
    if (same.length > 1) count = distinct(values, count)
    const { key, length } = same[0]?.keys ?? nothing
    if (count > 0) writer.word(key, length, values, 0, count)
    if (!merged.advance(same)) yield* merged.load()
  }
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

const nothing = { key: Buffer.alloc(0), length: 0 }

/** One segment's keys or words with their lists, one after another. */
interface Source {
  readonly segment: Segment
  /** Its place among the segments. */
  readonly place: number
  part: number
  keys: KeyCursor
  lists: ListCursor
  listPart: number
  listEnd: number
  /** Of the shown key, counted through all parts. */
  number: number
}

/** Several sources, the one with the lowest key first; of equal keys the earlier segment. */
class Merged {
  sources: Source[] = []
  #waiting: Source[] = []
  readonly #segments: readonly Segment[]
  readonly #keyStream: "keys" | "words"
  readonly #listStream: "entries" | "values"
  readonly #most: (segment: Segment) => number

  constructor(
    segments: readonly Segment[],
    keyStream: "keys" | "words",
    listStream: "entries" | "values",
    most: (segment: Segment) => number,
  ) {
    this.#segments = segments
    this.#keyStream = keyStream
    this.#listStream = listStream
    this.#most = most
  }

  *begin(): Steps<void> {
    const [keys, lists] = [
      new KeyCursor(new Uint8Array(), 0),
      new ListCursor(new Uint8Array(), 0, 1),
    ]
    for (const [place, segment] of this.#segments.entries()) {
      const source: Source = {
        segment,
        place,
        part: -1,
        keys,
        lists,
        listPart: -1,
        listEnd: 0,
        number: -1,
      }
      if (this.#isLast(source)) continue
      yield* this.#load(source)
      this.#show(source)
    }
  }

  /** All sources that show the lowest key. */
  same(): Source[] {
    const { sources } = this
    const [lowest] = sources
    let count = 1
    while (lowest !== undefined && count < sources.length) {
      const other = sources[count]
      if (other === undefined || compare(lowest, other) !== 0) break
      count++
    }
    return sources.slice(0, count)
  }

  /** These have been taken, and show their next keys; false if parts have to be loaded first. */
  advance(same: readonly Source[]): boolean {
    this.sources.splice(0, same.length)
    let isLoaded = true
    for (const source of same) {
      if (this.#isLast(source)) continue
      if (source.keys.index + 1 < source.keys.count && source.number + 1 < source.listEnd)
        this.#show(source)
      else {
        this.#waiting.push(source)
        isLoaded = false
      }
    }
    return isLoaded
  }

  /** Loads what `advance` found lacking. */
  *load(): Steps<void> {
    for (const source of this.#waiting) {
      yield* this.#load(source)
      this.#show(source)
    }
    this.#waiting = []
  }

  #isLast({ segment, number }: Source): boolean {
    return number + 1 >= segment.facts[this.#keyStream]
  }

  /** Opens the parts that the next key and its list stand in. */
  *#load(source: Source): Steps<void> {
    const { segment, keys } = source
    const keyParts = segment.streams[this.#keyStream]
    const listParts = segment.streams[this.#listStream]
    const total = segment.facts[this.#keyStream]
    if (keys.index + 1 >= keys.count) {
      const place = keyParts[++source.part]
      assert(place !== undefined, "a header knows how many keys there are")
      const end = keyParts[source.part + 1]?.first ?? total
      source.keys = new KeyCursor(yield* segment.raw(place), end - place.first)
    }
    if (source.number + 1 >= source.listEnd) {
      const place = listParts[++source.listPart]
      assert(place !== undefined, "a header knows how many lists there are")
      source.listEnd = listParts[source.listPart + 1]?.first ?? total
      const lists = source.listEnd - place.first
      source.lists = new ListCursor(yield* segment.raw(place), lists, this.#most(segment))
    }
  }

  #show(source: Source): void {
    source.number++
    source.keys.next()
    source.lists.next()
    this.#insert(source)
  }

  #insert(source: Source): void {
    const { sources } = this
    let [low, high] = [0, sources.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = sources[middle]
      const difference = other === undefined ? -1 : compare(source, other)
      if (difference > 0 || (difference === 0 && source.place > (other?.place ?? 0)))
        low = middle + 1
      else high = middle
    }
    sources.splice(low, 0, source)
  }
}

function compare(one: Source, other: Source): number {
  return compareBytes(one.keys.key, one.keys.length, other.keys.key, other.keys.length)
}
