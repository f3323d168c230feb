// Where each line of the table stands. Every line of a kind is as high as the next, so that it is
// known before it is drawn.

import type { Line } from "./lines.ts"

/** As the style says it. */
const heights: Readonly<Record<Line["kind"], readonly [row: number, card: number]>> = {
  entry: [32, 62],
  day: [30, 32],
  checkpoint: [26, 40],
  break: [44, 76],
}

/** Where each line begins, and where the last one ends. */
export function placesOf(lines: readonly Line[], areCards: boolean): readonly number[] {
  let top = 0
  return [0, ...lines.map(({ kind }) => (top += heights[kind][areCards ? 1 : 0]))]
}

/** The line at a height, by halving. */
export function lineAt(tops: readonly number[], height: number): number {
  let low = 0
  let high = tops.length - 1
  while (low + 1 < high) {
    const middle = (low + high) >> 1
    if ((tops[middle] ?? 0) <= height) low = middle
    else high = middle
  }
  return low
}
