// The whole data of a ledger, for a program that recomputes all derived data and trusts none. It is
// a snapshot from the time of opening, read in large steps.

import type { SegmentName, SegmentRow } from "./search/segments.ts"
import type { TileName } from "./index-state.ts"
import type { IndexReader, JournalReader, Registry } from "./store.ts"

export interface Whole {
  readonly journal: Pick<JournalReader, "after" | "linked">
  /** The number of linked entries for which one read is fastest. */
  readonly entriesPerRead: number
  readonly registry: Registry
  readonly isCopy: boolean
  /** Undefined if it is missing: it can be rebuilt. */
  readonly index: KeptIndex | undefined
  /** The names of its three parts in messages. */
  readonly names: Readonly<Record<Kept, string>>
  /** All workspaces that have entries, whether or not the registry has them. */
  workspaces(): Promise<readonly string[]>
  /** An upper bound for the number of entries in all workspaces together. */
  count(): Promise<number>
  /** The last sequence; 0 without entries. */
  last(workspace: string): Promise<number>
  /**
   * Of each of these workspaces, and perhaps of others, the first entry that has the receipt, and
   * the first that has the idempotency key, of an entry before it. Takes less reading if all pieces
   * of the index of keys are right.
   */
  repeated(workspaces: readonly string[], isIndexRight: boolean): Promise<readonly RepeatedName[]>
  /**
   * Rows of one of the three parts that belong to no entry, and packed content that cannot be
   * unpacked, or is not of the entries that it is stored for.
   */
  strays(of: Kept, right?: UnpackedContent): Promise<readonly Stray[]>
  /** Content that reads have unpacked since the last call, and that is right. */
  unpacked(): UnpackedContent
  /** The stored segments of the search, in the order of their entries. */
  segments(workspace: string): Promise<readonly SegmentRow[]>
  part(workspace: string, name: SegmentName, part: number): Promise<Uint8Array | undefined>
  close(): Promise<void>
}

export type Kept = "journal" | "index" | "search"

/** Numbers that identify stored content, if the engine has such. `strays` need not unpack it again. */
export interface UnpackedContent {
  readonly frames: readonly number[]
  readonly disclosures: readonly number[]
}

export interface KeptIndex extends Pick<IndexReader, "tree" | "checkpoint" | "tiles"> {
  allTiles(
    workspace: string,
    epoch: number,
  ): AsyncIterable<TileName & { readonly hashes: Uint8Array }>
  /** The pieces of the index of keys and receipts. Empty if the engine has an index of its own. */
  runs(): Promise<readonly number[]>
  /** Rebuilds one piece, and compares it. */
  keyed(run: number): Promise<Keyed>
}

/** An entry that has the receipt, or the idempotency key, of an entry before it. */
export interface RepeatedName {
  readonly workspace: string
  readonly what: "receipt" | "idem"
  readonly sequence: number
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
  /** Whether the data about the whole piece is right. */
  readonly isWhole: boolean
}

/** An orphan row, or a row that is counted but missing; with its entry, if it has one. */
export interface Stray {
  readonly workspace?: string
  readonly sequence?: number
  readonly what: string
  /** It can be rebuilt, although it is in a file with data that cannot. */
  readonly isDerived?: true
}
