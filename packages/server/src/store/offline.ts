// The data for the operator's tools: while no service runs, or as a snapshot. open-offline.ts
// chooses the driver.

import type { FilingStore, JournalReader, Registry, WatchedStore } from "./store.ts"

/** For a program that rebuilds all derived data. */
export interface DerivedStore {
  readonly watched: WatchedStore
  readonly filing: FilingStore
  close(): Promise<void>
}

/**
 * For a program that only reads: a snapshot from the time of opening, which later writes do not
 * change.
 */
export interface Snapshot {
  readonly journal: JournalReader
  readonly registry: Registry
  close(): Promise<void>
}

/** A stored document, with its value as text. */
export interface StoredDocument {
  readonly kind: string
  readonly workspace: string
  readonly id: string
  readonly version: number
  readonly created: number
  readonly value: string
}

/** For a program that changes data that no entry records, while no service runs. */
export interface StoppedStore {
  readonly journal: JournalReader
  readonly registry: Registry
  /** All documents in order of creation, some at a time. */
  documents(): AsyncIterable<readonly StoredDocument[]>
  /** Replaces all documents by these, in one transaction. */
  replaceDocuments(documents: AsyncIterable<readonly StoredDocument[]>): Promise<void>
  /** Whether the data is a backup copy, which nobody may write to. */
  readonly isCopy: boolean
  takeOffMark(): void
  /** Rewrites all documents, so that no former content of theirs remains in the data. */
  rewriteDocuments(): Promise<void>
  close(): Promise<void>
}
