// The HTTP server: finds the route of a request, and writes the route's answer to the socket. Every
// refusal has our own format, also where Node would refuse by itself.

import { randomBytes } from "node:crypto"
import type { IncomingMessage, Server } from "node:http"
import { lookup } from "node:dns/promises"
import { createServer as createListener, type AddressInfo, type Server as Listener } from "node:net"
import { Readable } from "node:stream"
import type { Clock } from "../clock.ts"
import { codeOf, LedgerError, statusOf, usualError } from "../error.ts"
import type { Limits } from "../limits.ts"
import { preferred } from "./accept.ts"
import { clientAddress, type ClientAddress } from "./client-address.ts"
import { Connections } from "./connections.ts"
import type { Answer } from "./endpoint.ts"
import { refusalOf } from "./errors.ts"
import { checkEnd, checkFraming, hostRule, type HostRule } from "./framing.ts"
import { pageHeaders } from "./html.ts"
import { Incoming } from "./incoming.ts"
import { createServer, ServerResponse } from "./node-http.ts"
import { networkOf } from "./rates.ts"
import { refusalPage } from "./refusal-page.ts"
import { createRequestTurns, notedWorkspace, type RequestTurns } from "./request-turns.ts"
import { Router } from "./router.ts"
import { cutSlowReaders } from "./slow-readers.ts"

export interface Log {
  error(fields: object, message: string): void
}

export interface ServerOptions {
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Log
  readonly listenHost: string
  readonly publicUrl: string
  /** Whether X-Forwarded-For is trusted, or the addresses and networks from which it is. */
  readonly trustProxy?: boolean | readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  /** Called when an answer was sent. `route` is empty if no route was found. */
  readonly report?: (route: string, method: string, status: number, durationMs: number) => void
}

export interface Route {
  readonly method: string
  /**
   * In OpenAPI's notation: `/v1/workspaces/{workspaceId}`; `{name*}` takes the rest of the path.
   */
  readonly path: string
  /** Headers of all its answers, including refusals. */
  readonly headers?: Readonly<Record<string, string>>
  /** Media type of its successful answers, if they have a body. */
  readonly answerType?: string
  /** An error that it throws becomes a refusal. */
  answer(incoming: Incoming): Answer | Promise<Answer>
}

/**
 * Headers of every answer, unless the answer sets another value. An answer may depend on a
 * credential, and its URL may be a secret.
 */
const everyAnswer = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const

type Headers = Readonly<Record<string, string>>

/** What all answers of a route have in common. */
interface Common {
  /** Name of the route in the metrics. */
  readonly label: string
  readonly headers: Headers
  readonly headersWithBody: Headers
}

/** Node's response with fields that we need when it is sent. */
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
  readonly #turns: RequestTurns
  readonly #finished: (this: Response) => void
  /** Listeners at further addresses. They pass their connections to `server`. */
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
    this.#turns = createRequestTurns(clock, limits.requestsPerTurn)
    this.#finished = function finished() {
      const { startedMs, common, statusCode, req } = this
      report?.(common?.label ?? "", req.method ?? "", statusCode, clock.elapsed() - startedMs)
    }
    this.server = createServer({ ...listenerOptions(limits), ServerResponse: Response })
    const serve = (request: IncomingMessage, response: Response): void =>
      void this.#serve(request, response)
    // Node would refuse an unknown expectation without a body. checkFraming refuses it with one.
    for (const event of ["request", "checkContinue", "checkExpectation"])
      this.server.on(event, serve)
    this.#connections.attach(this.server)
    cutSlowReaders(this.server, clock, limits, (socket) => this.#connections.queuedOn(socket))
  }

  /** Listens on every address of the host that this machine has. Resolves with the port. */
  async listen(host: string, port: number): Promise<number> {
    const [first = host, ...rest] = await addressesOf(host)
    const bound = await listening(this.server, first, port)
    for (const address of rest) {
      const other = createListener(asHttp, (socket) => this.server.emit("connection", socket))
      try {
        await listening(other, address, bound)
        this.#others.push(other)
      } catch (error) {
        if (isNotHere(error)) continue
        await this.close()
        throw error
      }
    }
    return bound
  }

  /** Stops listening, finishes requests that have begun, and closes those that take too long. */
  async close(): Promise<void> {
    const others = this.#others.map((other) => new Promise((resolve) => other.close(resolve)))
    await Promise.all([this.#connections.close(this.server), ...others])
  }

  async #serve(request: IncomingMessage, response: Response): Promise<void> {
    if (this.#connections.isEnding(request.socket)) return
    const { limits, clock } = this.#options
    response.startedMs = clock.elapsed()
    response.requestId = sane(request.headers["x-request-id"]) ?? this.#nextId()
    response.on("finish", this.#finished)
    try {
      const before = this.#connections.watch(response)
      checkEnd(request, limits)
      const refusal = this.#connections.refusal(request.socket)
      // A refusal costs time too.
      const turn = this.#turns.wait(() => this.#senderOf(request))
      if (turn !== undefined) await turn
      if (request.socket.destroyed) return
      if (refusal !== undefined) throw refusal
      checkFraming(request, this.#mayAnswer, limits)
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

  #senderOf(request: IncomingMessage): string {
    const workspace = notedWorkspace(request.socket)
    return workspace ?? `network ${networkOf(this.#addressOf(request))}`
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
    const length = Buffer.byteLength(text)
    // These have no body and no length.
    if (status !== 204 && status !== 304) fields["content-length"] = String(length)
    this.#connections.queue(response, length)
    // ASCII needs no encoding, which Node does not see by itself.
    response.writeHead(status, fields).end(text, length === text.length ? "latin1" : "utf8")
  }

  #sendStream(response: Response, status: number, fields: Headers, body: Readable): void {
    response.statusCode = status
    for (const [name, value] of Object.entries(fields)) response.setHeader(name, value)
    body.once("error", (error) => {
      if (response.headersSent) {
        // That a credential has ended meanwhile is no fault of the service.
        const isRefusal = error instanceof LedgerError && statusOf[error.code] < 500
        if (!isRefusal) this.#report(response, error)
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

  /** Browsers get a page, all other clients JSON. */
  #refuse(response: Response, thrown: unknown): void {
    const refusal = refusalOf(thrown, (unexpected) => this.#report(response, unexpected))
    if (refusal.headers["connection"] === "close") this.#connections.endAfter(response.req.socket)
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

/** Throws for a malformed Content-Type, also if the route reads no body. */
function checkContentType(given: string | undefined): void {
  if (given === undefined || given === "application/json" || mediaType.test(given)) return
  throw usualError("unsupported_media_type")
}

const mediaType = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/

function listenerOptions(limits: Limits) {
  return {
    maxHeaderSize: limits.headersBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.bodyTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.ceil(
      Math.min(limits.headersTimeoutMs, limits.bodyTimeoutMs) / 10,
    ),
    // Node would answer without a body. checkFraming answers with one.
    requireHostHeader: false,
  }
}

/** The options that node:http sets for its own listener. */
const asHttp = { allowHalfOpen: true, noDelay: true }

/** On most machines `localhost` has an IPv4 and an IPv6 address. */
async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== "localhost") return [host]
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** Whether this machine does not have the address, to which a name can resolve all the same. */
function isNotHere(error: unknown): boolean {
  return ["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(codeOf(error))
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

/** The client's request id, if it is safe to send back and to log. */
function sane(id: string | string[] | undefined): string | undefined {
  return typeof id === "string" && /^[A-Za-z0-9._:/+=@-]{1,128}$/.test(id) ? id : undefined
}
