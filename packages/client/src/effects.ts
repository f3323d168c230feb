import { toHex } from "@tallystick/proof"

/**
 * What a client needs of the world outside. Each has a default that browsers and Node both have; a
 * test gives its own.
 */
export interface Effects {
  readonly fetch: typeof fetch
  /** Monotonic milliseconds, from any start. */
  readonly now: () => number
  /** Resolves after so many milliseconds, or as soon as the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** From 0 to just below 1. */
  readonly random: () => number
  /** A new, unique idempotency key of 12 to 255 characters. */
  readonly newKey: () => string
}

const keyBytes = 16

export const defaultEffects: Effects = {
  // Calls the global fetch by name: browsers refuse a fetch that is a method of another object.
  fetch: (...request) => fetch(...request),
  now: () => performance.now(),
  sleep,
  random: Math.random,
  // Pages over plain HTTP have no crypto.randomUUID, and have this.
  newKey: () => toHex(crypto.getRandomValues(new Uint8Array(keyBytes))),
}

/** Timers run at once if they are given more. */
const timerMsMax = 2 ** 31 - 1

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const wake = (): void => {
      clearTimeout(timer)
      signal.removeEventListener("abort", wake)
      resolve()
    }
    const timer = setTimeout(wake, Math.min(ms, timerMsMax))
    signal.addEventListener("abort", wake)
  })
}
