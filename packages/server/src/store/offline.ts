// The data for the operator's tools: while no service runs, or in its state at one moment.
// open-offline.ts chooses the driver.

import type { FilingStore, JournalReader, Registry, WatchedStore } from "./store.ts"

/** For a program that makes all derived data again. */
export interface DerivedStore {
  readonly watched: WatchedStore
  readonly filing: FilingStore
  close(): Promise<void>
}

/** For a program that only reads: the state at its opening, whatever others write meanwhile. */
export interface Snapshot {
  readonly journal: JournalReader
  readonly registry: Registry
  close(): Promise<void>
}

/** A document as it is stored: its value is the text itself. */
export interface StoredDocument {
  readonly kind: string
  readonly workspace: string
  readonly id: string
  readonly version: number
  readonly created: number
  readonly value: string
}

/** For a program that changes what no entry records, while no service runs. */
export interface StoppedStore {
  readonly journal: JournalReader
  readonly registry: Registry
  /** All of them, some at a time, in the order in which they were made. */
  documents(): AsyncIterable<readonly StoredDocument[]>
  /** Puts these in place of all documents, in one transaction. */
  replaceDocuments(documents: AsyncIterable<readonly StoredDocument[]>): Promise<void>
  /** The copy of a backup, which nobody may write to. */
  readonly isCopy: boolean
  takeOffMark(): void
  /** Writes all documents again, so that no former content of theirs is left in the data. */
  rewriteDocuments(): Promise<void>
  close(): Promise<void>
}
