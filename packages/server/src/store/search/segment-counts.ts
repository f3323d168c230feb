// Counts of what matches in a segment: by time, and by the values of a field. Counts of several
// segments add up.

import { LedgerError } from "../../error.ts"
import { joinedNames, nameEnd, nameJoin, ownerOf, tagsOf } from "./key-groups.ts"
import { NumberSet, type ListCursor } from "./list-stream.ts"
import { compareBytes } from "./key-stream.ts"
import { timesIn } from "./segment-columns.ts"
import type { Segment } from "./segment-format.ts"
import {
  addLists,
  filterValues,
  findPrefix,
  KeyWalk,
  ListWalk,
  workPerStep,
  type Range,
} from "./segment-lookup.ts"
import type { SegmentMatches } from "./segment-query.ts"
import type { Steps } from "./segments.ts"

// ---- By time.

export interface Timeline {
  readonly fromMs: number
  readonly bucketMs: number
  readonly buckets: number
  readonly by: "lane" | "project"
  /** For each lane or project the number of matches in each bucket. */
  readonly counts: Map<string, Float64Array>
}

/** Adds a segment's matches. Those before and behind the timeline are not in it. */
export function* addTimeline(
  segment: Segment,
  { entries, count }: SegmentMatches,
  timeline: Timeline,
): Steps<void> {
  if (count === 0) return
  const { fromMs, bucketMs, buckets } = timeline
  const groups: Float64Array[] = []
  const groupOf = yield* groupsIn(segment, entries, timeline, groups)
  const times = yield* timesIn(segment, "occurred")
  for (let entry = entries.next(0); entry >= 0; entry = entries.next(entry + 1)) {
    const bucket = Math.floor(((times[entry] ?? Number.NaN) - fromMs) / bucketMs)
    const counts = groups[groupOf[entry] ?? 0]
    if (counts === undefined || !(bucket >= 0 && bucket < buckets)) continue
    counts[bucket] = (counts[bucket] ?? 0) + 1
  }
}

/** For each entry the place of its lane or project in `groups`. */
function* groupsIn(
  segment: Segment,
  entries: NumberSet,
  { by, buckets, counts }: Timeline,
  groups: Float64Array[],
): Steps<Uint32Array> {
  const groupOf = new Uint32Array(segment.count)
  const { from, end, valueAt } = yield* filterValues(segment, by)
  const walk = new KeyWalk(segment)
  for (let number = from; number < end; number++) {
    const having = new NumberSet(segment.count)
    yield* addLists(segment, "keys", { from: number, end: number + 1 }, having)
    having.intersect(entries)
    if (having.isEmpty()) continue
    const { key, length } = walk.open(number) ?? (yield* walk.load(number))
    const name = key.utf8Slice(valueAt, length)
    const known = counts.get(name) ?? new Float64Array(buckets)
    counts.set(name, known)
    const group = groups.push(known) - 1
    for (let entry = having.next(0); entry >= 0; entry = having.next(entry + 1))
      groupOf[entry] = group
    // A project's bitmap takes as long as many short lists.
    yield
  }
  return groupOf
}

// ---- By value.

/** How many matches have each value of a field, in lower case. */
export interface ValueCounts {
  readonly field: string
  readonly counts: Map<string, number>
  /** Different values that are counted at most: what they take in memory. */
  readonly valuesMax: number
}

/** Fields that are different in every entry. */
const uniqueFields: readonly string[] = ["id", "receipt"]

/**
 * Adds a segment's matches. A value counts under the last of its names: those of `actor` are its
 * ids, and not its names and addresses, which are values of `name` and `email`.
 */
export function* addValues(
  segment: Segment,
  matches: SegmentMatches,
  { field, counts, valuesMax }: ValueCounts,
): Steps<void> {
  if (uniqueFields.includes(field))
    throw new LedgerError("invalid_field", `field must not be ${field}, which no two entries share`)
  if (matches.count === 0) return
  const seen = seenBy(matches)
  const groups = yield* openGroups(segment, field)
  for (let work = 0; ;) {
    const same = lowest(groups)
    const [first] = same
    if (first === undefined) return
    const count = countOf(segment, same, seen)
    if (count > 0) {
      const value = first.key.utf8Slice(first.valueAt, first.length)
      counts.set(value, (counts.get(value) ?? 0) + count)
    }
    if (counts.size > valuesMax)
      throw new LedgerError(
        "invalid_field",
        `field has more than ${valuesMax} different values here; ask for what fewer entries have`,
      )
    for (const group of same) {
      work += group.list?.work ?? 0
      yield* advance(group)
    }
    if (work < workPerStep) continue
    work = 0
    yield
  }
}

/** The commonest values first; of equal counts in the order of their characters. */
export function commonest(
  { counts }: ValueCounts,
  limit: number,
): readonly { readonly value: string; readonly count: number }[] {
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, limit)
}

/** A field's values under one tag, one after another. */
interface Group {
  readonly keys: KeyWalk
  readonly lists: ListWalk
  readonly valueAt: number
  readonly end: number
  readonly owner: ReturnType<typeof ownerOf>
  number: number
  key: Buffer
  length: number
  list: ListCursor | undefined
}

function* openGroups(segment: Segment, field: string): Steps<Group[]> {
  const name = Buffer.from(field)
  const together = segment.facts.namesTogether.filter((names) =>
    name.equals(names.subarray(names.lastIndexOf(nameJoin) + 1)),
  )
  const groups: Group[] = []
  for (const names of [joinedNames([field]), ...together])
    for (const tag of [...tagsOf("nobody"), ...tagsOf("actor"), ...tagsOf("target")]) {
      const prefix = Buffer.concat([names, Buffer.of(nameEnd, tag)])
      const { from, end }: Range = yield* findPrefix(segment, "keys", prefix)
      const group: Group = {
        keys: new KeyWalk(segment),
        lists: new ListWalk(segment, "keys"),
        valueAt: prefix.length,
        end,
        owner: ownerOf(tag),
        number: from - 1,
        key: prefix,
        length: 0,
        list: undefined,
      }
      yield* advance(group)
      groups.push(group)
    }
  return groups
}

function* advance(group: Group): Steps<void> {
  const number = ++group.number
  if (number >= group.end) return
  const keys = group.keys.open(number) ?? (yield* group.keys.load(number))
  group.key = keys.key
  group.length = keys.length
  group.list = group.lists.open(number) ?? (yield* group.lists.load(number))
}

/** The groups that show the lowest value. */
function lowest(groups: readonly Group[]): readonly Group[] {
  let same: Group[] = []
  for (const group of groups) {
    if (group.number >= group.end) continue
    const [best] = same
    const difference = best === undefined ? -1 : compareValues(group, best)
    if (difference < 0) same = [group]
    else if (difference === 0) same.push(group)
  }
  return same
}

function compareValues(one: Group, other: Group): number {
  const [a, b] = [
    one.key.subarray(one.valueAt, one.length),
    other.key.subarray(other.valueAt, other.length),
  ]
  return compareBytes(a, a.length, b, b.length)
}

type Seen = Readonly<Record<ReturnType<typeof ownerOf>, NumberSet>>

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
  if (same.length === 1) return first?.list?.countIn(seen[first.owner]) ?? 0
  const all = new NumberSet(segment.count)
  for (const { list, owner } of same) {
    const having = new NumberSet(segment.count)
    list?.addTo(having)
    having.intersect(seen[owner])
    all.unite(having)
  }
  return all.count()
}
