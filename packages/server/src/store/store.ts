// Where things are kept, split by guarantee. Interfaces only: memory.ts is the reference, sqlite/ is the default.
//
//   Journal   the truth. Entries in the order of their chain; append and read, no update, no delete.
//   Index     derived. Whoever loses it can rebuild it from the journal; whoever corrupts it can hide, never forge.
//   Search    derived likewise: what entries can be found by (search.ts).
//   Registry  small documents that people administer. It changes only together with the entries that record the change.
//
// There is one writer for each: the program that serves appends to the journal, the one that watches writes the index, the one that
// files writes the search.

import type { CredentialDocumentKind, DocumentKind, Documents, ListedPack } from "./documents.ts"
import type { Log } from "./epochs.ts"
import type { Finder, Search } from "./search.ts"
import type { SignedTree } from "./tree-reads.ts"

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
  /**
   * One element for each sequence asked for; undefined where nothing is kept. With `bytesMax` it ends, after one at least, before bodies
   * and disclosures are more than that.
   */
  at(workspace: string, sequences: readonly number[], bytesMax?: number): Promise<readonly (Stored | undefined)[]>
  /** What follows a sequence, in order: up to `limit`, fewer where entries are large, none only where the chain ends. Followers live on this. */
  after(workspace: string, sequence: number, limit: number): Promise<readonly Stored[]>
  /** The records from one sequence on, end to end, 118 bytes each: fewer than `count` where the chain ends or has a hole. */
  records(workspace: string, sequence: number, count: number): Promise<Uint8Array>
  /** The record of each sequence asked for, without what it commits to; undefined where nothing is kept. */
  recordsAt(workspace: string, sequences: readonly number[]): Promise<readonly (Uint8Array | undefined)[]>
}

export interface Journal extends JournalReader {
  byReceipt(workspace: string, receipt: string): Promise<Stored | undefined>
  /** The sequence of the entry that has this key. */
  byKey(workspace: string, idem: string): Promise<number | undefined>
  /**
   * Adds a group's entries right after its `from`, all or none, with the registry changes that they record; on stable storage when it
   * returns. Which groups share a transaction is the engine's choice. A rejection means that the outcome is unknown, for this group: read
   * the head again before going on. A `LedgerError` means that nothing was recorded.
   */
  append(group: Group): Promise<Outcome>
}

/** The right edge of a workspace's tree: the roots of its complete subtrees, largest first. */
export interface Tree {
  readonly size: number
  readonly hashes: readonly Uint8Array[]
}

export interface TileName {
  readonly level: number
  readonly tile: number
}

/** Hashes that a tile gained: they stand in it from `offset` on, in place of what stood there. */
export interface TileGrowth extends TileName {
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

/** Something that the auditor found not to hold together. */
export interface Finding {
  readonly workspace: string
  /** The first entry that does not hold. */
  readonly sequence: number
  readonly detail: string
  readonly foundMs: number
}

/** How far the auditor has come in a workspace, so that a restart does not begin anew. */
export interface Audit {
  /** Counts from 1: one more than of what it replaces. */
  readonly version: number
  /** The round in which it was re-verified last; counts from 1. */
  readonly round: number
  /** When that round began, and the one before. */
  readonly startedMs: number
  readonly sinceMs: number
  /** Entries that were re-verified in it, and whether it is over for this workspace. */
  readonly entries: number
  readonly isDone: boolean
  /** Over the entries of an epoch that were re-verified. */
  readonly epoch: number
  readonly tree: Tree
  readonly finding?: Finding
}

export interface IndexReader {
  /** Entries up to and including this sequence can be found. */
  position(workspace: string): Promise<number>
  tree(workspace: string, epoch: number): Promise<Tree | undefined>
  /** The hashes kept of a tile, end to end; empty when there are none. Of level 0, an index of an older version may lack them. */
  tiles(workspace: string, epoch: number, tiles: readonly TileName[]): Promise<readonly Uint8Array[]>
  checkpoint(workspace: string, epoch: number): Promise<Checkpoint | undefined>
}

export interface Index extends IndexReader {
  /** Makes entries findable and moves the position to the last of them, in one step. They follow the position without a gap. */
  add(workspace: string, entries: readonly Stored[]): Promise<void>
  /** Moves the tree from one size to a later state; false, and no change, when it is not at that size. */
  growTree(workspace: string, epoch: number, fromSize: number, tree: Tree, tiles: readonly TileGrowth[]): Promise<boolean>
  /** Replaces the checkpoint of one size by a later one; false, and no change, when another one stands there. */
  putCheckpoint(workspace: string, epoch: number, fromSize: number, checkpoint: Checkpoint): Promise<boolean>
  audit(workspace: string): Promise<Audit | undefined>
  /** Replaces the one of the version before; false, and no change, when another one stands there. */
  putAudit(workspace: string, audit: Audit): Promise<boolean>
}

/** Where a document stands in the lists of its kind, the newest first. */
export interface ListPlace {
  /** When it was made, in milliseconds; later than all others of its kind and workspace. */
  readonly created: number
  /** Of those that several workspaces made at once, the last comes first. */
  readonly id: string
}

export interface Document<K extends DocumentKind = DocumentKind> extends ListPlace {
  readonly kind: K
  readonly workspace: string
  /** Counts from 1; a change names the version that it replaces. */
  readonly version: number
  readonly value: Documents[K]
}

/** As it stands in a list. */
export interface Listed<K extends DocumentKind = DocumentKind> extends Omit<Document<K>, "value"> {
  readonly value: K extends "pack" ? ListedPack : Documents[K]
}

export type ListedIn<K extends DocumentKind> = K extends "workspace" ? undefined : string

/** Puts a document of the group's workspace, or removes it (`value` null), if it is still at `version`; 0 means that it must not exist. */
export type Change = {
  readonly [K in DocumentKind]: {
    readonly kind: K
    readonly id: string
    readonly version: number
    readonly value: Documents[K] | null
  }
}[DocumentKind]

export interface Registry {
  get<K extends DocumentKind>(kind: K, workspace: string, id: string): Promise<Document<K> | undefined>
  /** Which workspace a credential is of: all else is looked up by workspace and id. It never changes. */
  workspaceOf(kind: CredentialDocumentKind, id: string): Promise<string | undefined>
  /**
   * Newest first, those behind `before`: up to `limit`, fewer where they are large, none only where the list ends. Workspaces are listed
   * without one, all else of one.
   */
  list<K extends DocumentKind>(kind: K, workspace: ListedIn<K>, before: ListPlace | undefined, limit: number): Promise<readonly Listed<K>[]>
  /** How many of a kind a workspace has. */
  count(kind: DocumentKind, workspace: string): Promise<number>
}

/** Who follows a workspace: one process of all that share the data. What two of them do at once is still right, because positions move by compare and swap. */
export interface Leases {
  /** Whether this process follows the workspace now; asked before each step. */
  hold(workspace: string): Promise<boolean>
  /** Takes it over, once another has ended its step: somebody waits here for what following brings. */
  take(workspace: string): Promise<void>
}

/** What the program that serves holds. */
export interface Store {
  readonly journal: Journal
  readonly index: IndexReader
  /** The hashes of the leaves that a tile of level 0 has in a signed tree; undefined when what is kept does not lead to its root. */
  leaves(log: Log, tree: SignedTree, tile: number): Promise<Uint8Array | undefined>
  readonly search: Finder
  readonly registry: Registry
  /**
   * The workspaces that have grown, whichever process wrote to them: all that there are, and then those that have grown since this was asked
   * last. Ends, with what is left to tell, when it is told to.
   */
  readonly grown: (end: AbortSignal) => AsyncIterable<readonly string[]>
  /** It is a backup's copy, and stays one until the mark is taken off: the original may have gone on from here. */
  readonly isCopy: boolean
  /** Rejects with a sentence when nothing could be appended now; a cheap question, asked by /readyz. */
  ready(): Promise<void>
  close(): Promise<void>
}

/** What the program that watches holds. */
export interface WatchedStore {
  readonly journal: JournalReader
  readonly leases: Leases
  readonly index: Index
  readonly registry: Registry
  close(): Promise<void>
}

/** What the program that files holds. */
export interface FilingStore {
  readonly journal: JournalReader
  readonly leases: Leases
  readonly search: Search
  close(): Promise<void>
}

/** What a program holds that makes all that is derived again. */
export interface DerivedStore {
  readonly watched: WatchedStore
  readonly filing: FilingStore
  close(): Promise<void>
}

/** What a program holds that only looks: what is kept, as it was when it was opened, whoever writes meanwhile. */
export interface Snapshot {
  readonly journal: JournalReader
  readonly registry: Registry
  /** Copies what is kept into a folder, and marks the copy as one; on the disk when it returns. */
  copyTo(folder: string, progress: (done: number, pages: number) => void): Promise<void>
  close(): Promise<void>
}

/** What a program holds that goes on from a copy, while nobody serves. */
export interface StoppedStore {
  readonly journal: JournalReader
  readonly registry: Registry
  readonly isCopy: boolean
  takeOffMark(): void
  /** Writes all documents anew: nothing of what they held before is left in the file. */
  rewriteDocuments(): void
  close(): Promise<void>
}

/** What a program holds that derives everything again, and believes nothing that is derived: what is kept, as it was when it was opened. */
export interface Whole {
  readonly registry: Registry
  readonly isCopy: boolean
  /** Undefined where there is none: it can be made again. */
  readonly index: KeptIndex | undefined
  /** Of all that have entries, whether or not the registry knows of them. */
  workspaces(): readonly string[]
  /** How many entries are kept at most, of all workspaces together. */
  count(): number
  /** The last sequence that is kept; 0 if there is none. */
  last(workspace: string): number
  /** What follows a sequence, in order; only the chain says whether anything is missing. */
  entries(workspace: string, after: number, limit: number): readonly Stored[]
  /** The same of them as the chain is made of, end to end: as rows they would cost as much as their hashing. */
  linked(workspace: string, after: number, limit: number): LinkedRows
  /** The first entry that has the receipt, or the idempotency key, of an entry before it. */
  repeated(workspace: string, what: "receipt" | "idem"): number | undefined
  /** What belongs to no entry, in one of the three. */
  strays(of: Kept): readonly Stray[]
  /** Entries up to this sequence are said to be filed for the search. */
  filed(workspace: string): number
  close(): void
}

/** Entries in order, as far as their chain is made of them. */
export interface LinkedRows {
  readonly sequences: readonly number[]
  /** 118 bytes each. One that had another length is nothing but zeros here. */
  readonly records: Uint8Array
  /** How many bytes of `salted` belong to each; -1 where there are none. */
  readonly lengths: readonly number[]
  /** Salts and bodies. */
  readonly salted: Uint8Array
}

/** The index as it lies on the disk. */
export interface KeptIndex {
  position(workspace: string): number
  tree(workspace: string, epoch: number): Tree | undefined
  checkpoint(workspace: string, epoch: number): Checkpoint | undefined
  tile(workspace: string, epoch: number, level: number, tile: number): Uint8Array
  tiles(workspace: string, epoch: number): Iterable<{ readonly level: number; readonly tile: number; readonly hashes: Uint8Array }>
  /** The pieces that the index of keys and receipts has. */
  runs(): readonly number[]
  /** One of them, made again and compared. */
  keyed(run: number): Keyed
}

export type Kept = "journal" | "index" | "search"

/** Something that is kept and belongs to nothing, or is not there though it is counted; of an entry, if it is one's. */
export interface Stray {
  readonly workspace?: string
  readonly sequence?: number
  readonly what: string
}

/** A piece of the index of keys and receipts: what is wrong in it first, and of which entry, if it is one's. */
export interface Keyed {
  readonly run: number
  readonly wrong:
    | { readonly what: "keys" | "receipts"; readonly place: { readonly workspace: string; readonly sequence: number } | undefined }
    | undefined
  /** Whether what is said of the piece as a whole is right. */
  readonly isWhole: boolean
}
