import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"

// The slow clients, in a thread of their own: thousands of them in one thread would disturb the
// measurement.

export const kinds = ["headers", "body", "answer"] as const
export type Kind = (typeof kinds)[number]

/**
 * Few read answers slowly: for each the service makes megabytes until the buffers are full, which
 * costs more than slowness, and the kernel keeps them.
 */
export function kindOf(at: number): Kind {
  if (at % 10 === 0 && at < 10 * answerersMax) return "answer"
  return at % 2 === 0 ? "body" : "headers"
}

const answerersMax = 60

export interface CrowdOptions {
  readonly url: string
  /** A key that may write. */
  readonly bearer: string
  readonly sockets: number
  /** How much slower they are than the quickest that is still cut off. */
  readonly pace: number
}

export interface Crowd extends AsyncDisposable {
  /** How many of each kind were cut off until now. */
  readonly cut: Readonly<Record<Kind, number>>
}

export function startCrowd(options: CrowdOptions): Crowd {
  const cut = none()
  const worker = new Worker(import.meta.filename, { workerData: options })
  worker.on("message", (counts: Readonly<Record<Kind, number>>) => Object.assign(cut, counts))
  const ended = once(worker, "exit")
  // Disposing of the crowd reports an error.
  ended.catch(() => {})
  return {
    cut,
    async [Symbol.asyncDispose]() {
      worker.postMessage("stop")
      await ended
    },
  }
}

function none(): Record<Kind, number> {
  return { headers: 0, body: 0, answer: 0 }
}

/** One slow client, and its successors. */
function startSlow(
  { url, bearer, pace }: CrowdOptions,
  kind: Kind,
  cut: Record<Kind, number>,
): { stop(): void } {
  const { hostname, port, host } = new URL(url)
  let stopped = false
  let socket: Socket
  const begin = (): void => {
    socket = connect({ host: hostname, port: Number(port) })
    socket.on("error", () => {})
    socket.once("close", () => {
      if (stopped) return
      cut[kind] += 1
      begin()
    })
    if (kind === "answer") socket.pause()
    else socket.resume()
    socket.write(beginningOf(kind, host, bearer))
  }
  // A byte now and then, so that the connection is slow and not idle.
  const timer = setInterval(
    () => {
      if (kind === "answer") socket.read(1)
      // A client that does not read notices the end of the connection only when it writes; HTTP
      // allows empty lines between requests.
      if (socket.writable) socket.write(kind === "answer" ? "\r\n" : "x")
    },
    pace * (300 + Math.random() * 200),
  )
  begin()
  return {
    stop() {
      stopped = true
      clearInterval(timer)
      socket.destroy()
    },
  }
}

/** More than the buffers of both ends hold. */
const answersAsked = 24

function beginningOf(kind: Kind, host: string, bearer: string): string {
  switch (kind) {
    case "headers":
      return `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `
    case "body":
      return `POST /v1/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${bearer}\r\nIdempotency-Key: slow-${crypto.randomUUID()}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"`
    case "answer":
      return `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(answersAsked)
  }
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  // Only `startCrowd` starts it.
  const options = workerData as CrowdOptions
  const cut = none()
  const crowd = Array.from({ length: options.sockets }, (_, at) =>
    startSlow(options, kindOf(at), cut),
  )
  const telling = setInterval(() => port.postMessage(cut), 100)
  port.once("message", () => {
    clearInterval(telling)
    for (const slow of crowd) slow.stop()
    port.postMessage(cut)
    port.close()
  })
}
