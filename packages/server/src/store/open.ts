// Opens the store of a configuration: the one place that chooses the driver. A driver is a folder
// of `store/` and a line here.

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

/** Loaded on demand: the client has many files, which every thread would load at every start. */
const postgres = () => import("./postgres/open-postgres.ts")

/** The place of the data: a database if one is named, else the folder. */
export interface StorePlace {
  readonly data: string
  readonly databaseUrl?: string | undefined
  /** Absent: in the data folder. */
  readonly archive?: ArchivePlace | undefined
  /** For a command that has the database alone (`requireStopped`): others are refused meanwhile. */
  readonly isAlone?: boolean
}

export function archiveOf({ data, archive }: StorePlace): ArchivePlace {
  return archive ?? archiveIn(data)
}

/** The name of the place in messages. Not the whole URL, which may have a password. */
export function placeName({ data, databaseUrl }: StorePlace): string {
  if (databaseUrl === undefined) return data
  const { host, pathname } = new URL(databaseUrl)
  return `the database ${host}${pathname}`
}

export type StoreConfig = StorePlace & Pick<Config, "limits">

/** Data of an older version is upgraded first, with reports to `progress`. */
export async function openStore(
  config: StoreConfig,
  onDeath: (cause: Error) => void,
  progress?: (done: number, entries: number) => void,
): Promise<Store> {
  const { data, databaseUrl, limits, isAlone } = config
  const archive = archiveOf(config)
  return databaseUrl === undefined
    ? openSqlite({ data, limits, archive }, onDeath, progress)
    : (await postgres()).openPostgres({ databaseUrl, limits, archive, isAlone }, onDeath)
}

/**
 * For a service that starts: throws if a command has the database alone. Until the result is
 * closed, no command gets it. For a folder, opening the store takes a lock instead.
 */
export async function requireNoCommand({
  databaseUrl,
}: StorePlace): Promise<{ close(): Promise<void> }> {
  if (databaseUrl === undefined) return { close: async () => {} }
  const alone = await import("./postgres/alone.ts")
  return await alone.requireNoCommand(databaseUrl)
}

/** For the program that watches. The serving program opens the store first. */
export const openWatched = (place: StorePlace): Promise<WatchedStore> =>
  openAt(place, openSqliteWatched, async (url) => (await postgres()).openPostgresWatched(url))

/** For the program that files. The serving program opens the store first. */
export const openFiling = (place: StorePlace): Promise<FilingStore> =>
  openAt(place, openSqliteFiling, async (url) =>
    (await postgres()).openPostgresFiling(url, place.isAlone),
  )

/** For the program that exports. The serving program opens the store first. */
export const openReading = (place: StorePlace): Promise<ReadStore> =>
  openAt(place, openSqliteReading, async (url) => (await postgres()).openPostgresReading(url))

/** Opens what is in the folder or in the database, with the bodies of archived entries. */
export async function openAt<S extends Parameters<typeof withArchive>[0]>(
  place: StorePlace,
  inFolder: (data: string) => S,
  inDatabase: (url: string) => Promise<S>,
): Promise<S> {
  const { data, databaseUrl } = place
  const store = databaseUrl === undefined ? inFolder(data) : await inDatabase(databaseUrl)
  return archived(store, place)
}

/** The store with the bodies of archived entries. */
export function archived<S extends Parameters<typeof withArchive>[0]>(
  store: S,
  place: StorePlace,
): S {
  return withArchive(store, archiveOf(place), systemClock)
}

/** Signed heads, and the name of the list that they are from. */
export interface ListedHeads {
  readonly by: string
  readonly heads: ReadonlyMap<string, SignedHead>
}

/** The signed heads from the heads file, and from the database if there is one. */
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
 * Writes the heads of this server's file to the database, so that all servers notice if the
 * database was reset to an older state.
 */
export async function tellSignedHeads(path: string, { databaseUrl }: StorePlace): Promise<void> {
  if (databaseUrl === undefined) return
  const { tellPostgresHeads } = await import("./postgres/heads.ts")
  await tellPostgresHeads(databaseUrl, await readHeads(path))
}

/** The heads that were signed by this server and by all that share its database. */
export async function openSignedHeads(
  path: string,
  { databaseUrl, isAlone }: StorePlace,
): Promise<Heads> {
  const file = await openHeads(path)
  return databaseUrl === undefined
    ? file
    : (await postgres()).openPostgresHeads(databaseUrl, file, isAlone)
}
