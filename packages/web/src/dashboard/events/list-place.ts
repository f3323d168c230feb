// A place in the middle of the list: at a time. The list is in the order of recording, so it begins
// above the first entry that occurred then or later. Entries that were imported later do not move
// it.

import type { EventsFeed } from "@tallystick/client/wire"
import type { Told } from "../../ask.ts"
import type { Desk } from "../desk.ts"
import type { Query } from "../place.ts"
import type { ListPlace } from "./rows.ts"

/** `filter` is what the list shows. */
export function listPlaceAt(desk: Desk, filter: Query, at: string): ListPlace {
  /** Oldest first; an answer may have advanced over entries that do not match, and be empty. */
  async function after(sequence: number, query: Query): Promise<Told<EventsFeed>> {
    const ask = (from: number) =>
      desk.get<EventsFeed>(["events", "feed"], { ...filter, ...query, after: from })
    let told = await ask(sequence)
    while (told.ok && told.value.events.length === 0 && told.value.hasMore)
      told = await ask(told.value.nextAfter)
    return told
  }
  return {
    async find() {
      if (isBefore(filter["to"], at)) return { ok: true, value: 0 }
      const from = isBefore(filter["from"], at) ? at : (filter["from"] ?? at)
      const told = await after(0, { from, limit: 1 })
      return told.ok ? { ok: true, value: told.value.events[0]?.sequence ?? 0 } : told
    },
    async above(sequence, limit) {
      const told = await after(sequence, { limit })
      if (!told.ok) return told
      const { events, hasMore } = told.value
      return { ok: true, value: { last: events.at(-1)?.sequence, hasMore } }
    },
  }
}

function isBefore(bound: Query[string], at: string): boolean {
  return typeof bound === "string" && Date.parse(bound) <= Date.parse(at)
}
