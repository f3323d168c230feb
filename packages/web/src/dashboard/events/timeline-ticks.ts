// The labels of a timeline's axis: at whole hours, days, months or years of the reader.

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
] as const
const stepsMonths = [1, 3, 12, 24, 60, 120] as const
const ticksMax = 8

export interface Tick {
  readonly at: number
  readonly form: TimeForm
}

/** `zoneMs`: the offset of the reader's zone from UTC at a time. It changes with summer time. */
export function ticksOf(from: number, to: number, zoneMs: (at: number) => number): readonly Tick[] {
  const step = stepsMs.find((ms) => (to - from) / ms <= ticksMax)
  if (step === undefined) return monthTicks(from, to, zoneMs)
  const zone = zoneMs(from)
  const first = Math.ceil((from + zone) / step) * step - zone
  const count = Math.max(0, Math.ceil((to - first) / step))
  return Array.from({ length: count }, (_, place) => {
    const at = first + place * step
    return {
      at: at + zone - zoneMs(at),
      form: step < dayMs ? "clock" : "weekday",
    } as const
  }).filter(({ at }) => at < to)
}

function monthTicks(from: number, to: number, zoneMs: (at: number) => number): readonly Tick[] {
  const monthOf = (at: number): number => {
    const day = new Date(at + zoneMs(at))
    return 12 * (day.getUTCFullYear() - 1970) + day.getUTCMonth()
  }
  const [first, last] = [monthOf(from), monthOf(to)]
  const step = stepsMonths.find((months) => (last - first) / months <= ticksMax) ?? last - first
  const begin = Math.floor(first / step) * step
  return Array.from({ length: ticksMax + 2 }, (_, place) => {
    const at = Date.UTC(1970, begin + place * step)
    return { at: at - zoneMs(at), form: "short" } as const
  }).filter(({ at }) => at >= from && at < to)
}
