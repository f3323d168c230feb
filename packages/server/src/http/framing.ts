import type { IncomingMessage } from "node:http"
import { LedgerError, usualError, type ErrorCode } from "../error.ts"
import type { Limits } from "../limits.ts"
import { headerName } from "./shapes/check.ts"

// Checks the request line and headers before routing. Refuses a request that a proxy and this
// server could read differently (request smuggling), or that has a wrong host name.

/** Whether requests with this Host header are answered. */
export type HostRule = (host: string) => boolean

/**
 * Throws for the first fault. Runs for every request, so a valid one costs only a few comparisons.
 */
export function checkFraming(
  request: IncomingMessage,
  mayAnswer: HostRule,
  limits: Pick<Limits, "uriBytesMax">,
): void {
  const { headers, rawHeaders } = request
  checkTarget(request.url ?? "", headers.host, limits)
  // Node joins repeated headers into one member, so there are fewer members than headers only if
  // one is repeated.
  if (Object.keys(headers).length * 2 !== rawHeaders.length) checkRepeated(rawHeaders)
  checkHost(headers.host, request.httpVersion, mayAnswer)
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue")
    throw usualError("expectation_failed")
  checkConditions(request)
}

/** A client that sets one relies on it: ignored, its change would overwrite another one. */
function checkConditions({ method, headers }: IncomingMessage): void {
  if (method === "GET" || method === "HEAD") return
  for (const name of ["if-match", "if-unmodified-since"])
    if (headers[name] !== undefined)
      throw new LedgerError("bad_request", `${name} is not supported: leave it out`)
}

export function headersTooLarge(limits: Pick<Limits, "headersBytesMax">): LedgerError {
  return new LedgerError(
    "headers_too_large",
    `the headers have more than ${limits.headersBytesMax} bytes, or are ${headersMax(limits)} or more`,
    { headers: { connection: "close" } },
  )
}

/**
 * How many headers are too many. Node takes half a microsecond for each, and a connection may send
 * a hundred requests at once.
 */
export function headersMax({ headersBytesMax }: Pick<Limits, "headersBytesMax">): number {
  return Math.ceil(headersBytesMax / 64)
}

/**
 * Throws if the end of the request is unclear, or if it has too many headers. The connection must
 * then end with this request, and the answer must say so. Checked first, and as soon as the request
 * arrives, because the refusals of other faults leave the connection open.
 */
export function checkEnd(
  { httpVersion, headers, rawHeaders }: IncomingMessage,
  limits: Pick<Limits, "headersBytesMax">,
): void {
  const close = { headers: { connection: "close" } }
  if (rawHeaders.length >= 2 * headersMax(limits)) throw headersTooLarge(limits)
  // Node's parser also accepts the versions 0.9 and 2.0, in which a request would end elsewhere.
  if (httpVersion !== "1.1" && httpVersion !== "1.0")
    throw new LedgerError("bad_request", "the request is not HTTP/1.1", close)
  const coding = headers["transfer-encoding"]
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    throw new LedgerError("bad_request", "Transfer-Encoding must be chunked", close)
  // A proxy that speaks HTTP/1.0 does not know chunks, and finds another end.
  if (coding !== undefined && httpVersion === "1.0")
    throw new LedgerError("bad_request", "Transfer-Encoding needs HTTP/1.1", close)
}

function checkTarget(
  target: string,
  host: string | undefined,
  limits: Pick<Limits, "uriBytesMax">,
): void {
  if (target.length > limits.uriBytesMax) {
    throw new LedgerError(
      "uri_too_long",
      `the request target has ${target.length} bytes; at most ${limits.uriBytesMax} are allowed`,
    )
  }
  if (/[^!-~]|#/.test(target))
    throw new LedgerError(
      "bad_request",
      "the request target contains a character that must be percent-encoded",
    )
  if (target.includes("%") && !isDecodable(target)) {
    throw new LedgerError(
      "bad_request",
      "the request target has a percent escape that is malformed or not UTF-8",
    )
  }
  // A host in the target overrides the Host header, so the two must be the same.
  if (!target.startsWith("/") && URL.parse(target)?.host !== host?.toLowerCase()) {
    throw new LedgerError(
      "bad_request",
      "the request target must be a path, or begin with the address that the Host header names",
    )
  }
}

function isDecodable(target: string): boolean {
  try {
    decodeURIComponent(target)
    return true
  } catch {
    return false
  }
}

function checkHost(host: string | undefined, httpVersion: string, mayAnswer: HostRule): void {
  if (host === undefined && httpVersion === "1.0") return
  if (host === undefined || host === "")
    throw new LedgerError("bad_request", "the Host header is missing")
  if (!mayAnswer(host))
    throw new LedgerError(
      "bad_request",
      "the Host header names neither this machine's loopback address nor the public address of this service",
    )
}

/** Headers that may occur only once. A proxy could have used the other one of two values. */
const single: ReadonlyMap<string, ErrorCode> = new Map([
  ["authorization", "ambiguous_credentials"],
  ["content-encoding", "bad_request"],
  ["content-length", "bad_request"],
  ["content-type", "bad_request"],
  ["expect", "bad_request"],
  ["host", "bad_request"],
  ["idempotency-key", "invalid_field"],
  ["origin", "bad_request"],
  ["sec-fetch-site", "bad_request"],
  ["traceparent", "bad_request"],
  ["transfer-encoding", "bad_request"],
  ["x-request-id", "bad_request"],
  ["x-service-environment", "bad_request"],
  ["x-service-server", "bad_request"],
  ["x-session-id", "bad_request"],
  ["x-trace-id", "bad_request"],
])

function checkRepeated(rawHeaders: readonly string[]): void {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase() // names and values alternate
    const code = single.get(name)
    if (code !== undefined && seen.has(name))
      throw new LedgerError(code, `${headerName(name)} must be sent only once`)
    seen.add(name)
  }
}

/**
 * On a loopback address, only requests to a loopback name or to the public address are answered. A
 * web page can let its own name resolve to 127.0.0.1, and then call this service as if it were the
 * page's server (DNS rebinding). On other addresses we cannot know all names, so any name is
 * accepted.
 */
export function hostRule(listenHost: string, publicUrl: string): HostRule {
  if (!isLoopback(listenHost)) return () => true
  const publicHost = new URL(publicUrl).hostname
  let last = ""
  return (host) => {
    if (host === last) return true
    const name = URL.parse(`http://${host}`)?.hostname
    if (name === undefined || /[/?#@\\]/.test(host) || !(name === publicHost || isLoopback(name)))
      return false
    last = host
    return true
  }
}

export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase()
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "::1" ||
    /^127(?:\.\d{1,3}){3}$/.test(name)
  )
}
