// Time slices of the event loop that all requests share. Long work checks now and then whether its
// slice is over, and then continues in a later turn of the loop. Every second turn runs one slice:
// in the turn between, what arrived during a slice is read, and its entries go on to their commit.
// Senders take turns, so that many requests of one do not delay another.

import type { Clock } from "../clock.ts"
import { RoundRobinQueue } from "./round-robin-queue.ts"

export interface Pace {
  isUp(): boolean
  /** Resolves in a turn in which no other slice runs. */
  next(): Promise<void>
}

export interface SharedPace extends Pace {
  /** The slices of a sender, by its name. */
  of(sender: string): Pace
}

/** For work that is always short. */
export const unpaced: SharedPace = {
  isUp: () => false,
  next: () => Promise.resolve(),
  of: () => unpaced,
}

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
): SharedPace {
  const queue = new RoundRobinQueue()
  /** When the slice of this turn, or of the turn before, began. */
  let beganMs: number | undefined

  const begin = (): void => {
    beganMs = elapsed()
    later(() => later(end))
  }
  const end = (): void => {
    beganMs = undefined
    if (queue.isEmpty) return
    begin()
    queue.resume()
  }

  const isUp = (): boolean => {
    if (beganMs !== undefined) return elapsed() - beganMs >= pieceMs
    begin()
    return false
  }
  const of = (sender: string): Pace => ({ isUp, next: () => queue.wait(sender) })
  return { ...of(""), of }
}
