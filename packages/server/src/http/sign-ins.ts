// Who may try a password now. Each try takes a core for a tenth of a second, so a flood of them
// from many addresses would fill all places. Networks from which somebody has signed in have places
// of their own; all others share theirs. What is asked is only where a try comes from and what it
// names, never whether there is such an account: so neither an answer nor its time tells that.

import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import { createFairQueue } from "../runtime/fair-queue.ts"
import { createLru } from "../runtime/lru-cache.ts"
import { networkOf } from "./rates.ts"

export interface SignIn {
  readonly address: string
  /** The e-mail or token that is tried. */
  readonly name: string
  /** Aborted when its client has left. */
  readonly signal: AbortSignal
}

export interface SignIns {
  /**
   * Does the work when its turn has come, or throws `overloaded`. Where it succeeds, its network is
   * known from then on.
   */
  run<T>(signIn: SignIn, work: () => Promise<T>): Promise<T>
  /** Somebody who has signed in uses this address. */
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

/** However many networks try one e-mail, some places are left for whoever tries another. */
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
