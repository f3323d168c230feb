import { definedOf } from "@tallystick/proof"
import { objectOf, type Optional } from "./given.ts"
import {
  abortedBy,
  failureOf,
  invalidRequest,
  networkFailureOf,
  TallystickError,
  withinCall,
  type Failure,
} from "./error.ts"
import type { Effects } from "./effects.ts"
import { expectRetryOptions, waitBefore, type RetryOptions } from "./retry.ts"

// One call: several attempts if needed, all with the same bytes and the same key.

/** Options of every call. */
export interface CallOptions extends Optional<RetryOptions> {
  /** Ends the call, which then rejects with `aborted`. */
  readonly signal?: AbortSignal | undefined
}

export interface Request {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** Made by `path`, so no value in it can lead to another path. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  /** Safe to repeat. GET and DELETE always are; writes are by their keys. */
  readonly isRepeatable?: boolean
  /** The answer's body is read after the call, and ends with the caller's signal as well. */
  readonly isStream?: boolean
  /** A status that is no success but still a valid answer. */
  readonly alsoReads?: number
  readonly idempotencyKey?: string
  readonly idempotencyKeys?: readonly string[]
}

/**
 * Sends a call and reads its answer. Reading is part of the attempt: a cut answer counts as none.
 */
export type Exchange = <T>(
  request: Request,
  read: (response: Response) => Promise<T>,
  options?: CallOptions,
) => Promise<T>

export interface ExchangeOptions {
  readonly baseUrl: string
  readonly key: string | undefined
  readonly retry: RetryOptions
  readonly effects: Effects
}

export function createExchange({ baseUrl, key, retry: usual, effects }: ExchangeOptions): Exchange {
  const base = baseUrl.replace(/\/+$/, "")
  return async (request, read, options) => {
    const { signal, ...given } = callOptionsOf(options)
    expectRetryOptions(given)
    const retry = { ...usual, ...definedOf(given) }
    const sent = prepared(base, key, request)
    const isRepeatable =
      request.isRepeatable ?? (request.method === "GET" || request.method === "DELETE")
    const endsAt = effects.now() + retry.timeoutMs
    // An attempt that was refused says nothing about an earlier one.
    let outcome: "unknown" | undefined
    for (let tried = 1; ; tried++) {
      const limit = limitOf(retry, Math.max(0, endsAt - effects.now()))
      const done = await attempt(effects, sent, request, read, limit, signal)
      if (!(done instanceof TallystickError)) return done.read
      if (done.outcome === "unknown") outcome = "unknown"
      const wait = waitBefore(tried, done, isRepeatable, retry, effects.random)
      if (wait === undefined || effects.now() + wait >= endsAt) {
        const { idempotencyKey, idempotencyKeys } = request
        throw withinCall(done, { idempotencyKey, idempotencyKeys, outcome })
      }
      await effects.sleep(wait, signal ?? new AbortController().signal)
    }
  }
}

/** Checks what `objectOf` does, and the signal. */
export function callOptionsOf(options: CallOptions | undefined): CallOptions {
  const given = objectOf(options, "options")
  const { signal } = given
  // Not by instanceof: another realm of the page has another AbortSignal.
  if (signal !== undefined && typeof objectOf(signal, "signal").addEventListener !== "function")
    throw invalidRequest("signal must be an AbortSignal, such as the signal of an AbortController")
  return given
}

/** The time that an attempt has, and what its error says once that is over. */
interface Limit {
  readonly ms: number
  readonly detail: string
}

function limitOf({ timeoutMs, attemptTimeoutMs }: RetryOptions, leftMs: number): Limit {
  return attemptTimeoutMs <= leftMs
    ? { ms: attemptTimeoutMs, detail: `no answer arrived within ${attemptTimeoutMs} ms` }
    : { ms: leftMs, detail: `no answer arrived within the ${timeoutMs} ms of the whole call` }
}

function prepared(base: string, key: string | undefined, request: Request) {
  const { method, path, query = {}, headers = {}, body, idempotencyKey, idempotencyKeys } = request
  // In a URL, the segments `.` and `..` keep their meaning even when escaped.
  if (path.split("/").some((segment, at) => at > 0 && /^\.{0,2}$/.test(segment))) {
    throw invalidRequest("an id in a path must be a string, and not be empty, . or ..")
  }
  const keys = { idempotencyKey, idempotencyKeys }
  return {
    url: urlOf(base, path, query),
    init: {
      method,
      headers: headersOf(key, headers, body, keys),
      // A followed redirect may turn a POST into a GET, whose success is not the write's.
      redirect: "manual",
      ...(body === undefined ? {} : { body: textOf(body, keys) }),
    } satisfies RequestInit,
  }
}

function urlOf(base: string, path: string, query: NonNullable<Request["query"]>): string {
  const asked = new URLSearchParams(
    Object.entries(definedOf(query)).map(([name, value]) => [name, textOfQuery(name, value)]),
  )
  return `${base}${path}${asked.size === 0 ? "" : `?${asked.toString()}`}`
}

/** A program without types may give null, and would ask for the word `null`. */
function textOfQuery(name: string, value: unknown): string {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return String(value)
  throw invalidRequest(`${name} must be a string, a number or a boolean`)
}

type Keys = Pick<Failure, "idempotencyKey" | "idempotencyKeys">

function headersOf(
  key: string | undefined,
  headers: NonNullable<Request["headers"]>,
  body: unknown,
  keys: Keys,
): Headers {
  const sent = new Headers({ accept: "application/json" })
  const given = {
    ...headers,
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(body !== undefined && { "content-type": "application/json" }),
  }
  for (const [name, value] of Object.entries(given))
    try {
      if (value !== undefined) sent.set(name, value)
    } catch {
      // Without the cause, which would show the header and so perhaps the key.
      const named = name === "authorization" ? "key" : name
      throw invalidRequest(`${named} has characters that a header cannot have`, keys)
    }
  return sent
}

function textOf(body: unknown, keys: Keys): string {
  try {
    return JSON.stringify(body, whole)
  } catch (cause) {
    const said = cause instanceof Error ? `: ${cause.message}` : ""
    throw invalidRequest(`the body cannot be written as JSON${said}`, keys)
  }
}

/**
 * JSON.stringify would write null for other numbers, and {} for these objects, and the ledger would
 * keep that.
 */
function whole(name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TypeError(`${name} is ${value}`)
  if (value instanceof Map || value instanceof Set || value instanceof Error)
    throw new TypeError(`${name} is of ${value.constructor.name}, whose content JSON leaves out`)
  if (typeof value === "bigint") throw new TypeError(`${name} is a BigInt`)
  return value
}

async function attempt<T>(
  { fetch, sleep }: Effects,
  { url, init }: ReturnType<typeof prepared>,
  { alsoReads, isStream = false }: Request,
  read: (response: Response) => Promise<T>,
  { ms: limitMs, detail }: Limit,
  signal: AbortSignal | undefined,
): Promise<{ readonly read: T } | TallystickError> {
  if (signal?.aborted) return abortedBy(signal, "rejected")
  const ended = new AbortController()
  const finished = new AbortController()
  void sleep(limitMs, finished.signal).then(() => finished.signal.aborted || ended.abort())
  const giveUp = (): void => ended.abort()
  signal?.addEventListener("abort", giveUp)
  // Of each AbortSignal.any, 60 bytes stay with the caller's signal on Node 20: only for streams.
  const ending =
    signal !== undefined && isStream ? AbortSignal.any([ended.signal, signal]) : ended.signal
  try {
    const response = await fetch(url, { ...init, signal: ending })
    if (!response.ok && response.status !== alsoReads)
      return failureOf(response, await response.text())
    return { read: await read(response) }
  } catch (cause) {
    if (signal?.aborted) return abortedBy(signal, "unknown")
    if (cause instanceof TallystickError) return cause
    if (!ended.signal.aborted) return networkFailureOf(cause)
    return new TallystickError({ code: "timeout", detail, status: 0, outcome: "unknown", cause })
  } finally {
    signal?.removeEventListener("abort", giveUp)
    finished.abort()
  }
}
