// Recomputes entries in a worker, so the page shows whether each is what was recorded.

import type { ListedEntry } from "@tallystick/client/wire"
import { trustedVkeys } from "../../trusted-keys.ts"

export interface Task {
  readonly id: number
  readonly entries: readonly ListedEntry[]
  readonly trustedKeys: readonly string[]
}

export interface Recomputed {
  /** `pending`: recomputed, and no checkpoint covers it yet. `unproven`: not recomputed. */
  readonly state: "sealed" | "pending" | "unproven" | "broken"
  readonly hash?: string
  readonly previousHash?: string
  /** The tree size of the checkpoint that covers it. */
  readonly checkpointSize?: number
  /** The member or the check that failed. */
  readonly failure?: string
  readonly expected?: string | undefined
  readonly found?: string | undefined
}

export interface Recomputer {
  recompute(entries: readonly ListedEntry[]): Promise<readonly Recomputed[]>
  close(): void
}

type Answer = { readonly id: number; readonly found: readonly Recomputed[] }

/** `failed`: its worker cannot run. */
export function startRecomputer(failed: () => void): Recomputer {
  const worker = new Worker(new URL("./recompute-worker.ts", import.meta.url), { type: "module" })
  const waiting = new Map<number, (found: readonly Recomputed[] | undefined) => void>()
  let asked = 0
  let hasFailed = false
  worker.onmessage = ({ data: { id, found } }: MessageEvent<Answer>) => {
    waiting.get(id)?.(found)
    waiting.delete(id)
  }
  // Without the worker, no entry counts as recomputed.
  worker.onerror = () => {
    hasFailed = true
    failed()
    for (const answer of waiting.values()) answer(undefined)
    waiting.clear()
  }
  return {
    async recompute(entries) {
      const id = ++asked
      const found = await new Promise<readonly Recomputed[] | undefined>((resolve) => {
        // It would never answer.
        if (hasFailed) return resolve(undefined)
        waiting.set(id, resolve)
        worker.postMessage({ id, entries, trustedKeys: trustedVkeys() } satisfies Task)
      })
      return found ?? entries.map(() => ({ state: "unproven" }) as const)
    },
    close: () => worker.terminate(),
  }
}
