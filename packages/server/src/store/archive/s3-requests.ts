// Signs and sends requests to S3, and retries if that may help.

import type { IncomingMessage } from "node:http"
import type { Clock } from "../../clock.ts"
import type { S3Place } from "../../config.ts"
import { ArchiveFailure } from "./archive-storage.ts"
import { sha256Hex, signed, uriEncoded } from "./s3-signature.ts"

export interface Asked {
  readonly method: "GET" | "PUT" | "DELETE"
  /** The key of an object; undefined for the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** A longer answer is a failure. */
  readonly bytesMax: number
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
}

export interface S3Requests {
  /** Throws an ArchiveFailure unless the answer has one of these statuses. */
  readonly ask: (asked: Asked, statuses: readonly number[]) => Promise<Answer>
  readonly close: () => void
}

/** Tries of one request, with a growing pause before each but the first. */
const triesMax = 4
const firstPauseMs = 100
/** Timeout of an idle connection: some storage takes seconds to answer under load. */
const stillTimeoutMs = 10_000
/** Retries end after this time, because a caller waits for the archived entry. */
const triesWithinMs = 10_000
/** Timeout of a whole request: 64 MiB on a slow line. */
const requestTimeoutMs = 120_000
const connectionsMax = 16
/** The largest answer without content, such as an error of S3. */
export const errorBytesMax = 64 * 1024

export function createS3Requests(place: S3Place, name: string, clock: Clock): S3Requests {
  // Every thread loads this file, and few use S3. An `import` would load too much: see
  // http/node-http.ts.
  const http = process.getBuiltinModule("node:http")
  const https = process.getBuiltinModule("node:https")
  const agents = {
    "http:": new http.Agent({ keepAlive: true, maxSockets: connectionsMax }),
    "https:": new https.Agent({ keepAlive: true, maxSockets: connectionsMax }),
  }

  function askOnce({ method, key, query = {}, headers = {}, body, bytesMax }: Asked) {
    const url = urlOf(place, key, query)
    const bodyHash = sha256Hex(body ?? "")
    const sent = signed({ method, url, headers, bodyHash }, place, clock.now())
    if (body !== undefined) sent["content-length"] = String(body.length)
    const isSecure = url.protocol === "https:"
    const agent = agents[isSecure ? "https:" : "http:"]
    const signal = AbortSignal.timeout(requestTimeoutMs)
    const options = { method, headers: sent, agent, signal }
    return new Promise<Answer>((resolve, reject) => {
      const request = (isSecure ? https : http).request(url, options)
      request.setTimeout(stillTimeoutMs, () => request.destroy(new Error("it does not answer")))
      request.on("error", reject)
      request.on("response", (response) => {
        const { statusCode: status = 0 } = response
        collect(response, status < 300 ? bytesMax : errorBytesMax)
          .then((bytes) => resolve({ status, headers: response.headers, body: bytes }))
          .catch((cause: unknown) => {
            request.destroy()
            reject(new Error(wordsOf(cause), { cause }))
          })
      })
      request.end(body)
    })
  }

  let isClosed = false
  return {
    async ask(asked, statuses) {
      const what = `${asked.method} ${asked.key ?? "of its list"}`
      const begunMs = clock.elapsed()
      for (let tries = 1; ; tries++) {
        const answer = await askOnce(asked).catch((error: unknown) => ({ error }))
        if ("status" in answer && statuses.includes(answer.status)) return answer
        const why = "status" in answer ? refusalIn(answer) : wordsOf(answer.error)
        const isLate = clock.elapsed() - begunMs >= triesWithinMs
        const isFinal = "status" in answer && !isPassing(answer.status)
        if (isClosed || isLate || isFinal || tries >= triesMax)
          throw new ArchiveFailure(`${name} failed at ${what}: ${why}`)
        // Jitter keeps many servers from retrying at the same moment.
        await clock.sleep(firstPauseMs * 4 ** (tries - 1) * (0.5 + Math.random()))
      }
    },
    close() {
      isClosed = true
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

/** Whether a retry may help. */
function isPassing(status: number): boolean {
  return status >= 500 || [408, 425, 429].includes(status)
}

function wordsOf(cause: unknown): string {
  return cause instanceof Error ? cause.message || cause.name : String(cause)
}

function urlOf(
  { endpoint, bucket, isPathStyle }: S3Place,
  key: string | undefined,
  query: Readonly<Record<string, string>>,
): URL {
  const url = new URL(endpoint)
  if (!isPathStyle) url.host = `${bucket}.${url.host}`
  const parts = [...(isPathStyle ? [bucket] : []), ...(key?.split("/") ?? [])]
  const root = url.pathname.replace(/\/$/, "")
  url.pathname = `${root}/${parts.map(uriEncoded).join("/")}`
  // Not with `searchParams`, which writes a space as "+".
  url.search = Object.entries(query)
    .map(([name, value]) => `${uriEncoded(name)}=${uriEncoded(value)}`)
    .join("&")
  return url
}

/** Reads a whole answer. Throws if it is cut off or too long. */
async function collect(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response) {
    // A response without an encoding yields buffers.
    const buffer = part as Buffer
    bytes += buffer.length
    if (bytes > bytesMax) throw new Error(`its answer is longer than ${bytesMax} bytes`)
    parts.push(buffer)
  }
  if (!response.complete) throw new Error("its answer was cut off")
  return Buffer.concat(parts)
}

/** The reason of an S3 error, which is XML: only its code, because the rest is untrusted text. */
function refusalIn(answer: Answer): string {
  return `it answered ${answer.status} ${codeIn(answer)}`.trimEnd()
}

export function codeIn({ body }: Answer): string {
  return /<Code>(\w{1,64})<\/Code>/.exec(body.toString())?.[1] ?? ""
}
