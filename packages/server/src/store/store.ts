// Where things are kept, split by guarantee. Interfaces only: memory.ts is the reference, sqlite/ is the default.
//
//   Journal   the truth. Entries in the order of their chain; append and read, no update, no delete.
//   Index     derived. Whoever loses it can rebuild it from the journal; whoever corrupts it can hide, never forge.
//   Search    derived likewise: what entries can be found by (search.ts).
//   Registry  small documents that people administer. It changes only together with the entries that record the change.
//
// There is one writer for each: the program that serves appends to the journal, the one that watches writes the index, the one that
// files writes the search.

import type { Documents, DocumentKind } from "./documents.ts"
import type { Finder, Search } from "./search.ts"

/** The end of a workspace's chain. An empty chain has sequence 0 and the ledgerId as its hash. */
export interface Head {
  readonly sequence: number
  readonly hash: Uint8Array
  readonly timeMs: number
}

/** An entry as it is kept: the record for ever, what it commits to for as long as it may be kept. */
export interface Stored {
  readonly workspace: string
  readonly sequence: number
  readonly record: Uint8Array
  readonly receipt: string
  /** What the body says of the idempotency key; absent when the entry was made without one. */
  readonly idem: string | undefined
  readonly bodySalt: Uint8Array | undefined
  readonly body: Uint8Array | undefined
  /** RFC 9901 disclosures joined by "~", which none of them contains; empty when nothing is sealed. */
  readonly disclosures: string
}

/** An entry that has its place in the chain and is about to be kept. */
export interface Linked {
  readonly record: Uint8Array
  readonly receipt: string
  readonly idem: string | undefined
  readonly bodySalt: Uint8Array
  readonly body: Uint8Array
  readonly disclosures: string
}

export interface Group {
  readonly workspace: string
  /** The head that the first entry was linked to; the group is refused when it has moved. */
  readonly from: Head
  readonly entries: readonly Linked[]
  readonly changes?: readonly Change[]
}

export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "moved" }
  /** Keys that earlier entries have used: the place in the group, and the sequence of the earlier entry. */
  | { readonly kind: "used"; readonly keys: readonly { readonly place: number; readonly sequence: number }[] }
  /** A document is not at the version that the change at this place of the group replaces. */
  | { readonly kind: "conflict"; readonly place: number }

export interface JournalReader {
  head(workspace: string): Promise<Head | undefined>
  /** One element for each sequence asked for; undefined where nothing is kept. */
  at(workspace: string, sequences: readonly number[]): Promise<readonly (Stored | undefined)[]>
  /** What follows a sequence, in order: up to `limit`, fewer where entries are large, none only where the chain ends. Followers live on this. */
  after(workspace: string, sequence: number, limit: number): Promise<readonly Stored[]>
  /** The records from one sequence on, end to end, 118 bytes each: fewer than `count` where the chain ends or has a hole. */
  records(workspace: string, sequence: number, count: number): Promise<Uint8Array>
}

export interface Journal extends JournalReader {
  byReceipt(workspace: string, receipt: string): Promise<Stored | undefined>
  /**
   * Adds each group's entries right after its `from`, all or none of a group, with the registry changes that they record;
   * on stable storage when it returns. A rejection means that the outcome is unknown: read the head again before going on.
   */
  append(groups: readonly Group[]): Promise<readonly Outcome[]>
}

/** The right edge of a workspace's tree: the roots of its complete subtrees, largest first. */
export interface Tree {
  readonly size: number
  readonly hashes: readonly Uint8Array[]
}

/** Hashes that a tile gained: they stand in it from `offset` on. Level 0 is not kept, it is the hashes of the records. */
export interface TileGrowth {
  readonly level: number
  readonly tile: number
  readonly offset: number
  readonly hashes: Uint8Array
}

export interface Checkpoint {
  readonly size: number
  readonly root: Uint8Array
  /** The signed note, as it is published. */
  readonly note: string
  readonly signedMs: number
}

export interface IndexReader {
  /** Entries up to and including this sequence can be found. */
  position(workspace: string): Promise<number>
  tree(workspace: string): Promise<Tree | undefined>
  /** The hashes kept of a tile at level 1 or above, end to end; empty when there are none. */
  tiles(workspace: string, tiles: readonly { readonly level: number; readonly tile: number }[]): Promise<readonly Uint8Array[]>
  checkpoint(workspace: string): Promise<Checkpoint | undefined>
}

export interface Index extends IndexReader {
  /** Makes entries findable and moves the position to the last of them, in one step. They follow the position without a gap. */
  add(workspace: string, entries: readonly Stored[]): Promise<void>
  /** Moves the tree from one size to a later state; false, and no change, when it is not at that size. */
  growTree(workspace: string, fromSize: number, tree: Tree, tiles: readonly TileGrowth[]): Promise<boolean>
  /** Replaces the checkpoint of one size by a later one; false, and no change, when another one stands there. */
  putCheckpoint(workspace: string, fromSize: number, checkpoint: Checkpoint): Promise<boolean>
}

export interface Document<K extends DocumentKind = DocumentKind> {
  readonly kind: K
  readonly workspace: string
  readonly id: string
  /** Counts from 1; a change names the version that it replaces. */
  readonly version: number
  /** Grows with the order of creation; what lists are paged by. */
  readonly serial: number
  readonly value: Documents[K]
}

/** Puts a document, or removes it (`value` null), if it is still at `version`; 0 means that it must not exist. */
export type Change = {
  readonly [K in DocumentKind]: {
    readonly kind: K
    readonly workspace: string
    readonly id: string
    readonly version: number
    readonly value: Documents[K] | null
  }
}[DocumentKind]

export interface Registry {
  get<K extends DocumentKind>(kind: K, workspace: string, id: string): Promise<Document<K> | undefined>
  /** A document whose workspace is not known yet: a credential is looked up by its id alone. */
  find<K extends DocumentKind>(kind: K, id: string): Promise<Document<K> | undefined>
  /** Newest first, those with a serial below `before`. Without a workspace: those of all. */
  list<K extends DocumentKind>(kind: K, workspace: string | undefined, before: number, limit: number): Promise<readonly Document<K>[]>
}

/** What the program that serves holds. */
export interface Store {
  readonly journal: Journal
  readonly index: IndexReader
  readonly search: Finder
  readonly registry: Registry
  /** Rejects with a sentence when nothing could be appended now; a cheap question, asked by /readyz. */
  ready(): Promise<void>
  close(): Promise<void>
}

/** What the program that watches holds. */
export interface WatchedStore {
  readonly journal: JournalReader
  readonly index: Index
  readonly registry: Registry
  close(): Promise<void>
}

/** What the program that files holds. */
export interface FilingStore {
  readonly journal: JournalReader
  readonly search: Search
  close(): Promise<void>
}

/** What a program holds that makes all that is derived again. */
export interface DerivedStore {
  readonly watched: WatchedStore
  readonly filing: FilingStore
  close(): Promise<void>
}
