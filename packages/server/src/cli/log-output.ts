// Writes log lines and the greeting at the pace of their reader. A reader that is slow or gone
// neither blocks the ledger nor ends the process.

import { write } from "node:fs"
import { promisify } from "node:util"
import type { Clock } from "../clock.ts"
import { codeOf } from "../error.ts"

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

const writeSome = promisify(write)

/** Calls `lost` with the number of dropped lines once there is room again. */
export function openLogOutput(
  file: number,
  clock: Pick<Clock, "sleep">,
  lost: (lines: number) => void,
): LogOutput {
  let waiting: string[] = []
  let waitingBytes = 0
  let lostLines = 0
  let writing: Promise<void> | undefined

  const writeWaiting = async (): Promise<void> => {
    while (waiting.length > 0) {
      const bytes = Buffer.from(waiting.join(""))
      waiting = []
      waitingBytes = 0
      await writeAll(bytes)
      if (waiting.length > 0 || lostLines === 0) continue
      const count = lostLines
      lostLines = 0
      lost(count)
    }
    writing = undefined
  }
  const writeAll = async (bytes: Buffer): Promise<void> => {
    for (let rest = bytes; rest.length > 0;)
      try {
        rest = rest.subarray((await writeSome(file, rest)).bytesWritten)
      } catch (error) {
        // Nobody reads it any more, or the disk is full, and there is no other place to report that.
        if (codeOf(error) !== "EAGAIN") return
        await clock.sleep(againAfterMs)
      }
  }

  return {
    write(line) {
      if (waitingBytes >= waitingBytesMax) {
        lostLines += 1
        return
      }
      waiting.push(line)
      waitingBytes += line.length
      writing ??= writeWaiting()
    },
    async written() {
      if (writing !== undefined) await Promise.race([writing, clock.sleep(lastWaitMs)])
    },
  }
}
