// How a command writes to the ledger while no service runs.

import { systemClock } from "../clock.ts"
import { httpUrl, type Config } from "../config.ts"
import { StartError } from "../error.ts"
import { createLedger, type Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import { closing } from "../runtime/closing.ts"
import type { Keyring } from "../secrets/keyring.ts"
import { requireStopped } from "../store/open-offline.ts"
import { openStore, type StoreConfig, type StorePlace } from "../store/open.ts"
import type { Store } from "../store/store.ts"
import type { AccountParts } from "../workspace/accounts.ts"
import { createWorkspaces } from "../workspace/workspaces.ts"
import { checkStore } from "./check-store.ts"
import { removeUnplaced } from "./secret-files.ts"

export interface OfflineOptions extends StorePlace {
  readonly heads: string
  readonly limits: Limits
  /** Host in the name of the workspace `instance`, if the command makes it. */
  readonly host: string
}

export function offlineOptionsOf(config: Config): OfflineOptions {
  const { data, databaseUrl, archive, heads, limits, publicUrl, port } = config
  const { hostname: host } = new URL(publicUrl ?? httpUrl(config.host, port))
  return { data, databaseUrl, archive, heads, limits, host }
}

export class ReadOnlyError extends StartError {}

/**
 * Runs `act` on data that may be written to. Throws a StartError if a service uses the data, and a
 * ReadOnlyError if it is read-only.
 */
export async function withOfflineStore<T>(
  options: OfflineOptions,
  act: (store: Store) => Promise<T>,
): Promise<T> {
  await using store = closing(await openOffline(options))
  removeUnplaced(options.data)
  const { readOnly } = await checkStore(store, options.heads, options, options.limits)
  if (readOnly !== undefined) throw new ReadOnlyError(readOnly)
  return await act(store)
}

export async function openOffline(config: StoreConfig): Promise<Store> {
  // When a thread of the store ends, the outcome of the last write is unknown: the process must end
  // too.
  const onDeath = (cause: Error): void => {
    throw cause
  }
  const alone = await requireStopped(config)
  try {
    const store = await openStore({ ...config, isAlone: true }, onDeath)
    return {
      ...store,
      async close() {
        await store.close()
        await alone.close()
      },
    }
  } catch (error) {
    await alone.close()
    throw error
  }
}

/** A ledger that seals what it makes under the keyring's newest secret. */
export function offlineLedger(
  limits: Limits,
  { journal, registry }: Store,
  keyring: Keyring,
): Ledger {
  return createLedger({
    journal,
    registry,
    clock: systemClock,
    limits,
    keyring,
    report: { commit: () => {}, advanced: () => {} },
  })
}

export function administrationOf(
  { limits, host }: OfflineOptions,
  store: Store,
  keyring: Keyring,
): AccountParts {
  const ledger = offlineLedger(limits, store, keyring)
  const parts = { registry: store.registry, ledger, clock: systemClock, keyring, limits }
  return { ...parts, workspaces: createWorkspaces({ ...parts, host }) }
}
