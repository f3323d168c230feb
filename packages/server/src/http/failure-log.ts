// Limits log lines of unexpected failures. One cause can fail every request, and somebody may
// repeat it on purpose. The first failures of a minute are logged in full, and the others are
// counted in one line, so no client can fill the disk with stack traces.

import type { Clock } from "../clock.ts"
import type { Log } from "./server.ts"

const minuteMs = 60_000

/** `count` is called for every failure, also for those that are not logged. */
export function limitFailures(
  log: Log,
  clock: Pick<Clock, "sleep">,
  linesPerMinute: number,
  count: () => void,
): Log {
  let written = 0
  let leftOut = 0

  const endMinute = (): void => {
    if (leftOut > 0)
      log.error(
        { failures: leftOut },
        "further requests failed in the last minute, which this log leaves out",
      )
    written = 0
    leftOut = 0
  }

  return {
    error(fields, message) {
      count()
      if (written === linesPerMinute) {
        leftOut += 1
        return
      }
      if (written === 0) void clock.sleep(minuteMs).then(endMinute)
      written += 1
      log.error(fields, message)
    },
  }
}
