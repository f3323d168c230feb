import { randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import fastify, { type FastifyInstance, type FastifyReply } from "fastify"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { preferred } from "./accept.ts"
import { refusalOf, type Refusal } from "./errors.ts"
import { pageHeaders } from "./html.ts"
import { refusalPage } from "./refusal-page.ts"
import { cutSlowReaders, type ReaderLimits } from "./slow-readers.ts"
import { checkFraming, hostRule, type FramingLimits } from "./framing.ts"
import { statusPhrase } from "./status-phrases.ts"

// A Fastify that answers everything in our own words, also what Node or Fastify would refuse in
// theirs before any of our code is asked.

export interface ServerLimits extends FramingLimits, ReaderLimits {
  readonly headersBytesMax: number
  /** For the request line and the headers to arrive. */
  readonly headersTimeoutMs: number
  /** For the whole request to arrive, its headers included. */
  readonly bodyTimeoutMs: number
  /**
   * For a connection to lie idle between requests. Longer than a load balancer's, which must not
   * send into a connection that is being closed.
   */
  readonly keepAliveTimeoutMs: number
  /** Open at once; one that comes on top is closed. */
  readonly connectionsMax: number
  /**
   * Requests of one connection that are at work or answered behind another, because its client did
   * not wait; more are refused.
   */
  readonly pipelinedMax: number
  /**
   * For nothing to move on a connection within a request: a client that takes nothing of its
   * answer, say.
   */
  readonly stillTimeoutMs: number
  /** For requests that have begun to be finished once the server closes; then they are cut off. */
  readonly drainTimeoutMs: number
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
  /** Whose X-Forwarded-For is believed: Fastify's option of this name. */
  readonly trustProxy?: boolean | string | string[]
}

/**
 * A server without routes. Hooks and routes may be added until it is ready; they see only requests
 * whose framing is sound.
 */
export function createServer(options: ServerOptions): FastifyInstance {
  const { limits, log } = options
  const mayAnswer = hostRule(options.listenHost, options.publicUrl)
  const ids = requestIds()
  const connections = new Connections(options, ids)
  const refuse = (reply: FastifyReply, thrown: unknown): void => {
    sendRefusal(
      reply,
      refusalOf(thrown, (fault) =>
        log.error({ err: fault, requestId: reply.request.id }, "a request failed"),
      ),
    )
  }
  const server = fastify({
    ...listenerOptions(limits),
    genReqId: (raw) => sane(raw.headers["x-request-id"]) ?? ids(),
    trustProxy: options.trustProxy ?? false,
    clientErrorHandler: (error, socket) => connections.refuse(error, socket),
    // Requests are checked, and answers written, by endpoint.ts. Without these Fastify would load
    // two compilers that nobody asks.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
    // Only for what the router cannot read; no hook runs for it.
    frameworkErrors(error, request, reply) {
      reply.headers(everyAnswer).header("x-request-id", request.id)
      connections.watch(reply.raw)
      refuse(reply, problemOf(() => checkFraming(request.raw, mayAnswer, limits)) ?? error)
    },
  })
  server.addHook("onRequest", (request, reply, done) => {
    reply.headers(everyAnswer).header("x-request-id", request.id)
    const before = connections.watch(reply.raw)
    checkFraming(request.raw, mayAnswer, limits)
    connections.checkOpen()
    connections.checkWaiting(request.raw.socket)
    // Fastify would first look at the body that comes with it, and has rules of its own for some
    // methods, such as QUERY.
    if (request.is404) throw nothingHere(server, request.raw)
    connections.afterAnswer(before, request.raw, done)
  })
  server.setErrorHandler((error, _request, reply) => refuse(reply, error))
  server.removeAllContentTypeParsers()
  // Whoever wants a body reads it: after the credential was looked at, and with its own limit.
  server.addContentTypeParser(["application/json", "*"], (_request, _payload, done) => done(null))
  connections.attach(server)
  return server
}

function noCompiler(): never {
  throw new Error("no route has a schema of Fastify's")
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

/** As a page to a browser, and as JSON to everybody else. */
export function sendRefusal(reply: FastifyReply, refusal: Refusal): void {
  const { accept } = reply.request.headers
  reply.code(refusal.status).headers(refusal.headers).header("vary", "Accept")
  if (preferred(accept, ["application/json", "text/html"]) === "application/json")
    return void reply.send(refusal.body)
  reply.headers(pageHeaders).send(refusalPage(refusal, reply.request.raw.url ?? "/"))
}

function problemOf(check: () => void): unknown {
  try {
    check()
    return undefined
  } catch (error) {
    return error
  }
}

function listenerOptions(limits: ServerLimits) {
  return {
    logger: false,
    requestIdHeader: false,
    return503OnClosing: false,
    connectionTimeout: limits.stillTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.bodyTimeoutMs,
    routerOptions: { maxParamLength: limits.uriBytesMax },
    http: {
      maxHeaderSize: limits.headersBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.bodyTimeoutMs,
      connectionsCheckingInterval: Math.ceil(
        Math.min(limits.headersTimeoutMs, limits.bodyTimeoutMs) / 10,
      ),
      // Node would answer without a body; checkFraming does it instead.
      requireHostHeader: false,
    },
  } as const
}

// Request ids -------------------------------------------------------------------------------------

function requestIds(): () => string {
  const run = randomBytes(6).toString("base64url")
  let count = 0
  return () => `${run}-${(++count).toString(36)}`
}

/** A request id of a client's that may be sent back and written to a log. */
function sane(id: string | string[] | undefined): string | undefined {
  return typeof id === "string" && /^[A-Za-z0-9._:/+=@-]{1,128}$/.test(id) ? id : undefined
}

// Nothing at this path ----------------------------------------------------------------------------

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

function nothingHere(server: FastifyInstance, raw: IncomingMessage): LedgerError {
  const url = raw.url ?? "/"
  const allowed = methods.filter((method) => server.findRoute({ method, url }) !== null).join(", ")
  if (allowed === "") return new LedgerError("not_found", "there is nothing at this path")
  return new LedgerError("method_not_allowed", `this path takes ${allowed}`, {
    headers: { allow: allowed },
  })
}

// Connections -------------------------------------------------------------------------------------

/**
 * The answer last begun on a connection. On the socket itself: a weak map with an entry for each
 * costs the garbage collector 4 µs a request.
 */
const lastAnswer = Symbol("last answer")

/** How many answers wait behind others on a connection, because its client did not wait. */
const waiting = Symbol("waiting answers")

interface Watched {
  [lastAnswer]?: ServerResponse
  [waiting]?: number
}

/**
 * What the server does below requests: to bytes that never became one, and to connections when it
 * closes.
 */
class Connections {
  readonly #options: ServerOptions
  readonly #nextId: () => string
  /** Answers that wait behind others on their connection, because their client did not wait. */
  readonly #pipelined = new WeakSet<ServerResponse>()
  readonly #refused = new WeakSet<Duplex>()
  #draining = false

  constructor(options: ServerOptions, nextId: () => string) {
    this.#options = options
    this.#nextId = nextId
  }

  /** Returns the answer that this one waits behind. */
  watch(answer: ServerResponse): ServerResponse | undefined {
    const socket: Socket & Watched = answer.req.socket
    const before = socket[lastAnswer]
    socket[lastAnswer] = answer
    if (before === undefined || before.writableFinished) return undefined
    this.#pipelined.add(answer)
    socket[waiting] = (socket[waiting] ?? 0) + 1
    answer.once("close", () => (socket[waiting] = (socket[waiting] ?? 0) - 1))
    return before
  }

  /**
   * Goes on when the answer before this one was taken: what is read for a client that does not take
   * it would only lie in our memory.
   */
  afterAnswer(
    before: ServerResponse | undefined,
    { method }: IncomingMessage,
    go: () => void,
  ): void {
    if (before === undefined || (method !== "GET" && method !== "HEAD")) return go()
    // It closes as well when the client has left, for whom nothing needs to be made.
    before.once("close", () => before.writableFinished && go())
  }

  /**
   * Answers are sent in order, so whoever asks on and on without waiting has all of them at work or
   * in memory.
   */
  checkWaiting(socket: Socket & Watched): void {
    const { pipelinedMax } = this.#options.limits
    if ((socket[waiting] ?? 0) > pipelinedMax)
      throw new LedgerError(
        "overloaded",
        `more than ${pipelinedMax} requests of this connection wait for their answers; nothing was recorded`,
      )
  }

  checkOpen(): void {
    if (this.#draining)
      throw new LedgerError("shutting_down", "this server is shutting down; nothing was recorded")
  }

  attach(server: FastifyInstance): void {
    const listener = server.server
    listener.maxConnections = this.#options.limits.connectionsMax
    cutSlowReaders(listener, this.#options.clock, this.#options.limits)
    listener.maxHeadersCount = 0 // headersBytesMax bounds them; a count would drop the rest in silence.
    listener.on("checkContinue", (request, answer) => server.routing(request, answer))
    // Node would refuse these without a body; checkFraming does it instead.
    listener.on("checkExpectation", (request, answer) => server.routing(request, answer))
    listener.on("connect", (_request, socket) => {
      socket.on("error", () => socket.destroy()) // Node has let go of it, and an error that nobody hears ends the process.
      this.#write(
        socket,
        new LedgerError("method_not_allowed", "this is no proxy", {
          headers: { allow: methods.join(", ") },
        }),
      )
    })
    server.addHook("preClose", (done) => {
      this.#drain(server)
      done()
    })
  }

  /** Answers what the HTTP parser could not read, or not in time, and closes the connection. */
  refuse(error: Error & { code?: string; rawPacket?: unknown }, socket: Socket & Watched): void {
    if (this.#refused.has(socket)) return
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    const last = socket[lastAnswer]
    if (last === undefined || (last.writableFinished && last.req.complete))
      return this.#write(socket, this.#problem(error))
    // A whole request is at work, and these bytes come after it. Whatever is written now would be
    // taken for its answer, and might deny what was recorded.
    if (last.req.complete && !last.writableFinished)
      return void last.once("close", () => socket.destroy())
    if (last.headersSent || this.#pipelined.has(last)) return void socket.destroy()
    this.#write(socket, this.#problem(error))
  }

  #problem(error: { code?: string; rawPacket?: unknown }): LedgerError {
    const { headersBytesMax, uriBytesMax } = this.#options.limits
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT")
      return new LedgerError("request_timeout", "the request took too long to arrive")
    if (error.code !== "HPE_HEADER_OVERFLOW")
      return new LedgerError("bad_request", "the request is not valid HTTP/1.1")
    const line =
      error.rawPacket instanceof Uint8Array
        ? (Buffer.from(error.rawPacket).toString("latin1").split("\n", 1)[0] ?? "")
        : ""
    if (line.length > uriBytesMax && /^[A-Z]+ \//.test(line)) {
      return new LedgerError(
        "uri_too_long",
        `the request target has more than ${uriBytesMax} bytes`,
      )
    }
    return new LedgerError(
      "headers_too_large",
      `the headers have more than ${headersBytesMax} bytes`,
    )
  }

  #refusal(error: LedgerError): Pick<Refusal, "status" | "headers" | "body"> {
    const { status, headers, body } = refusalOf(error, () => {})
    return {
      status,
      body,
      headers: {
        ...everyAnswer,
        ...headers,
        "x-request-id": this.#nextId(),
        "content-length": String(Buffer.byteLength(body)),
      },
    }
  }

  #write(socket: Duplex, error: LedgerError): void {
    this.#refused.add(socket)
    const { status, headers, body } = this.#refusal(error)
    const lines = [
      `HTTP/1.1 ${status} ${statusPhrase(status) ?? ""}`,
      "connection: close",
      `date: ${new Date(this.#options.clock.now()).toUTCString()}`,
    ]
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
    // Ended, not destroyed: a connection that is destroyed with bytes unread is reset, and the
    // client may never see the answer.
    socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`)
    void this.#options.clock.sleep(lingerMs).then(() => socket.destroy())
  }

  /**
   * Lets requests that have begun finish, gives no connection another one, and cuts off what is
   * left in the end.
   */
  #drain(server: FastifyInstance): void {
    this.#draining = true
    const listener = server.server
    // Node closes connections that are idle now. Those that become idle later must not wait for a
    // request that would be refused.
    listener.keepAliveTimeout = 1
    listener.keepAliveTimeoutBuffer = 0
    void this.#options.clock
      .sleep(this.#options.limits.drainTimeoutMs)
      .then(() => listener.closeAllConnections())
  }
}

/** For a client to read our last words, and to stop sending. */
const lingerMs = 1000
