import type { TallystickError } from "./error.ts"

/** How long a call waits, and how often it is repeated. */
export interface RetryOptions {
  /** For the whole call, all its attempts and the waits between them. */
  readonly timeoutMs: number
  /** For one attempt, to the last byte of its answer. */
  readonly attemptTimeoutMs: number
  /** How often a call is repeated after its first attempt. */
  readonly retriesMax: number
  /**
   * The first wait is up to this long, and each further one up to twice as long as the one before.
   */
  readonly waitMs: number
  /**
   * No wait is longer. If the service asks for a longer one, the call fails at once and says so.
   */
  readonly waitMaxMs: number
}

export const defaultRetry: RetryOptions = {
  timeoutMs: 60_000,
  attemptTimeoutMs: 20_000,
  retriesMax: 6,
  waitMs: 100,
  waitMaxMs: 10_000,
}

/**
 * How long to wait before another attempt; undefined if there must be none. `isRepeatable`: doing
 * it twice is doing it once. What was refused before it was done may be sent again in any case.
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
  // Full jitter: clients that failed together do not come back together.
  const jitter = random() * Math.min(waitMaxMs, waitMs * 2 ** (attempt - 1))
  const asked = (error.retryAfterSeconds ?? 0) * 1000
  return asked > waitMaxMs ? undefined : asked + jitter
}

/** Whether waiting may help, and repeating cannot hurt. */
function passes({ outcome, status, code }: TallystickError, isRepeatable: boolean): boolean {
  if (outcome === "rejected") return status === 429 || status >= 500 || code === "network_error"
  return isRepeatable && (status >= 500 || code === "network_error" || code === "timeout")
}
