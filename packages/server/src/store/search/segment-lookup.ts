// Finds keys and words in a segment, and gathers their lists.

import { filterPrefix, type Filter } from "./key-groups.ts"
import { KeyCursor, compareBytes } from "./key-stream.ts"
import { ListCursor, NumberSet } from "./list-stream.ts"
import type { Segment } from "./segment-format.ts"
import type { Steps } from "./segments.ts"

export type Dictionary = "keys" | "words"

/** Numbers of keys or words: from the first up to, and without, the end. */
export interface Range {
  readonly from: number
  readonly end: number
}

/** Bytes and numbers that are looked at, nearly, until there is a pause: some 100 µs. */
export const workPerStep = 32_768

const listsOf = { keys: "entries", words: "values" } as const

/** The number of one key, as a range that is empty where it does not stand. */
export function* findExact(segment: Segment, of: Dictionary, key: Uint8Array): Steps<Range> {
  const from = yield* firstFrom(segment, of, key)
  const cursor = yield* openKeys(segment, of, from)
  const isFound = cursor !== undefined && cursor.compare(key) === 0
  return { from, end: isFound ? from + 1 : from }
}

/** All that begin so. The prefix does not end with 0xFF. */
export function* findPrefix(segment: Segment, of: Dictionary, prefix: Uint8Array): Steps<Range> {
  const from = yield* firstFrom(segment, of, prefix)
  const behind = Uint8Array.from(prefix)
  behind[behind.length - 1] = (prefix.at(-1) ?? 0) + 1
  return { from, end: yield* firstFrom(segment, of, behind) }
}

/** How many stand before `target`. */
export function* firstFrom(segment: Segment, of: Dictionary, target: Uint8Array): Steps<number> {
  const places = segment.streams[of]
  let [low, high] = [0, places.length]
  // The first part whose separator is above the target is behind it.
  while (low < high) {
    const middle = (low + high) >>> 1
    const { separator } = places[middle] ?? { separator: target }
    if (compareBytes(separator, separator.length, target, target.length) <= 0) low = middle + 1
    else high = middle
  }
  const place = places[low - 1]
  if (place === undefined) return 0
  const cursor = yield* openPart(segment, of, low - 1)
  cursor.seek(target)
  return place.first + cursor.index
}

function* openPart(segment: Segment, of: Dictionary, at: number): Steps<KeyCursor> {
  const places = segment.streams[of]
  const place = places[at]
  if (place === undefined) return new KeyCursor(new Uint8Array(), 0)
  const end = places[at + 1]?.first ?? segment.facts[of]
  return new KeyCursor(yield* segment.raw(place), end - place.first)
}

/** A cursor that shows the key with this number; undefined behind the last one. */
function* openKeys(segment: Segment, of: Dictionary, number: number): Steps<KeyCursor | undefined> {
  if (number >= segment.facts[of]) return undefined
  const at = partWith(segment.streams[of], number)
  const cursor = yield* openPart(segment, of, at)
  cursor.goTo(number - (segment.streams[of][at]?.first ?? 0))
  return cursor
}

/** The last part that begins at or before an item. */
function partWith(places: readonly { readonly first: number }[], item: number): number {
  let [low, high] = [0, places.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((places[middle]?.first ?? 0) <= item) low = middle
    else high = middle - 1
  }
  return low
}

/** Walks over lists, or keys, by ascending numbers, and opens each part once. */
export class ListWalk {
  readonly #segment: Segment
  readonly #of: Dictionary
  #cursor = new ListCursor(new Uint8Array(), 0, 1)
  #first = 0
  #end = 0

  constructor(segment: Segment, of: Dictionary) {
    this.#segment = segment
    this.#of = of
  }

  /** The list of a key or word, if it is in the part that is open. */
  open(number: number): ListCursor | undefined {
    if (number < this.#first || number >= this.#end) return undefined
    this.#cursor.goTo(number - this.#first)
    return this.#cursor
  }

  /** Opens the part that has it. */
  *load(number: number): Steps<ListCursor> {
    const { streams, facts, count } = this.#segment
    const places = streams[listsOf[this.#of]]
    const at = partWith(places, number)
    const place = places[at]
    this.#first = place?.first ?? 0
    this.#end = places[at + 1]?.first ?? facts[this.#of]
    const raw = place === undefined ? new Uint8Array() : yield* this.#segment.raw(place)
    const most = this.#of === "keys" ? count : facts.keys
    this.#cursor = new ListCursor(raw, this.#end - this.#first, most)
    this.#cursor.goTo(number - this.#first)
    return this.#cursor
  }
}

export class KeyWalk {
  readonly #segment: Segment
  #cursor = new KeyCursor(new Uint8Array(), 0)
  #first = 0
  #end = 0

  constructor(segment: Segment) {
    this.#segment = segment
  }

  open(number: number): KeyCursor | undefined {
    if (number < this.#first || number >= this.#end) return undefined
    this.#cursor.goTo(number - this.#first)
    return this.#cursor
  }

  *load(number: number): Steps<KeyCursor> {
    const places = this.#segment.streams.keys
    const at = partWith(places, number)
    this.#first = places[at]?.first ?? 0
    this.#end = places[at + 1]?.first ?? this.#segment.facts.keys
    this.#cursor = yield* openPart(this.#segment, "keys", at)
    this.#cursor.goTo(number - this.#first)
    return this.#cursor
  }
}

/** Adds the lists of a range to a set. */
export function* addLists(
  segment: Segment,
  of: Dictionary,
  { from, end }: Range,
  set: NumberSet,
): Steps<void> {
  const walk = new ListWalk(segment, of)
  let work = 0
  for (let number = from; number < end; number++) {
    const list = walk.open(number) ?? (yield* walk.load(number))
    list.addTo(set)
    work += list.work
    if (work < workPerStep) continue
    work = 0
    yield
  }
}

/** Adds the entries of all these keys to a set. */
export function* addEntries(segment: Segment, keys: NumberSet, set: NumberSet): Steps<void> {
  const walk = new ListWalk(segment, "keys")
  let work = 0
  for (let number = keys.next(0); number >= 0; number = keys.next(number + 1)) {
    const list = walk.open(number) ?? (yield* walk.load(number))
    list.addTo(set)
    work += list.work
    if (work < workPerStep) continue
    work = 0
    yield
  }
}

/** Leaves of these keys those that pass. */
export function* keepKeys(
  segment: Segment,
  keys: NumberSet,
  passes: (key: Buffer, length: number) => boolean,
): Steps<void> {
  const walk = new KeyWalk(segment)
  let work = 0
  for (let number = keys.next(0); number >= 0; number = keys.next(number + 1)) {
    const { key, length } = walk.open(number) ?? (yield* walk.load(number))
    if (!passes(key, length)) keys.delete(number)
    work += length
    if (work < workPerStep) continue
    work = 0
    yield
  }
}

/** The entries that a filter's value is said of. */
export function* filterSet(
  segment: Segment,
  filter: Filter,
  value: Uint8Array = new Uint8Array(),
): Steps<NumberSet> {
  const set = new NumberSet(segment.count)
  const key = Buffer.concat([filterPrefix(filter), value])
  yield* addLists(segment, "keys", yield* findExact(segment, "keys", key), set)
  return set
}

/** All values of a filter: where they stand, and where the value begins in their keys. */
export function* filterValues(
  segment: Segment,
  filter: Filter,
): Steps<Range & { readonly valueAt: number }> {
  const prefix = filterPrefix(filter)
  // The prefix ends with 0xFF, and before that with a letter.
  const behind = Buffer.from(prefix.subarray(0, -1))
  behind[behind.length - 1] = (behind.at(-1) ?? 0) + 1
  const from = yield* firstFrom(segment, "keys", prefix)
  return { from, end: yield* firstFrom(segment, "keys", behind), valueAt: prefix.length }
}
