// The only place that reads the machine's clock or sets a timer. Other code is given a Clock.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Monotonic milliseconds, for durations. */
  elapsed(): number
  /** Resolves after a delay. The process may end before. */
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

/**
 * CPU time of this thread in milliseconds. On a busy machine it passes more slowly than real time.
 */
export const threadClock: Pick<Clock, "elapsed"> = {
  elapsed() {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
}

/** A delay that keeps the process alive, for commands, which have nothing else to do. */
export function delay(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs)
  })
}

let lastMs = -1
let lastTime = ""

/**
 * A time as the service writes it: UTC, with milliseconds. The last one is cached, because
 * thousands of events share a millisecond.
 */
export function isoTime(timeMs: number): string {
  if (timeMs !== lastMs) {
    lastMs = timeMs
    lastTime = new Date(timeMs).toISOString()
  }
  return lastTime
}
