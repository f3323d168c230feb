// The only place that reads the machine's clock or sets a timer. Other code is given a Clock.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Monotonic milliseconds, for durations. */
  elapsed(): number
  /** Resolves after a delay, or after 24 days of it. The process may end before. */
  sleep(delayMs: number): Promise<void>
}

/** A timer of Node with a longer delay fires at once. */
const timerMsMax = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (delayMs) =>
    new Promise((resolve) => {
      setTimeout(resolve, Math.min(delayMs, timerMsMax)).unref()
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

export const dayMs = 86_400_000

/** A delay that keeps the process alive, for commands, which have nothing else to do. */
export function delay(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs)
  })
}

/** Keeps the process alive until the work has ended: a pause of a Clock alone does not. */
export async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, timerMsMax)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

/** A pause of work in the background, which its stop cuts short. */
export async function pause(
  clock: Pick<Clock, "sleep">,
  delayMs: number,
  stop: AbortSignal,
): Promise<void> {
  if (stop.aborted) return
  // A new promise for each pause: callbacks on a shared one would pile up until the stop.
  const { promise: stopped, resolve } = Promise.withResolvers<void>()
  const wake = (): void => resolve()
  stop.addEventListener("abort", wake)
  await Promise.race([clock.sleep(delayMs), stopped])
  stop.removeEventListener("abort", wake)
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
