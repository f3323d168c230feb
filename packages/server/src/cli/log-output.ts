// A log's way out of the process, at the pace of whoever reads it: that somebody is slow at it, or gone, neither holds the ledger up nor ends it.

import { write } from "node:fs"
import type { Clock } from "../clock.ts"

export interface Lines {
  /** Takes a whole line. What is more than may wait is lost. */
  write(line: string): void
  /** Resolves when all of it is written, or has waited long enough. */
  written(): Promise<void>
}

/** An hour of a log, or a minute of one that is full of errors. */
const waitingBytesMax = 1024 * 1024
/** A pipe that takes nothing more is asked again after this. */
const againAfterMs = 20
/** For the last lines of a process that ends. */
const patienceMs = 500

/** `lost` is told, once there is room again, how many lines were. */
export function openLines(file: number, clock: Pick<Clock, "sleep">, lost: (lines: number) => void): Lines {
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
      // Nobody reads it, now or ever: there is no other place where that could be said.
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
      if (isWriting) await Promise.race([ended.promise, clock.sleep(patienceMs)])
    },
  }
}
