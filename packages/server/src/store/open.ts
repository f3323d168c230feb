// Where a data folder becomes a store. A driver is one folder beside this file, and one line here.

import type { Store, WatchedStore } from "./store.ts"
import { openSqlite, openSqliteWatched, type SqliteOptions } from "./sqlite/open.ts"

export function openStore(options: SqliteOptions): Promise<Store> {
  return openSqlite(options)
}

/** For the program that watches, once the serving one has opened the store. */
export function openWatched(data: string): WatchedStore {
  return openSqliteWatched(data)
}
