// Finds entries in the kept segments of a workspace, whatever engine keeps them, and in what is in
// none of them yet. It goes down from the newest entry and asks for the segment that covers the
// next one, so it does not matter which are merged meanwhile.

import { hash } from "node:crypto"
import type { Clock } from "../../clock.ts"
import { createLru } from "../../runtime/lru-cache.ts"
import type { Counted, Counting, Hits, Wanted } from "./search.ts"
import { matches } from "./matching.ts"
import { addCounts, countedOf, countIn, Counts } from "./segment-counts.ts"
import { createFreedParts } from "./part-cache.ts"
import { openSegment, runInTurns, type Segment } from "./segment-format.ts"
import { coverOf, firstOf, lastOf, positionOf, sizeOf } from "./segment-plan.ts"
import { groupsOf, matchesIn } from "./segment-query.ts"
import {
  SegmentDamaged,
  SegmentGone,
  type KeptSegment,
  type Matches,
  type SegmentReader,
  type Steps,
  type Turns,
} from "./segments.ts"
import { createUnfiled, segmentOf, type Recorded, type RecordedEntry } from "./unfiled-entries.ts"

export interface SegmentSearchParts {
  readonly recorded: Recorded
  readonly segments: SegmentReader
  /** The time that the thread has worked: a turn does as much on a busy machine. */
  readonly clock: Pick<Clock, "elapsed">
  /** Half of it for parts that were read, half for entries that are not filed yet. */
  readonly cacheBytes: number
}

export interface SegmentSearch {
  /** As `Finder.find`. */
  readonly find: (
    workspace: string,
    wanted: Wanted,
    before: number,
    limit: number,
  ) => Turns<Hits | undefined>
  /** As `Finder.count`. */
  readonly count: (
    workspace: string,
    wanted: Wanted,
    counting: Counting,
  ) => Turns<readonly Counted[] | undefined>
  /** A turn begins: it ends some milliseconds later. */
  readonly begin: () => void
}

/** Looking at the clock costs as much as looking through some of them. */
const entriesPerStep = 32
/** Most searches end within one, and nobody waits for long. */
const turnMs = 10
/** Entries of the segments whose headers are remembered: a header takes a byte for three. */
const openedMax = 32 * 1024 * 1024
/** Counts that are remembered, of one search in one segment each. */
const countsMax = 50_000
/** And of these, entries of the segments of which those that match are remembered, a bit each. */
const setsMax = 64 * 1024 * 1024

export function createSegmentSearch({
  recorded,
  segments,
  clock,
  cacheBytes,
}: SegmentSearchParts): SegmentSearch {
  let begunMs = 0
  const isUp = (): boolean => clock.elapsed() - begunMs >= turnMs
  const unfiled = createUnfiled(recorded, cacheBytes / 2, isUp)
  const eachKept = createKept(segments, cacheBytes / 2, isUp)
  const knownOf = createKnown()

  /**
   * Asks all entries, newest first. Returns the last that is recorded; undefined if too many of
   * them are in no segment.
   */
  async function* each(
    workspace: string,
    wanted: Wanted,
    asking: Asking,
  ): Turns<number | undefined> {
    // One round trip. If the journal was asked before the last of these entries was recorded, it is
    // asked again.
    const [kept, askedEnd] = await Promise.all([segments.list(workspace), recorded.last(workspace)])
    const position = positionOf(kept)
    const recordedEnd = position > askedEnd ? await recorded.last(workspace) : askedEnd
    // A search that knows of more than there is says so: it will be missed.
    const end = Math.max(recordedEnd, position)
    const first = Math.max(wanted.firstSequence ?? 1, 1)
    const last = Math.min(wanted.lastSequence ?? end, end)
    if (first > last || isImpossible(wanted)) return recordedEnd
    if (position < last) {
      const fresh = yield* unfiled(workspace, position, end)
      if (fresh === undefined) return undefined
      const bounded = { ...wanted, firstSequence: first, lastSequence: last }
      yield* runInTurns(asking.rest(fresh.rest, bounded), isUp)
      for (const { segment } of fresh.chunks.toReversed()) {
        const note = yield* runInTurns(asking.steps(segment, bounded), isUp)
        note(undefined)
      }
    }
    yield* eachKept({ workspace, wanted, first, last: Math.min(last, position) }, kept, asking)
    return recordedEnd
  }

  return {
    begin: () => (begunMs = clock.elapsed()),
    async *find(workspace, wanted, before, limit) {
      const found = collect(before, limit)
      const known = knownOf(workspace, wanted)
      const end = yield* each(workspace, wanted, pageAsking(found, known))
      return end === undefined ? undefined : { ...found.hits(), end }
    },
    async *count(workspace, wanted, counting) {
      const total = new Counts()
      const end = yield* each(workspace, wanted, countAsking(total, counting))
      return end === undefined ? undefined : countedOf(total, counting)
    },
  }
}

/** What is asked of each segment. */
interface Asking {
  /** Asks entries that follow each other and are in no segment. */
  rest(entries: readonly RecordedEntry[], wanted: Wanted): Steps<void>
  /** Whether a whole segment need not be asked, because its answer is known. */
  isKnown(kept: KeptSegment): boolean
  /** Asks, and gives back what notes the answer; `kept` where the whole of a segment was asked. */
  steps(segment: Segment, wanted: Wanted): Steps<(kept: KeptSegment | undefined) => void>
}

function pageAsking(found: Collected, known: KnownSegments): Asking {
  return {
    *rest(entries, wanted) {
      const sought = soughtBy(wanted)
      for (const [at, { sequence, findable, mayHave }] of entries.toReversed().entries()) {
        const mayMatch = sought.every((some) => some.some(mayHave))
        if (mayMatch && matches(findable(), wanted)) found.one(sequence)
        if (at % entriesPerStep === 0) yield
      }
    },
    isKnown(kept) {
      const one = known.get(kept)
      if (one?.matches !== undefined) found.add(one.matches)
      else if (one !== undefined && (one.count === 0 || found.isPast(firstOf(kept))))
        found.count(one.count)
      else return false
      return true
    },
    *steps(segment, wanted) {
      const matched = yield* matchesIn(segment, wanted)
      return (kept) => {
        found.add(matched)
        if (kept !== undefined) known.set(kept, matched)
      }
    },
  }
}

/** Texts, in lower case, of which an entry that matches has at least one of each list. */
function soughtBy({ query }: Wanted): readonly (readonly string[])[] {
  const longest = (words: readonly string[]): string =>
    words.reduce((best, word) => (word.length > best.length ? word : best), "")
  return groupsOf(query?.terms ?? [])
    .filter(([term]) => term?.not === false)
    .map((some) =>
      some.map((term) => (term.kind === "text" ? longest(term.words) : term.value.toLowerCase())),
    )
}

function countAsking(total: Counts, counting: Counting): Asking {
  const asking: Asking = {
    *rest(entries, wanted) {
      if (entries.length === 0) return
      const note = yield* asking.steps(yield* segmentOf(entries), wanted)
      note(undefined)
    },
    isKnown: () => false,
    *steps(segment, wanted) {
      const counts = yield* countIn(segment, yield* matchesIn(segment, wanted), counting)
      return () => addCounts(total, counts, counting)
    },
  }
  return asking
}

/** What is looked for in kept segments: the entries from `first` to `last`. */
interface AskedKept {
  readonly workspace: string
  readonly wanted: Wanted
  readonly first: number
  readonly last: number
}

function createKept(segments: SegmentReader, cacheBytes: number, isUp: () => boolean) {
  const parts = createFreedParts(cacheBytes)
  const headers = createLru<Segment>(openedMax, ({ count }) => count)

  return async function* each(
    { workspace, wanted, first, last }: AskedKept,
    listed: readonly KeptSegment[],
    asking: Asking,
  ): Turns<void> {
    let kept = listed
    for (let cursor = last; cursor >= first;) {
      const one = coverOf(kept, cursor)
      const isWhole = firstOf(one) >= first && lastOf(one) === cursor
      try {
        if (!isWhole || !asking.isKnown(one)) {
          const bounds = isWhole ? {} : { firstSequence: first, lastSequence: cursor }
          const asked = { ...unbounded(wanted), ...bounds }
          const steps = asking.steps(await opened(workspace, one), asked)
          const read = (part: number) => segments.part(workspace, one, part)
          // What is noted has nothing of a part.
          const end = parts.read()
          try {
            const note = yield* runInTurns(steps, isUp, read)
            note(isWhole ? one : undefined)
          } finally {
            end()
          }
        }
        cursor = firstOf(one) - 1
      } catch (error) {
        // One that was made again meanwhile has other parts than its header names.
        if (!(error instanceof SegmentGone || error instanceof SegmentDamaged)) throw error
        kept = await segments.list(workspace)
        if (kept.some(({ hash }) => hash === one.hash))
          throw new SegmentDamaged(`a kept segment cannot be read: ${error.message}`, {
            cause: error,
          })
      }
    }
  }

  async function opened(workspace: string, kept: KeptSegment): Promise<Segment> {
    const known = headers.get(kept.hash)
    if (known?.first === firstOf(kept)) return known
    const header = await segments.part(workspace, kept, 0)
    if (header === undefined) throw new SegmentGone("a segment is not kept any more")
    const segment = openSegment(header, parts)
    // Put in the place of the one that was listed; or somebody wrote another hash into the list.
    if (segment.hash !== kept.hash || segment.first !== firstOf(kept))
      throw new SegmentGone("a segment is not the one that was listed")
    headers.set(kept.hash, segment)
    return segment
  }
}

/** A page and a total, gathered from the newest entry down. */
interface Collected {
  one(sequence: number): void
  add(matched: Matches): void
  count(matches: number): void
  /** Whether what begins with this sequence can add nothing to the page. */
  isPast(first: number): boolean
  hits(): Omit<Hits, "end">
}

function collect(before: number, limit: number): Collected {
  const sequences: number[] = []
  let total = 0
  // One more than the page holds, to know whether there is one.
  const missing = (): number => limit + 1 - sequences.length
  return {
    one(sequence) {
      total += 1
      if (sequence < before && missing() > 0) sequences.push(sequence)
    },
    add(matched) {
      total += matched.count
      if (missing() > 0) sequences.push(...matched.newestBelow(before, missing()))
    },
    count: (matched) => void (total += matched),
    isPast: (first) => missing() === 0 || first >= before,
    hits: () => ({
      sequences: sequences.slice(0, limit),
      hasMore: sequences.length > limit,
      total,
    }),
  }
}

/** Nobody is in no project, and nobody is a person of no type. */
function isImpossible({ projectIds, system, subject }: Wanted): boolean {
  return (
    (projectIds?.length === 0 && (system === "without" || subject !== undefined)) ||
    subject?.types.length === 0
  )
}

function unbounded({ firstSequence: _, lastSequence: __, ...wanted }: Wanted): Wanted {
  return wanted
}

/** What is known of a search in a whole segment. It never changes. */
interface Known {
  readonly level: number
  readonly k: number
  readonly count: number
  /** The entries, while they are remembered. */
  matches: Matches | undefined
}

interface KnownSegments {
  get(kept: KeptSegment): Known | undefined
  set(kept: KeptSegment, matches: Matches): void
}

function createKnown(): (workspace: string, wanted: Wanted) => KnownSegments {
  const searches = new Map<string, Map<string, Known>>()
  const withSets = new Set<Known>()
  let entries = 0
  let remembered = 0
  const forget = (known: Known): void => {
    known.matches = undefined
    if (withSets.delete(known)) entries -= sizeOf(known.level)
  }
  return (workspace, wanted) => {
    // A digest, because a key may reach a thousand projects, whose names are 68 KB.
    const key = hash("sha256", JSON.stringify([workspace, unbounded(wanted)]), "latin1")
    return {
      get({ level, k, hash }) {
        const known = searches.get(key)?.get(hash)
        return known?.level === level && known.k === k ? known : undefined
      },
      set({ level, k, hash }, matches) {
        // The same search may be under way twice, and may have been forgotten meanwhile.
        const segments = searches.get(key) ?? new Map<string, Known>()
        const before = segments.get(hash)
        if (before === undefined) remembered += 1
        else forget(before)
        const known: Known = { level, k, count: matches.count, matches }
        withSets.add(known)
        entries += sizeOf(level)
        for (const oldest of withSets) {
          if (entries <= setsMax) break
          forget(oldest)
        }
        // The searches that found nothing new longest are forgotten first.
        searches.delete(key)
        searches.set(key, segments.set(hash, known))
        for (const [oldest, { size }] of searches) {
          if (remembered <= countsMax || oldest === key) break
          searches.delete(oldest)
          remembered -= size
        }
      },
    }
  }
}
