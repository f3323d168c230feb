// The second program: follows the journal beside the one that serves, in a thread of its own where the store has files to share, in
// the same thread where it has not.

import { systemClock, type Clock } from "./clock.ts"
import { createAuditor, type AuditListener } from "./followers/auditor.ts"
import { createCheckpointer } from "./followers/checkpointer.ts"
import { createIndexer } from "./followers/indexer.ts"
import { createSigners } from "./followers/signer.ts"
import { startWatching, type Sighting, type Watching } from "./followers/watching.ts"
import type { Keyring } from "./keyring.ts"
import type { Limits } from "./limits.ts"
import { createIsGenuine } from "./query/checkpoints.ts"
import type { Log } from "./store/epochs.ts"
import { openHeads, type Heads } from "./store/heads.ts"
import { keysOf } from "./store/log-keys.ts"
import { openWatched } from "./store/open.ts"
import type { Checkpoint, WatchedStore } from "./store/store.ts"
import { readRoot } from "./store/tree-reads.ts"
import { answer, givenToThread, startThread } from "./thread.ts"

export interface WatchOptions {
  readonly data: string
  readonly headsPath: string
  readonly keyring: Keyring
  readonly limits: Limits
}

type WatchQuestions = {
  poke(workspaces: readonly string[]): void
  suspect(at: readonly [workspace: string, sequence: number]): void
  seal(workspace: string): Promise<Checkpoint | undefined>
}

/** Follows in this thread. */
export function watchHere(
  store: WatchedStore,
  heads: Heads,
  keyring: Keyring,
  clock: Clock,
  limits: Limits,
  report: (sighting: Sighting) => void,
): Watching {
  const { journal, index, registry } = store
  const rootAt = (log: Log, size: number) => readRoot({ journal, index }, log, size)
  const signersOf = createSigners({ registry, journal, keyring, clock })
  const isGenuine = createIsGenuine(registry, keysOf(keyring))
  const checkpointer = createCheckpointer({ journal, index, registry, heads, signersOf, isGenuine, rootAt, clock })
  const audit = (listener: AuditListener) => createAuditor({ journal, index, registry, heads, isGenuine, clock, limits }, listener)
  return startWatching({ journal, followers: [createIndexer(index)], checkpointer, audit, clock, limits, report })
}

/** Follows in a thread of its own. `onDeath` hears of an end that nobody asked for. */
export async function watchBeside(
  options: WatchOptions,
  report: (sighting: Sighting) => void,
  onDeath: (cause: Error) => void,
): Promise<Watching> {
  const thread = await startThread<WatchQuestions, Sighting>(import.meta.filename, options, { onDeath, onReport: report })
  const fresh = new Set<string>()
  let telling = false
  // What comes within a moment goes with the next message: waking the thread at every commit would cost a busy writer more than the
  // commit's own hashing, and what the thread does for each round more than what it does for each entry.
  const tell = async (): Promise<void> => {
    telling = true
    while (fresh.size > 0) {
      const workspaces = [...fresh]
      fresh.clear()
      await thread.ask("poke", workspaces)
      await systemClock.sleep(options.limits.pokeEveryMs)
    }
    telling = false
  }
  return {
    poke(workspaces) {
      for (const workspace of workspaces) fresh.add(workspace)
      // A thread that has ended says so by itself.
      if (!telling) tell().catch(() => undefined)
    },
    // A thread that has ended says so by itself.
    suspect: (workspace, sequence) => void thread.ask("suspect", [workspace, sequence]).catch(() => undefined),
    seal: (workspace) => thread.ask("seal", workspace),
    async close() {
      // What was written in the last moment has not been told yet.
      if (fresh.size > 0) await thread.ask("poke", [...fresh])
      await thread.close()
    },
  }
}

const options = givenToThread<WatchOptions>(import.meta.filename)
if (options !== undefined) {
  const { data, headsPath, keyring, limits } = options
  const store = openWatched(data)
  const heads = openHeads(headsPath)
  const watching = watchHere(store, heads, keyring, systemClock, limits, (sighting) => report(sighting))
  const report = answer<WatchQuestions, Sighting>(
    {
      poke: (workspaces) => watching.poke(workspaces),
      suspect: ([workspace, sequence]) => watching.suspect(workspace, sequence),
      seal: (workspace) => watching.seal(workspace),
    },
    async () => {
      await watching.close()
      await store.close()
      heads.close()
    },
  )
}
