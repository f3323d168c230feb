// An endpoint is a value: its shapes, who may call it, and its handler. This file makes routes of
// endpoints.

import type { IncomingHttpHeaders } from "node:http"
import type { Readable } from "node:stream"
import type { TSchema } from "typebox"
import { LedgerError, type ErrorCode } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { Place } from "../ledger/admission.ts"
import { pacedBytesMin, unpaced, type Pace, type SharedPace } from "../runtime/pace.ts"
import type { Context } from "../store/opened-entry.ts"
import { none, readBody } from "./body.ts"
import { contextOf } from "./context-headers.ts"
import type { Incoming } from "./incoming.ts"
import { NotJson, parseStrict, type JsonLimits } from "./json.ts"
import type { Route } from "./server.ts"
import { checkOf, type Of } from "./shapes/check.ts"
import { queryCheckOf, type RawQuery } from "./shapes/query.ts"
import { Type } from "./shapes/type.ts"

/** Headers of some answers. */
export type AnswerHeader = "X-Ledger-Sequence" | "X-Ledger-Receipt"

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** Method and path, such as `GET /v1/workspaces/{workspaceId}`. */
export type RouteName = `${Method} /${string}`

export function placeOf(route: RouteName): Pick<Endpoint, "method" | "path"> {
  // The type of a route guarantees both parts.
  const [method, path] = route.split(" ") as [Method, `/${string}`]
  return { method, path }
}

export interface Endpoint<
  Access = unknown,
  Caller = unknown,
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  H extends TSchema = TSchema,
  B extends TSchema = TSchema,
> extends Handled<Access, Caller, P, Q, H, B> {
  readonly method: Method
  /** In OpenAPI's notation. A last `{name*}` matches the rest of the path, slashes included. */
  readonly path: `/${string}`
  readonly params?: P
}

/** Who may call an endpoint, with which input, and its handler. Only the guard reads `Access`. */
export interface Handled<
  Access = unknown,
  Caller = unknown,
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  H extends TSchema = TSchema,
  B extends TSchema = TSchema,
> {
  readonly access: Access
  /** Whether pages of any origin may call it with a bearer token. */
  readonly cors?: boolean
  readonly query?: Q
  /** Names in lower case. Other headers are not checked. */
  readonly headers?: H
  readonly body?: B
  /**
   * Parses and checks a large body in slices, and any body that is refused. If absent, it is parsed
   * and checked at once.
   */
  readonly readInPieces?: (bytes: Buffer, pace: Pace) => Promise<Of<B>>
  /** Whether a request without a body counts as `{}`. */
  readonly bodyMayBeAbsent?: boolean
  readonly bodyBytesMax?: number
  /** Levels of nesting around the part of the body that `depthMax` bounds. */
  readonly bodyDepthAround?: number
  /** Shown in the API's description instead of `body`, if the handler checks parts of it itself. */
  readonly documentedBody?: TSchema
  /** The shapes of successful answers by status; null for no body. */
  readonly answers: Readonly<Record<number, TSchema | null>>
  /** Media type of successful answers. JSON if absent. */
  readonly answerType?: string
  /** Other media types that the handler may choose. */
  readonly alsoAnswers?: readonly { readonly type: string; readonly shape: TSchema }[]
  /** Headers of successful answers that the description names. */
  readonly answerHeaders?: readonly AnswerHeader[]
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
  /** Size of the body as sent. */
  readonly bodyBytes: number
  readonly requestId: string
  readonly receivedAtMs: number
  readonly context: Context
  /** Lets other requests run in between if the body is large. */
  readonly pace: Pace
}

export interface Answer {
  readonly status: number
  /** An object is sent as JSON; a string, a buffer and a stream are sent unchanged. */
  readonly body?: object | string | Buffer | Readable
  /** Names in lower case. They override the headers that every answer has. */
  readonly headers?: Readonly<Record<string, string>>
}

export function ok(body: NonNullable<Answer["body"]>): Answer {
  return { status: 200, body }
}

export function created(body: object): Answer {
  return { status: 201, body }
}

export interface RouteOptions<Access, Caller> {
  /** Returns the caller, or throws if the caller has no access. Runs before the body is read. */
  readonly guard: (
    incoming: Incoming,
    endpoint: Endpoint<Access, Caller>,
  ) => Caller | Promise<Caller>
  /** Throws if the caller has no access any more. Runs once a body that was on its way has arrived. */
  readonly recheck?: (incoming: Incoming, endpoint: Endpoint<Access, Caller>) => Promise<unknown>
  /** Admits a request with a body until it is answered. If absent, nothing is limited. */
  readonly admit?: (caller: Caller, incoming: Incoming, endpoint: Endpoint<Access, Caller>) => Place
  /** Slices the work on large bodies. If absent, it is not sliced. */
  readonly pace?: SharedPace
  /**
   * Begins before the handler looks anything up. A refusal whose time could tell whether something
   * exists waits for it. Undefined for an endpoint without such refusals.
   */
  readonly refusalTime?: (endpoint: Endpoint<Access, Caller>) => Promise<void> | undefined
  /** The refusal for a path with an id that cannot exist. Not found, if absent. */
  readonly unknownResource?: (caller: Caller, workspaceId?: string) => LedgerError
  readonly limits: JsonLimits & Pick<Limits, "eventBytesMax" | "contextCharactersMax">
}

/** A route for each endpoint, and the preflight routes of those that other origins may call. */
export function routesOf<Access, Caller>(
  endpoints: readonly Endpoint<Access, Caller>[],
  options: RouteOptions<Access, Caller>,
): readonly Route[] {
  const shared = Map.groupBy(
    endpoints.filter(({ cors }) => cors),
    ({ path }) => path,
  )
  return [
    ...endpoints.map((endpoint) => new EndpointRoute(endpoint, options)),
    ...[...shared].map(([path, those]) =>
      preflightOf(
        path,
        those.map(({ method }) => method),
      ),
    ),
  ]
}

class EndpointRoute<Access, Caller> implements Route {
  readonly method: string
  readonly path: string
  readonly headers: NonNullable<Route["headers"]>
  readonly answerType: string
  readonly #endpoint: Endpoint<Access, Caller>
  readonly #options: RouteOptions<Access, Caller>
  readonly #checks: ReturnType<typeof checksOf<Access, Caller>>

  constructor(endpoint: Endpoint<Access, Caller>, options: RouteOptions<Access, Caller>) {
    this.method = endpoint.method
    this.path = endpoint.path
    this.headers = endpoint.cors ? crossOrigin : {}
    this.answerType = endpoint.answerType ?? "application/json; charset=utf-8"
    this.#endpoint = endpoint
    this.#options = options
    this.#checks = checksOf(endpoint, options)
  }

  async answer(incoming: Incoming): Promise<Answer> {
    const { guard, admit } = this.#options
    // Throws for an ambiguous query, before anything else.
    const { query } = incoming
    const caller = await guard(incoming, this.#endpoint)
    const hasBody = this.#checks.body !== undefined
    const place = hasBody ? admit?.(caller, incoming, this.#endpoint) : undefined
    try {
      return await this.#answerTo(incoming, query, caller, place)
    } finally {
      place?.leave()
    }
  }

  async #answerTo(
    incoming: Incoming,
    given: RawQuery,
    caller: Caller,
    place: Place | undefined,
  ): Promise<Answer> {
    const { limits } = this.#options
    const { requestId, receivedAtMs } = incoming
    const params = this.#checks.params(incoming.params, caller)
    const query = this.#checks.query(given)
    const headers = this.#checks.headers(incoming.headers)
    const context = contextOf(incoming.headers, limits.contextCharactersMax)
    const body = this.#checks.body === undefined ? none : this.#bodyOf(incoming, place)
    const bytes = body instanceof Promise ? await this.#arrived(body, incoming) : body
    const turn = place?.turn()
    if (turn !== undefined) await turn
    // A body that is larger than one event is checked in slices.
    const isLarge = bytes.length >= pacedBytesMin || bytes.length > limits.eventBytesMax
    const pace = isLarge ? this.#paceOf(place) : unpaced
    const read = isLarge ? this.#readLarge(bytes, pace) : this.#readSmall(bytes)
    const parsed: unknown = read instanceof Promise ? await read : read
    const call = {
      caller,
      params,
      query,
      headers,
      body: parsed,
      incoming,
      bodyBytes: bytes.length,
      requestId,
      receivedAtMs,
      context,
      pace,
    }
    // The time of a refusal begins before the look-ups. If it began at the refusal, longer look-ups
    // would still show.
    const time = this.#options.refusalTime?.(this.#endpoint)
    try {
      return await this.#endpoint.handle(call)
    } catch (error) {
      if (error instanceof LedgerError && hiding.has(error.code)) await time
      throw error
    }
  }

  #bodyOf(incoming: Incoming, place: Place | undefined): Buffer | Promise<Buffer> {
    const { bodyMayBeAbsent = false, bodyBytesMax } = this.#endpoint
    return readBody(incoming, {
      mayBeAbsent: bodyMayBeAbsent,
      bytesMax: bodyBytesMax ?? this.#options.limits.eventBytesMax,
      place,
    })
  }

  /** A client may send its body for half a minute, and its credential may end meanwhile. */
  async #arrived(body: Promise<Buffer>, incoming: Incoming): Promise<Buffer> {
    const bytes = await body
    await this.#options.recheck?.(incoming, this.#endpoint)
    return bytes
  }

  #paceOf(place: Place | undefined): Pace {
    const { pace = unpaced } = this.#options
    return place === undefined ? pace : pace.of(place.sender)
  }

  /** A body that breaks a rule of JSON is read in pieces, which may refuse only a part of it. */
  #readSmall(bytes: Buffer): unknown {
    const { readInPieces } = this.#endpoint
    try {
      return this.#checks.body?.(bytes)
    } catch (error) {
      if (readInPieces === undefined || error instanceof NotJson) throw error
      return readInPieces(bytes, unpaced).catch(() => {
        throw error
      })
    }
  }

  async #readLarge(bytes: Buffer, pace: Pace): Promise<unknown> {
    const { readInPieces } = this.#endpoint
    if (pace.isUp()) await pace.next()
    const body =
      readInPieces === undefined ? this.#checks.body?.(bytes) : await readInPieces(bytes, pace)
    // The handler gets a time slice of its own.
    if (pace.isUp()) await pace.next()
    return body
  }
}

/** Refusals that must not tell whether something exists. */
const hiding: ReadonlySet<ErrorCode> = new Set([
  "unauthorized",
  "insufficient_scope",
  "workspace_forbidden",
  "project_forbidden",
  "not_found",
])

// Checks ------------------------------------------------------------------------------------------

/**
 * The checks of an endpoint, compiled once. An endpoint without a shape for its query accepts no
 * query.
 */
function checksOf<Access, Caller>(
  endpoint: Endpoint<Access, Caller>,
  options: RouteOptions<Access, Caller>,
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
        // A malformed id gets the same answer as an unknown one.
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

// Other origins -----------------------------------------------------------------------------------

/**
 * Any origin may read the answer, but not with cookies: for a request with cookies, a browser
 * accepts no wildcard.
 */
const crossOrigin = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "X-Request-Id, Retry-After, WWW-Authenticate, Ledger-State",
} as const

const preflightAnswer = {
  "access-control-allow-headers": "Authorization, Content-Type, X-Request-Id",
  "access-control-max-age": "86400",
} as const

function preflightOf(path: string, methods: readonly string[]): Route {
  const headers = {
    ...crossOrigin,
    ...preflightAnswer,
    "access-control-allow-methods": methods.join(", "),
  }
  return { method: "OPTIONS", path, answer: () => ({ status: 204, headers }) }
}
