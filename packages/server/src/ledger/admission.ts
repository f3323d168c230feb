// How much may wait to be written. Whoever would exceed it is refused at once, and a workspace may
// have four times what is still free: one alone has most of the room, and however much some send,
// there is a place left for whoever comes next.

import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"

export interface Room {
  /** How many entries there are in it. */
  entries(): number
  /** Throws `overloaded` when so many more have no place. */
  take(workspace: string, entries: number): void
  giveBack(workspace: string, entries: number): void
  /**
   * Throws what `take` would throw, before work is done for them. Once a workspace was refused it
   * stays so until something has been written: what comes meanwhile would most likely be refused as
   * well, only later.
   */
  check(workspace: string, entries: number): void
  /** Something has been written. */
  reopen(): void
}

const timesFreeMax = 4

export function createRoom({ queuedEventsMax }: Pick<Limits, "queuedEventsMax">): Room {
  const entriesOf = new Map<string, number>()
  const refused = new Set<string>()
  let all = 0

  const has = (workspace: string, entries: number): boolean => {
    const free = queuedEventsMax - all
    const mine = entriesOf.get(workspace) ?? 0
    return entries <= free && (mine === 0 || mine + entries <= free * timesFreeMax)
  }
  const refuse = (workspace: string): never => {
    // With nothing to be written, nothing would reopen it.
    if (all > 0) refused.add(workspace)
    const mine = entriesOf.get(workspace) ?? 0
    const limit = `the limit is ${queuedEventsMax}, and no workspace may have all of it`
    throw new LedgerError(
      "overloaded",
      `${all} events wait to be written, ${mine} of this workspace; ${limit}; nothing was recorded`,
    )
  }
  const count = (workspace: string, entries: number): void => {
    const mine = (entriesOf.get(workspace) ?? 0) + entries
    if (mine === 0) entriesOf.delete(workspace)
    else entriesOf.set(workspace, mine)
    all += entries
  }

  return {
    entries: () => all,
    take(workspace, entries) {
      if (!has(workspace, entries)) refuse(workspace)
      count(workspace, entries)
    },
    giveBack: (workspace, entries) => count(workspace, -entries),
    check(workspace, entries) {
      if (refused.has(workspace) || !has(workspace, entries)) refuse(workspace)
    },
    reopen: () => refused.clear(),
  }
}
