import { parsed, type Call } from "../call.ts"
import { failureOf } from "../error.ts"
import type { CallOptions } from "../exchange.ts"
import type { Health, Limits, Readiness, System } from "../wire.ts"

/** The service itself. None of these needs a key, but for `system`. */
export function serviceCalls(call: Call) {
  return {
    /** The process lives. */
    health: (options?: CallOptions): Promise<Health> => call.get("/healthz", {}, options),

    /** Check that the ledger can append, and if not, why. */
    readiness: (options?: CallOptions): Promise<Readiness> =>
      call.exchange(
        { method: "GET", path: "/readyz", query: { verbose: true }, alsoReads: 503 },
        readinessOf,
        options,
      ),

    /** What the service counts, for Prometheus. */
    metrics: (options?: CallOptions): Promise<string> => call.text("/metrics", options),

    /** The numbers that bound requests. */
    limits: (options?: CallOptions): Promise<Limits> => call.get("/v1/limits", {}, options),

    /** What an operator looks at first. It needs the instance key, or a session of its admin. */
    system: (options?: CallOptions): Promise<System> => call.get("/v1/system", {}, options),

    /** The API's description, OpenAPI 3.1. */
    description: (options?: CallOptions): Promise<object> => call.get("/openapi.json", {}, options),

    /** The same as a page for people. */
    docs: (options?: CallOptions): Promise<string> => call.text("/docs", options),
  }
}

/**
 * With status 503 the service says that it is not ready, or that it is shutting down; or a proxy
 * says something.
 */
async function readinessOf(response: Response): Promise<Readiness> {
  const text = await response.text()
  const answer = parsed<Readiness | null>(text)
  if (typeof answer?.ready === "boolean") return answer
  throw failureOf(response, text)
}
