// The position of each line of the table. All lines of a kind have one height, so positions are
// known before lines are drawn.

import { timeText } from "../../parts/time.tsx"
import type { Shown } from "./drawn-lines.tsx"
import { linesOf, type Line } from "./lines.ts"

/** The heights in the style sheet. */
const heights: Readonly<Record<Line["kind"], readonly [row: number, card: number]>> = {
  entry: [32, 62],
  day: [30, 32],
  checkpoint: [26, 40],
  break: [44, 76],
}

export interface LinePlaces {
  readonly lines: readonly Line[]
  /** Where each line begins, and where the last one ends. */
  readonly tops: readonly number[]
  readonly areCards: boolean
}

export const noLines: LinePlaces = { lines: [], tops: [0], areCards: false }

export function placeLines(
  { rows, checkpoint }: Pick<Shown, "rows" | "checkpoint">,
  areCards: boolean,
  dayOf: (time: string) => string,
): LinePlaces {
  const lines = linesOf(rows, checkpoint?.sequence ?? 0, dayOf)
  let top = 0
  const tops = [0, ...lines.map(({ kind }) => (top += heights[kind][areCards ? 1 : 0]))]
  return { lines, tops, areCards }
}

/** The place of the line of an entry; -1: there is none. */
export function lineOf({ lines }: LinePlaces, sequence: number | undefined): number {
  return lines.findIndex((line) => line.kind === "entry" && line.row.sequence === sequence)
}

/** The line at a height, by halving. */
export function lineAt({ tops }: LinePlaces, height: number): number {
  let low = 0
  let high = tops.length - 1
  while (low + 1 < high) {
    const middle = (low + high) >> 1
    if ((tops[middle] ?? 0) <= height) low = middle
    else high = middle
  }
  return low
}

/** The day of a time; thousands of rows have few. Zones differ by quarters of an hour. */
export function rememberingDay(): (time: string) => string {
  const quarterMs = 900_000
  const known = new Map<number, string>()
  // The year is shown if it is not the current one.
  const thisYear = new RegExp(` ${new Date().getFullYear()}$`)
  return (time) => {
    const quarter = Math.floor(Date.parse(time) / quarterMs)
    const day = known.get(quarter) ?? timeText(new Date(time), "day").replace(thisYear, "")
    known.set(quarter, day)
    return day
  }
}
