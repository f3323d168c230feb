// Where things are kept, split by guarantee. Interfaces only: memory.ts is the reference, sqlite/
// is the default.
//
//   Journal   the truth. Entries in the order of their chain; append and read, no update, no delete.
//   Index     derived. Whoever loses it can rebuild it from the journal; whoever corrupts it can hide, never forge.
//   Search    derived likewise: what entries can be found by (search/search.ts).
//   Registry  small documents that people administer. It changes only together with the entries that record the change.
//
// There is no order across workspaces. Each write is of one workspace, and moves on from the
// position that it names, so any number of processes may share the data.

import type {
  CredentialDocumentKind,
  Document,
  DocumentKind,
  Listed,
  ListedIn,
  ListPlace,
} from "./documents.ts"
import type { Group, Head, Outcome, Stored } from "./entries.ts"
import type { Log } from "./epochs.ts"
import type { Audit, Checkpoint, TileGrowth, TileName, Tree } from "./index-state.ts"
import type { LinkedRows } from "./linked-rows.ts"
import type { Finder, Search } from "./search/search.ts"
import type { SignedTree } from "./tree-reads.ts"

export type { Change, Document, Listed, ListPlace } from "./documents.ts"
export type { Group, Head, Linked, Outcome, Stored } from "./entries.ts"
export type { Audit, Checkpoint, Finding, TileGrowth, TileName, Tree } from "./index-state.ts"

export interface JournalReader {
  head(workspace: string): Promise<Head | undefined>
  /**
   * One element for each sequence asked for; undefined where nothing is kept. With `bytesMax` it
   * ends, after one at least, before bodies and disclosures are more than that.
   */
  at(
    workspace: string,
    sequences: readonly number[],
    bytesMax?: number,
  ): Promise<readonly (Stored | undefined)[]>
  /**
   * What follows a sequence, in order: up to `limit`, fewer where entries are large, none only
   * where the chain ends.
   */
  after(workspace: string, sequence: number, limit: number): Promise<readonly Stored[]>
  /**
   * What follows a sequence as far as a chain is made of it, in pieces: up to `limit` entries, fewer
   * where they are large, none only where the chain ends.
   */
  linked(workspace: string, sequence: number, limit: number): Promise<readonly LinkedRows[]>
  /**
   * The records from one sequence on, end to end, 118 bytes each: fewer than `count` where the
   * chain ends or has a hole.
   */
  records(workspace: string, sequence: number, count: number): Promise<Uint8Array>
  /**
   * The record of each sequence asked for, without what it commits to; undefined where nothing is
   * kept.
   */
  recordsAt(
    workspace: string,
    sequences: readonly number[],
  ): Promise<readonly (Uint8Array | undefined)[]>
}

export interface Journal extends JournalReader {
  byReceipt(workspace: string, receipt: string): Promise<Stored | undefined>
  /** The sequence of the entry that has this key. */
  byKey(workspace: string, idem: string): Promise<number | undefined>
  /**
   * Adds a group's entries right after its `from`, all or none, with the registry changes that they
   * record; on stable storage when it returns. Which groups share a transaction is the engine's
   * choice. A rejection means that the outcome is unknown, for this group: read the head again
   * before going on. A `LedgerError` means that nothing was recorded.
   */
  append(group: Group): Promise<Outcome>
}

export interface IndexReader {
  /** Entries up to and including this sequence can be found. */
  position(workspace: string): Promise<number>
  tree(workspace: string, epoch: number): Promise<Tree | undefined>
  /**
   * The hashes kept of a tile, end to end; empty when there are none. Of level 0, an index of an
   * older version may lack them.
   */
  tiles(
    workspace: string,
    epoch: number,
    tiles: readonly TileName[],
  ): Promise<readonly Uint8Array[]>
  checkpoint(workspace: string, epoch: number): Promise<Checkpoint | undefined>
}

export interface Index extends IndexReader {
  /**
   * Makes entries findable and moves the position to the last of them, in one step. Their sequences
   * follow the position without a gap.
   */
  add(workspace: string, sequences: readonly number[]): Promise<void>
  /**
   * Moves the tree from one size to a later state; false, and no change, when it is not at that
   * size.
   */
  growTree(
    workspace: string,
    epoch: number,
    fromSize: number,
    tree: Tree,
    tiles: readonly TileGrowth[],
  ): Promise<boolean>
  /**
   * Replaces the checkpoint of one size by a later one; false, and no change, when another one
   * stands there.
   */
  putCheckpoint(
    workspace: string,
    epoch: number,
    fromSize: number,
    checkpoint: Checkpoint,
  ): Promise<boolean>
  audit(workspace: string): Promise<Audit | undefined>
  /**
   * Replaces the one of the version before; false, and no change, when another one stands there.
   */
  putAudit(workspace: string, audit: Audit): Promise<boolean>
}

/** A change that this process has made is seen at once. */
export interface Registry {
  /** How long an answer may miss a change that another process has made; 0: it misses none. */
  readonly staleMsMax: number
  get<K extends DocumentKind>(
    kind: K,
    workspace: string,
    id: string,
  ): Promise<Document<K> | undefined>
  /**
   * Which workspace a credential is of: all else is looked up by workspace and id. It never
   * changes.
   */
  workspaceOf(kind: CredentialDocumentKind, id: string): Promise<string | undefined>
  /**
   * Newest first, those behind `before`: up to `limit`, fewer where they are large, none only where
   * the list ends. Workspaces are listed without one, all else of one.
   */
  list<K extends DocumentKind>(
    kind: K,
    workspace: ListedIn<K>,
    before: ListPlace | undefined,
    limit: number,
  ): Promise<readonly Listed<K>[]>
  /** How many of a kind a workspace has. */
  count(kind: DocumentKind, workspace: string): Promise<number>
}

/**
 * Who follows a workspace: one process of all that share the data. What two of them do at once is
 * still right, because positions move by compare and swap.
 */
export interface Leases {
  /** Whether this process follows the workspace now; asked before each step. */
  hold(workspace: string): Promise<boolean>
  /**
   * Takes it over, once another has ended its step: somebody waits here for what following brings.
   */
  take(workspace: string): Promise<void>
}

/** What the program that serves holds. */
export interface Store {
  readonly journal: Journal
  readonly index: IndexReader
  /**
   * The hashes of the leaves that a tile of level 0 has in a signed tree; undefined when what is
   * kept does not lead to its root.
   */
  leaves(log: Log, tree: SignedTree, tile: number): Promise<Uint8Array | undefined>
  readonly search: Finder
  readonly registry: Registry
  /**
   * The workspaces that have grown, whichever process wrote to them: all that there are, and then
   * those that have grown since this was asked last. Ends, with what is left to tell, when it is
   * told to.
   */
  readonly grown: (end: AbortSignal) => AsyncIterable<readonly string[]>
  /** Why nothing may be written to it, and what to do; undefined where something may. */
  readonly readOnly: string | undefined
  /**
   * Rejects with a sentence when nothing could be appended now; a cheap question, asked by /readyz.
   */
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
