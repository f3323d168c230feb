// Neighbours of a chain, with their hashes as recomputed in this browser.

import type { EventsPage, ListedEntry } from "@tallystick/client/wire"
import { wholeChain, type Desk } from "../desk.ts"
import type { Recomputer } from "../events/recompute.ts"
import type { Range } from "./verify-chain.ts"

export interface LinkedEntry {
  readonly entry: ListedEntry
  /** The recomputed hash; of an entry without a proof, the one that the service states. */
  readonly hash: string
}

/** Oldest first. Empty if they cannot be loaded. */
export async function linkedEntries(
  desk: Desk,
  recomputer: Recomputer,
  { from, to }: Range,
): Promise<readonly LinkedEntry[]> {
  const told = await desk.get<EventsPage>(["events"], {
    ...wholeChain,
    include: "proof",
    cursor: to + 1,
    limit: to - from + 1,
  })
  if (!told.ok) return []
  const entries = told.value.events.toReversed()
  const recomputed = await recomputer.recompute(entries)
  return entries.map((entry, at) => ({ entry, hash: recomputed[at]?.hash ?? entry.hash }))
}
