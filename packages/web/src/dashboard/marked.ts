// Entries that were marked for an evidence pack: kept in this tab until the pack is made.

import { attempt } from "../kept.ts"

export interface Marked {
  readonly receipt: string
  readonly sequence: number
}

const keyOf = (workspace: string): string => `tallystick marked ${workspace}`

export function markedIn(workspace: string): readonly Marked[] {
  const kept = attempt(
    () => JSON.parse(sessionStorage.getItem(keyOf(workspace)) ?? "[]") as unknown,
  )
  return Array.isArray(kept) ? (kept as readonly Marked[]) : [] // only this file writes it
}

/** Marks it, or removes the mark. */
export function turnMark(workspace: string, { receipt, sequence }: Marked): void {
  const others = markedIn(workspace).filter((each) => each.sequence !== sequence)
  const isMarked = others.length < markedIn(workspace).length
  keepMarks(workspace, isMarked ? others : [...others, { receipt, sequence }])
}

export function clearMarks(workspace: string): void {
  keepMarks(workspace, [])
}

function keepMarks(workspace: string, marked: readonly Marked[]): void {
  attempt(() => sessionStorage.setItem(keyOf(workspace), JSON.stringify(marked)))
}
