// Clients that leave before they have their answer: what is still to be done for them can be left
// undone.

import type { Socket } from "node:net"
import { LedgerError } from "../error.ts"

/** On the socket itself: a weak map with an entry for each costs the garbage collector more. */
const departure = Symbol("departure")

interface Watched {
  [departure]?: AbortSignal
}

/**
 * Aborted when the connection is closed. One signal for all requests of a connection, and none for
 * those that do not ask.
 */
export function signalOf(socket: Socket & Watched): AbortSignal {
  const known = socket[departure]
  if (known !== undefined) return known
  const leaving = new AbortController()
  const leave = (): void =>
    leaving.abort(
      new LedgerError("bad_request", "the client closed the connection before it was answered"),
    )
  if (socket.destroyed) leave()
  else socket.once("close", leave)
  socket[departure] = leaving.signal
  return leaving.signal
}
