// Opens the data of a configuration for the operator's tools: like open.ts, it chooses the driver.

import type { DerivedStore, Snapshot, StoppedStore } from "./offline.ts"
import type { StorePlace } from "./open.ts"
import { isLocked } from "./sqlite/lock.ts"
import { openSqliteAnew, openSqliteSnapshot, openSqliteStopped } from "./sqlite/offline.ts"
import { openSqliteWhole } from "./sqlite/whole-ledger.ts"
import type { Whole } from "./whole-ledger.ts"

/** As in open.ts, loaded by those who use it. */
const postgres = () => import("./postgres/offline.ts")

/** Removes all derived data, for a program that makes it again. No service may run. */
export async function openAnew({ data, databaseUrl }: StorePlace): Promise<DerivedStore> {
  return databaseUrl === undefined
    ? openSqliteAnew(data)
    : (await postgres()).openPostgresAnew(databaseUrl)
}

/** For a program that reads the state of this moment. The service may run. */
export async function openSnapshot({ data, databaseUrl }: StorePlace): Promise<Snapshot> {
  return databaseUrl === undefined
    ? openSqliteSnapshot(data)
    : (await postgres()).openPostgresSnapshot(databaseUrl)
}

/** No service may run. */
export async function openStopped({ data, databaseUrl }: StorePlace): Promise<StoppedStore> {
  return databaseUrl === undefined
    ? openSqliteStopped(data)
    : (await postgres()).openPostgresStopped(databaseUrl)
}

/** `alone`: no service may run meanwhile. Otherwise it reads the state of this moment. */
export async function openWhole(
  { data, databaseUrl }: StorePlace,
  options: { readonly alone: boolean },
): Promise<Whole> {
  if (databaseUrl === undefined) return openSqliteWhole(data, options)
  const { openPostgresWhole } = await import("./postgres/whole-ledger.ts")
  return await openPostgresWhole(databaseUrl, options)
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
