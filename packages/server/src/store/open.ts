// Opens the store of a configuration: the one place that chooses the driver. A driver is a folder
// beside this file and a line here.

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

/** For the program that watches. The serving program opens the store first. */
export function openWatched(data: string): WatchedStore {
  return openSqliteWatched(data)
}

/** For the program that files. The serving program opens the store first. */
export function openFiling(data: string): FilingStore {
  return openSqliteFiling(data)
}
