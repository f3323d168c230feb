// Polls the state of a workspace's chain while somebody looks at it.

import type { ChainState } from "@tallystick/client/wire"
import type { Refusal } from "../../ask.ts"
import type { Desk } from "../desk.ts"

export interface ChainWatch {
  /** The last answer of the service; undefined before the first. */
  readonly state: () => ChainState | undefined
  /** Why the last request failed. */
  readonly refusal: () => Refusal | undefined
  /** Calls `changed` after each answer, until the returned function is called. */
  readonly watch: (changed: () => void) => () => void
  readonly look: () => Promise<void>
  readonly close: () => void
}

const everyMs = 15_000

export function watchChain(get: Desk["get"]): ChainWatch {
  const over = new AbortController()
  const watchers = new Set<() => void>()
  let state: ChainState | undefined
  let refusal: Refusal | undefined
  async function look(): Promise<void> {
    try {
      const told = await get<ChainState>(["integrity"], {}, over.signal)
      refusal = told.ok ? undefined : told.refusal
      if (told.ok) state = told.value
      for (const changed of watchers) changed()
    } catch {
      // Closed meanwhile.
    }
  }
  const timer = setInterval(() => {
    if (!document.hidden) void look()
  }, everyMs)
  addEventListener("online", () => void look(), over)
  document.addEventListener("visibilitychange", () => !document.hidden && void look(), over)
  return {
    state: () => state,
    refusal: () => refusal,
    watch(changed) {
      watchers.add(changed)
      return () => void watchers.delete(changed)
    },
    look,
    close() {
      clearInterval(timer)
      over.abort()
    },
  }
}
