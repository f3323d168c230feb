// Tells a follower program, which runs in its own thread, which workspaces have grown.

import { pause, systemClock } from "../clock.ts"
import type { Store } from "../store/store.ts"
import type { Questions, Thread } from "../runtime/worker-thread.ts"

export type FollowQuestions = Questions & { poke(workspaces: readonly string[]): void }

/**
 * `everyMs` is the shortest time between two messages. One message names all workspaces that grew
 * meanwhile.
 */
export function followBeside<Q extends FollowQuestions>(
  thread: Thread<Q>,
  { grown }: Pick<Store, "grown">,
  everyMs: number,
  onDeath: (cause: Error) => void,
): Thread<Q> {
  const stop = new AbortController()
  const tell = async (): Promise<void> => {
    for await (const workspaces of grown(stop.signal)) {
      // TypeScript does not see that `poke` takes this in every `Q`.
      await thread.ask("poke", ...([workspaces] as Parameters<Q["poke"]>))
      await pause(systemClock, everyMs, stop.signal)
    }
  }
  const told = tell().catch(onDeath)
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
