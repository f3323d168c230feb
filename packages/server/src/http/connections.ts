// What the server does below requests: with requests of one connection that do not wait for each
// other, with bytes that never became a request, and with connections when it closes.

import type { Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { refusalOf } from "./errors.ts"
import { STATUS_CODES } from "./node-http.ts"
import { methods } from "./router.ts"

export interface ConnectionLimits {
  readonly headersBytesMax: number
  readonly uriBytesMax: number
  /** Open at once; one that comes on top is closed. */
  readonly connectionsMax: number
  /**
   * Requests of one connection that are at work or answered behind another, because its client did
   * not wait; more are refused.
   */
  readonly pipelinedMax: number
  /** For requests that have begun to be finished once the server closes; then they are cut off. */
  readonly drainTimeoutMs: number
}

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

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #clock: Clock
  /** Of a refusal that is the answer to no request. */
  readonly #headers: () => Readonly<Record<string, string>>
  /** Answers that wait behind others on their connection, because their client did not wait. */
  readonly #pipelined = new WeakSet<ServerResponse>()
  readonly #refused = new WeakSet<Duplex>()
  #isClosing = false

  constructor(limits: ConnectionLimits, clock: Clock, headers: () => Record<string, string>) {
    this.#limits = limits
    this.#clock = clock
    this.#headers = headers
  }

  attach(server: Server): void {
    server.maxConnections = this.#limits.connectionsMax
    server.maxHeadersCount = 0 // headersBytesMax bounds them; a count would drop the rest in silence.
    server.on("clientError", (error, socket) => this.#refuse(error, socket))
    server.on("connect", (_request, socket) => {
      socket.on("error", () => socket.destroy()) // Node has let go of it, and an error that nobody hears ends the process.
      this.#write(
        socket,
        new LedgerError("method_not_allowed", "this is no proxy", {
          headers: { allow: methods.join(", ") },
        }),
      )
    })
  }

  /** Returns the answer that this one waits behind. */
  watch(answer: ServerResponse): ServerResponse | undefined {
    if (this.#isClosing) answer.shouldKeepAlive = false
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
   * Throws why a request is not begun any more. Answers are sent in order, so whoever asks on and on
   * without waiting has all of them at work or in memory.
   */
  check(socket: Socket & Watched): void {
    if (this.#isClosing)
      throw new LedgerError("shutting_down", "this server is shutting down; nothing was recorded")
    const { pipelinedMax } = this.#limits
    if ((socket[waiting] ?? 0) > pipelinedMax)
      throw new LedgerError(
        "overloaded",
        `more than ${pipelinedMax} requests of this connection wait for their answers; nothing was recorded`,
      )
  }

  /**
   * Resolves when the answer was taken: what is read for a client that does not take it would only
   * lie in our memory. Never for a client that has left, for whom nothing needs to be made.
   */
  taken(answer: ServerResponse): Promise<void> {
    return new Promise((resolve) =>
      answer.once("close", () => {
        if (answer.writableFinished) resolve()
      }),
    )
  }

  /**
   * Lets requests that have begun finish, gives no connection another one, and cuts off what is
   * left in the end.
   */
  close(server: Server): Promise<void> {
    this.#isClosing = true
    // Node closes connections that are idle now. Those that become idle later must not wait for a
    // request that would be refused.
    server.keepAliveTimeout = 1
    server.keepAliveTimeoutBuffer = 0
    void this.#clock.sleep(this.#limits.drainTimeoutMs).then(() => server.closeAllConnections())
    return new Promise((resolve) => server.close(() => resolve()))
  }

  /** Answers what the HTTP parser could not read, or not in time, and closes the connection. */
  #refuse(error: ParserError, socket: Duplex & Watched): void {
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

  #problem(error: ParserError): LedgerError {
    const { headersBytesMax, uriBytesMax } = this.#limits
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT")
      return new LedgerError("request_timeout", "the request took too long to arrive")
    if (error.code !== "HPE_HEADER_OVERFLOW")
      return new LedgerError("bad_request", "the request is not valid HTTP/1.1")
    const line =
      error.rawPacket instanceof Uint8Array
        ? (Buffer.from(error.rawPacket).toString("latin1").split("\n", 1)[0] ?? "")
        : ""
    if (line.length > uriBytesMax && /^[A-Z]+ \//.test(line))
      return new LedgerError(
        "uri_too_long",
        `the request target has more than ${uriBytesMax} bytes`,
      )
    return new LedgerError(
      "headers_too_large",
      `the headers have more than ${headersBytesMax} bytes`,
    )
  }

  #write(socket: Duplex, error: LedgerError): void {
    this.#refused.add(socket)
    const { status, headers, body } = refusalOf(error, () => {})
    const fields = {
      connection: "close",
      date: new Date(this.#clock.now()).toUTCString(),
      ...this.#headers(),
      ...headers,
      "content-length": Buffer.byteLength(body),
    }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    // Ended, not destroyed: a connection that is destroyed with bytes unread is reset, and the
    // client may never see the answer.
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`)
    void this.#clock.sleep(lingerMs).then(() => socket.destroy())
  }
}

type ParserError = Error & { readonly code?: string; readonly rawPacket?: unknown }

/** For a client to read our last words, and to stop sending. */
const lingerMs = 1000
