// Finds keys and words in a segment, and reads their lists.

import { assert } from "@tallystick/proof"
import { createLru, type Lru } from "../../runtime/lru-cache.ts"
import {
  filterPrefix,
  joinedNames,
  nameEnd,
  nameJoin,
  owners,
  tagsOf,
  type Filter,
} from "./key-groups.ts"
import { compareBytes, KeyCursor, placeOfKey } from "./key-stream.ts"
import { ListCursor, unionNumbers, type ListSpan } from "./list-stream.ts"
import { NumberSet } from "./number-set.ts"
import type { Owner } from "./search.ts"
import type { Segment, StreamName } from "./segment-format.ts"
import type { Steps } from "./segments.ts"

export type Dictionary = "keys" | "words"

/** Numbers of keys or words. */
interface Numbers {
  /** The first that is not below `from`; -1 if there is none. */
  next(from: number): number
  /** The end of the numbers that follow this one without a gap. */
  runEnd(number: number): number
}

/** From the first number to the end, which is excluded. */
export class Range implements Numbers {
  readonly from: number
  readonly end: number

  constructor(from: number, end: number) {
    this.from = from
    this.end = end
  }

  next(from: number): number {
    const number = Math.max(from, this.from)
    return number < this.end ? number : -1
  }

  runEnd(): number {
    return this.end
  }
}

/** A few numbers, ascending. They are asked for in order. */
export class NumberList implements Numbers {
  readonly numbers: Uint32Array
  #at = 0

  constructor(numbers: Uint32Array) {
    this.numbers = numbers
  }

  next(from: number): number {
    if (from === 0) this.#at = 0
    while ((this.numbers[this.#at] ?? Infinity) < from) this.#at++
    return this.numbers[this.#at] ?? -1
  }

  runEnd(number: number): number {
    return number + 1
  }
}

/** Bytes and numbers that are read between two pauses, approximately: some 100 µs. */
export const workPerStep = 32_768
/** Lists that are added without looking whether a pause is due. */
const runMax = 256

/** The number of one key, as a range that is empty where it does not stand. */
export function* findExact(segment: Segment, of: Dictionary, key: Uint8Array): Steps<Range> {
  const place = yield* placeIn(segment, of, key)
  return place >= 0 ? new Range(place, place + 1) : new Range(~place, ~place)
}

export function* findPrefix(segment: Segment, of: Dictionary, prefix: Uint8Array): Steps<Range> {
  const from = yield* placeIn(segment, of, prefix)
  const last = prefix.findLastIndex((byte) => byte !== 0xff)
  const behind = Uint8Array.from(prefix.subarray(0, last + 1))
  behind[last] = (prefix[last] ?? 0) + 1
  const end = yield* placeIn(segment, of, behind)
  return new Range(from >= 0 ? from : ~from, end >= 0 ? end : ~end)
}

/** The number of a key; of one that does not stand, the complement of how many stand before it. */
function* placeIn(segment: Segment, of: Dictionary, target: Uint8Array): Steps<number> {
  const parts = segment.streams[of]
  let [low, high] = [-1, parts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    const { separator } = parts[middle] ?? noPart
    if (compareBytes(separator, separator.length, target, target.length) <= 0) low = middle
    else high = middle - 1
  }
  const part = parts[low]
  if (part === undefined) return ~0
  const count = (parts[low + 1]?.first ?? segment.facts[of]) - part.first
  const raw = segment.held(part) ?? (yield* segment.raw(part))
  const place = placeOfKey(raw, count, target)
  return place >= 0 ? part.first + place : ~(part.first + ~place)
}

const noPart = { separator: new Uint8Array() }

/** Shows items of a stream by ascending numbers, and opens each of its parts once. */
class Walk<C extends { goTo(index: number): void }> {
  readonly #segment: Segment
  readonly #stream: StreamName
  readonly #total: number
  readonly #cursorOf: (raw: Uint8Array, items: number) => C
  #cursor: C | undefined
  #first = 0
  #end = 0

  /** Where the items of the open part end. */
  get partEnd(): number {
    return this.#end
  }

  constructor(
    segment: Segment,
    stream: StreamName,
    total: number,
    cursorOf: (raw: Uint8Array, items: number) => C,
  ) {
    this.#segment = segment
    this.#stream = stream
    this.#total = total
    this.#cursorOf = cursorOf
  }

  /** Shows an item if the part that has it is open. */
  open(number: number): C | undefined {
    if (number < this.#first || number >= this.#end) return undefined
    this.#cursor?.goTo(number - this.#first)
    return this.#cursor
  }

  /** Opens the part that has an item, and shows it. There is such an item. */
  *load(number: number): Steps<C> {
    const parts = this.#segment.streams[this.#stream]
    const at = parts.findLastIndex(({ first }) => first <= number)
    const place = parts[at]
    assert(
      place !== undefined && number < this.#total,
      "the header counts more items than this number",
    )
    this.#first = place.first
    this.#end = parts[at + 1]?.first ?? this.#total
    const raw = this.#segment.held(place) ?? (yield* this.#segment.raw(place))
    const cursor = this.#cursorOf(raw, this.#end - this.#first)
    cursor.goTo(number - this.#first)
    this.#cursor = cursor
    return cursor
  }
}

export function keysOf(segment: Segment, of: Dictionary): Walk<KeyCursor> {
  return new Walk(segment, of, segment.facts[of], (raw, keys) => new KeyCursor(raw, keys))
}

/** The lists of keys have entries, those of words have keys. */
export function listsOf(segment: Segment, of: Dictionary): Walk<ListCursor> {
  return walkLists(segment, of, of === "keys" ? "entries" : "values", segment.facts[of])
}

/** The unions of these lists, and of which lists each is. */
function unionsOf(segment: Segment, of: Dictionary) {
  const stream = of === "keys" ? "entryUnions" : "valueUnions"
  const spans = segment.facts[stream]
  return { spans, unions: walkLists(segment, of, stream, spans.length) }
}

function walkLists(
  segment: Segment,
  of: Dictionary,
  stream: StreamName,
  total: number,
): Walk<ListCursor> {
  const most = of === "keys" ? segment.count : segment.facts.keys
  return new Walk(segment, stream, total, (raw, lists) => new ListCursor(raw, lists, most))
}

/** Shows the keys or words of a range with their lists, if they are wanted, one after another. */
export class ListedKeys {
  readonly #keys: Walk<KeyCursor>
  readonly #lists: Walk<ListCursor> | undefined
  readonly #end: number
  number: number
  key = noKey
  list = noList

  constructor(segment: Segment, of: Dictionary, { from, end }: Range, hasLists = true) {
    this.#keys = keysOf(segment, of)
    this.#lists = hasLists ? listsOf(segment, of) : undefined
    this.#end = end
    this.number = from - 1
  }

  get isPast(): boolean {
    return this.number >= this.#end
  }

  /** Shows the next one. False if parts must be loaded first: `load` does, and shows it. */
  advance(): boolean {
    if (++this.number >= this.#end) return true
    const key = this.#keys.open(this.number)
    const list = this.#lists === undefined ? noList : this.#lists.open(this.number)
    if (key === undefined || list === undefined) return false
    this.key = key
    this.list = list
    return true
  }

  *load(): Steps<void> {
    const { number } = this
    this.key = this.#keys.open(number) ?? (yield* this.#keys.load(number))
    if (this.#lists !== undefined)
      this.list = this.#lists.open(number) ?? (yield* this.#lists.load(number))
  }
}

const noSpan: ListSpan = { from: Infinity, end: Infinity }
const noKey = new KeyCursor(new Uint8Array(), 0)
const noList = new ListCursor(new Uint8Array(), 0, 1)

export function* addLists(
  segment: Segment,
  of: Dictionary,
  numbers: Numbers,
  set: NumberSet,
): Steps<void> {
  const lists = listsOf(segment, of)
  const { spans, unions } = unionsOf(segment, of)
  let place = 0
  /** The place of a union that is of no use for some of its lists. */
  let mixed = -1
  let work = 0
  for (let number = numbers.next(0); number >= 0; number = numbers.next(number)) {
    // Asked once: to find the end of a long run takes as long as the run is.
    const runEnd = numbers.runEnd(number)
    while (number < runEnd) {
      while ((spans[place]?.end ?? Infinity) <= number) place++
      const { from, end } = spans[place] ?? noSpan
      const stop = Math.min(runEnd, from > number ? from : end)
      const others = from > number ? Infinity : end - from - (stop - number)
      if (others * 16 < stop - number && place !== mixed) {
        const union = unions.open(place) ?? (yield* unions.load(place))
        if (others === 0) union.addTo(set)
        else {
          const ends = [new Range(from, number), new Range(stop, end)]
          const rest = yield* unionWithout(segment, union, lists, ends)
          if (rest === undefined) {
            mixed = place
            continue
          }
          set.unite(rest)
        }
        work += union.work
        number = stop
      } else {
        const list = lists.open(number) ?? (yield* lists.load(number))
        const runEndHere = Math.min(stop, lists.partEnd, number + runMax)
        work += list.addRunTo(set, runEndHere - number)
        number = runEndHere
      }
      if (work < workPerStep) continue
      // What all entries have may be in very many more values.
      if (set.isFull()) return
      work = 0
      yield
    }
  }
}

/**
 * The numbers of a union's lists without those of the lists at its ends; undefined if one of these
 * may share a number with another list.
 */
function* unionWithout(
  segment: Segment,
  union: ListCursor,
  lists: Walk<ListCursor>,
  ends: readonly Range[],
): Steps<NumberSet | undefined> {
  const last = (ends.at(-1)?.end ?? 0) - 1
  const { count } = lists.open(last) ?? (yield* lists.load(last))
  // Then all of its lists together have just the numbers that are enough for a union.
  if (count > 1) return undefined
  const left = new NumberSet(union.most)
  let numbers = 0
  let work = 0
  for (const { from, end } of ends)
    for (let number = from; number < end; number++) {
      const list = lists.open(number) ?? (yield* lists.load(number))
      list.addTo(left)
      numbers += list.count
      work += list.work
      if (work < workPerStep) continue
      work = 0
      yield
    }
  // Numbers that lists share are missing in their union, as often as in that of the ends alone.
  if (unionNumbers(segment.count) - union.count !== numbers - left.count()) return undefined
  const rest = new NumberSet(union.most)
  union.addTo(rest)
  rest.subtract(left)
  return rest
}

/** The numbers of one key's or word's list, if they are no more than `most`. */
export function* fewOf(
  segment: Segment,
  of: Dictionary,
  number: number,
  most: number,
): Steps<Uint32Array | undefined> {
  const list = yield* listsOf(segment, of).load(number)
  if (list.count > most) return undefined
  const numbers = new Uint32Array(list.count)
  list.copyTo(numbers, 0, 0)
  return numbers
}

/** Of these keys those that pass. */
export function* keysThat(
  segment: Segment,
  keys: Numbers,
  pass: (key: Buffer, length: number) => boolean,
): Steps<NumberList> {
  const walk = keysOf(segment, "keys")
  const passed: number[] = []
  let work = 0
  for (let number = keys.next(0); number >= 0; number = keys.next(number + 1)) {
    const { key, length } = walk.open(number) ?? (yield* walk.load(number))
    if (pass(key, length)) passed.push(number)
    work += length
    if (work < workPerStep) continue
    work = 0
    yield
  }
  return new NumberList(Uint32Array.from(passed))
}

/** The entries that a filter's value is said of. */
export function* filterSet(
  segment: Segment,
  filter: Filter,
  value: Uint8Array = new Uint8Array(),
): Steps<NumberSet> {
  const set = new NumberSet(segment.count)
  yield* addFiltered(segment, filter, value, set)
  return set
}

export function* addFiltered(
  segment: Segment,
  filter: Filter,
  value: Uint8Array,
  set: NumberSet,
): Steps<void> {
  const key = Buffer.concat([filterPrefix(filter), value])
  const range = yield* findExact(segment, "keys", key)
  if (range.from < range.end) yield* addLists(segment, "keys", range, set)
}

/** All values of a filter: where they stand, and where the value begins in their keys. */
export function* filterValues(
  segment: Segment,
  filter: Filter,
): Steps<{ readonly values: Range; readonly valueAt: number }> {
  const prefix = filterPrefix(filter)
  return { values: yield* findPrefix(segment, "keys", prefix), valueAt: prefix.length }
}

/** What keys of a field begin with, of each owner. */
export type FieldPrefixes = Readonly<Record<Owner, readonly Buffer[]>>

/**
 * What the keys of a field begin with, whichever other names it has, of those that the segment has;
 * `isLast`: where this is the last of its names.
 */
export function* fieldPrefixes(
  segment: Segment,
  field: string,
  isLast = false,
): Steps<FieldPrefixes> {
  const asked = `${isLast} ${field}`
  const ofSegment = knownPrefixes.get(segment) ?? createLru<FieldPrefixes>(fieldsMax)
  knownPrefixes.set(segment, ofSegment)
  const known = ofSegment.get(asked)
  if (known !== undefined) return known
  const found: Record<Owner, Buffer[]> = { nobody: [], actor: [], target: [] }
  for (const owner of owners)
    for (const prefix of prefixesBy(segment, field, owner, isLast)) {
      const { from, end } = yield* findPrefix(segment, "keys", prefix)
      if (from < end) found[owner].push(prefix)
    }
  ofSegment.set(asked, found)
  return found
}

/** To find them costs more than to look a value up. Most searches name one of few fields. */
const knownPrefixes = new WeakMap<Segment, Lru<FieldPrefixes>>()
const fieldsMax = 64

function prefixesBy(
  segment: Segment,
  field: string,
  owner: Owner,
  isLast: boolean,
): readonly Buffer[] {
  const join = Buffer.of(nameJoin)
  const sought = Buffer.concat([join, Buffer.from(field), join])
  const together = segment.facts.namesTogether.filter((names) => {
    const all = Buffer.concat([join, names, join])
    return isLast ? all.subarray(-sought.length).equals(sought) : all.includes(sought)
  })
  return [joinedNames([field]), ...together].flatMap((names) =>
    tagsOf(owner).map((tag) => Buffer.concat([names, Buffer.of(nameEnd, tag)])),
  )
}
