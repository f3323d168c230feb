// How soon a search finds an event whose receipt was sent, while others write as fast as they can.

import { setTimeout as sleep } from "node:timers/promises"
import type { Load } from "./load.ts"
import { metric } from "./programs.ts"

export interface SearchLag {
  /** From the receipt of an event to the search that finds it. */
  readonly foundMs: number[]
  /** The number of entries outside segments, each time that a search found its event. */
  readonly unfiled: number[]
}

/** The pause between two events, which are few compared to the load. */
const everyMs = 200

/** Adds to `lag` until the load has ended. `write` writes one event and returns its target's id. */
export async function measureSearchLag(
  url: string,
  { workspace, key }: Load["writers"][number],
  write: () => Promise<string>,
  lag: SearchLag,
  load: Promise<unknown>,
): Promise<void> {
  const ended = load.then(() => true)
  while (!(await Promise.race([ended, sleep(everyMs, false)]))) {
    const target = await write()
    const query = encodeURIComponent(`target:${target}`)
    const received = performance.now()
    for (let isFound = false; !isFound;) {
      const answer = await fetch(`${url}/v1/workspaces/${workspace}/events?query=${query}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      // A page, or a refusal because too many entries wait to be filed.
      const { total = 0 } = (await answer.json()) as { total?: number }
      isFound = answer.ok && total === 1
    }
    lag.foundMs.push(performance.now() - received)
    lag.unfiled.push(await metric(url, 'tallystick_follower_lag_entries{follower="filing"}'))
  }
}
