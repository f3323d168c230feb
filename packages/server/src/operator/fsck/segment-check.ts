// A segment of the search, made again from its entries and compared.

import type { Fault } from "./fault.ts"
import { createSegmentBuilder } from "../../store/search/segment-builder.ts"
import {
  createPartCache,
  headerOf,
  openSegment,
  runSteps,
  streamNames,
  type MadeSegment,
} from "../../store/search/segment-format.ts"
import { firstOf, lastOf } from "../../store/search/segment-plan.ts"
import { SegmentDamaged, SegmentGone, type SegmentName } from "../../store/search/segments.ts"
import type { Whole } from "../../store/sqlite/whole-ledger.ts"

export interface SegmentOf {
  readonly workspace: string
  readonly name: SegmentName
}

const entriesPerRead = 256

export function checkSegment(whole: Whole, { workspace, name }: SegmentOf): Fault | undefined {
  const [sequence, upTo] = [firstOf(name), lastOf(name)]
  const wrong = wrongIn(whole, { workspace, name })
  return wrong === undefined ? undefined : { workspace, sequence, upTo, what: wrong }
}

function wrongIn(whole: Whole, { workspace, name }: SegmentOf): string | undefined {
  const read = (part: number): Uint8Array | undefined => whole.part(workspace, name, part)
  const header = read(0)
  if (header === undefined) return "the search has a segment of them without its header"
  const made = headerOf(remade(whole, { workspace, name }))
  try {
    const segment = openSegment(header, createPartCache(0))
    for (const stream of streamNames)
      for (const place of segment.streams[stream])
        runSteps(segment.raw(place), (_, part) => read(part))
  } catch (error) {
    if (error instanceof SegmentDamaged || error instanceof SegmentGone)
      return `the search cannot read its segment of them: ${error.message}`
    throw error
  }
  return made.equals(header) ? undefined : "the search says something else of them than they do"
}

function remade(whole: Whole, { workspace, name }: SegmentOf): MadeSegment {
  const [first, end] = [firstOf(name), lastOf(name)]
  const builder = createSegmentBuilder(first, end - first + 1)
  for (let last = first - 1; last < end;) {
    const entries = whole.entries(workspace, last, Math.min(entriesPerRead, end - last))
    for (const entry of entries) if (entry.sequence <= end) builder.add(entry)
    last = entries.at(-1)?.sequence ?? end
  }
  // The chain pass reports missing entries.
  builder.addMissing(end)
  return builder.finish()
}
