// Content that is sent to a client. It occupies a place in a queue until the client has received
// all of it, or has left.

import type { Readable } from "node:stream"
import type { FairQueue } from "../runtime/fair-queue.ts"

/**
 * Makes the content when there is a place. The place is free again when the content is closed: at
 * its end, on an error or a disconnect.
 */
export async function sent<Made extends { readonly content: Readable }>(
  sending: FairQueue,
  workspace: string,
  signal: AbortSignal | undefined,
  make: () => Promise<Made>,
): Promise<Made> {
  const end = await sending.begin(workspace, signal)
  try {
    const made = await make()
    const { content } = made
    // Before the waiting work is aborted: a client that leaves is no failure.
    const leave = (): void => void content.destroy()
    signal?.addEventListener("abort", leave)
    content.once("close", () => {
      signal?.removeEventListener("abort", leave)
      end()
    })
    return made
  } catch (error) {
    end()
    throw error
  }
}
