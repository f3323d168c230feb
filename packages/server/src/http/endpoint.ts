import { isUtf8 } from "node:buffer"
import type { IncomingHttpHeaders } from "node:http"
import { Readable } from "node:stream"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import type { TSchema } from "typebox"
import { Type } from "./shapes/type.ts"
import type { Clock } from "../clock.ts"
import { LedgerError, type ErrorCode } from "../error.ts"
import type { Place } from "../ledger/admission.ts"
import { signalOf } from "./client-disconnect.ts"
import { pacedBytesMin, unpaced, type Pace } from "../runtime/pace.ts"
import { none, readBody } from "./body.ts"
import { refusalOf } from "./errors.ts"
import { parseStrict, type JsonLimits } from "./json.ts"
import { sendRefusal, type Log } from "./server.ts"
import { checkOf, headerName, type Of } from "./shapes/check.ts"
import { parseQuery, queryCheckOf, type RawQuery } from "./shapes/query.ts"

// An endpoint is a value: what it takes, what it answers, who may call it, and the function that
// does it. This file turns a list of them into routes.

/** Who may call is between the endpoint and the guard: `Access` and `Caller` mean nothing here. */
export interface Endpoint<
  Access = unknown,
  Caller = unknown,
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  H extends TSchema = TSchema,
  B extends TSchema = TSchema,
> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /**
   * As OpenAPI writes it: `/v1/workspaces/{workspaceId}`. A last `{name*}` takes the rest of the
   * path, slashes included.
   */
  readonly path: `/${string}`
  readonly access: Access
  /** Whether pages of any origin may call it with a bearer. */
  readonly cors?: boolean
  readonly params?: P
  readonly query?: Q
  /** In lower case. Headers that are not named pass. */
  readonly headers?: H
  readonly body?: B
  /** Reads a large body in pieces, and gives what `body` would let through. At once, if absent. */
  readonly readInPieces?: (bytes: Buffer, pace: Pace) => Promise<Of<B>>
  /** No body is then read as `{}`. */
  readonly bodyMayBeAbsent?: boolean
  readonly bodyBytesMax?: number
  /** Levels of nesting that its body puts around what `depthMax` bounds. */
  readonly bodyDepthAround?: number
  /**
   * What the description shows in place of `body`, where the handler checks parts of it by itself.
   */
  readonly documentedBody?: TSchema
  /** The shapes of its good answers by status; null for no body. */
  readonly answers: Readonly<Record<number, TSchema | null>>
  /** The media type of its good answers. JSON if absent. */
  readonly answerType?: string
  /** Another form of them, which its handler chooses by what was asked. */
  readonly alsoAnswers?: { readonly type: string; readonly shape: TSchema }
  handle(call: Call<Caller, Of<P>, Of<Q>, Of<H>, Of<B>>): Answer | Promise<Answer>
}

export interface Call<
  Caller = unknown,
  Params = unknown,
  Query = unknown,
  Headers = unknown,
  Body = unknown,
> {
  readonly caller: Caller
  readonly params: Params
  readonly query: Query
  readonly headers: Headers
  readonly body: Body
  readonly incoming: Incoming
  /** As it was sent. */
  readonly bodyBytes: number
  readonly requestId: string
  readonly receivedAtMs: number
  readonly context: Context
  /** Has others run in between, if its body is large. */
  readonly pace: Pace
}

/** Where a write comes from, as its client's headers say. */
export interface Context {
  readonly environment?: string
  readonly server?: string
  readonly requestId?: string
  readonly sessionId?: string
  readonly traceId?: string
  readonly traceparent?: string
}

export interface Answer {
  readonly status: number
  /**
   * An object is sent as JSON; a string is sent as it is, and is JSON unless the endpoint says
   * otherwise; a stream is sent as it comes.
   */
  readonly body?: object | string | Buffer | Readable
  /** In lower case; they win over what every answer says. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What is known of a request before its body is read. Nothing in it is checked but its framing. */
export interface Incoming {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  /** The client's address, or what a trusted proxy says it is. */
  readonly address: string
  readonly requestId: string
  readonly receivedAtMs: number
  /** Aborted, with a refusal that nobody reads, when the client has closed the connection. */
  readonly signal: AbortSignal
}

export interface MountOptions<Access, Caller> {
  /** Says who is calling, or throws why this caller may not. It decides before the body is read. */
  readonly guard: (
    incoming: Incoming,
    endpoint: Endpoint<Access, Caller>,
  ) => Caller | Promise<Caller>
  /** Says what a request with a body may have until it is answered. All it wants, if absent. */
  readonly admit?: (caller: Caller, incoming: Incoming, endpoint: Endpoint<Access, Caller>) => Place
  /** At which large bodies are worked on. All at once, if absent. */
  readonly pace?: Pace
  /**
   * Begun before an endpoint looks anything up: its refusals that could tell by their time what
   * there is wait for it. Undefined: none could.
   */
  readonly refusalTime?: (endpoint: Endpoint<Access, Caller>) => Promise<void> | undefined
  /**
   * What to say to a caller for whom the path names nothing that could exist. Not found, if absent.
   */
  readonly unknownResource?: (caller: Caller, workspaceId?: string) => LedgerError
  readonly limits: JsonLimits & {
    readonly eventBytesMax: number
    readonly contextCharactersMax: number
  }
  readonly clock: Clock
  readonly log: Log
}

/**
 * Adds a route for each endpoint, and what browsers ask before they call one from another origin.
 */
export function mount<Access, Caller>(
  server: FastifyInstance,
  endpoints: readonly Endpoint<Access, Caller>[],
  options: MountOptions<Access, Caller>,
): void {
  const preflights = new Map<string, string[]>()
  for (const endpoint of endpoints) {
    const url = routeOf(endpoint.path)
    server.route({ method: endpoint.method, url, handler: handlerOf(endpoint, options) })
    if (endpoint.cors) preflights.set(url, [...(preflights.get(url) ?? []), endpoint.method])
  }
  for (const [url, methods] of preflights) {
    const headers = {
      ...crossOrigin,
      ...preflightAnswer,
      "access-control-allow-methods": methods.join(", "),
    }
    server.options(url, (_request, reply) => void reply.code(204).headers(headers).send())
  }
}

/** `/a/{b}/{c*}` as the router writes it: `/a/:b/*`. */
function routeOf(path: string): string {
  return path.replace(/\{\w+\*\}$/, "*").replaceAll(/\{(\w+)\}/g, ":$1")
}

function handlerOf<Access, Caller>(
  endpoint: Endpoint<Access, Caller>,
  options: MountOptions<Access, Caller>,
) {
  const { guard, clock, limits, log, pace = unpaced } = options
  const checks = checksOf(endpoint, options)
  const rest = /\{(\w+)\*\}$/.exec(endpoint.path)?.[1]
  const cors = endpoint.cors ? crossOrigin : {}
  const { bodyMayBeAbsent: mayBeAbsent = false, bodyBytesMax: bytesMax = limits.eventBytesMax } =
    endpoint
  const headersOfAnswer = {
    ...cors,
    "content-type": endpoint.answerType ?? "application/json; charset=utf-8",
  }

  const readLarge = async (bytes: Buffer): Promise<unknown> => {
    if (pace.isUp()) await pace.next()
    const body =
      endpoint.readInPieces === undefined
        ? checks.body?.(bytes)
        : await endpoint.readInPieces(bytes, pace)
    // Whoever works with it has a piece of time for that.
    if (pace.isUp()) await pace.next()
    return body
  }

  const answerTo = async (
    request: FastifyRequest,
    reply: FastifyReply,
    incoming: Arrived,
    caller: Caller,
    place?: Place,
  ): Promise<Answer> => {
    const params = checks.params(incoming.params, caller)
    const query = checks.query(incoming.query)
    const headers = checks.headers(incoming.headers)
    const context = contextOf(incoming.headers, limits.contextCharactersMax)
    const goOn = (): void => {
      if (request.headers.expect !== undefined) reply.raw.writeContinue()
    }
    const bytes =
      checks.body === undefined
        ? none
        : await readBody(request.raw, { mayBeAbsent, bytesMax, place, goOn })
    const turn = place?.turn()
    if (turn !== undefined) await turn
    // Of what is larger than one event may be, each part is measured as well.
    const isLarge = bytes.length >= pacedBytesMin || bytes.length > limits.eventBytesMax
    const body = isLarge ? await readLarge(bytes) : checks.body?.(bytes)
    const { requestId, receivedAtMs } = incoming
    const call = {
      caller,
      params,
      query,
      headers,
      body,
      incoming,
      bodyBytes: bytes.length,
      requestId,
      receivedAtMs,
      context,
    }
    return await refusedInTime(options.refusalTime?.(endpoint), () =>
      endpoint.handle({ ...call, pace: isLarge ? pace : unpaced }),
    )
  }

  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const incoming = new Arrived(request, clock.now(), rest)
    const caller = await guard(incoming, endpoint)
    const place =
      checks.body === undefined ? undefined : options.admit?.(caller, incoming, endpoint)
    try {
      const answer = await answerTo(request, reply, incoming, caller, place)
      reply.code(answer.status).headers(answer.body === undefined ? cors : headersOfAnswer)
      if (answer.headers !== undefined) reply.headers(answer.headers)
      reply.send(
        typeof answer.body === "object" && !isBytes(answer.body)
          ? JSON.stringify(answer.body)
          : answer.body,
      )
    } finally {
      place?.leave()
    }
  }

  return (request: FastifyRequest, reply: FastifyReply): void => {
    serve(request, reply).catch((error: unknown) => {
      const refusal = refusalOf(error, (fault) =>
        log.error({ err: fault, requestId: request.id }, "a request failed"),
      )
      sendRefusal(reply.headers(cors), refusal)
    })
  }
}

/**
 * The time has begun before anything is looked up: begun at the refusal, it would end later where
 * the look-ups took longer.
 */
async function refusedInTime(
  time: Promise<void> | undefined,
  handle: () => Answer | Promise<Answer>,
): Promise<Answer> {
  try {
    return await handle()
  } catch (error) {
    if (error instanceof LedgerError && hiding.has(error.code)) await time
    throw error
  }
}

/** What is said alike of what there is and of what there is not. */
const hiding: ReadonlySet<ErrorCode> = new Set([
  "unauthorized",
  "insufficient_scope",
  "workspace_forbidden",
  "project_forbidden",
  "not_found",
])

function isBytes(body: object): body is Buffer | Readable {
  return Buffer.isBuffer(body) || body instanceof Readable
}

class Arrived implements Incoming {
  readonly #request: FastifyRequest
  readonly headers: IncomingHttpHeaders
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  readonly requestId: string
  readonly receivedAtMs: number

  /** `rest` is the name of the parameter that takes the rest of the path. */
  constructor(request: FastifyRequest, receivedAtMs: number, rest: string | undefined) {
    const { "*": tail = "", ...params } = request.params as Record<string, string> // the router's: one string for each name in the path
    this.#request = request
    this.headers = request.headers
    this.params = rest === undefined ? params : { ...params, [rest]: tail }
    this.query = parseQuery(request.raw.url ?? "")
    this.requestId = request.id
    this.receivedAtMs = receivedAtMs
  }

  get method(): string {
    return this.#request.method
  }

  get address(): string {
    return this.#request.ip
  }

  get signal(): AbortSignal {
    return signalOf(this.#request.raw.socket)
  }
}

// Checks ------------------------------------------------------------------------------------------

/**
 * The checks of an endpoint, compiled once. Where it has no shape, nothing may be given; for
 * headers, everything.
 */
function checksOf<Access, Caller>(
  endpoint: Endpoint<Access, Caller>,
  options: MountOptions<Access, Caller>,
) {
  const checkParams = endpoint.params && checkOf(endpoint.params, "path parameter")
  const unknownResource =
    options.unknownResource ?? (() => new LedgerError("not_found", "there is nothing at this path"))
  const checkHeaders = endpoint.headers && checkOf(endpoint.headers, "header")
  const checkBody = endpoint.body && checkOf(endpoint.body)
  const jsonLimits = {
    ...options.limits,
    depthMax: options.limits.depthMax + (endpoint.bodyDepthAround ?? 0),
  }
  return {
    params(given: Incoming["params"], caller: Caller): unknown {
      try {
        return checkParams?.(given)
      } catch (error) {
        // An id that cannot exist is told apart from one that does not exist by nobody.
        throw error instanceof LedgerError ? unknownResource(caller, given["workspaceId"]) : error
      }
    },
    query: queryCheckOf(endpoint.query ?? Type.Object({})),
    headers: (given: IncomingHttpHeaders): unknown => checkHeaders?.(given),
    body:
      checkBody &&
      ((bytes: Buffer): unknown => checkBody(bytes === none ? {} : parseStrict(bytes, jsonLimits))),
  }
}

function contextOf(headers: IncomingHttpHeaders, charactersMax: number): Context {
  const text = (header: string): string | undefined =>
    contextText(header, headers[header], charactersMax)
  const environment = text("x-service-environment")
  const server = text("x-service-server")
  const requestId = text("x-request-id")
  const sessionId = text("x-session-id")
  const traceId = text("x-trace-id")
  const traceparent = traceparentOf(headers["traceparent"])
  return {
    ...(environment !== undefined && { environment }),
    ...(server !== undefined && { server }),
    ...(requestId !== undefined && { requestId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(traceId !== undefined && { traceId }),
    ...(traceparent !== undefined && { traceparent }),
  }
}

/**
 * W3C Trace Context, version 00: trace and parent are not all zeros. A program in between may have
 * made it, so what is malformed is ignored, as the recommendation says, and no write is refused for
 * it.
 */
const traceparentForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

function traceparentOf(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" && traceparentForm.test(value) ? value : undefined
}

function contextText(
  header: string,
  value: string | string[] | undefined,
  charactersMax: number,
): string | undefined {
  if (typeof value !== "string" || value === "") return undefined
  // Node reads headers as Latin-1; what is not ASCII was sent as UTF-8 by anyone who writes clients
  // today.
  const text = /^[ -~]*$/.test(value) ? value : fromUtf8(value)
  if (text !== undefined && text.length <= charactersMax) return text
  throw new LedgerError(
    "invalid_field",
    `${headerName(header)} must be text in UTF-8 of ${charactersMax} characters at most`,
  )
}

function fromUtf8(latin1: string): string | undefined {
  const bytes = Buffer.from(latin1, "latin1")
  const text = bytes.toString()
  return isUtf8(bytes) && !/\p{Cc}/u.test(text) ? text : undefined
}

// Other origins -----------------------------------------------------------------------------------

/**
 * Any origin may read the answer. Never with cookies: for those a browser would want its origin
 * named.
 */
const crossOrigin = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "X-Request-Id, Retry-After, WWW-Authenticate, Ledger-State",
} as const

const preflightAnswer = {
  "access-control-allow-headers": "Authorization, Content-Type, X-Request-Id",
  "access-control-max-age": "86400",
} as const
