// The lines of the table: days, entries, the line of the last checkpoint, and a break.

import { beginsLedger } from "./begins-ledger.ts"
import type { Row } from "./rows.ts"

export type Line =
  | {
      readonly kind: "entry"
      readonly row: Row
      readonly place: number
      readonly isShifted: boolean
    }
  | {
      readonly kind: "day"
      readonly day: string
      readonly above: number
      readonly isFirst: boolean
    }
  | { readonly kind: "checkpoint" }
  | { readonly kind: "break"; readonly above: Row; readonly below: Row }

/** `dayOf` names the day of a time. `sealedTo` is the last entry that a checkpoint covers. */
export function linesOf(
  rows: readonly Row[],
  sealedTo: number,
  dayOf: (time: string) => string,
): readonly Line[] {
  const lines: Line[] = []
  let day: string | undefined
  let isSealed = false
  // Below a break the stick is not aligned any more.
  let isShifted = false
  rows.forEach((row, place) => {
    const above = rows[place - 1]
    const today = dayOf(row.occurredAt)
    if (today !== day)
      lines.push({ kind: "day", day: today, above: row.sequence, isFirst: place === 0 })
    day = today
    if (!isSealed && row.sequence <= sealedTo) {
      isSealed = true
      lines.push({ kind: "checkpoint" })
    }
    if (above !== undefined && isBroken(above, row)) {
      isShifted = true
      lines.push({ kind: "break", above, below: row })
    }
    lines.push({ kind: "entry", row, place, isShifted })
  })
  return lines
}

/** Neighbours in the chain whose hashes do not match. */
function isBroken(above: Row, below: Row): boolean {
  if (above.sequence !== below.sequence + 1) return false
  return (
    above.entry !== undefined &&
    below.entry !== undefined &&
    !beginsLedger(above.entry) &&
    above.entry.previousHash !== below.entry.hash
  )
}
