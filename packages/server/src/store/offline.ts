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

/** For a program that changes what no entry records, while no service runs. */
export interface StoppedStore {
  readonly journal: JournalReader
  readonly registry: Registry
  /** The copy of a backup, which nobody may write to. */
  readonly isCopy: boolean
  takeOffMark(): void
  /** Writes all documents again, so that no former content of theirs is left in the data. */
  rewriteDocuments(): Promise<void>
  close(): Promise<void>
}
