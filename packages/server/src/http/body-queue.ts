// Whose turn it is. All requests share one thread, and a body that is looked at holds up whoever
// comes behind it: so only so many bytes are taken on before the thread hears again who else is
// there, and those who are to be refused need not wait for those who are not.

import { LedgerError } from "../error.ts"

export interface Turns {
  /**
   * Lets a body through when it is its turn; undefined says that it is now. `check` throws when it
   * need not be looked at any more, and is asked again while it waits.
   */
  take(bytes: number, check: () => void): Promise<void> | undefined
}

export interface TurnLimits {
  readonly turnBytesMax: number
  readonly turnsWaitingBytesMax: number
}

/** Of a turn, which is some two hundred ordinary events: a few of them. */
const smallParts = 32

interface Waiting {
  readonly bytes: number
  readonly check: () => void
  readonly resolve: () => void
  readonly reject: (refusal: unknown) => void
}

/** `later` calls when the thread has heard who else is there. */
export function createTurns(
  { turnBytesMax, turnsWaitingBytesMax }: TurnLimits,
  later: (act: () => void) => void = setImmediate,
): Turns {
  let waiting: Waiting[] = []
  let waitingBytes = 0
  let takenBytes = 0

  const take = (bytes: number): void => {
    if (takenBytes === 0) later(next)
    takenBytes += bytes
  }
  const next = (): void => {
    takenBytes = 0
    const before = waiting
    waiting = []
    waitingBytes = 0
    for (const one of before) {
      try {
        one.check()
      } catch (refusal) {
        one.reject(refusal)
        continue
      }
      if (takenBytes < turnBytesMax) {
        take(one.bytes)
        one.resolve()
      } else {
        waiting.push(one)
        waitingBytes += one.bytes
      }
    }
  }

  return {
    take(bytes, check) {
      check()
      // What is small need not wait for what is large: it goes before it, as long as it does not
      // take more than a turn of its own.
      const isSmall = bytes * smallParts <= turnBytesMax
      if (takenBytes < (isSmall ? 2 : waiting.length === 0 ? 1 : 0) * turnBytesMax) {
        take(bytes)
        return undefined
      }
      if (waiting.length > 0 && waitingBytes + bytes > turnsWaitingBytesMax)
        throw new LedgerError(
          "overloaded",
          "more is sent than can be looked at; nothing was recorded",
        )
      waitingBytes += bytes
      return new Promise((resolve, reject) => waiting.push({ bytes, check, resolve, reject }))
    },
  }
}
