// A signal that a client has disconnected, so that work for it can stop.

import type { Socket } from "node:net"
import { LedgerError } from "../error.ts"

/** Kept on the socket itself: a weak map costs the garbage collector more. */
const departure = Symbol("departure")

interface Watched {
  [departure]?: AbortSignal
}

/** Aborted when the connection is closed. Made when first asked for, once for each connection. */
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
