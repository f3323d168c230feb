import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { LedgerError } from "../error.ts"
import type { ClientAddress } from "./client-address.ts"
import { noteWorkspace } from "./request-turns.ts"
import { parseQuery, type RawQuery } from "./shapes/query.ts"

/** A request before its body is read. Only its framing is checked. */
export class Incoming {
  readonly raw: IncomingMessage
  readonly headers: IncomingHttpHeaders
  readonly params: Readonly<Record<string, string>>
  readonly requestId: string
  readonly receivedAtMs: number
  readonly #response: ServerResponse
  readonly #addressOf: ClientAddress
  #query: RawQuery | undefined

  constructor(
    response: ServerResponse,
    params: Incoming["params"],
    requestId: string,
    receivedAtMs: number,
    addressOf: ClientAddress,
  ) {
    this.raw = response.req
    this.headers = response.req.headers
    this.params = params
    this.requestId = requestId
    this.receivedAtMs = receivedAtMs
    this.#response = response
    this.#addressOf = addressOf
  }

  /** Throws if a parameter is given twice. */
  get query(): RawQuery {
    return (this.#query ??= parseQuery(this.raw.url ?? ""))
  }

  get method(): string {
    return this.raw.method ?? ""
  }

  /** The client's address, from a trusted proxy if there is one. */
  get address(): string {
    return this.#addressOf(this.raw)
  }

  /** The connection's next requests wait in the queue of this workspace. */
  recognised(workspace: string): void {
    noteWorkspace(this.raw.socket, workspace)
  }

  /** Aborted when the client closes the connection. */
  get signal(): AbortSignal {
    return signalOf(this.raw.socket)
  }

  /** Sends 100 Continue to a client that waits for it before it sends its body. */
  askForBody(): void {
    // HTTP/1.0 has no interim answers.
    if (this.headers.expect !== undefined && this.raw.httpVersion === "1.1")
      this.#response.writeContinue()
  }
}

/** Kept on the socket itself: a weak map costs the garbage collector more. */
const departure = Symbol("departure")

interface Watched {
  [departure]?: AbortSignal
}

/** Aborted when the connection is closed. Made when first asked for, once for each connection. */
function signalOf(socket: Socket & Watched): AbortSignal {
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
