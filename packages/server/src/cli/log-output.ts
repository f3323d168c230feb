// Writes log lines and the greeting at the pace of their reader. A reader that is slow or gone
// neither blocks the ledger nor ends the process.

import { write } from "node:fs"
import type { Clock } from "../clock.ts"

export interface LogOutput {
  /** Takes a whole line. Drops it if too much is waiting. */
  write(line: string): void
  /** Resolves when everything is written, at the latest after `lastWaitMs`. */
  written(): Promise<void>
}

/** About an hour of a quiet log, or a minute of a log full of errors. */
const waitingBytesMax = 1024 * 1024
/** A write to a full pipe is retried after this time. */
const againAfterMs = 20
/** How long the end of the process waits for the last lines. */
const lastWaitMs = 500

/** Calls `lost` with the number of dropped lines once there is room again. */
export function openLogOutput(
  file: number,
  clock: Pick<Clock, "sleep">,
  lost: (lines: number) => void,
): LogOutput {
  let waiting: string[] = []
  let waitingBytes = 0
  let lostLines = 0
  let isWriting = false
  let ended = Promise.withResolvers<void>()

  const next = (): void => {
    isWriting = waiting.length > 0
    if (isWriting) {
      const bytes = Buffer.from(waiting.join(""))
      waiting = []
      waitingBytes = 0
      return send(bytes)
    }
    const count = lostLines
    lostLines = 0
    if (count > 0) return lost(count)
    ended.resolve()
    ended = Promise.withResolvers()
  }
  const send = (bytes: Buffer): void =>
    write(file, bytes, (error, count) => {
      if (error?.code === "EAGAIN") return void clock.sleep(againAfterMs).then(() => send(bytes))
      // Nobody reads it any more, or the disk is full, and there is no other place to report that.
      if (error !== null || count === bytes.length) return next()
      send(bytes.subarray(count))
    })

  return {
    write(line) {
      if (waitingBytes >= waitingBytesMax) {
        lostLines += 1
        return
      }
      waiting.push(line)
      waitingBytes += line.length
      if (!isWriting) next()
    },
    async written() {
      if (isWriting) await Promise.race([ended.promise, clock.sleep(lastWaitMs)])
    },
  }
}
