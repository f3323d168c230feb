import { isObject, parseJson } from "@tallystick/proof"
import { failureOf } from "./error.ts"
import type { CallOptions, Exchange, Request } from "./exchange.ts"

type Query = NonNullable<Request["query"]>

/** Functions for requests, one for each way to read the answer. */
export interface Call {
  get<T>(path: string, query: Query, options?: CallOptions): Promise<T>
  post<T>(path: string, body: unknown, options?: CallOptions): Promise<T>
  patch<T>(path: string, body: unknown, options?: CallOptions): Promise<T>
  delete(path: string, options?: CallOptions): Promise<void>
  text(path: string, options?: CallOptions): Promise<string>
  bytes(path: string, query: Query, options?: CallOptions): Promise<Uint8Array>
  json<T>(request: Request, options?: CallOptions): Promise<T>
  nothing(request: Request, options?: CallOptions): Promise<void>
  /** Also reads the answer's headers. */
  exchange: Exchange
}

export function callsBy(exchange: Exchange): Call {
  const json = <T>(request: Request, options?: CallOptions) => exchange(request, jsonOf<T>, options)
  const nothing = (request: Request, options?: CallOptions) =>
    exchange(request, async (response) => void (await response.arrayBuffer()), options)
  const headers = { accept: "*/*" }
  return {
    exchange,
    json,
    nothing,
    get: (path, query, options) => json({ method: "GET", path, query }, options),
    post: (path, body, options) => json({ method: "POST", path, body }, options),
    patch: (path, body, options) => json({ method: "PATCH", path, body }, options),
    delete: (path, options) => nothing({ method: "DELETE", path }, options),
    text: (path, options) =>
      exchange({ method: "GET", path, headers }, (response) => response.text(), options),
    bytes: (path, query, options) =>
      exchange(
        { method: "GET", path, query, headers },
        async (response) => new Uint8Array(await response.arrayBuffer()),
        options,
      ),
  }
}

/**
 * The service guarantees the form of a successful answer: its tests compare it with the types of
 * wire.ts. But a proxy or another program may have answered. `isOne` checks what a caller relies
 * on.
 */
export async function jsonOf<T>(
  response: Response,
  isOne: (answer: T) => boolean = () => true,
): Promise<T> {
  const text = await response.text()
  const value = parsed<T>(text)
  if (isObject(value) && isOne(value)) return value
  throw failureOf(response, text)
}

/** Undefined if it is not JSON. JSON.parse would mix up names of members at times. */
export function parsed<T>(text: string): T | undefined {
  return parseJson(text) as T | undefined // see above
}

/**
 * A path whose values stay within their segments: path`/v1/workspaces/${id}`. The segment of a value
 * that is no string is empty, and refused.
 */
export function path(segments: TemplateStringsArray, ...values: readonly string[]): string {
  return segments.reduce(
    (made, segment, at) => made + encodeURIComponent(textOf(values[at - 1])) + segment,
  )
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : ""
}
