// A page of one person's activity, each entry recomputed here.

import { verifyReceipt, type Verdict } from "@tallystick/proof"
import type { ActivityPage, ListedEntry } from "@tallystick/client/wire"

export interface ActivityEntry {
  readonly entry: ListedEntry
  readonly verdict: Verdict
  /** `pending`: recomputed, and no checkpoint covers it yet. `unproven`: not recomputed. */
  readonly state: "sealed" | "pending" | "unproven" | "broken"
  /** Whether the person of this page did it. */
  readonly isOwn: boolean
}

export function readEntries(
  { events, subject }: ActivityPage,
  trustedKeys: readonly string[],
): readonly ActivityEntry[] {
  return events.map((event) => {
    const { proof, disclosures, ...entry } = event
    const verdict = verifyReceipt({ entry, proof, disclosures }, { trustedKeys })
    return { entry: event, verdict, state: stateOf(verdict), isOwn: event.actor.id === subject }
  })
}

function stateOf(verdict: Verdict): ActivityEntry["state"] {
  if (verdict.verdict === "refuted") return "broken"
  if (verdict.verdict === "genuine" || verdict.because === "key_not_trusted") return "sealed"
  return verdict.because === "not_sealed" ? "pending" : "unproven"
}

/** In the order in which they come, by the day that `dayOf` says. */
export function byDay(
  entries: readonly ActivityEntry[],
  dayOf: (timestamp: string) => string,
): readonly (readonly [day: string, entries: readonly ActivityEntry[]])[] {
  const days: [string, ActivityEntry[]][] = []
  for (const each of entries) {
    const day = dayOf(each.entry.timestamp)
    const last = days.at(-1)
    if (last?.[0] === day) last[1].push(each)
    else days.push([day, [each]])
  }
  return days
}
