// Where a data folder becomes a store. A driver is one folder beside this file, and one line here.

import type { DerivedStore, FilingStore, Store, WatchedStore } from "./store.ts"
import { openSqlite, openSqliteAnew, openSqliteFiling, openSqliteWatched, type SqliteOptions } from "./sqlite/open.ts"

export function openStore(options: SqliteOptions): Promise<Store> {
  return openSqlite(options)
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
