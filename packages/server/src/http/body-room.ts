// How many bytes of bodies are in memory at once: those that arrive, and those that are worked
// with. What would be more is refused before it is read.

import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"
import type { BodyHold } from "./body.ts"
import { networkOf } from "./rates.ts"
import type { Caller } from "./service.ts"

/**
 * One of many takes at most so much of the room, so that a few cannot take it from all others; but
 * a first body, whatever its size.
 */
const shareMax = 1 / 4
/**
 * Of the room, and of a share, what bodies larger than an event's may take: who announces batches
 * and sends nothing stops no single events.
 */
const largeMax = 7 / 8

type BodyRoom = (caller: Caller, incoming: { readonly address: string }) => BodyHold

export function createBodyRoom({
  bodyBytesAtOnceMax,
  anonymousBodyBytesAtOnceMax,
  eventBytesMax,
}: Limits): BodyRoom {
  const room = createShares(bodyBytesAtOnceMax, eventBytesMax)
  // They have room of their own beside: strangers must not be able to take it from those who are
  // known, nor these from who signs in.
  const anonymousRoom = createShares(anonymousBodyBytesAtOnceMax, undefined)
  return (caller, incoming) => {
    const shares = caller === undefined ? anonymousRoom : room
    const party =
      caller === undefined
        ? networkOf(incoming.address)
        : "workspace" in caller
          ? `of ${caller.workspace}`
          : caller.kind
    let held = 0
    return {
      take(bytes) {
        shares.take(party, bytes, held)
        held += bytes
      },
      release() {
        if (held > 0) shares.giveBack(party, held)
        held = 0
      },
    }
  }
}

/**
 * A party's first body of up to `smallBytesMax`, if that is given, always finds room: whoever sends
 * one at a time goes on.
 */
function createShares(bytesMax: number, smallBytesMax: number | undefined) {
  const bytesOf = new Map<string, number>()
  let all = 0
  return {
    /** `held` are bytes of the same body. */
    take(party: string, bytes: number, held: number): void {
      const mine = bytesOf.get(party) ?? 0
      const isFirst = mine === held
      const isSmall = smallBytesMax !== undefined && held + bytes <= smallBytesMax
      const most = smallBytesMax === undefined || isSmall ? bytesMax : bytesMax * largeMax
      const fits = all + bytes <= most && (isFirst || mine + bytes <= most * shareMax)
      if (!fits && !(isFirst && isSmall))
        throw new LedgerError(
          "overloaded",
          "too many bodies are sent at this moment; nothing was recorded",
        )
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
