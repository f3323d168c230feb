// Opens the data of a configuration for the operator's tools: like open.ts, it chooses the driver.

import { systemClock } from "../clock.ts"
import { withArchive } from "./archive/archived-bodies.ts"
import type { DerivedStore, Snapshot, StoppedStore } from "./offline.ts"
import { archiveOf, type StorePlace } from "./open.ts"
import { isLocked } from "./sqlite/lock.ts"
import { openSqliteAnew, openSqliteSnapshot, openSqliteStopped } from "./sqlite/offline.ts"
import { openSqliteWhole } from "./sqlite/whole-ledger.ts"
import type { Whole } from "./whole-ledger.ts"

/** As in open.ts, loaded by those who use it. */
const postgres = () => import("./postgres/offline.ts")

/** Removes all derived data, for a program that makes it again. No service may run. */
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

/** For a program that reads the state of this moment. The service may run. */
export async function openSnapshot(place: StorePlace): Promise<Snapshot> {
  const { data, databaseUrl } = place
  const snapshot =
    databaseUrl === undefined
      ? openSqliteSnapshot(data)
      : await (await postgres()).openPostgresSnapshot(databaseUrl)
  return archived(snapshot, place)
}

/** No service may run. */
export async function openStopped(place: StorePlace): Promise<StoppedStore> {
  const { data, databaseUrl } = place
  const store =
    databaseUrl === undefined
      ? openSqliteStopped(data)
      : await (await postgres()).openPostgresStopped(databaseUrl)
  return archived(store, place)
}

/** `alone`: no service may run meanwhile. Otherwise it reads the state of this moment. */
export async function openWhole(
  place: StorePlace,
  options: { readonly alone: boolean },
): Promise<Whole> {
  const { data, databaseUrl } = place
  if (databaseUrl === undefined) return archived(openSqliteWhole(data, options), place)
  const { openPostgresWhole } = await import("./postgres/whole-ledger.ts")
  return archived(await openPostgresWhole(databaseUrl, options), place)
}

function archived<S extends Parameters<typeof withArchive>[0]>(store: S, place: StorePlace): S {
  return withArchive(store, archiveOf(place), systemClock)
}

export interface CheckedServer {
  readonly version: string
  /** As a standby is. */
  readonly isReadOnly: boolean
}

/** Throws unless a ledger could be in the database. */
export async function checkServer({ databaseUrl = "" }: StorePlace): Promise<CheckedServer> {
  const { checkPostgres } = await import("./postgres/migrate.ts")
  return await checkPostgres(databaseUrl)
}

/** Whether a service runs on it. */
export async function isInUse({ data, databaseUrl }: StorePlace): Promise<boolean> {
  if (databaseUrl === undefined) return isLocked(data)
  const { isPostgresInUse } = await import("./postgres/alone.ts")
  return await isPostgresInUse(databaseUrl)
}

/** Throws if a service runs on a database. A folder has a lock, which its store takes. */
export async function requireStopped({ databaseUrl }: StorePlace): Promise<void> {
  if (databaseUrl === undefined) return
  const { requireAlone } = await import("./postgres/alone.ts")
  await requireAlone(databaseUrl)
}
