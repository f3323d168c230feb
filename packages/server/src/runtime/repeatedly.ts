import type { Clock } from "../clock.ts"

/**
 * Runs `act` until it is closed, with a pause after each run. A run that fails, for example because
 * the database is away, is followed by the next one.
 */
export function repeatedly(
  clock: Pick<Clock, "sleep">,
  everyMs: number,
  act: () => Promise<unknown>,
): { close(): void } {
  let closed = false
  void (async () => {
    while (!closed) {
      await act().catch(() => undefined)
      await clock.sleep(everyMs)
    }
  })()
  return {
    close() {
      closed = true
    },
  }
}
