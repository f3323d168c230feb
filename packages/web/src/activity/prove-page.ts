// Recomputes each entry of a page of one person's activity.

import { verifyReceipt, type Verdict } from "@tallystick/proof"
import type { ActivityPage, ListedEntry } from "@tallystick/client/wire"

export interface ProvenEntry {
  readonly entry: ListedEntry
  readonly verdict: Verdict
  /** `pending`: recomputed, and no checkpoint covers it yet. `unproven`: not recomputed. */
  readonly state: "sealed" | "pending" | "unproven" | "broken"
  readonly isOwn: boolean
}

export function provePage(
  { events, subject }: ActivityPage,
  trustedKeys: readonly string[],
): readonly ProvenEntry[] {
  return events.map((event) => {
    const { proof, disclosures, ...entry } = event
    const verdict = verifyReceipt({ entry, proof, disclosures }, { trustedKeys })
    return { entry: event, verdict, state: stateOf(verdict), isOwn: event.actor.id === subject }
  })
}

function stateOf(verdict: Verdict): ProvenEntry["state"] {
  if (verdict.verdict === "refuted") return "broken"
  // What is shown was compared with nothing.
  if (verdict.content === undefined) return "unproven"
  if (verdict.verdict === "genuine" || verdict.because === "key_not_trusted") return "sealed"
  return verdict.because === "not_sealed" ? "pending" : "unproven"
}
