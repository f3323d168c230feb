// Requests that failed unexpectedly, on their way to the log. One cause can fail every request, and
// whoever can cause a failure can repeat it: the first of a minute are written whole, the others
// are counted and told in one line, so that no request can fill a disk with stacks.

import type { Clock } from "../clock.ts"
import type { Log } from "./server.ts"

const minuteMs = 60_000

/** `count` hears of every failure, also of those that are not written. */
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
