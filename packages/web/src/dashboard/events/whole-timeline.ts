// A timeline of all time begins where the first entry occurred, and not in 1970. That of nothing is
// of a week.

import type { Timeline } from "@tallystick/client/wire"
import { weekMs } from "../../parts/spans.ts"
import type { Told } from "../../ask.ts"
import type { Desk } from "../desk.ts"
import type { Query } from "../place.ts"

const bucketsMax = 240

/** `filter` may lack its ends. */
export async function timelineOf(
  desk: Desk,
  filter: Query,
  buckets: number,
  now: Date,
): Promise<Told<Timeline>> {
  const to = new Date(now.getTime() + 1000).toISOString()
  const ask = (ends: Query, count: number) =>
    desk.get<Timeline>(["events", "timeline"], { ...filter, to, ...ends, buckets: count })
  const given = filter["to"] === undefined ? {} : { to: filter["to"] }
  if (filter["from"] !== undefined) return ask(given, buckets)
  const lastMs = Date.parse(String(given.to ?? to))
  let from = new Date(0).toISOString()
  let end: Query = given
  // A quarter of a year, then half a day.
  for (const _ of [1, 2]) {
    const told = await ask({ ...end, from }, bucketsMax)
    if (!told.ok) return told
    const first = told.value.buckets.find(({ total }) => total > 0)
    if (first === undefined) {
      if (end === given) from = new Date(lastMs - weekMs).toISOString()
      break
    }
    from = first.start
    const next = Date.parse(from) + told.value.bucketSeconds * 1000
    end = { to: new Date(next).toISOString() }
  }
  return ask({ ...given, from }, buckets)
}
