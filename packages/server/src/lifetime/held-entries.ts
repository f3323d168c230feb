// Which entries a hold covers: matches of its filter, entries about its subject, or the receipts
// that it names.

import { wantedIn } from "../query/entry-filter.ts"
import type { Pace } from "../runtime/pace.ts"
import type { Person, HoldScope } from "../store/documents.ts"
import type { Stored } from "../store/entries.ts"
import { findableOf, matches, type Findable } from "../store/search/matching.ts"
import { filedOf } from "../store/search/searchable-fields.ts"

export interface ActiveHold {
  readonly id: string
  readonly scope: HoldScope
}

/**
 * The ids of the holds that cover an entry. Of an entry without its body only the receipt is known.
 */
export type HoldsOf = (stored: Stored) => Promise<readonly string[]>

/** `pace` lets others run between two holds: each may be a search through a large entry. */
export function createHoldsOf(holds: readonly ActiveHold[], pace: Pace): HoldsOf {
  const covering = holds.map(({ id, scope }) => [id, coverOf(scope)] as const)
  return async (stored) => {
    if (covering.length === 0) return []
    const findable = findableOf(filedOf(stored))
    const ids: string[] = []
    for (const [id, covers] of covering) {
      if (pace.isUp()) await pace.next()
      if (covers(stored, findable)) ids.push(id)
    }
    return ids
  }
}

type Cover = (stored: Stored, findable: Findable) => boolean

function coverOf(scope: HoldScope): Cover {
  if ("receiptIds" in scope) {
    const receipts = new Set(scope.receiptIds)
    return ({ receipt }) => receipts.has(receipt)
  }
  if ("subject" in scope) return (_, { filed }) => concerns(scope.subject, filed)
  // It was a valid filter when the hold was placed.
  const wanted = wantedIn(scope.filter)
  return ({ body }, findable) => body !== undefined && matches(findable, wanted)
}

function concerns({ id, types }: Person, { actor, target }: Findable["filed"]): boolean {
  return [actor, target].some(
    (party) => party.id === id && (types === undefined || types.includes(party.type)),
  )
}
