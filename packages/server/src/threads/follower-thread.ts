// Starts a follower program in its own thread, and tells it which workspaces have grown.

import { pause, systemClock } from "../clock.ts"
import type { Store } from "../store/store.ts"
import {
  startThread,
  type Questions,
  type Thread,
  type ThreadListener,
} from "../runtime/worker-thread.ts"

export type FollowQuestions = Questions & { poke(workspaces: readonly string[]): void }

/**
 * `everyMs` is the shortest time between two messages. One message names all workspaces that grew
 * meanwhile.
 */
export async function followBeside<Q extends FollowQuestions, R>(
  module: string,
  options: unknown,
  store: Pick<Store, "grown">,
  everyMs: number,
  listener: ThreadListener<R>,
): Promise<Thread<Q>> {
  const thread = await startThread<Q, R>(module, options, listener)
  const stop = new AbortController()
  const tell = async (): Promise<void> => {
    for await (const workspaces of store.grown(stop.signal)) {
      // TypeScript does not see that `poke` takes this in every `Q`.
      await thread.ask("poke", ...([workspaces] as Parameters<Q["poke"]>))
      await pause(systemClock, everyMs, stop.signal)
    }
  }
  const told = tell().catch(listener.onDeath)
  return {
    ask: (...asked) => thread.ask(...asked),
    async close() {
      // The last writes are still announced.
      stop.abort()
      await told
      await thread.close()
    },
  }
}
