// The entries of one segment that match, as `matching.ts` says it: filters first, and then one term
// after another, each a set of entries.

import type { FieldTerm, Term, TextTerm } from "@tallystick/client/grammar"
import { lanes } from "../documents.ts"
import type { Instant } from "../instant.ts"
import { addByIds } from "./id-lookup.ts"
import { nameEnd, owners, partyValue, textTagOf } from "./key-groups.ts"
import { NumberSet } from "./number-set.ts"
import type { Owner, Wanted } from "./search.ts"
import { blocksOf, numbersIn, timesIn } from "./segment-columns.ts"
import type { Segment } from "./segment-format.ts"
import {
  addFiltered,
  addLists,
  fieldPrefixes,
  filterSet,
  filterValues,
  findExact,
  findPrefix,
  fewOf,
  keysOf,
  keysThat,
  NumberList,
  Range,
} from "./segment-lookup.ts"
import type { Matches, Steps } from "./segments.ts"
import { hasPhrase } from "./value-words.ts"

/** Entries of a segment, and in which of them a reader may find by what is sealed. */
export interface SegmentMatches extends Matches {
  readonly entries: NumberSet
  readonly sight: Sight
}

/** The entries in which somebody's fields may be found by; undefined: in all. */
export type Sight = Readonly<Record<Owner, NumberSet | undefined>>

const wholeSight: Sight = { nobody: undefined, actor: undefined, target: undefined }

export function* matchesIn(segment: Segment, wanted: Wanted): Steps<SegmentMatches> {
  const { firstSequence = 0, lastSequence = Infinity, query, subject } = wanted
  const entries = new NumberSet(segment.count)
  const from = Math.max(0, firstSequence - segment.first)
  const end = Math.min(segment.count, lastSequence - segment.first + 1)
  if (from < end) entries.addRange(from, end)
  removeOutside(segment, wanted, entries)
  const sight = subject === undefined ? wholeSight : yield* sightOf(segment, wanted, entries)
  if (sight.actor !== undefined && sight.target !== undefined) {
    const either = sight.actor.copy()
    either.unite(sight.target)
    entries.intersect(either)
  }
  // Few entries have a whole value, and most segments none: then nothing else is asked.
  const groups = groupsOf(query?.terms ?? [])
  for (const group of groups) if (isRare(group)) yield* applyTerms(segment, group, sight, entries)
  if (!entries.isEmpty()) yield* applyTimes(segment, wanted, entries)
  if (!entries.isEmpty()) yield* applyFilters(segment, wanted, entries)
  for (const group of groups) if (!isRare(group)) yield* applyTerms(segment, group, sight, entries)
  return matchesOf(segment, entries, sight)
}

function matchesOf(segment: Segment, entries: NumberSet, sight: Sight): SegmentMatches {
  return {
    count: entries.count(),
    entries,
    sight,
    newestBelow(before, limit) {
      const sequences: number[] = []
      let entry = entries.last(Math.min(Math.max(before - segment.first, 0), segment.count))
      while (entry >= 0 && sequences.length < limit) {
        sequences.push(segment.first + entry)
        entry = entries.last(entry)
      }
      return sequences
    },
  }
}

/** All terms must match; of those that name one field without `-`, one is enough. */
export function groupsOf(terms: readonly Term[]): readonly (readonly Term[])[] {
  const groups: Term[][] = []
  const byField = new Map<string, Term[]>()
  for (const term of terms) {
    const known = term.kind === "field" && !term.not ? byField.get(term.field) : undefined
    if (known !== undefined) {
      known.push(term)
      continue
    }
    const group = [term]
    groups.push(group)
    if (term.kind === "field" && !term.not) byField.set(term.field, group)
  }
  return groups
}

// ---- Filters.

/** Leaves out blocks in which no entry can have occurred within the times that are asked for. */
function removeOutside(segment: Segment, { from, to }: Wanted, entries: NumberSet): void {
  if (from === undefined && to === undefined) return
  for (const { occurred, from: start, end } of blocksOf(segment))
    if (
      (from !== undefined && occurred.latest < from.ms) ||
      (to !== undefined && occurred.earliest > to.ms)
    )
      entries.deleteRange(start, end)
}

function* applyTimes(segment: Segment, { from, to }: Wanted, entries: NumberSet): Steps<void> {
  if (from === undefined && to === undefined) return
  for (const { block, occurred, from: start, end } of blocksOf(segment)) {
    const { earliest, latest } = occurred
    if ((from === undefined || earliest > from.ms) && (to === undefined || latest < to.ms)) continue
    let entry = entries.next(start)
    if (entry < 0 || entry >= end) continue
    const times = yield* timesIn(segment, "occurred", block)
    const nanos = yield* numbersIn(segment, "nanos", block)
    const isBefore = ({ ms, ns }: Instant): boolean => {
      const time = times[entry - start] ?? 0
      return time < ms || (time === ms && (nanos[entry - start] ?? 0) < ns)
    }
    for (; entry >= 0 && entry < end; entry = entries.next(entry + 1))
      if ((from !== undefined && isBefore(from)) || (to !== undefined && !isBefore(to)))
        entries.delete(entry)
  }
}

function* applyFilters(segment: Segment, wanted: Wanted, entries: NumberSet): Steps<void> {
  const { projectIds, system, lane, userVisible, subject } = wanted
  const own = yield* filterSet(segment, "system")
  if (system === "without") entries.subtract(own)
  if (system === "only") entries.intersect(own)
  if (projectIds !== undefined) {
    const chosen = yield* projectSet(segment, projectIds)
    chosen.unite(own)
    entries.intersect(chosen)
  }
  if (lane !== undefined) entries.intersect(yield* filterSet(segment, "lane", Buffer.from(lane)))
  if (userVisible === undefined && subject === undefined) return
  const visible = yield* filterSet(segment, "visible")
  if (userVisible === false) entries.subtract(visible)
  if (userVisible === true || subject !== undefined) entries.intersect(visible)
}

/** Projects are walked over: there may be thousands that are asked for, and most segments have few. */
function* projectSet(segment: Segment, projectIds: readonly string[]): Steps<NumberSet> {
  const set = new NumberSet(segment.count)
  const chosen = new Set(projectIds)
  const { values, valueAt } = yield* filterValues(segment, "project")
  const walk = keysOf(segment, "keys")
  for (let number = values.from; number < values.end; number++) {
    const { key, length } = walk.open(number) ?? (yield* walk.load(number))
    if (chosen.has(key.utf8Slice(valueAt, length)))
      yield* addLists(segment, "keys", new Range(number, number + 1), set)
  }
  return set
}

/** A subject finds by its own sealed fields, in the entries where it is that party. */
function* sightOf(segment: Segment, { subject }: Wanted, entries: NumberSet): Steps<Sight> {
  const partySet = function* (party: "actor" | "target"): Steps<NumberSet> {
    const set = new NumberSet(segment.count)
    if (entries.isEmpty() || subject === undefined) return set
    for (const type of subject.types)
      yield* addFiltered(segment, party, partyValue({ id: subject.id, type }), set)
    return set
  }
  return { nobody: undefined, actor: yield* partySet("actor"), target: yield* partySet("target") }
}

// ---- Terms.

function isRare(alternatives: readonly Term[]): boolean {
  return alternatives.every(({ not, isPrefix }) => !not && !isPrefix)
}

/** Leaves the entries in which one of these terms holds, or none of those with `-`. */
function* applyTerms(
  segment: Segment,
  alternatives: readonly Term[],
  sight: Sight,
  entries: NumberSet,
): Steps<void> {
  if (entries.isEmpty()) return
  const found = new NumberSet(segment.count)
  for (const term of alternatives) yield* addTerm(segment, term, sight, found)
  if (alternatives[0]?.not === true) entries.subtract(found)
  else entries.intersect(found)
}

/** Adds the entries that a term is true of, as if it had no `-`. */
function* addTerm(segment: Segment, term: Term, sight: Sight, found: NumberSet): Steps<void> {
  if (term.kind === "field" && term.field === "lane") {
    yield* addLanes(segment, term, found)
    return
  }
  const isWhole = owners.every((owner) => sight[owner] === undefined)
  const prefixes = term.kind === "field" ? yield* fieldPrefixes(segment, term.field) : undefined
  for (const owner of owners) {
    // What all entries have is mostly in the values of one owner, and those may be very many.
    if (isWhole && found.isFull()) return
    const of = isWhole ? found : new NumberSet(segment.count)
    if (term.kind === "text") yield* addText(segment, term, owner, of)
    else yield* addField(segment, term, prefixes?.[owner] ?? [], of)
    const seen = sight[owner]
    if (seen !== undefined) of.intersect(seen)
    if (of !== found) found.unite(of)
  }
  for (const field of ["id", "receipt"] as const)
    if (term.kind === "text" || term.field === field) yield* addByIds(segment, field, term, found)
}

/** By their filter, because an entry without its content has a lane, and no value that says it. */
function* addLanes(
  segment: Segment,
  { value, isPrefix }: FieldTerm,
  found: NumberSet,
): Steps<void> {
  const sought = value.toLowerCase()
  for (const lane of lanes)
    if (isPrefix ? lane.startsWith(sought) : lane === sought)
      found.unite(yield* filterSet(segment, "lane", Buffer.from(lane)))
}

/** Values that have these words in a row, of those that somebody owns, and their entries. */
function* addText(segment: Segment, term: TextTerm, owner: Owner, found: NumberSet): Steps<void> {
  const { isPrefix } = term
  const { words, keys } = wordBytesOf(term)
  const ranges: Range[] = []
  for (let place = 0; place < words.length; place++) {
    const isStart = isPrefix && place === words.length - 1
    const key = keys[owner][place] ?? noKey
    const range = yield* isStart
      ? findPrefix(segment, "words", key)
      : findExact(segment, "words", key)
    if (range.from === range.end) return
    ranges.push(range)
  }
  const having = (yield* fewHaving(segment, ranges)) ?? (yield* allHaving(segment, ranges))
  const isPhrase = (key: Buffer, length: number): boolean =>
    hasPhrase(key, key.indexOf(nameEnd) + 2, length, words, isPrefix)
  const chosen = words.length === 1 ? having : yield* keysThat(segment, having, isPhrase)
  yield* addLists(segment, "keys", chosen, found)
}

const noKey = Buffer.alloc(0)

/** The words of a term, and their keys for each owner: the same in all segments of a search. */
interface WordBytes {
  readonly words: readonly Buffer[]
  readonly keys: Readonly<Record<Owner, readonly Buffer[]>>
}

const madeWordBytes = new WeakMap<TextTerm, WordBytes>()

function wordBytesOf(term: TextTerm): WordBytes {
  const made = madeWordBytes.get(term)
  if (made !== undefined) return made
  const words = term.words.map((word) => Buffer.from(word))
  const keysFor = (owner: Owner): readonly Buffer[] =>
    words.map((word) => Buffer.concat([Buffer.of(textTagOf(owner)), word]))
  const keys = { nobody: keysFor("nobody"), actor: keysFor("actor"), target: keysFor("target") }
  const bytes = { words, keys }
  madeWordBytes.set(term, bytes)
  return bytes
}

/** Values that are looked at sooner than the lists of further words. */
const fewValues = 64

/** The values that have one of these words, where that is only in few. */
function* fewHaving(segment: Segment, ranges: readonly Range[]): Steps<NumberList | undefined> {
  for (const { from, end } of ranges) {
    if (end - from > 1) continue
    const few = yield* fewOf(segment, "words", from, fewValues)
    if (few !== undefined) return new NumberList(few)
  }
  return undefined
}

/** The values that have a word of each range. */
function* allHaving(segment: Segment, ranges: readonly Range[]): Steps<NumberSet> {
  let keys: NumberSet | undefined
  for (const range of ranges) {
    const having = new NumberSet(segment.facts.keys)
    yield* addLists(segment, "words", range, having)
    if (keys === undefined) keys = having
    else keys.intersect(having)
  }
  return keys ?? new NumberSet(segment.facts.keys)
}

function* addField(
  segment: Segment,
  { value, isPrefix }: FieldTerm,
  prefixes: readonly Buffer[],
  found: NumberSet,
): Steps<void> {
  const sought = Buffer.from(value.toLowerCase())
  for (const prefix of prefixes) {
    const key = Buffer.concat([prefix, sought])
    const range = yield* isPrefix
      ? findPrefix(segment, "keys", key)
      : findExact(segment, "keys", key)
    if (range.from < range.end) yield* addLists(segment, "keys", range, found)
  }
}
