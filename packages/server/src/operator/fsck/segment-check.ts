// A segment of the search, made again from its entries and compared.

import { equalBytes, eventHash } from "@tallystick/proof"
import type { Fault } from "./fault.ts"
import { createSegmentBuilder } from "../../store/search/segment-builder.ts"
import {
  createPartCache,
  hashOfHeader,
  headerOf,
  openSegment,
  runSteps,
  streamNames,
} from "../../store/search/segment-format.ts"
import { firstOf, lastOf } from "../../store/search/segment-plan.ts"
import { SegmentDamaged, SegmentGone } from "../../store/search/segments.ts"
import type { SegmentRow } from "../../store/sqlite/sqlite-segments.ts"
import type { Whole } from "../../store/sqlite/whole-ledger.ts"
import { sha256 } from "../../runtime/sha256.ts"

export interface SegmentOf {
  readonly workspace: string
  readonly row: SegmentRow
}

const entriesPerRead = 256

export function checkSegment(whole: Whole, { workspace, row }: SegmentOf): Fault | undefined {
  const [sequence, upTo] = [firstOf(row), lastOf(row)]
  const wrong = wrongIn(whole, { workspace, row })
  return wrong === undefined
    ? undefined
    : { workspace, sequence, upTo, what: wrong, isDerived: true }
}

function wrongIn(whole: Whole, { workspace, row }: SegmentOf): string | undefined {
  let bytes = 0
  const read = (part: number): Uint8Array | undefined => {
    const kept = whole.part(workspace, row, part)
    bytes += kept?.length ?? 0
    return kept
  }
  const header = read(0)
  if (header === undefined) return "their segment in search.db has no header"
  const { made, lastRecord } = remade(whole, { workspace, row })
  try {
    const segment = openSegment(header, createPartCache(0))
    for (const stream of streamNames)
      for (const place of segment.streams[stream])
        runSteps(segment.raw(place), (_, part) => read(part))
  } catch (error) {
    if (error instanceof SegmentDamaged || error instanceof SegmentGone)
      return `their segment in search.db cannot be read: ${error.message}`
    throw error
  }
  if (!headerOf(made).equals(header)) return "their segment in search.db differs from what they say"
  const fits =
    row.hash === hashOfHeader([header]) &&
    row.bytes === bytes &&
    equalBytes(row.lastRecord, lastRecord)
  return fits ? undefined : "search.db lists their segment with another hash, size or last entry"
}

function remade(whole: Whole, { workspace, row }: SegmentOf) {
  const [first, end] = [firstOf(row), lastOf(row)]
  const builder = createSegmentBuilder(first, end - first + 1)
  let lastRecord: Uint8Array = new Uint8Array()
  for (let last = first - 1; last < end;) {
    const entries = whole.entries(workspace, last, Math.min(entriesPerRead, end - last))
    for (const entry of entries) if (entry.sequence <= end) builder.add(entry)
    const ending = entries.at(-1)
    if (ending?.sequence === end) lastRecord = eventHash(ending.record, sha256)
    last = ending?.sequence ?? end
  }
  // The chain pass reports missing entries.
  builder.addMissing(end)
  return { made: builder.finish(), lastRecord }
}
