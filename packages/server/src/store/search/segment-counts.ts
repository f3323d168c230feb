// Counts the matches in a segment, by time and by the values of a field. Counts of several segments
// are added up.

import { dayMs, isoTime } from "../../clock.ts"
import { LedgerError } from "../../error.ts"
import { owners } from "./key-groups.ts"
import { NumberSet } from "./number-set.ts"
import { compareBytes } from "./key-stream.ts"
import { blocksOf, timesIn } from "./segment-columns.ts"
import type { Counted, Counting, Owner } from "./search.ts"
import type { Segment } from "./segment-format.ts"
import {
  addLists,
  fieldPrefixes,
  filterValues,
  findPrefix,
  keysOf,
  ListedKeys,
  Range,
  workPerStep,
} from "./segment-lookup.ts"
import type { SegmentMatches } from "./segment-query.ts"
import type { Steps } from "./segments.ts"

/** The counts by lane, project or value, as in `Counted`. */
export class Counts extends Map<string, number[]> {
  /** The characters of all names. */
  characters = 0

  override set(name: string, counts: number[]): this {
    const before = this.size
    super.set(name, counts)
    if (this.size > before) this.characters += name.length
    return this
  }
}

type Timeline = Extract<Counting, { readonly kind: "timeline" }>
type Values = Extract<Counting, { readonly kind: "values" }>

export function* countIn(
  segment: Segment,
  matches: SegmentMatches,
  counting: Counting,
): Steps<Counts> {
  const counts = new Counts()
  if (matches.count === 0) return counts
  if (counting.kind === "timeline") yield* addTimeline(segment, matches, counting, counts)
  else if (counting.kind === "days") yield* addDays(segment, matches, counts)
  else yield* addValues(segment, matches, counting, counts)
  return counts
}

export function addCounts(total: Counts, counts: Counts, counting: Counting): void {
  for (const [name, more] of counts) {
    const known = total.get(name)
    if (known === undefined) total.set(name, more)
    else for (const [at, count] of more.entries()) known[at] = (known[at] ?? 0) + count
  }
  if (counting.kind === "values") refuseMany(total, counting)
}

/** The counts in the order of the answer; of values, the commonest. */
export function countedOf(counts: Counts, counting: Counting): readonly Counted[] {
  const all = [...counts].map(([name, of]) => ({ name, counts: of }))
  const byName = (a: Counted, b: Counted): number => (a.name < b.name ? -1 : 1)
  if (counting.kind !== "values") return all.toSorted(byName)
  const commonest = (a: Counted, b: Counted): number =>
    (b.counts[0] ?? 0) - (a.counts[0] ?? 0) || byName(a, b)
  return all.toSorted(commonest).slice(0, counting.limit)
}

// ---- By time.

/** Matches before and after the timeline are not counted. */
function* addTimeline(
  segment: Segment,
  { entries }: SegmentMatches,
  timeline: Timeline,
  all: Counts,
): Steps<void> {
  const { fromMs, bucketMs, buckets } = timeline
  const groups: number[][] = []
  const groupOf = yield* groupsIn(segment, entries, timeline, all, groups)
  yield* eachTime(segment, entries, (entry, time) => {
    const bucket = Math.floor((time - fromMs) / bucketMs)
    const counts = groups[groupOf[entry] ?? 0]
    if (counts === undefined || !(bucket >= 0 && bucket < buckets)) return
    counts[bucket] = (counts[bucket] ?? 0) + 1
  })
}

function* eachTime(
  segment: Segment,
  entries: NumberSet,
  visit: (entry: number, time: number) => void,
): Steps<void> {
  for (const { block, from, end } of blocksOf(segment)) {
    let entry = entries.next(from)
    if (entry < 0 || entry >= end) continue
    const times = yield* timesIn(segment, "occurred", block)
    for (; entry >= 0 && entry < end; entry = entries.next(entry + 1))
      visit(entry, times[entry - from] ?? Number.NaN)
    // Parts that are in memory are no pause.
    yield
  }
}

function* addDays(segment: Segment, { entries }: SegmentMatches, all: Counts): Steps<void> {
  const days = new Map<number, number>()
  yield* eachTime(segment, entries, (_, time) => {
    const day = Math.floor(time / dayMs)
    days.set(day, (days.get(day) ?? 0) + 1)
  })
  for (const [day, count] of days)
    if (!Number.isNaN(day)) all.set(isoTime(day * dayMs).split("T", 1)[0] ?? "", [count])
}

/** For each entry, the index of its lane or project in `groups`. */
function* groupsIn(
  segment: Segment,
  entries: NumberSet,
  { by, buckets }: Timeline,
  all: Counts,
  groups: number[][],
): Steps<Uint32Array> {
  const groupOf = new Uint32Array(segment.count)
  const { values, valueAt } = yield* filterValues(segment, by)
  const walk = keysOf(segment, "keys")
  for (let number = values.from; number < values.end; number++) {
    const having = new NumberSet(segment.count)
    yield* addLists(segment, "keys", new Range(number, number + 1), having)
    having.intersect(entries)
    if (having.isEmpty()) continue
    const { key, length } = walk.open(number) ?? (yield* walk.load(number))
    const name = key.utf8Slice(valueAt, length)
    const counts = Array.from({ length: buckets }, () => 0)
    all.set(name, counts)
    const group = groups.push(counts) - 1
    for (let entry = having.next(0); entry >= 0; entry = having.next(entry + 1))
      groupOf[entry] = group
    // A project's bitmap takes as long as many short lists.
    yield
  }
  return groupOf
}

// ---- By value.

/**
 * A value counts under the last of its names: those of `actor` are its ids, and not its names and
 * addresses, which are values of `name` and `email`. Ids of entries and receipts are in columns, and
 * are not counted: no two entries share one.
 */
function* addValues(
  segment: Segment,
  matches: SegmentMatches,
  counting: Values,
  counts: Counts,
): Steps<void> {
  const seen = seenBy(matches)
  for (const owner of owners) seen[owner].spread()
  const groups = yield* openGroups(segment, counting.field)
  for (let work = 0; ;) {
    const same = lowest(groups)
    const [first] = same
    if (first === undefined) return
    const count = countOf(segment, same, seen)
    if (count > 0) {
      const { key, length } = first.keys.key
      counts.set(key.utf8Slice(first.valueAt, length), [count])
    }
    refuseMany(counts, counting)
    for (const { keys } of same) {
      work += keys.list.work
      if (!keys.advance()) yield* keys.load()
    }
    if (work < workPerStep) continue
    work = 0
    yield
  }
}

/** As many ordinary values have. A value may have 64 KiB, and all of them are in memory. */
const charactersMax = 16 * 1024 * 1024

function refuseMany({ size, characters }: Counts, { valuesMax }: Values): void {
  const problem =
    size > valuesMax
      ? `field has more than ${valuesMax} different values here`
      : characters > charactersMax
        ? "the different values of field are too long together here"
        : undefined
  if (problem !== undefined)
    throw new LedgerError("invalid_field", `${problem}; ask for what fewer entries have`)
}

/** An owner's values of a field under one list of names. */
interface Group {
  readonly keys: ListedKeys
  readonly valueAt: number
  readonly owner: Owner
}

function* openGroups(segment: Segment, field: string): Steps<Group[]> {
  const groups: Group[] = []
  const open = function* (values: Range, valueAt: number, owner: Owner): Steps<void> {
    const keys = new ListedKeys(segment, "keys", values)
    if (!keys.advance()) yield* keys.load()
    groups.push({ keys, valueAt, owner })
  }
  if (field === "lane") {
    // By their filter, as they are searched for.
    const { values, valueAt } = yield* filterValues(segment, "lane")
    yield* open(values, valueAt, "nobody")
    return groups
  }
  const prefixes = yield* fieldPrefixes(segment, field, true)
  for (const owner of owners)
    for (const prefix of prefixes[owner])
      yield* open(yield* findPrefix(segment, "keys", prefix), prefix.length, owner)
  return groups
}

/** The groups that show the lowest value. */
function lowest(groups: readonly Group[]): readonly Group[] {
  let same: Group[] = []
  for (const group of groups) {
    if (group.keys.isPast) continue
    const [best] = same
    const difference = best === undefined ? -1 : compareValues(group, best)
    if (difference < 0) same = [group]
    else if (difference === 0) same.push(group)
  }
  return same
}

function compareValues(one: Group, other: Group): number {
  const [a, b] = [valueOf(one), valueOf(other)]
  return compareBytes(a, a.length, b, b.length)
}

function valueOf({ keys, valueAt }: Group): Uint8Array {
  return keys.key.key.subarray(valueAt, keys.key.length)
}

type Seen = Readonly<Record<Owner, NumberSet>>

/** The matches in which a reader may find by the fields of each owner. */
function seenBy({ entries, sight }: SegmentMatches): Seen {
  const seen = (set: NumberSet | undefined): NumberSet => {
    if (set === undefined) return entries
    const both = set.copy()
    both.intersect(entries)
    return both
  }
  return { nobody: entries, actor: seen(sight.actor), target: seen(sight.target) }
}

/** An entry that has a value several times counts once. */
function countOf(segment: Segment, same: readonly Group[], seen: Seen): number {
  const [first] = same
  if (same.length === 1) return first?.keys.list.countIn(seen[first.owner]) ?? 0
  const all = new NumberSet(segment.count)
  for (const { keys, owner } of same) {
    const having = new NumberSet(segment.count)
    keys.list.addTo(having)
    having.intersect(seen[owner])
    all.unite(having)
  }
  return all.count()
}
