// Opens the data of a configuration for the operator's tools: like open.ts, it chooses the driver.

import type { DerivedStore, Snapshot, StoppedStore } from "./offline.ts"
import { archived, openAt, type StorePlace } from "./open.ts"
import { isLocked } from "./sqlite/lock.ts"
import { openSqliteAnew, openSqliteSnapshot, openSqliteStopped } from "./sqlite/offline.ts"
import { openSqliteWhole } from "./sqlite/whole-ledger.ts"
import type { Whole } from "./whole-ledger.ts"

/** Loaded on demand, as in open.ts. */
const postgres = () => import("./postgres/offline.ts")

/** Removes all derived data, for a program that rebuilds it. No service may run. */
export async function openAnew(place: StorePlace): Promise<DerivedStore> {
  const { data, databaseUrl } = place
  const opened =
    databaseUrl === undefined
      ? openSqliteAnew(data)
      : await (await postgres()).openPostgresAnew(databaseUrl)
  return {
    watched: archived(opened.watched, place),
    filing: archived(opened.filing, place),
    close: () => opened.close(),
  }
}

/** For a program that reads a snapshot of this moment. The service may run. */
export const openSnapshot = (place: StorePlace): Promise<Snapshot> =>
  openAt<Snapshot>(place, openSqliteSnapshot, async (url) =>
    (await postgres()).openPostgresSnapshot(url),
  )

/** No service may run. */
export const openStopped = (place: StorePlace): Promise<StoppedStore> =>
  openAt(place, openSqliteStopped, async (url) => (await postgres()).openPostgresStopped(url))

/** With `alone`, no service may run meanwhile. Otherwise it reads a snapshot of this moment. */
export const openWhole = (
  place: StorePlace,
  options: { readonly alone: boolean },
): Promise<Whole> =>
  openAt(
    place,
    (data) => openSqliteWhole(data, options),
    async (url) => (await import("./postgres/whole-ledger.ts")).openPostgresWhole(url, options),
  )

export interface CheckedServer {
  readonly version: string
  /** True for a standby. */
  readonly isReadOnly: boolean
  readonly hasLedger: boolean
}

/** Throws unless the database can hold a ledger. */
export async function checkServer({ databaseUrl = "" }: StorePlace): Promise<CheckedServer> {
  const { checkPostgres } = await import("./postgres/migrate.ts")
  return await checkPostgres(databaseUrl)
}

/**
 * Runs `act` and makes the tables of a ledger, unless the database has one: then it is false. Of
 * several programs that begin at once, one begins the ledger, and the others find it.
 */
export async function beginInDatabase(
  { databaseUrl = "" }: StorePlace,
  act: () => void,
): Promise<boolean> {
  const { beginPostgresLedger } = await import("./postgres/alone.ts")
  return await beginPostgresLedger(databaseUrl, act)
}

export async function isInUse({ data, databaseUrl }: StorePlace): Promise<boolean> {
  if (databaseUrl === undefined) return isLocked(data)
  const { isPostgresInUse } = await import("./postgres/alone.ts")
  return await isPostgresInUse(databaseUrl)
}

/**
 * Throws if a service or another command uses the database. Until the result is closed, no other
 * one does. For a folder, opening the store takes a lock instead.
 */
export async function requireStopped({
  databaseUrl,
}: StorePlace): Promise<{ close(): Promise<void> }> {
  if (databaseUrl === undefined) return { close: async () => {} }
  const { requireAlone } = await import("./postgres/alone.ts")
  return await requireAlone(databaseUrl)
}
