// Reports which workspaces have grown, for an engine with one writing process. Each listener reads
// at its own pace: workspaces that grow meanwhile are reported together.

import { every } from "./all-documents.ts"
import type { Leases, Registry, Store } from "./store.ts"

export interface Growth extends Pick<Store, "grown"> {
  report(workspace: string): void
}

/** `registry` gives each listener its list of the workspaces, until the listener's end. */
export function createGrowth(registry: (end: AbortSignal) => Pick<Registry, "list">): Growth {
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
        yield await Array.fromAsync(every(registry(end), "workspace", undefined), ({ id }) => id)
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

/** For an engine whose data belongs to one process. */
export const ownLeases: Leases = {
  hold: async () => true,
  take: async () => {},
  onTaken() {},
}
