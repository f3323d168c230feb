// How long one piece of work may hold the thread that all requests share. What is too long for one piece asks now and then whether its time
// is up, and goes on when the thread has heard who else is there: one piece in each turn of the event loop, whoever it belongs to.

import type { Clock } from "../clock.ts"

export interface Pace {
  /** Whether it is time to let others run. */
  isUp(): boolean
  /** Resolves in a turn of its own. */
  next(): Promise<void>
}

/** Of small work, which is done before it could be asked. */
export const unpaced: Pace = { isUp: () => false, next: () => Promise.resolve() }

/** From this many bytes on a body is worked on in pieces: half of it hold the thread for 25 ms, if their writer means harm. */
export const pacedBytesMin = 64 * 1024

/** `later` calls in the next turn. */
export function createPace({ elapsed }: Pick<Clock, "elapsed">, pieceMs: number, later: (act: () => void) => void = setImmediate): Pace {
  const waiting: (() => void)[] = []
  /** When the piece of this turn began; undefined if none has. */
  let beganMs: number | undefined

  const begin = (): void => {
    beganMs = elapsed()
    later(endTurn)
  }
  const endTurn = (): void => {
    beganMs = undefined
    const resume = waiting.shift()
    if (resume === undefined) return
    begin()
    resume()
  }

  return {
    isUp() {
      if (beganMs !== undefined) return elapsed() - beganMs >= pieceMs
      begin()
      return false
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
  }
}
