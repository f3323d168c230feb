import { TallystickError } from "./error.ts"
import type { CallOptions, Exchange, Request } from "./exchange.ts"

/** A request, and how to read its answer. */
export interface Call {
  json<T>(request: Request, options?: CallOptions): Promise<T>
  text(request: Request, options?: CallOptions): Promise<string>
  bytes(request: Request, options?: CallOptions): Promise<Uint8Array>
  nothing(request: Request, options?: CallOptions): Promise<void>
  /** Also reads the answer's headers. */
  exchange: Exchange
}

export function callsBy(exchange: Exchange): Call {
  return {
    exchange,
    json: <T>(request: Request, options?: CallOptions) => exchange(request, jsonOf<T>, options),
    text: ({ headers, ...request }, options) =>
      exchange(
        { ...request, headers: { accept: "*/*", ...headers } },
        (response) => response.text(),
        options,
      ),
    bytes: ({ headers, ...request }, options) =>
      exchange(
        { ...request, headers: { accept: "*/*", ...headers } },
        async (response) => new Uint8Array(await response.arrayBuffer()),
        options,
      ),
    nothing: (request, options) =>
      exchange(request, async (response) => void (await response.arrayBuffer()), options),
  }
}

/**
 * What a good answer looks like is the service's promise, which its own tests hold against the
 * types of wire.ts.
 */
export async function jsonOf<T>(response: Response): Promise<T> {
  const text = await response.text()
  try {
    return JSON.parse(text) as T // see above
  } catch (cause) {
    const { status, headers } = response
    throw new TallystickError({
      code: "unexpected_answer",
      detail: `the answer has status ${status} and is not JSON`,
      status,
      outcome: "unknown",
      requestId: headers.get("x-request-id") ?? undefined,
      cause,
    })
  }
}

/** A path whose values stay within their segments: path`/v1/workspaces/${id}`. */
export function path(segments: TemplateStringsArray, ...values: readonly string[]): string {
  return segments.reduce(
    (made, segment, at) => made + encodeURIComponent(values[at - 1] ?? "") + segment,
  )
}
