// The only place that asks the machine for the time or for a delay. Everything else is given a Clock.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Monotonic milliseconds, for durations. */
  elapsed(): number
  /** Resolves after a delay; the process may end before. */
  sleep(delayMs: number): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (delayMs) =>
    new Promise((resolve) => {
      setTimeout(resolve, delayMs).unref()
    }),
}

let lastMs = -1
let lastTime = ""

/** A time as the service writes it: UTC, with milliseconds. Remembers the last, because thousands of events share a millisecond. */
export function isoTime(timeMs: number): string {
  if (timeMs !== lastMs) {
    lastMs = timeMs
    lastTime = new Date(timeMs).toISOString()
  }
  return lastTime
}
