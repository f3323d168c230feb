import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import type { ClientAddress } from "./client-address.ts"
import { signalOf } from "./client-disconnect.ts"
import { parseQuery, type RawQuery } from "./shapes/query.ts"

/** What is known of a request before its body is read. Nothing in it is checked but its framing. */
export class Incoming {
  readonly raw: IncomingMessage
  readonly headers: IncomingHttpHeaders
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  readonly requestId: string
  readonly receivedAtMs: number
  readonly #response: ServerResponse
  readonly #addressOf: ClientAddress

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
    this.query = parseQuery(response.req.url ?? "")
    this.requestId = requestId
    this.receivedAtMs = receivedAtMs
    this.#response = response
    this.#addressOf = addressOf
  }

  get method(): string {
    return this.raw.method ?? ""
  }

  /** The client's address, or what a trusted proxy says it is. */
  get address(): string {
    return this.#addressOf(this.raw)
  }

  /** Aborted, with a refusal that nobody reads, when the client has closed the connection. */
  get signal(): AbortSignal {
    return signalOf(this.raw.socket)
  }

  /** Tells a client that waits for it to send its body. */
  askForBody(): void {
    if (this.headers.expect !== undefined) this.#response.writeContinue()
  }
}
