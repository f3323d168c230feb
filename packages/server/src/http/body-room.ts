// How many bytes of bodies are in memory at once: those that arrive, and those that are worked with. What would be more is refused before it is read.

import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { BodyHold } from "./body.ts"
import { networkOf } from "./rates.ts"
import type { Caller } from "./service.ts"

/** One of many takes at most so much of the room, so that a few cannot take it from all others; but a first body, whatever its size. */
const shareMax = 1 / 4

type BodyRoom = (caller: Caller, incoming: { readonly address: string }) => BodyHold

export function createBodyRoom({ bodyBytesAtOnceMax, anonymousBodyBytesAtOnceMax }: Limits): BodyRoom {
  const room = createShares(bodyBytesAtOnceMax)
  // They have room of their own beside: strangers must not be able to take it from those who are known, nor these from who signs in.
  const anonymousRoom = createShares(anonymousBodyBytesAtOnceMax)
  return (caller, incoming) => {
    const shares = caller === undefined ? anonymousRoom : room
    const party = caller === undefined ? networkOf(incoming.address) : "workspace" in caller ? `of ${caller.workspace}` : caller.kind
    let held = 0
    return {
      take(bytes) {
        shares.take(party, bytes)
        held += bytes
      },
      release() {
        if (held > 0) shares.giveBack(party, held)
        held = 0
      },
    }
  }
}

function createShares(bytesMax: number) {
  const bytesOf = new Map<string, number>()
  let all = 0
  return {
    take(party: string, bytes: number): void {
      const mine = bytesOf.get(party) ?? 0
      if (all + bytes > bytesMax || (mine > 0 && mine + bytes > bytesMax * shareMax))
        throw new LedgerError("overloaded", "too many bodies are sent at this moment; nothing was recorded")
      bytesOf.set(party, mine + bytes)
      all += bytes
    },
    giveBack(party: string, bytes: number): void {
      const mine = (bytesOf.get(party) ?? 0) - bytes
      if (mine > 0) bytesOf.set(party, mine)
      else bytesOf.delete(party)
      all -= bytes
    },
  }
}
