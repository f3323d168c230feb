// The interfaces of storage, split by guarantee. memory.ts is the reference implementation, sqlite/
// the default.
//
//   Journal   the truth: entries in the order of their chain. Append and read; no update, no delete.
//   Index     derived from the journal, which can rebuild it. A corrupt index can hide, never forge.
//   Search    derived as well: finds entries by their content (search/search.ts).
//   Registry  small documents that people administer. A document changes together with the entry
//             that records the change.
//
// There is no order across workspaces. Each write belongs to one workspace and names the position
// that it continues from, so any number of processes may share the data.

import type { ContentKeeper } from "./content-keeper.ts"
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
import type { HeldEntries, HeldLog } from "./held-entries.ts"
import type {
  Audit,
  Checkpoint,
  CredentialUse,
  Finding,
  TileGrowth,
  TileName,
  Tree,
} from "./index-state.ts"
import type { LinkedRows } from "./linked-rows.ts"
import type { Finder } from "./search/search.ts"
import type { SegmentKeeper } from "./search/segments.ts"
import type { SignedTree } from "./tree-reads.ts"

export interface JournalReader {
  head(workspace: string): Promise<Head | undefined>
  /**
   * One element for each sequence, undefined where no entry is stored. With `bytesMax` the result
   * may be shorter: it has at least one element, and bodies and disclosures up to that size.
   */
  at(
    workspace: string,
    sequences: readonly number[],
    bytesMax?: number,
  ): Promise<readonly (Stored | undefined)[]>
  /**
   * The entries after a sequence, in order: up to `limit`, fewer if they are large, none only at
   * the end of the chain.
   */
  after(workspace: string, sequence: number, limit: number): Promise<readonly Stored[]>
  /** Like `after`, in pieces, with only the parts of entries that form the chain. */
  linked(workspace: string, sequence: number, limit: number): Promise<readonly LinkedRows[]>
  /**
   * The records from this sequence on, concatenated, 118 bytes each: fewer than `count` if the
   * chain ends or has a hole.
   */
  records(workspace: string, sequence: number, count: number): Promise<Uint8Array>
  /** The record of each sequence, without its body; undefined where no entry is stored. */
  recordsAt(
    workspace: string,
    sequences: readonly number[],
  ): Promise<readonly (Uint8Array | undefined)[]>
}

export interface Journal extends JournalReader {
  byReceipt(workspace: string, receipt: string): Promise<Stored | undefined>
  /** The sequence of the entry that has this key. */
  byKey(workspace: string, idem: string): Promise<number | undefined>
  /** Whether it has no entry, also of a workspace that the registry does not have. */
  isEmpty(): Promise<boolean>
  /**
   * Appends all entries of a group right after its `from`, with the registry changes that they
   * record, or nothing. Everything is on stable storage when it resolves. The engine decides which
   * groups share a transaction. If it rejects, the outcome of this group is unknown: read the head
   * again. A `LedgerError` means that nothing was recorded.
   */
  append(group: Group): Promise<Outcome>
}

export interface IndexReader {
  tree(workspace: string, epoch: number): Promise<Tree | undefined>
  /**
   * The stored hashes of each tile, concatenated; empty if there are none. An index of an older
   * version may lack tiles of level 0.
   */
  tiles(
    workspace: string,
    epoch: number,
    tiles: readonly TileName[],
  ): Promise<readonly Uint8Array[]>
  checkpoint(workspace: string, epoch: number): Promise<Checkpoint | undefined>
  audit(workspace: string): Promise<Audit | undefined>
  /** The stored last uses of these credentials. Unused credentials are absent. */
  uses(ids: readonly string[]): Promise<readonly CredentialUse[]>
}

export interface Index extends IndexReader {
  /**
   * Replaces a tree of this size by a later one. False, without a change, if the size is another.
   */
  growTree(
    workspace: string,
    epoch: number,
    fromSize: number,
    tree: Tree,
    tiles: readonly TileGrowth[],
  ): Promise<boolean>
  /**
   * Replaces a checkpoint of this size by a later one. False, without a change, if the size is
   * another.
   */
  putCheckpoint(
    workspace: string,
    epoch: number,
    fromSize: number,
    checkpoint: Checkpoint,
  ): Promise<boolean>
  /**
   * Replaces the audit of the version before. False, without a change, if the version is another.
   */
  putAudit(workspace: string, audit: Audit): Promise<boolean>
  /** Stores uses that are later than the stored ones. */
  putUses(uses: readonly CredentialUse[]): Promise<void>
}

/** A process sees its own changes at once. */
export interface Registry {
  /** How stale an answer may be if another process has changed the document. 0: never stale. */
  readonly staleMsMax: number
  /** With `isNow`, the answer is never stale. */
  get<K extends DocumentKind>(
    kind: K,
    workspace: string,
    id: string,
    isNow?: boolean,
  ): Promise<Document<K> | undefined>
  /** The workspace of a credential. It never changes. */
  workspaceOf(kind: CredentialDocumentKind, id: string): Promise<string | undefined>
  /**
   * Documents after the place `before`, newest first: up to `limit`, fewer if they are large, none
   * only at the end of the list. `workspace` is undefined for the list of workspaces.
   */
  list<K extends DocumentKind>(
    kind: K,
    workspace: ListedIn<K>,
    before: ListPlace | undefined,
    limit: number,
  ): Promise<readonly Listed<K>[]>
  count(kind: DocumentKind, workspace: string): Promise<number>
}

/**
 * Assigns each workspace to one of the processes that share the data, which follows its journal.
 * Two processes at once do no harm, because trees and audits move by compare and swap.
 */
export interface Leases {
  /**
   * Whether this process may follow the workspace now. Followers ask before each step. Undefined:
   * unknown at this moment.
   */
  hold(workspace: string): Promise<boolean | undefined>
  /**
   * Takes the workspace over from the other process once that has finished its step. A request
   * waits for it.
   */
  take(workspace: string): Promise<void>
  /**
   * Calls the listener for each workspace that this process may follow again, after `hold` has
   * returned false for it: followers have dropped the workspace then.
   */
  onTaken(listener: (workspace: string) => void): void
}

export interface DatabaseState {
  /** The state as a sentence. */
  readonly detail: string
  /** Standbys that a commit waits for. Undefined: the role may not see them. */
  readonly synchronousStandbys: number | undefined
  /** Unreachable nodes of a cluster, whose workspaces cannot be written to. Undefined: unknown. */
  readonly unreachableNodes: number | undefined
}

/** The store of the program that serves. */
export interface Store {
  readonly journal: Journal
  readonly index: IndexReader
  /**
   * The leaves that a signed tree has in a tile of level 0; undefined if the stored hashes do not
   * lead to its root.
   */
  leaves(log: Log, tree: SignedTree, tile: number): Promise<Uint8Array | undefined>
  /**
   * Entries with the data that they are verified against. `bytesMax` is as in `JournalReader.at`.
   */
  held(log: HeldLog, sequences: readonly number[], bytesMax: number): Promise<HeldEntries>
  readonly search: Finder
  readonly registry: Registry
  /**
   * Yields all workspaces first, and then repeatedly those that have grown by writes of any
   * process. After `end` it yields the rest and returns.
   */
  readonly grown: (end: AbortSignal) => AsyncIterable<readonly string[]>
  /** Why the data is read-only, and what to do; undefined if it can be written to. */
  readonly readOnly: string | undefined
  /**
   * Rejects with a sentence if an append would fail now. Cheap, because /readyz calls it. A
   * database returns its state; files have none.
   */
  ready(): Promise<DatabaseState | undefined>
  /**
   * Broken entries that the auditors of all processes have found. Absent if only one process uses
   * the data.
   */
  readonly findings?: () => Promise<readonly Finding[]>
  /**
   * Returns the commitment to a secret of the process that began the data: this one, if there was
   * none. Absent if only one process uses the data.
   */
  readonly begun?: (commitment: string) => Promise<string>
  /** The size of the database. Undefined if the data is in files. */
  databaseBytes(): Promise<number | undefined>
  close(): Promise<void>
}

/** The store of the program that watches. */
export interface WatchedStore {
  readonly journal: JournalReader
  readonly leases: Leases
  readonly index: Index
  readonly registry: Registry
  close(): Promise<void>
}

/** The store of the program that files. */
export interface FilingStore {
  readonly journal: JournalReader
  readonly leases: Leases
  readonly registry: Registry
  readonly index: Pick<IndexReader, "checkpoint">
  readonly segments: SegmentKeeper
  readonly content: ContentKeeper
  close(): Promise<void>
}

/** The store of the program that exports. It only reads. */
export interface ReadStore {
  readonly journal: JournalReader
  readonly index: Pick<IndexReader, "checkpoint" | "tiles">
  readonly registry: Registry
  close(): Promise<void>
}
