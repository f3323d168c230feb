// Handles connections: bounds pipelining, answers bytes that are no HTTP request, and closes
// connections at a stop.

import type { Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Clock } from "../clock.ts"
import { LedgerError, usualError } from "../error.ts"
import type { Limits } from "../limits.ts"
import { ConnectionShares } from "./connection-shares.ts"
import { refusalOf } from "./errors.ts"
import { headersMax, headersTooLarge } from "./framing.ts"
import { STATUS_CODES } from "./node-http.ts"
import { networkOf } from "./rates.ts"
import { methods } from "./router.ts"

type ConnectionLimits = Pick<
  Limits,
  | "headersBytesMax"
  | "uriBytesMax"
  | "connectionsMax"
  | "pipelinedMax"
  | "pipelinedOfNetworkMax"
  | "drainTimeoutMs"
  | "stillTimeoutMs"
>

/**
 * The newest answer of a connection. Kept on the socket itself: a weak map with an entry for each
 * connection costs the garbage collector 4 µs a request.
 */
const lastAnswer = Symbol("last answer")

/** How many pipelined requests of a connection wait for their answers, behind another one. */
const waiting = Symbol("waiting answers")

/** The network of a connection that has pipelined requests. */
const network = Symbol("network")

/** Bytes of the answers of a connection that are made and wait behind another one. */
const queued = Symbol("queued bytes")

/** Whether a connection ends with the answer to a request that has arrived. */
const ending = Symbol("ending")

/** Node's parser calls this for each request, and stops if it gets -1. Node's types lack it. */
interface Parsed {
  readonly parser?: { onIncoming?: () => number } | null
}

const stop = (): number => -1

interface Watched {
  [lastAnswer]?: ServerResponse
  [waiting]?: number
  [network]?: string
  [queued]?: number
  [ending]?: true
}

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #clock: Clock
  /** Headers of a refusal that answers no request. */
  readonly #headers: () => Readonly<Record<string, string>>
  /** Answers that wait behind another one of their connection. */
  readonly #pipelined = new WeakSet<ServerResponse>()
  readonly #refused = new WeakSet<Duplex>()
  /** How many wait on the connections of each network. */
  readonly #waiting = new Map<string, number>()
  #isClosing = false

  constructor(limits: ConnectionLimits, clock: Clock, headers: () => Record<string, string>) {
    this.#limits = limits
    this.#clock = clock
    this.#headers = headers
  }

  attach(server: Server): void {
    const shares = new ConnectionShares(this.#limits.connectionsMax, isIdle)
    server.on("connection", (socket: Socket) => shares.add(socket))
    server.setTimeout(this.#limits.stillTimeoutMs, (socket: Socket) => {
      if (!waitsForUs(socket)) socket.destroy()
    })
    // Node 26 refuses more headers, and older ones drop them. checkEnd refuses as many.
    server.maxHeadersCount = headersMax(this.#limits)
    server.on("clientError", (error, socket) => this.#refuse(error, socket))
    server.on("connect", (_request, socket) => {
      // Node no longer handles errors of this socket, and an unhandled error ends the process.
      socket.on("error", () => socket.destroy())
      this.#endWith(
        socket,
        new LedgerError("method_not_allowed", "this server is not a proxy", {
          headers: { allow: methods.join(", ") },
        }),
      )
    })
  }

  /**
   * The connection ends with the answer to this request. What follows on it was perhaps sent as a
   * part of this request, so it must not be taken for another one.
   */
  endAfter(socket: Socket & Watched & Parsed): void {
    socket[ending] = true
    // Node would make requests of all that it has read, up to thousands, in one turn.
    if (socket.parser) socket.parser.onIncoming = stop
  }

  isEnding(socket: Socket & Watched): boolean {
    return socket[ending] === true
  }

  /** Returns the answer of the same connection that must be sent first, if there is one. */
  watch(answer: ServerResponse): ServerResponse | undefined {
    if (this.#isClosing) answer.shouldKeepAlive = false
    const socket: Socket & Watched = answer.req.socket
    const before = socket[lastAnswer]
    socket[lastAnswer] = answer
    if (before === undefined || before.writableFinished) return undefined
    this.#pipelined.add(answer)
    this.#wait(answer)
    return before
  }

  #wait(answer: ServerResponse): void {
    const socket: Socket & Watched = answer.req.socket
    if (socket[waiting] === undefined)
      socket.once("close", () => this.#add(socket, -(socket[waiting] ?? 0)))
    this.#add(socket, 1)
    answer.once("close", () => {
      if (!socket.destroyed) this.#add(socket, -1)
    })
  }

  #add(socket: Socket & Watched, count: number): void {
    const name = (socket[network] ??= networkOf(socket.remoteAddress ?? ""))
    socket[waiting] = (socket[waiting] ?? 0) + count
    const all = (this.#waiting.get(name) ?? 0) + count
    if (all === 0) this.#waiting.delete(name)
    else this.#waiting.set(name, all)
  }

  /** Counts the bytes of an answer until Node gives it the socket. */
  queue(answer: ServerResponse, bytes: number): void {
    if (answer.socket !== null) return
    const { socket }: { readonly socket: Socket & Watched } = answer.req
    socket[queued] = (socket[queued] ?? 0) + bytes
    answer.once("socket", () => (socket[queued] = (socket[queued] ?? 0) - bytes))
  }

  queuedOn(socket: Socket & Watched): number {
    return socket[queued] ?? 0
  }

  /**
   * Why a request that has just arrived must not begin. Answers are sent in order, so all pipelined
   * requests would run or be in memory at once.
   */
  refusal(socket: Socket & Watched): LedgerError | undefined {
    if (this.#isClosing) return usualError("shutting_down")
    const { pipelinedMax, pipelinedOfNetworkMax } = this.#limits
    const count = socket[waiting] ?? 0
    const all = this.#waiting.get(socket[network] ?? "") ?? 0
    if (count === 0 || (count <= pipelinedMax && all <= pipelinedOfNetworkMax)) return undefined
    this.endAfter(socket)
    return new LedgerError(
      "overloaded",
      `too many pipelined requests wait for their answers, at most ${pipelinedMax} of a connection may; nothing was recorded`,
      { headers: { connection: "close" } },
    )
  }

  /**
   * Resolves when the client has received the answer: the next answer to a client that does not
   * read would only fill our memory. Never resolves if the client disconnects.
   */
  taken(answer: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
      if (answer.writableFinished) return resolve()
      answer.once("close", () => {
        if (answer.writableFinished) resolve()
      })
    })
  }

  /**
   * Finishes requests that have begun, accepts no new ones, and finally closes the remaining
   * connections.
   */
  close(server: Server): Promise<void> {
    this.#isClosing = true
    // Node closes the connections that are idle now. Those that become idle later close at once.
    server.keepAliveTimeout = 1
    server.keepAliveTimeoutBuffer = 0
    void this.#clock.sleep(this.#limits.drainTimeoutMs).then(() => server.closeAllConnections())
    return new Promise((resolve) => server.close(() => resolve()))
  }

  /** Answers bytes that Node could not parse, or not in time, and closes the connection. */
  #refuse(error: ParserError, socket: Duplex & Watched): void {
    if (this.#refused.has(socket)) return
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    // Its parser has been stopped.
    if (socket[ending]) return
    this.#endWith(socket, this.#problem(error))
  }

  /** Refuses what came after the last request, and closes the connection. */
  #endWith(socket: Duplex & Watched, refusal: LedgerError): void {
    const last = socket[lastAnswer]
    if (last === undefined || (last.writableFinished && last.req.complete))
      return this.#write(socket, refusal)
    // A complete request is being handled, and these bytes came after it. The client would take
    // this refusal for the answer to that request, which may have been recorded.
    if (last.req.complete) return void last.once("close", () => socket.destroy())
    if (last.headersSent || this.#pipelined.has(last)) return void socket.destroy()
    this.#write(socket, refusal)
  }

  #problem(error: ParserError): LedgerError {
    const { uriBytesMax } = this.#limits
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return usualError("request_timeout")
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
    return headersTooLarge(this.#limits)
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
    // Ended, not destroyed: destroying a socket with unread bytes resets the connection, and the
    // client may lose the answer.
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`)
    void this.#clock.sleep(lingerMs).then(() => socket.destroy())
  }
}

/** Whether no request of a connection waits for its answer. */
function isIdle(socket: Socket & Watched): boolean {
  return socket[lastAnswer]?.writableFinished ?? true
}

/** Whether a connection is still only because its answer is being made. */
function waitsForUs(socket: Socket & Watched): boolean {
  const last = socket[lastAnswer]
  return socket.writableLength === 0 && last?.req.complete === true && !last.writableFinished
}

type ParserError = Error & { readonly code?: string; readonly rawPacket?: unknown }

/** How long a client has to read the refusal and to stop sending. */
const lingerMs = 1000
