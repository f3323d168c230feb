// A limited number of requests begins in each turn of the event loop. The others wait in queues:
// one for each workspace, and one for each network of unknown clients. Otherwise a thousand
// connections of one client, even if all their requests are refused, would delay every other
// client.

import type { Socket } from "node:net"
import type { Clock } from "../clock.ts"
import { RoundRobinQueue } from "../runtime/round-robin-queue.ts"

export interface RequestTurns {
  /** Undefined if a request may begin now. `sender` names the queue. */
  wait(sender: () => string): Promise<void> | undefined
}

/** No more requests begin in a turn that lasts for so long. */
const turnMs = 5

/** `later` calls a function in the next turn of the loop. */
export function createRequestTurns(
  { elapsed }: Pick<Clock, "elapsed">,
  perTurn: number,
  later: (act: () => void) => void = setImmediate,
): RequestTurns {
  const queue = new RoundRobinQueue()
  // To ask for the end of each turn would cost a single request as much as it costs itself.
  const askedFrom = Math.min(2, perTurn)
  let begun = 0
  let beganMs = 0

  const begin = (): void => {
    if (++begun === askedFrom) later(endTurn)
  }
  const endTurn = (): void => {
    begun = 0
    beganMs = elapsed()
    while (begun < perTurn && !queue.isEmpty) {
      begin()
      queue.resume()
    }
  }

  return {
    wait(sender) {
      const nowMs = elapsed()
      const isLong = nowMs - beganMs >= turnMs
      if (begun >= askedFrom && (isLong || begun >= perTurn)) return queue.wait(sender())
      if (isLong) {
        begun = 0
        beganMs = nowMs
      }
      begin()
      return undefined
    },
  }
}

/** Kept on the socket itself: a weak map costs the garbage collector more. */
const workspaceOf = Symbol("workspace")

interface Recognised {
  [workspaceOf]?: string
}

/** Notes the workspace of the last caller that was recognised on a connection. */
export function noteWorkspace(socket: Socket & Recognised, workspace: string): void {
  socket[workspaceOf] = workspace
}

export function notedWorkspace(socket: Socket & Recognised): string | undefined {
  return socket[workspaceOf]
}
