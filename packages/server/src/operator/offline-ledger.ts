// What a command needs to record an act of its own, while nobody serves.

import { checkStore } from "./check-store.ts"
import { systemClock } from "../clock.ts"
import { httpUrl, type Config } from "../config.ts"
import { StartError } from "../error.ts"
import { removeUnplaced } from "./secret-files.ts"
import type { Keyring } from "../secrets/keyring.ts"
import { createLedger, type Ledger } from "../ledger/ledger.ts"
import type { Limits } from "../limits.ts"
import { openStore } from "../store/open.ts"
import type { Store } from "../store/store.ts"
import { createWorkspaces, type Workspaces } from "../workspace/workspaces.ts"

export interface AloneOptions {
  readonly data: string
  readonly headsPath: string
  readonly limits: Limits
  /** The name that the workspace `instance` is published under, if it is made now. */
  readonly host: string
}

export function aloneOptionsOf({ data, heads, limits, publicUrl, host, port }: Config): AloneOptions {
  return { data, headsPath: heads, limits, host: new URL(publicUrl ?? httpUrl(host, port)).hostname }
}

/** The data may be read, and not be written to. */
export class ReadOnlyError extends StartError {}

/** Acts on data that may be written to. Throws a StartError where a service runs on it, or could only read it. */
export async function alone<T>({ data, headsPath, limits }: AloneOptions, act: (store: Store) => Promise<T>): Promise<T> {
  // A thread of the store that ends has not said what became of the last entry: the process must not go on as if it knew.
  const onDeath = (cause: Error): void => {
    throw cause
  }
  const store = await openStore({ data, limits }, onDeath)
  try {
    removeUnplaced(data)
    const { readOnly } = await checkStore(store, headsPath, limits)
    if (readOnly !== undefined) throw new ReadOnlyError(readOnly)
    return await act(store)
  } finally {
    await store.close()
  }
}

export interface Administration {
  readonly ledger: Ledger
  readonly workspaces: Workspaces
}

/** What is made with it is sealed under the keyring's newest secret. */
export function administrationOf({ limits, host }: AloneOptions, { journal, registry }: Store, keyring: Keyring): Administration {
  const report = { commit: () => {}, advanced: () => {} }
  const ledger = createLedger({ journal, clock: systemClock, limits, keyring, report })
  return { ledger, workspaces: createWorkspaces({ registry, ledger, clock: systemClock, keyring, host }) }
}
