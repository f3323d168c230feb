// The span of each bucket of a timeline, and its description.

import type { Timeline } from "@tallystick/client/wire"
import { counted, number } from "../../parts/counted.ts"
import { timeText } from "../../parts/time.tsx"
import { lanes } from "./asked.ts"

export function startOf({ from, bucketSeconds }: Timeline, place: number): number {
  return Date.parse(from) + place * bucketSeconds * 1000
}

export function endsOf(timeline: Timeline): readonly [from: number, to: number] {
  return [startOf(timeline, 0), startOf(timeline, timeline.buckets.length)]
}

/** `Mon 9 Nov, 14:00 – 15:00: 120 entries, 40 security, 80 operations` */
export function bucketText(timeline: Timeline, place: number): string {
  const bucket = timeline.buckets[place]
  if (bucket === undefined) return "Nothing occurred"
  const counts = lanes.flatMap((lane) => {
    const count = bucket.counts[lane] ?? 0
    return count === 0 ? [] : [`${number(count)} ${lane}`]
  })
  return `${spanOf(timeline, place)}: ${[counted(bucket.total, "entry", "entries"), ...counts].join(", ")}`
}

export function spanOf(timeline: Timeline, place: number): string {
  const from = timeText(new Date(startOf(timeline, place)), "minute")
  const to = timeText(new Date(startOf(timeline, place + 1)), "minute")
  const [day, clock] = to.split(", ")
  return `${from} – ${from.startsWith(`${day},`) ? clock : to}`
}
