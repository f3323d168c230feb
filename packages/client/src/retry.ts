import { invalidRequest, type TallystickError } from "./error.ts"
import type { Optional } from "./given.ts"

/** Time limits and retries of a call. */
export interface RetryOptions {
  /** Limit for the whole call, with all attempts and waits. */
  readonly timeoutMs: number
  /** Limit for one attempt, to the last byte of its answer. */
  readonly attemptTimeoutMs: number
  /** Number of retries after the first attempt. */
  readonly retriesMax: number
  /**
   * The first wait is up to this long, and each further one up to twice as long as the one before.
   */
  readonly waitMs: number
  /** Longest wait. If the service asks for a longer one, the call fails at once and says so. */
  readonly waitMaxMs: number
}

export const defaultRetry: RetryOptions = {
  timeoutMs: 60_000,
  attemptTimeoutMs: 20_000,
  retriesMax: 6,
  waitMs: 100,
  waitMaxMs: 10_000,
}

/** An option that is misspelt or no number would be ignored, or end a call at once. */
export function expectRetryOptions(options: Optional<RetryOptions>): void {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in defaultRetry)) throw invalidRequest(`${name} is not a known option`)
    if (value !== undefined && !(typeof value === "number" && value >= 0))
      throw invalidRequest(`${name} must be a number, 0 or more`)
  }
}

/**
 * The wait before the next attempt. Undefined for no further attempt. `isRepeatable` says that the
 * call is safe to run twice. A call that was refused before it ran may always be retried.
 */
export function waitBefore(
  attempt: number,
  error: TallystickError,
  isRepeatable: boolean,
  { retriesMax, waitMs, waitMaxMs }: RetryOptions,
  random: () => number,
): number | undefined {
  if (attempt > retriesMax || error.code === "aborted" || !passes(error, isRepeatable))
    return undefined
  // Full jitter: clients that failed together do not retry together.
  const jitter = random() * Math.min(waitMaxMs, waitMs * 2 ** (attempt - 1))
  const asked = (error.retryAfterSeconds ?? 0) * 1000
  return asked > waitMaxMs ? undefined : asked + jitter
}

/** Whether waiting may help and repeating is harmless. */
function passes({ outcome, status, code }: TallystickError, isRepeatable: boolean): boolean {
  if (outcome === "rejected")
    return status === 408 || status === 429 || status >= 500 || code === "network_error"
  return isRepeatable && (status >= 500 || code === "network_error" || code === "timeout")
}
