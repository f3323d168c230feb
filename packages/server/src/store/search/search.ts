// What can be searched: derived from the journal, like the index, and written by one program alone.
// A search says where, never what: its sequences are read from the journal and hashed again.

import type { Query } from "@tallystick/client/grammar"
import type { HeldEntries, HeldLog } from "../held-entries.ts"
import type { Instant } from "../instant.ts"
import type { Lane, Subject } from "../documents.ts"

export type { Instant }

/** A value by which a search can find an entry. */
export interface Field {
  /**
   * The names under which the whole value, or its start, is compared: `action`, `actor`, `email`,
   * `metadata.order`.
   */
  readonly names: readonly string[]
  readonly value: string
  /** Whether a term without a field may match its words. */
  readonly isText: boolean
}

/**
 * Whose secret a field is: nobody's, the actor's, or the target's. A reader finds by a field what
 * the same reader is shown in clear.
 */
export type Owner = "nobody" | "actor" | "target"

/** The searchable values of an entry. */
export interface Filed {
  readonly sequence: number
  readonly projectId: string
  /** Written by the service about itself: all but events and consents. */
  readonly isSystem: boolean
  readonly lane: Lane
  readonly userVisible: boolean
  /**
   * When the writer says that it happened: milliseconds since 1970, and the nanoseconds beyond
   * them.
   */
  readonly occurredMs: number
  readonly occurredNs: number
  readonly actor: { readonly id: string; readonly type: string }
  readonly target: { readonly id: string; readonly type: string }
  readonly fields: Readonly<Record<Owner, readonly Field[]>>
}

/**
 * What is looked for. All that is given must hold. No value of its query is longer than 512 UTF-16
 * units.
 */
export interface Wanted {
  /**
   * The projects that may be seen or were asked for; absent: all of them. Says nothing of the
   * service's own entries.
   */
  readonly projectIds?: readonly string[]
  readonly system: "without" | "with" | "only"
  readonly lane?: Lane
  readonly userVisible?: boolean
  /** `from` ≤ occurredAt < `to`. */
  readonly from?: Instant
  readonly to?: Instant
  /** Bounds of the sequence, both included: where the archive ends is one of them. */
  readonly firstSequence?: number
  readonly lastSequence?: number
  readonly query?: Query
  /**
   * Only what is visible to this person: entries with `userVisible` whose actor or target is the
   * subject. Its own sealed fields can be found by, those of the other party cannot.
   */
  readonly subject?: Subject
}

/** Whether it searches for words. Any other is a list, which costs a page and some counters. */
export function isSearch({ query }: Pick<Wanted, "query">): boolean {
  return query !== undefined && query.terms.length > 0
}

export interface Hits {
  /** Newest first, all below `before`. */
  readonly sequences: readonly number[]
  readonly hasMore: boolean
  /** Of all that match, wherever the page is. */
  readonly total: number
  /** The last recorded entry when the search began. */
  readonly end: number
  /** What was to be read besides. */
  readonly held?: HeldEntries
}

/** Entries to be read where they are found: they are part of the answer. */
export interface AlsoRead {
  readonly log: HeldLog
  /** So many of the sequences, from the newest or from the oldest on. */
  readonly limit: number
  readonly isOldest: boolean
  readonly bytesMax: number
}

/** What to count about all matches. */
export type Counting =
  | {
      readonly kind: "timeline"
      readonly fromMs: number
      readonly bucketMs: number
      readonly buckets: number
      readonly by: "lane" | "project"
    }
  /** How many occurred on each day of UTC, such as `2026-01-31`. */
  | { readonly kind: "days" }
  | {
      readonly kind: "values"
      readonly field: string
      /** The commonest alone. */
      readonly limit: number
      /** The most different values that are counted, because all of them are in memory. */
      readonly valuesMax: number
    }

/** Matches of one lane or project in each bucket, of a day, or of a value; values in lower case. */
export interface Counted {
  readonly name: string
  readonly counts: readonly number[]
}

/**
 * Does a step of a search when its turn has come. What it rejects with ends the search. A step is
 * told what to read if the search ends with it.
 */
export type Turn = <T>(step: (also?: AlsoRead) => Promise<T>) => Promise<T>

export interface Finder {
  /** Entries up to and including this sequence can be found. */
  position(workspace: string): Promise<number>
  /**
   * A page of matches: at most `limit` with a sequence below `before`. In as many turns as it
   * needs, each of a bounded time. Undefined: more waits to be filed than is looked through.
   */
  find(
    workspace: string,
    wanted: Wanted,
    before: number,
    limit: number,
    turn?: Turn,
  ): Promise<Hits | undefined>
  /**
   * Counts of all matches, exact: those by time in the order of names, values by how common they
   * are. Undefined as `find` says it. Rejects with `invalid_field` if there are too many values.
   */
  count(
    workspace: string,
    wanted: Wanted,
    counting: Counting,
    turn?: Turn,
  ): Promise<readonly Counted[] | undefined>
}
