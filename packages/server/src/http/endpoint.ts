// An endpoint is a value: what it takes, what it answers, who may call it, and the function that
// does it. This file turns a list of them into routes.

import type { IncomingHttpHeaders } from "node:http"
import type { Readable } from "node:stream"
import type { TSchema } from "typebox"
import { LedgerError, type ErrorCode } from "../error.ts"
import type { Place } from "../ledger/admission.ts"
import { pacedBytesMin, unpaced, type Pace } from "../runtime/pace.ts"
import { none, readBody } from "./body.ts"
import { contextOf, type Context } from "./context-headers.ts"
import type { Incoming } from "./incoming.ts"
import { parseStrict, type JsonLimits } from "./json.ts"
import type { Route } from "./server.ts"
import { checkOf, type Of } from "./shapes/check.ts"
import { queryCheckOf } from "./shapes/query.ts"
import { Type } from "./shapes/type.ts"

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

export interface RouteOptions<Access, Caller> {
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
}

/**
 * A route for each endpoint, and for what browsers ask before they call one from another origin.
 */
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
    const caller = await guard(incoming, this.#endpoint)
    if (this.#checks.body === undefined || admit === undefined)
      return await this.#answerTo(incoming, caller, undefined)
    const place = admit(caller, incoming, this.#endpoint)
    try {
      return await this.#answerTo(incoming, caller, place)
    } finally {
      place.leave()
    }
  }

  async #answerTo(incoming: Incoming, caller: Caller, place: Place | undefined): Promise<Answer> {
    const { limits, pace = unpaced } = this.#options
    const { requestId, receivedAtMs } = incoming
    const params = this.#checks.params(incoming.params, caller)
    const query = this.#checks.query(incoming.query)
    const headers = this.#checks.headers(incoming.headers)
    const context = contextOf(incoming.headers, limits.contextCharactersMax)
    const bytes = this.#checks.body === undefined ? none : await this.#bodyOf(incoming, place)
    const turn = place?.turn()
    if (turn !== undefined) await turn
    // Of what is larger than one event may be, each part is measured as well.
    const isLarge = bytes.length >= pacedBytesMin || bytes.length > limits.eventBytesMax
    const call = {
      caller,
      params,
      query,
      headers,
      body: isLarge ? await this.#readLarge(bytes, pace) : this.#checks.body?.(bytes),
      incoming,
      bodyBytes: bytes.length,
      requestId,
      receivedAtMs,
      context,
      pace: isLarge ? pace : unpaced,
    }
    return await this.#handle(call)
  }

  #bodyOf(incoming: Incoming, place: Place | undefined): Promise<Buffer> {
    const { bodyMayBeAbsent = false, bodyBytesMax } = this.#endpoint
    return readBody(incoming, {
      mayBeAbsent: bodyMayBeAbsent,
      bytesMax: bodyBytesMax ?? this.#options.limits.eventBytesMax,
      place,
    })
  }

  async #readLarge(bytes: Buffer, pace: Pace): Promise<unknown> {
    const { readInPieces } = this.#endpoint
    if (pace.isUp()) await pace.next()
    const body =
      readInPieces === undefined ? this.#checks.body?.(bytes) : await readInPieces(bytes, pace)
    // Whoever works with it has a piece of time for that.
    if (pace.isUp()) await pace.next()
    return body
  }

  /**
   * The time of a refusal has begun before anything is looked up: begun at the refusal, it would
   * end later where the look-ups took longer.
   */
  async #handle(call: Parameters<Endpoint<Access, Caller>["handle"]>[0]): Promise<Answer> {
    const time = this.#options.refusalTime?.(this.#endpoint)
    try {
      return await this.#endpoint.handle(call)
    } catch (error) {
      if (error instanceof LedgerError && hiding.has(error.code)) await time
      throw error
    }
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

// Checks ------------------------------------------------------------------------------------------

/**
 * The checks of an endpoint, compiled once. Where it has no shape, nothing may be given; for
 * headers, everything.
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

function preflightOf(path: string, methods: readonly string[]): Route {
  const headers = {
    ...crossOrigin,
    ...preflightAnswer,
    "access-control-allow-methods": methods.join(", "),
  }
  return { method: "OPTIONS", path, headers, answer: () => ({ status: 204 }) }
}
