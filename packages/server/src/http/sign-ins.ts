// Limits how many passwords are checked at once. A check takes a core for a tenth of a second, so a
// flood from many addresses would take all cores. Half of the places are reserved for networks from
// which somebody has signed in before. The limits depend on the network and the e-mail of an
// attempt, never on whether the account exists, so neither the answer nor its time reveals that.

import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import { createFairQueue } from "../runtime/fair-queue.ts"
import { createLru } from "../runtime/lru-cache.ts"
import { networkOf } from "./rates.ts"

export interface SignIn {
  readonly address: string
  /** The e-mail or the token. */
  readonly name: string
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

export interface SignIns {
  /**
   * Runs the work in its turn, or throws `overloaded`. If the work succeeds, its network counts as
   * known from then on.
   */
  run<T>(signIn: SignIn, work: () => Promise<T>): Promise<T>
  /** A signed-in member uses this address. */
  know(address: string): void
}

export function createSignIns(clock: Clock, limits: Limits): SignIns {
  const {
    passwordsAtOnceMax,
    passwordsWaitingMax: waitingMax,
    passwordWaitMs: waitMs,
    rateAddressesMax,
  } = limits
  const forStrangers = Math.max(1, Math.floor(passwordsAtOnceMax / 2))
  const placesOf = (atOnceMax: number) =>
    createFairQueue(clock, {
      atOnceMax,
      perWorkspaceMax: atOnceMax,
      waitingMax,
      waitMs,
      of: "passwords to check",
    })
  const strangers = placesOf(forStrangers)
  const known = placesOf(Math.max(1, passwordsAtOnceMax - forStrangers))
  const names = createNames(Math.max(1, Math.floor(waitingMax / 4)))
  const networks = createLru<true>(rateAddressesMax)

  return {
    know: (address) => networks.set(networkOf(address), true),
    async run({ address, name, signal }, work) {
      const network = networkOf(address)
      const done = networks.get(network)
        ? await known.run(network, signal, work)
        : await names.run(name, () => strangers.run(network, signal, work))
      networks.set(network, true)
      return done
    },
  }
}

/** Limits the attempts for one e-mail, so that others get places too. */
function createNames(atOnceMax: number) {
  const atOnce = new Map<string, number>()
  return {
    async run<T>(name: string, work: () => Promise<T>): Promise<T> {
      const before = atOnce.get(name) ?? 0
      if (before >= atOnceMax)
        throw new LedgerError(
          "overloaded",
          "there are more passwords to check than can be in time; ask again in a moment",
        )
      atOnce.set(name, before + 1)
      try {
        return await work()
      } finally {
        const left = (atOnce.get(name) ?? 0) - 1
        if (left > 0) atOnce.set(name, left)
        else atOnce.delete(name)
      }
    },
  }
}
