// The whole data of a ledger, for a program that derives everything from it again and trusts no
// derived data: the state at its opening, read in large steps.

import type { SegmentName, SegmentRow } from "./search/segments.ts"
import type { TileName } from "./index-state.ts"
import type { IndexReader, JournalReader, Registry } from "./store.ts"

export interface Whole {
  readonly journal: Pick<JournalReader, "after" | "linked">
  /** How many linked entries are read fastest at once. */
  readonly entriesPerRead: number
  readonly registry: Registry
  readonly isCopy: boolean
  /** Undefined if it is missing: it can be made again. */
  readonly index: KeptIndex | undefined
  /** What sentences call its three parts. */
  readonly names: Readonly<Record<Kept, string>>
  /** All workspaces that have entries, whether or not the registry has them. */
  workspaces(): Promise<readonly string[]>
  /** The most entries that there can be, of all workspaces together. */
  count(): Promise<number>
  /** The last sequence; 0 without entries. */
  last(workspace: string): Promise<number>
  /** The first entry that has the receipt, or the idempotency key, of an entry before it. */
  repeated(workspace: string, what: "receipt" | "idem"): Promise<number | undefined>
  /** Rows of one of the three parts that belong to no entry. */
  strays(of: Kept): Promise<readonly Stray[]>
  /** The stored segments of the search, in the order of their entries. */
  segments(workspace: string): Promise<readonly SegmentRow[]>
  /** A part of one of them. */
  part(workspace: string, name: SegmentName, part: number): Promise<Uint8Array | undefined>
  close(): Promise<void>
}

export type Kept = "journal" | "index" | "search"

/** The stored index. */
export interface KeptIndex extends Pick<IndexReader, "position" | "tree" | "checkpoint" | "tiles"> {
  allTiles(
    workspace: string,
    epoch: number,
  ): AsyncIterable<TileName & { readonly hashes: Uint8Array }>
  /** The pieces that the index of keys and receipts has; none where the engine has its own. */
  runs(): Promise<readonly number[]>
  /** One of them, made again and compared. */
  keyed(run: number): Promise<Keyed>
}

/**
 * A piece of the index of keys and receipts: its first fault, with the entry if it concerns one.
 */
export interface Keyed {
  readonly run: number
  readonly wrong:
    | {
        readonly what: "keys" | "receipts"
        readonly place: { readonly workspace: string; readonly sequence: number } | undefined
      }
    | undefined
  /** Whether the facts about the whole piece are right. */
  readonly isWhole: boolean
}

/**
 * A row that belongs to nothing, or a counted row that is missing; with its entry, if it has one.
 */
export interface Stray {
  readonly workspace?: string
  readonly sequence?: number
  readonly what: string
  /** It can be made again, though what it stands beside cannot. */
  readonly isDerived?: true
}
