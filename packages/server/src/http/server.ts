// The server: from a request's headers to its route, and from the route's answer to the socket.
// Everything is answered in our own words, also what Node would refuse in its own.

import { randomBytes } from "node:crypto"
import type { IncomingMessage, Server } from "node:http"
import { lookup } from "node:dns/promises"
import { createServer as createListener, type AddressInfo, type Server as Listener } from "node:net"
import { Readable } from "node:stream"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { preferred } from "./accept.ts"
import { clientAddress, type ClientAddress } from "./client-address.ts"
import { Connections, type ConnectionLimits } from "./connections.ts"
import type { Answer } from "./endpoint.ts"
import { refusalOf } from "./errors.ts"
import { checkFraming, hostRule, type FramingLimits, type HostRule } from "./framing.ts"
import { pageHeaders } from "./html.ts"
import { Incoming } from "./incoming.ts"
import { createServer, ServerResponse } from "./node-http.ts"
import { refusalPage } from "./refusal-page.ts"
import { Router } from "./router.ts"
import { cutSlowReaders, type ReaderLimits } from "./slow-readers.ts"

export interface ServerLimits extends FramingLimits, ReaderLimits, ConnectionLimits {
  /** For the request line and the headers to arrive. */
  readonly headersTimeoutMs: number
  /** For the whole request to arrive, its headers included. */
  readonly bodyTimeoutMs: number
  /**
   * For a connection to lie idle between requests. Longer than a load balancer's, which must not
   * send into a connection that is being closed.
   */
  readonly keepAliveTimeoutMs: number
  /**
   * For nothing to move on a connection within a request: a client that takes nothing of its
   * answer, say.
   */
  readonly stillTimeoutMs: number
}

export interface Log {
  error(fields: object, message: string): void
}

export interface ServerOptions {
  readonly limits: ServerLimits
  readonly clock: Clock
  readonly log: Log
  readonly listenHost: string
  readonly publicUrl: string
  /** Whose X-Forwarded-For is believed: everybody's, or that of these addresses and networks. */
  readonly trustProxy?: boolean | readonly string[]
  /** Headers of every answer, beside those that every answer has anyway. */
  readonly headers?: Readonly<Record<string, string>>
  /** Hears of each answer that has left; `route` is empty where there was none. */
  readonly report?: (route: string, method: string, status: number, durationMs: number) => void
}

export interface Route {
  readonly method: string
  /** As OpenAPI writes it: `/v1/workspaces/{workspaceId}`; `{name*}` takes the rest of the path. */
  readonly path: string
  /** Of all its answers, also of refusals. */
  readonly headers?: Readonly<Record<string, string>>
  /** The media type of its good answers, if they have a body. */
  readonly answerType?: string
  /** What it throws is answered as a refusal. */
  answer(incoming: Incoming): Answer | Promise<Answer>
}

/**
 * What every answer says unless it says otherwise: answers may depend on a credential, and their
 * address may be a secret.
 */
const everyAnswer = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const

type Headers = Readonly<Record<string, string>>

/** What all answers of a route have in common. */
interface Common {
  /** The route, in the metrics. */
  readonly label: string
  readonly headers: Headers
  readonly headersWithBody: Headers
}

/** An answer on its way. */
class Response extends ServerResponse {
  requestId = ""
  startedMs = 0
  common: Common | undefined
}

export class HttpServer {
  readonly server: Server
  readonly #options: ServerOptions
  readonly #mayAnswer: HostRule
  readonly #addressOf: ClientAddress
  readonly #nextId = requestIds()
  readonly #nowhere: Common
  readonly #router = new Router<Common & { readonly route: Route }>()
  readonly #connections: Connections
  readonly #finished: (this: Response) => void
  /** They accept for `server`, at further addresses. */
  readonly #others: Listener[] = []

  constructor(options: ServerOptions, routes: readonly Route[]) {
    const { limits, clock, report } = options
    this.#options = options
    this.#mayAnswer = hostRule(options.listenHost, options.publicUrl)
    this.#addressOf = clientAddress(options.trustProxy ?? false)
    this.#nowhere = commonOf(undefined, options.headers)
    for (const route of routes)
      this.#router.add(route.method, route.path, { ...commonOf(route, options.headers), route })
    this.#connections = new Connections(limits, clock, () => ({
      ...this.#nowhere.headers,
      "x-request-id": this.#nextId(),
    }))
    this.#finished = function finished() {
      const { startedMs, common, statusCode, req } = this
      report?.(common?.label ?? "", req.method ?? "", statusCode, clock.elapsed() - startedMs)
    }
    this.server = createServer({ ...listenerOptions(limits), ServerResponse: Response })
    const serve = (request: IncomingMessage, response: Response): void =>
      void this.#serve(request, response)
    // Node would refuse unknown expectations without a body; checkFraming does it instead.
    for (const event of ["request", "checkContinue", "checkExpectation"])
      this.server.on(event, serve)
    this.server.setTimeout(limits.stillTimeoutMs)
    this.#connections.attach(this.server)
    cutSlowReaders(this.server, clock, limits)
  }

  /** Resolves with the port. At every address that the host has. */
  async listen(host: string, port: number): Promise<number> {
    const [first = host, ...rest] = await addressesOf(host)
    const bound = await listening(this.server, first, port)
    for (const address of rest) {
      const other = createListener((socket) => this.server.emit("connection", socket))
      // A name may have an address that this machine has not.
      if ((await listening(other, address, bound).catch(() => undefined)) !== undefined)
        this.#others.push(other)
    }
    return bound
  }

  /** Stops listening, finishes what has begun, and cuts off what does not end in time. */
  async close(): Promise<void> {
    const others = this.#others.map((other) => new Promise((resolve) => other.close(resolve)))
    await Promise.all([this.#connections.close(this.server), ...others])
  }

  async #serve(request: IncomingMessage, response: Response): Promise<void> {
    const { limits, clock } = this.#options
    response.startedMs = clock.elapsed()
    response.requestId = sane(request.headers["x-request-id"]) ?? this.#nextId()
    response.on("finish", this.#finished)
    try {
      const before = this.#connections.watch(response)
      checkFraming(request, this.#mayAnswer, limits)
      this.#connections.check(request.socket)
      const [found, params] = this.#router.find(request)
      response.common = found
      const isRead = request.method === "GET" || request.method === "HEAD"
      if (!isRead) checkContentType(request.headers["content-type"])
      else if (before !== undefined) await this.#connections.taken(before)
      const { requestId } = response
      const incoming = new Incoming(response, params, requestId, clock.now(), this.#addressOf)
      this.#send(response, await found.route.answer(incoming))
    } catch (thrown) {
      this.#refuse(response, thrown)
    }
  }

  #send(response: Response, { status, headers, body }: Answer): void {
    const common = response.common ?? this.#nowhere
    const fields: Record<string, string> = {
      ...(body === undefined ? common.headers : common.headersWithBody),
      "x-request-id": response.requestId,
      ...headers,
    }
    if (body instanceof Readable) return this.#sendStream(response, status, fields, body)
    const text =
      typeof body === "object" && !Buffer.isBuffer(body) ? JSON.stringify(body) : (body ?? "")
    // What has no content has no length either.
    if (status !== 204 && status !== 304) fields["content-length"] = String(Buffer.byteLength(text))
    response.writeHead(status, fields).end(text)
  }

  #sendStream(response: Response, status: number, fields: Headers, body: Readable): void {
    response.statusCode = status
    for (const [name, value] of Object.entries(fields)) response.setHeader(name, value)
    body.once("error", (error) => {
      if (response.headersSent) {
        this.#report(response, error)
        response.destroy()
        return
      }
      for (const name of response.getHeaderNames()) response.removeHeader(name)
      this.#refuse(response, error)
    })
    response.once("close", () => body.destroy())
    if (response.req.method !== "HEAD") return void body.pipe(response)
    body.destroy()
    response.end()
  }

  /** As a page to a browser, and as JSON to everybody else. */
  #refuse(response: Response, thrown: unknown): void {
    const refusal = refusalOf(thrown, (unexpected) => this.#report(response, unexpected))
    const { accept } = response.req.headers
    const isPage = preferred(accept, ["application/json", "text/html"]) === "text/html"
    this.#send(response, {
      status: refusal.status,
      headers: { ...refusal.headers, vary: "Accept", ...(isPage && pageHeaders) },
      body: isPage ? refusalPage(refusal, response.req.url ?? "/") : refusal.body,
    })
  }

  #report(response: Response, fault: unknown): void {
    this.#options.log.error({ err: fault, requestId: response.requestId }, "a request failed")
  }
}

function commonOf(route: Route | undefined, headers: Headers = {}): Common {
  const all = { ...everyAnswer, ...headers, ...route?.headers }
  return {
    label: (route?.path ?? "").replace(/\{\w+\*\}$/, "*").replaceAll(/\{(\w+)\}/g, ":$1"),
    headers: all,
    headersWithBody:
      route?.answerType === undefined ? all : { ...all, "content-type": route.answerType },
  }
}

/** Of whatever may bring a body, also where none is read. */
function checkContentType(given: string | undefined): void {
  if (given === undefined || given === "application/json" || mediaType.test(given)) return
  throw new LedgerError("unsupported_media_type", "Content-Type must be application/json")
}

const mediaType = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/

function listenerOptions(limits: ServerLimits) {
  return {
    maxHeaderSize: limits.headersBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.bodyTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.ceil(
      Math.min(limits.headersTimeoutMs, limits.bodyTimeoutMs) / 10,
    ),
    // Node would answer without a body; checkFraming does it instead.
    requireHostHeader: false,
  }
}

/** `localhost` is more than one address on most machines. */
async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== "localhost") return [host]
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** Resolves with the port. */
function listening(server: Listener, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen({ host, port }, () => {
      server.off("error", reject)
      resolve((server.address() as AddressInfo).port) // it listens on no pipe
    })
  })
}

function requestIds(): () => string {
  const run = randomBytes(6).toString("base64url")
  let count = 0
  return () => `${run}-${(++count).toString(36)}`
}

/** A request id of a client's that may be sent back and written to a log. */
function sane(id: string | string[] | undefined): string | undefined {
  return typeof id === "string" && /^[A-Za-z0-9._:/+=@-]{1,128}$/.test(id) ? id : undefined
}
