// The labels of a timeline's axis: at whole days or hours of the reader.

import type { TimeForm } from "../../parts/time-element.tsx"
import { dayMs, hourMs, minuteMs, weekMs } from "../../parts/spans.ts"

const stepsMs = [
  minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  hourMs,
  3 * hourMs,
  6 * hourMs,
  12 * hourMs,
  dayMs,
  2 * dayMs,
  weekMs,
  2 * weekMs,
  30 * dayMs,
  90 * dayMs,
  365 * dayMs,
  5 * 365 * dayMs,
  10 * 365 * dayMs,
] as const
const ticksMax = 8

export interface Tick {
  readonly at: number
  readonly form: TimeForm
}

/** `zoneMs`: the offset of the reader's zone from UTC at a time. It changes with summer time. */
export function ticksOf(from: number, to: number, zoneMs: (at: number) => number): readonly Tick[] {
  const step = stepsMs.find((ms) => (to - from) / ms <= ticksMax) ?? to - from
  const zone = zoneMs(from)
  const first = Math.ceil((from + zone) / step) * step - zone
  const count = Math.max(0, Math.ceil((to - first) / step))
  return Array.from({ length: count }, (_, place) => {
    const at = first + place * step
    return {
      at: at + zone - zoneMs(at),
      form: step < dayMs ? "clock" : step < 30 * dayMs ? "weekday" : "short",
    } as const
  }).filter(({ at }) => at < to)
}
