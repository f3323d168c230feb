// Where a data folder becomes a store. A driver is one folder beside this file, and one line here.

import type { DerivedStore, FilingStore, Snapshot, StoppedStore, Store, WatchedStore, Whole } from "./store.ts"
import {
  openSqlite,
  openSqliteAnew,
  openSqliteFiling,
  openSqliteSnapshot,
  openSqliteStopped,
  openSqliteWatched,
  type StoreConfig,
} from "./sqlite/open.ts"
import { isLocked } from "./sqlite/lock.ts"
import { openSqliteWhole } from "./sqlite/whole.ts"

export function openStore(config: StoreConfig, onDeath: (cause: Error) => void): Promise<Store> {
  return openSqlite(config, onDeath)
}

/** Whether a program has the data to itself now, such as the service. */
export function isServed(data: string): boolean {
  return isLocked(data)
}

/** For the program that watches, once the serving one has opened the store. */
export function openWatched(data: string): WatchedStore {
  return openSqliteWatched(data)
}

/** For the program that files, likewise. */
export function openFiling(data: string): FilingStore {
  return openSqliteFiling(data)
}

/** For a program that makes all that is derived again, while nobody serves. */
export function openAnew(data: string): DerivedStore {
  return openSqliteAnew(data)
}

/** For a program that looks at what is kept at this moment; the service may run meanwhile. */
export function openSnapshot(data: string): Snapshot {
  return openSqliteSnapshot(data)
}

/** For a program that goes on from a copy, while nobody serves. */
export function openStopped(data: string): StoppedStore {
  return openSqliteStopped(data)
}

/** For a program that looks at all there is; `alone`: only while nobody serves. */
export function openWhole(data: string, options: { readonly alone: boolean }): Whole {
  return openSqliteWhole(data, options)
}
