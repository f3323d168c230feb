// Where a configuration becomes a store: the one place that chooses the engine. A driver is one
// folder beside this file, and one line here.

import {
  openSqlite,
  openSqliteFiling,
  openSqliteWatched,
  type StoreConfig,
} from "./sqlite/open-sqlite.ts"
import type { FilingStore, Store, WatchedStore } from "./store.ts"

/** `progress`: data of an older version is brought forward before anything is served. */
export function openStore(
  config: StoreConfig,
  onDeath: (cause: Error) => void,
  progress?: (done: number, entries: number) => void,
): Promise<Store> {
  return openSqlite(config, onDeath, progress)
}

/** For the program that watches, once the serving one has opened the store. */
export function openWatched(data: string): WatchedStore {
  return openSqliteWatched(data)
}

/** For the program that files, likewise. */
export function openFiling(data: string): FilingStore {
  return openSqliteFiling(data)
}
