// Opens the data of a configuration for the operator's tools: like open.ts, it chooses the driver.

import type { DerivedStore, Snapshot, StoppedStore } from "./offline.ts"
import type { StorePlace } from "./open.ts"
import { openSqliteAnew, openSqliteSnapshot, openSqliteStopped } from "./sqlite/offline.ts"
import { openSqliteWhole } from "./sqlite/whole-ledger.ts"
import type { Whole } from "./whole-ledger.ts"

/** Removes all derived data, for a program that makes it again. No service may run. */
export async function openAnew({ data }: StorePlace): Promise<DerivedStore> {
  return openSqliteAnew(data)
}

/** For a program that reads the state of this moment. The service may run. */
export async function openSnapshot({ data }: StorePlace): Promise<Snapshot> {
  return openSqliteSnapshot(data)
}

/** No service may run. */
export async function openStopped({ data }: StorePlace): Promise<StoppedStore> {
  return openSqliteStopped(data)
}

/** `alone`: no service may run meanwhile. Otherwise it reads the state of this moment. */
export async function openWhole(
  { data }: StorePlace,
  options: { readonly alone: boolean },
): Promise<Whole> {
  return openSqliteWhole(data, options)
}
