// The history of one thing: what it did and what was done to it are two searches, whose pages are
// put together in the order of the ledger.

import type { EventsPage, ListedEntry, Party } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"

export interface Thing {
  readonly type: string
  readonly id: string
}

export type Side = "did" | "done"

interface Merged {
  readonly events: readonly ListedEntry[]
  readonly total: number
  readonly hasMore: boolean
  readonly nextCursor: number
}

/** `ask` is given a search, and answers its entries below the cursor. */
export async function pageOfBoth(
  thing: Thing,
  sides: readonly Side[],
  ask: (query: string) => Promise<Told<EventsPage>>,
): Promise<Told<Merged>> {
  const pages: EventsPage[] = []
  for (const told of await Promise.all(sides.map((side) => ask(queryOf(thing, side))))) {
    if (!told.ok) return told
    pages.push(told.value)
  }
  return { ok: true, value: merged(thing, pages) }
}

/** Below the end of a page that goes on, the other one may lack entries of it. */
function merged(thing: Thing, pages: readonly EventsPage[]): Merged {
  const end = Math.max(0, ...pages.filter((page) => page.hasMore).map((page) => page.nextCursor))
  const found = new Map<number, ListedEntry>()
  for (const entry of pages.flatMap(({ events }) => events))
    if (entry.sequence >= end && isAbout(thing, entry)) found.set(entry.sequence, entry)
  return {
    events: [...found.values()].toSorted((one, other) => other.sequence - one.sequence),
    total: pages.reduce((sum, { total }) => sum + total, 0),
    hasMore: end > 0,
    nextCursor: end,
  }
}

export function queryOf({ type, id }: Thing, side: Side): string {
  const quoted = (text: string): string => `"${text.replaceAll('"', "")}"`
  return `${side === "did" ? "actor" : "target"}:${quoted(id)} type:${quoted(type)}`
}

/** A search finds names and addresses as well, and does not tell whose type it is. */
function isAbout({ type, id }: Thing, { actor, target }: ListedEntry): boolean {
  const is = (party: Party): boolean => party.id === id && party.type === type
  return is(actor) || is(target)
}
