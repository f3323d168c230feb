// Runs the watching program, which follows the journal, in a thread of its own.

import { systemClock as clock } from "../clock.ts"
import { followBeside } from "./follower-thread.ts"
import { createAuditor, type AuditListener } from "../followers/auditor.ts"
import { createCheckpointer } from "../followers/checkpointer.ts"
import { createSigners } from "../followers/signer.ts"
import { startWatching, type Sighting, type Watching } from "../followers/watching.ts"
import type { Keyring } from "../secrets/keyring.ts"
import type { Limits } from "../limits.ts"
import { createIsGenuine } from "../query/verified-checkpoints.ts"
import type { Log } from "../store/epochs.ts"
import type { Heads } from "../store/heads.ts"
import { isSealedBy } from "../store/log-keys.ts"
import { openSignedHeads, openWatched, type StorePlace } from "../store/open.ts"
import type { CredentialUse } from "../store/index-state.ts"
import type { Store, WatchedStore } from "../store/store.ts"
import { readRoot } from "../store/tree-reads.ts"
import { lowerPriority } from "../runtime/thread-priority.ts"
import { answer, asking, givenToThread, startThread } from "../runtime/worker-thread.ts"

export interface WatchOptions {
  readonly place: StorePlace
  readonly headsPath: string
  readonly keyring: Keyring
  readonly limits: Limits
}

export interface WatchingBeside extends Omit<Watching, "poke"> {
  /**
   * Stores last uses of credentials here, because this thread has the only connection that writes
   * the index.
   */
  putUses(uses: readonly CredentialUse[]): Promise<void>
}

/** What is signed may be a moment late. Writes wait for the threads that it would keep waiting. */
const niceness = 5

type WatchQuestions = Omit<Watching, "close"> & Pick<WatchingBeside, "putUses">

function watchHere(
  store: WatchedStore,
  heads: Heads,
  keyring: Keyring,
  limits: Limits,
  report: (sighting: Sighting) => void,
): Watching {
  const { journal, leases, index, registry } = store
  const rootAt = (log: Log, size: number) => readRoot({ journal, index }, log, size)
  const signersOf = createSigners({ registry, journal, keyring, clock })
  const isGenuine = createIsGenuine(registry, isSealedBy(keyring))
  const checkpointer = createCheckpointer({
    journal,
    index,
    registry,
    heads,
    signersOf,
    isGenuine,
    rootAt,
    clock,
  })
  const audit = (listener: AuditListener) =>
    createAuditor({ journal, leases, index, registry, heads, isGenuine, clock, limits }, listener)
  return startWatching({
    journal,
    leases,
    checkpointer,
    audit,
    clock,
    limits,
    report,
  })
}

/** Runs the program in a thread of its own. Calls `onDeath` when that thread ends unexpectedly. */
export async function watchBeside(
  options: WatchOptions,
  store: Pick<Store, "grown">,
  onReport: (sighting: Sighting) => void,
  onDeath: (cause: Error) => void,
): Promise<WatchingBeside> {
  const listener = { onReport, onDeath }
  const { pokeEveryMs, pokeDatabaseEveryMs } = options.limits
  const thread = followBeside(
    await startThread<WatchQuestions, Sighting>(import.meta.filename, options, listener),
    store,
    options.place.databaseUrl === undefined ? pokeEveryMs : pokeDatabaseEveryMs,
    onDeath,
  )
  return {
    // A thread that has ended reports that by `onDeath`.
    suspect: (workspace, sequence) =>
      void thread.ask("suspect", workspace, sequence).catch(() => undefined),
    ...asking(thread, "seal", "putUses"),
    close: () => thread.close(),
  }
}

const options = givenToThread<WatchOptions>(import.meta.filename)
if (options !== undefined) {
  const { place, headsPath, keyring, limits } = options
  const store = await openWatched(place)
  const heads = await openSignedHeads(headsPath, place)
  // The service's start waits for what is above.
  lowerPriority(niceness)
  const watching = watchHere(store, heads, keyring, limits, (sighting) => report(sighting))
  const report = answer<WatchQuestions, Sighting>(
    {
      ...watching,
      putUses: (uses) => store.index.putUses(uses),
    },
    async () => {
      await watching.close()
      await store.close()
      heads.close()
    },
  )
}
