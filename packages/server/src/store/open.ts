// Opens the store of a configuration: the one place that chooses the driver. A driver is a folder
// beside this file and a line here.

import { systemClock } from "../clock.ts"
import type { ArchivePlace, Config } from "../config.ts"
import { withArchive } from "./archive/archived-bodies.ts"
import { archiveIn } from "./archive/open-archive.ts"
import { openHeads, readHeads, type Heads, type SignedHead } from "./heads.ts"
import {
  openSqlite,
  openSqliteFiling,
  openSqliteReading,
  openSqliteWatched,
} from "./sqlite/open-sqlite.ts"
import type { FilingStore, ReadStore, Store, WatchedStore } from "./store.ts"

/** Its client has many files, which every thread would load at every start. */
const postgres = () => import("./postgres/open-postgres.ts")

/** Where the data is: in a database if one is named, else in the folder. */
export interface StorePlace {
  readonly data: string
  readonly databaseUrl?: string | undefined
  /** Absent: in the folder. */
  readonly archive?: ArchivePlace | undefined
}

export function archiveOf({ data, archive }: StorePlace): ArchivePlace {
  return archive ?? archiveIn(data)
}

/** What sentences call it. A URL may have a password. */
export function placeName({ data, databaseUrl }: StorePlace): string {
  if (databaseUrl === undefined) return data
  const { host, pathname } = new URL(databaseUrl)
  return `the database ${host}${pathname}`
}

export type StoreConfig = StorePlace & Pick<Config, "limits">

/** `progress`: data of an older version is brought forward before anything is served. */
export async function openStore(
  config: StoreConfig,
  onDeath: (cause: Error) => void,
  progress?: (done: number, entries: number) => void,
): Promise<Store> {
  const { data, databaseUrl, limits } = config
  const archive = archiveOf(config)
  return databaseUrl === undefined
    ? openSqlite({ data, limits, archive }, onDeath, progress)
    : (await postgres()).openPostgres({ databaseUrl, limits, archive }, onDeath)
}

/** For the program that watches. The serving program opens the store first. */
export async function openWatched(place: StorePlace): Promise<WatchedStore> {
  const { data, databaseUrl } = place
  const store =
    databaseUrl === undefined
      ? openSqliteWatched(data)
      : (await postgres()).openPostgresWatched(databaseUrl)
  return withArchive(store, archiveOf(place), systemClock)
}

/** For the program that files. The serving program opens the store first. */
export async function openFiling(place: StorePlace): Promise<FilingStore> {
  const { data, databaseUrl } = place
  const store =
    databaseUrl === undefined
      ? openSqliteFiling(data)
      : (await postgres()).openPostgresFiling(databaseUrl)
  return withArchive(store, archiveOf(place), systemClock)
}

/** For the program that exports. The serving program opens the store first. */
export async function openReading(place: StorePlace): Promise<ReadStore> {
  const { data, databaseUrl } = place
  const store =
    databaseUrl === undefined
      ? openSqliteReading(data)
      : (await postgres()).openPostgresReading(databaseUrl)
  return withArchive(store, archiveOf(place), systemClock)
}

/** What was signed, by whom it is listed. */
export interface ListedHeads {
  readonly by: string
  readonly heads: ReadonlyMap<string, SignedHead>
}

/** What was signed, as the heads file lists it, and the database, if there is one. */
export async function readSignedHeads(
  path: string,
  { databaseUrl }: StorePlace,
): Promise<readonly ListedHeads[]> {
  const file = { by: "the heads file", heads: await readHeads(path) }
  if (databaseUrl === undefined) return [file]
  const { readPostgresHeads } = await import("./postgres/heads.ts")
  return [file, { by: "the database", heads: await readPostgresHeads(databaseUrl) }]
}

/** The largest tree of each log that any of them lists. */
export async function largestHeads(
  path: string,
  place: StorePlace,
): Promise<ReadonlyMap<string, SignedHead>> {
  const largest = new Map<string, SignedHead>()
  for (const { heads } of await readSignedHeads(path, place))
    for (const [origin, head] of heads)
      if ((largest.get(origin)?.size ?? 0) < head.size) largest.set(origin, head)
  return largest
}

/**
 * Tells a database what this server's file lists, so that all servers know that it was put back to
 * an older state, if it was.
 */
export async function tellSignedHeads(path: string, { databaseUrl }: StorePlace): Promise<void> {
  if (databaseUrl === undefined) return
  const { tellPostgresHeads } = await import("./postgres/heads.ts")
  await tellPostgresHeads(databaseUrl, await readHeads(path))
}

/** What was signed: by this server, and by all that share its database. */
export async function openSignedHeads(path: string, { databaseUrl }: StorePlace): Promise<Heads> {
  const file = await openHeads(path)
  return databaseUrl === undefined ? file : (await postgres()).openPostgresHeads(databaseUrl, file)
}
