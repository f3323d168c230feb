// Tells which workspaces have grown, where one process does all the writing. Who listens is told at
// its own pace: what grows meanwhile is told together.

import { every } from "./all-documents.ts"
import type { Leases, Registry, Store } from "./store.ts"

export interface Growth extends Pick<Store, "grown"> {
  report(workspace: string): void
}

export function createGrowth(registry: Pick<Registry, "list">): Growth {
  const listeners = new Set<(workspace: string) => void>()
  return {
    report(workspace) {
      for (const tell of listeners) tell(workspace)
    },
    async *grown(end) {
      let fresh = new Set<string>()
      let wake = () => {}
      const tell = (workspace: string): void => {
        fresh.add(workspace)
        wake()
      }
      listeners.add(tell)
      end.addEventListener("abort", () => wake())
      try {
        yield await Array.fromAsync(every(registry, "workspace", undefined), ({ id }) => id)
        while (fresh.size > 0 || !end.aborted) {
          if (fresh.size === 0) await new Promise<void>((resolve) => (wake = resolve))
          const grown = [...fresh]
          fresh = new Set()
          if (grown.length > 0) yield grown
        }
      } finally {
        listeners.delete(tell)
      }
    },
  }
}

/** Of the one process that has the data to itself. */
export const ownLeases: Leases = { hold: async () => true, take: async () => {} }
