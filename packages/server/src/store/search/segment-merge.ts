// Merges neighbouring segments into one: the same bytes as if it had been made of all their entries
// at once. Of one segment it makes the same without what was erased, or with other entries in the
// places of some.
//
// Streams are written one after another, so that each finished part can be taken away at once: a
// merge of a million entries holds some parts, and where keys have come from. The dictionary is
// merged first; it leaves the order in which the sources showed their keys, and the lists are
// merged in that order.

import { assert } from "@tallystick/proof"
import { nameEnd, nameJoin, ownerOf, owners } from "./key-groups.ts"
import { compareBytes, type KeyCursor, type StreamPart } from "./key-stream.ts"
import type { Owner } from "./search.ts"
import { ColumnWriter, copyBlocks, replaceRows, type MadeColumns } from "./segment-columns.ts"
import type { MadeSegment, Segment } from "./segment-format.ts"
import { ListedKeys, listsOf, Range, type Dictionary } from "./segment-lookup.ts"
import { SegmentWriter } from "./segment-writer.ts"
import type { Steps } from "./segments.ts"
import type { ListCursor } from "./list-stream.ts"
import { NumberSet } from "./number-set.ts"

/** Whether a sealed field of this owner is gone from this entry. */
export type IsErased = (owner: Exclude<Owner, "nobody">, sequence: number) => boolean

/** `take` is given each part when it is finished, in the order in which a segment is kept. */
export function* mergeInto<P>(
  segments: readonly Segment[],
  take: (part: StreamPart) => P,
): Steps<MadeSegment<P>> {
  const [{ first } = { first: 0 }] = segments
  const count = segments.reduce((sum, segment) => sum + segment.count, 0)
  let next = first
  for (const segment of segments) {
    assert(segment.first === next, "only neighbours are merged")
    next += segment.count
  }
  const writer = new SegmentWriter(count, blockRowsOf(segments), take)
  yield* mergeStreams(segments, writer, undefined)
  return yield* writer.finish(first, yield* mergeColumns(segments, first, count, take))
}

/** What is erased, and what another segment of the same entries has in the places of some. */
export interface Replacement {
  readonly isErased: IsErased
  readonly other: Segment | undefined
  readonly isReplaced: (sequence: number) => boolean
}

/** The segment as if it had been made with these entries. */
export function* replaceEntries<P>(
  segment: Segment,
  { isErased, other, isReplaced }: Replacement,
  take: (part: StreamPart) => P,
): Steps<MadeSegment<P>> {
  const { first, count, facts } = segment
  const sources = other === undefined ? [segment] : [segment, other]
  const areSame = sources.every((one) => one.first === first && one.count === count)
  assert(areSame, "both are of the same entries")
  const writer = new SegmentWriter(count, facts.blockRows, take)
  const leaves = yield* leavingOf(sources, (owner) => {
    if (other === undefined && owner === "nobody") return undefined
    return (place, sequence) =>
      place === 0
        ? isReplaced(sequence) || (owner !== "nobody" && isErased(owner, sequence))
        : !isReplaced(sequence)
  })
  yield* mergeStreams(sources, writer, leaves)
  const columns =
    other === undefined
      ? copyBlocks([segment], first, facts.blockRows, take)
      : replaceRows(segment, other, (entry) => isReplaced(first + entry), take)
  return yield* writer.finish(first, yield* columns)
}

/**
 * Which entries leave the lists of an owner's keys, by the owner's place among `owners`, and then
 * by that of the source; undefined if none does.
 */
type Leaves = readonly (readonly NumberSet[] | undefined)[]

function* leavingOf(
  segments: readonly Segment[],
  isLeavingOf: (owner: Owner) => undefined | ((place: number, sequence: number) => boolean),
): Steps<Leaves> {
  const leaves: (NumberSet[] | undefined)[] = []
  for (const owner of owners) {
    const isLeaving = isLeavingOf(owner)
    const sets = isLeaving && segments.map(({ count }) => new NumberSet(count))
    leaves.push(sets)
    for (const [place, { first, count }] of segments.entries())
      for (let entry = 0; entry < count; entry++) {
        if (entry % numbersPerStep === 0) yield
        if (isLeaving?.(place, first + entry) === true) sets?.[place]?.add(entry)
      }
  }
  return leaves
}

function* mergeStreams<P>(
  segments: readonly Segment[],
  writer: SegmentWriter<P>,
  leaves: Leaves | undefined,
): Steps<void> {
  const keys = yield* mergeKeys(segments, writer, leaves)
  writer.end()
  yield* mergeEntries(segments, keys, writer, leaves)
  writer.end()
  const numbers = yield* newNumbers(segments, keys)
  const words = yield* mergeWords(segments, numbers, writer, leaves !== undefined)
  writer.end()
  yield* mergeValues(segments, words, numbers, writer)
  writer.end()
}

function* mergeColumns<P>(
  segments: readonly Segment[],
  first: number,
  count: number,
  take: (part: StreamPart) => P,
): Steps<MadeColumns<P>> {
  const blockRows = blockRowsOf(segments)
  if (segments.length === 1 || count > blockRows)
    return yield* copyBlocks(segments, first, blockRows, take)
  const columns = new ColumnWriter(count, blockRows)
  for (const segment of segments) yield* columns.copy(segment, segment.first - first)
  return yield* columns.finish(count, take)
}

function blockRowsOf([segment]: readonly Segment[]): number {
  return segment?.facts.blockRows ?? 1
}

/**
 * The places of the sources that showed each key, in the order of keys and of sources. Higher bits
 * say whether it is the first that shows this key, whether no entry has it any more, whose it is,
 * and whether entries leave its lists.
 */
type Order = Uint16Array

const placeMask = 0x07ff
const isFirst = 0x8000
const isGone = 0x4000
const ownerAt = 12
const isChanged = 0x0800

/** Writes every key once. */
function* mergeKeys<P>(
  segments: readonly Segment[],
  writer: SegmentWriter<P>,
  leaves: Leaves | undefined,
): Steps<Order> {
  return yield* mergeDictionary(segments, "keys", leaves !== undefined, (key, same) => {
    const owner = leaves === undefined ? 0 : owners.indexOf(ownerIn(key.key, key.length))
    const leaving = leaves?.[owner]
    let note = owner << ownerAt
    if (leaving !== undefined) {
      let left = 0
      for (const { shown, place } of same) {
        const { list } = shown
        const stays = list.count - list.countIn(leaving[place] ?? noNumbers)
        if (stays < list.count) note |= isChanged
        left += stays
      }
      if (left === 0) return isGone
    }
    writer.key(key.key, key.length)
    return note
  })
}

function* mergeEntries<P>(
  segments: readonly Segment[],
  order: Order,
  writer: SegmentWriter<P>,
  leaves: Leaves | undefined,
): Steps<void> {
  const [{ first } = { first: 0 }] = segments
  const lists = new JoinedLists()
  const add = (list: ListCursor, step: number, isOnly: boolean): boolean => {
    const place = step & placeMask
    const segment = segments[place]
    const isSame = isOnly && (step & isChanged) === 0 && segment?.count === writer.count
    if (isSame) writer.entriesAs(list)
    else {
      const leaving = (step & isChanged) === 0 ? undefined : leaves?.[(step >>> ownerAt) & 3]
      lists.add(list, (segment?.first ?? 0) - first, leaving?.[place])
    }
    return !isSame
  }
  // Neighbours follow each other, others do not.
  const areMixed = segments.some((segment, place) => place > 0 && segment.first === first)
  yield* mergeLists(segments, "keys", order, lists, add, () => {
    if (areMixed) lists.sort(writer.count)
    writer.entries(lists.numbers, 0, lists.count)
  })
}

const noNumbers = new NumberSet(0)

/** Numbers of keys and of lists between two pauses: a millisecond or less. */
const numbersPerStep = 65_536

/** Where a key of a source was not written again. */
const gone = 0xffffffff

/** The number under which each key of each source stands now. */
function* newNumbers(segments: readonly Segment[], order: Order): Steps<readonly Uint32Array[]> {
  const numbers = segments.map(({ facts }) => new Uint32Array(facts.keys))
  const next = new Uint32Array(segments.length)
  let number = -1
  for (let at = 0; at < order.length; at++) {
    if (at % numbersPerStep === 0) yield
    const step = order[at] ?? 0
    const place = step & placeMask
    const old = next[place] ?? 0
    next[place] = old + 1
    if ((step & isGone) === 0 && (step & isFirst) !== 0) number++
    const of = numbers[place]
    if (of !== undefined) of[old] = (step & isGone) === 0 ? number : gone
  }
  return numbers
}

function* mergeWords<P>(
  segments: readonly Segment[],
  numbers: readonly Uint32Array[],
  writer: SegmentWriter<P>,
  maybeGone: boolean,
): Steps<Order> {
  const lists = new JoinedLists()
  const isLeft = ({ shown: { list }, place }: Source): boolean => {
    // Few keys are gone.
    if (numbers[place]?.[list.first] !== gone) return true
    lists.begin()
    lists.addAs(list, numbers[place])
    return lists.count > 0
  }
  return yield* mergeDictionary(segments, "words", maybeGone, (key, same) => {
    if (maybeGone && !same.some(isLeft)) return isGone
    writer.word(key.key, key.length)
    return 0
  })
}

function* mergeValues<P>(
  segments: readonly Segment[],
  order: Order,
  numbers: readonly Uint32Array[],
  writer: SegmentWriter<P>,
): Steps<void> {
  const lists = new JoinedLists()
  const add = (list: ListCursor, step: number): boolean => {
    lists.addAs(list, numbers[step & placeMask])
    return true
  }
  yield* mergeLists(segments, "words", order, lists, add, () => {
    lists.sort(writer.keyCount)
    writer.values(lists.numbers, 0, lists.count)
  })
}

/** To sort a number costs as much as to look at so many bits. */
const sortedPerBit = 64

/** Lists of several sources as one. */
class JoinedLists {
  numbers = new Uint32Array(1024)
  count = 0
  #sources = 0

  begin(): void {
    this.count = 0
    this.#sources = 0
  }

  /** Each number plus `more`, without those that leave. */
  add(list: ListCursor, more: number, leaving?: NumberSet): void {
    const { count } = this
    if (count + list.count > this.numbers.length) {
      const larger = new Uint32Array((count + list.count) * 2)
      larger.set(this.numbers)
      this.numbers = larger
    }
    list.copyTo(this.numbers, count, more)
    this.count += list.count
    this.#sources++
    if (leaving !== undefined) this.#drop(count, more, leaving)
  }

  /** Each as its new number, without those that are gone. */
  addAs(list: ListCursor, of: Uint32Array | undefined): void {
    let left = this.count
    this.add(list, 0)
    const { numbers, count } = this
    for (let at = left; at < count; at++) {
      const number = of?.[numbers[at] ?? 0] ?? gone
      if (number !== gone) numbers[left++] = number
    }
    this.count = left
  }

  /** Removes those that leave, from a place on. */
  #drop(from: number, more: number, leaving: NumberSet): void {
    const { numbers, count } = this
    let left = from
    for (let at = from; at < count; at++) {
      const number = numbers[at] ?? 0
      if (!leaving.has(number - more)) numbers[left++] = number
    }
    this.count = left
  }

  /** In order, each once. The list of one source is. All are below `most`. */
  sort(most: number): void {
    if (this.#sources < 2) return
    const { numbers, count } = this
    if (count * sortedPerBit > most) {
      const set = new NumberSet(most)
      for (let at = 0; at < count; at++) set.add(numbers[at] ?? 0)
      this.count = set.copyTo(numbers)
      return
    }
    numbers.subarray(0, count).sort()
    let left = 0
    for (let at = 0; at < count; at++)
      if (at === 0 || numbers[at] !== numbers[left - 1]) numbers[left++] = numbers[at] ?? 0
    this.count = left
  }
}

function ownerIn(key: Uint8Array, length: number): Owner {
  if (key[0] === nameJoin) return "nobody"
  let end = 0
  while (end < length && key[end] !== nameEnd) end++
  return ownerOf(key[end < length ? end + 1 : 0] ?? 0)
}

/** One segment's keys or words. */
interface Source {
  /** Its place among the segments. */
  readonly place: number
  readonly shown: ListedKeys
}

/**
 * Visits every key or word once, in order, with the sources that show it, in order; with their
 * lists if `hasLists`. What a visit returns is noted with the places of these sources.
 */
function* mergeDictionary(
  segments: readonly Segment[],
  of: Dictionary,
  hasLists: boolean,
  visit: (key: KeyCursor, same: readonly Source[]) => number,
): Steps<Order> {
  assert(segments.length <= placeMask, "a place has eleven bits")
  const order = new Uint16Array(segments.reduce((sum, { facts }) => sum + facts[of], 0))
  let noted = 0
  const sources: Source[] = []
  /** Made once: there are very many keys. */
  const same: Source[] = []
  for (const [place, segment] of segments.entries()) {
    const shown = new ListedKeys(segment, of, new Range(0, segment.facts[of]), hasLists)
    if (!shown.advance()) yield* shown.load()
    sources.unshift({ place, shown })
    settle(sources, 0)
  }
  for (let lowest = sources[0]; lowest !== undefined; lowest = sources[0]) {
    let count = 0
    for (const source of sources) {
      if (source !== lowest && compare(lowest, source) !== 0) break
      same[count++] = source
    }
    same.length = count
    const note = visit(lowest.shown.key, same)
    for (const source of same)
      order[noted++] = source.place | note | (source === lowest ? isFirst : 0)
    // The sources behind one are in order when it is put among them.
    for (let at = count - 1; at >= 0; at--) {
      const shown = same[at]?.shown
      if (shown?.advance() === false) yield* shown.load()
      settle(sources, at)
    }
  }
  return order
}

/**
 * Visits the lists of what is left, in the order in which the dictionary was merged. `add` is told
 * whether a list is the only one of its key, and returns whether the key needs an `end`.
 */
function* mergeLists(
  segments: readonly Segment[],
  of: Dictionary,
  order: Order,
  lists: JoinedLists,
  add: (list: ListCursor, step: number, isOnly: boolean) => boolean,
  end: () => void,
): Steps<void> {
  const walks = segments.map((segment) => listsOf(segment, of))
  let left = numbersPerStep
  const next = new Uint32Array(segments.length)
  for (let at = 0; at < order.length; at++) {
    const step = order[at] ?? 0
    const place = step & placeMask
    const number = next[place] ?? 0
    next[place] = number + 1
    if ((step & isGone) !== 0) continue
    if ((step & isFirst) !== 0) lists.begin()
    const walk = walks[place]
    assert(walk !== undefined, "the order has places of these segments")
    const list = walk.open(number) ?? (yield* walk.load(number))
    const isLast = ((order[at + 1] ?? isFirst) & isFirst) !== 0
    const isOpen = add(list, step, isLast && (step & isFirst) !== 0)
    left -= list.count
    if (left < 0) {
      yield
      left = numbersPerStep
    }
    if (isLast && isOpen) end()
  }
}

/**
 * Puts the source at this place behind those whose keys come before its own, of the sources behind
 * it, which are in order; removes it if it has ended. Of the same key, the places are in order.
 */
function settle(sources: Source[], from: number): void {
  const source = sources[from]
  if (source === undefined || source.shown.isPast) {
    sources.splice(from, 1)
    return
  }
  let [low, high] = [from + 1, sources.length]
  // Mostly it stays before the next.
  for (let middle = low; low < high; middle = (low + high) >>> 1) {
    const other = sources[middle] ?? source
    if ((compare(source, other) || source.place - other.place) > 0) low = middle + 1
    else high = middle
  }
  if (low === from + 1) return
  sources.copyWithin(from, from + 1, low)
  sources[low - 1] = source
}

function compare({ shown: { key: one } }: Source, { shown: { key: other } }: Source): number {
  return compareBytes(one.key, one.length, other.key, other.length)
}
