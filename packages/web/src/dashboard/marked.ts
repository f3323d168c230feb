// Entries that a member has marked for an evidence pack: kept in this tab until the pack is made,
// also when the session ends meanwhile.

import { attempt } from "../kept.ts"
import type { Desk } from "./desk.ts"

export interface Marked {
  readonly receipt: string
  readonly sequence: number
}

type Marker = Pick<Desk, "session" | "workspace">

const prefix = "tallystick marked"

function keyOf({ session, workspace }: Marker): string {
  return `${prefix} ${session.member.id} ${workspace}`
}

export function markedIn(desk: Marker): readonly Marked[] {
  const kept = attempt(() => JSON.parse(sessionStorage.getItem(keyOf(desk)) ?? "[]") as unknown)
  return Array.isArray(kept) ? (kept as readonly Marked[]) : [] // only this file writes it
}

/** Marks it, or removes the mark. */
export function turnMark(desk: Marker, { receipt, sequence }: Marked): void {
  const others = markedIn(desk).filter((each) => each.sequence !== sequence)
  const isMarked = others.length < markedIn(desk).length
  keepMarks(desk, isMarked ? others : [...others, { receipt, sequence }])
}

export function clearMarks(desk: Marker): void {
  keepMarks(desk, [])
}

/** Those of everybody. */
export function forgetMarks(): void {
  attempt(() => {
    for (const key of Object.keys(sessionStorage))
      if (key.startsWith(prefix)) sessionStorage.removeItem(key)
  })
}

function keepMarks(desk: Marker, marked: readonly Marked[]): void {
  attempt(() => sessionStorage.setItem(keyOf(desk), JSON.stringify(marked)))
}
