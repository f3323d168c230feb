// Content that is sent to a client. It occupies a place in a queue until the client has received
// all of it, or has left. A client that reads nothing loses its place to a workspace that waits.

import type { Readable } from "node:stream"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { createFairQueue, type FairQueueOptions } from "../runtime/fair-queue.ts"

export interface SendingOptions extends FairQueueOptions {
  /** How long a client may read nothing while another workspace waits for its place. */
  readonly stillMs: number
}

/**
 * Makes the content when there is a place. The place is free again when the content is closed: at
 * its end, on an error or a disconnect.
 */
export type Send = <Made extends { readonly content: Readable }>(
  workspace: string,
  signal: AbortSignal | undefined,
  make: () => Promise<Made>,
) => Promise<Made>

const lookEveryMs = 1000

export function createSending(clock: Clock, { stillMs, ...options }: SendingOptions): Send {
  const places = createFairQueue(clock, options)
  /** Contents that wait for their clients, and since when: the longest first. */
  const still = new Map<Readable, number>()
  let isLooking = false

  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    while (places.isShort()) {
      const [[content, sinceMs] = []] = still
      if (content !== undefined && sinceMs !== undefined && clock.elapsed() - sinceMs >= stillMs) {
        still.delete(content)
        content.destroy(new LedgerError("request_timeout", "the client read nothing for too long"))
      }
      await clock.sleep(Math.min(lookEveryMs, stillMs))
    }
    isLooking = false
  }

  return async (workspace, signal, make) => {
    const begun = places.begin(workspace, signal)
    void look()
    const end = await begun
    try {
      const made = await make()
      const { content } = made
      content.on("pause", () => still.set(content, clock.elapsed()))
      content.on("resume", () => still.delete(content))
      // Before the waiting work is aborted: a client that leaves is no failure.
      const leave = (): void => void content.destroy()
      signal?.addEventListener("abort", leave)
      content.once("close", () => {
        signal?.removeEventListener("abort", leave)
        still.delete(content)
        end()
      })
      return made
    } catch (error) {
      end()
      throw error
    }
  }
}
