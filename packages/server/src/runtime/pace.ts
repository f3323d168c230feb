// Time slices of the event loop that all requests share. Long work asks now and then whether its
// slice is over, and continues in a later turn of the loop. Each turn runs one slice, whichever
// request it belongs to.

import type { Clock } from "../clock.ts"

export interface Pace {
  isUp(): boolean
  /** Resolves in a turn in which no other slice runs. */
  next(): Promise<void>
}

/** For work that is always short. */
export const unpaced: Pace = { isUp: () => false, next: () => Promise.resolve() }

/**
 * Bodies of this size or more are processed in slices. A hostile body of half the size holds the
 * thread for 25 ms.
 */
export const pacedBytesMin = 64 * 1024

/** `later` calls a function in the next turn of the loop. */
export function createPace(
  { elapsed }: Pick<Clock, "elapsed">,
  pieceMs: number,
  later: (act: () => void) => void = setImmediate,
): Pace {
  const waiting: (() => void)[] = []
  /** When this turn's slice began. */
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
