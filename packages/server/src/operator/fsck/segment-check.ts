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
  sumOf,
} from "../../store/search/segment-format.ts"
import { firstOf, lastOf } from "../../store/search/segment-plan.ts"
import { SegmentDamaged, SegmentGone, type SegmentRow } from "../../store/search/segments.ts"
import type { Whole } from "../../store/whole-ledger.ts"
import { sha256 } from "../../runtime/sha256.ts"

export interface SegmentOf {
  readonly workspace: string
  readonly row: SegmentRow
}

const entriesPerRead = 256

export async function checkSegment(
  whole: Whole,
  { workspace, row }: SegmentOf,
): Promise<Fault | undefined> {
  const [sequence, upTo] = [firstOf(row), lastOf(row)]
  const wrong = await wrongIn(whole, { workspace, row })
  return wrong === undefined
    ? undefined
    : { workspace, sequence, upTo, what: wrong, isDerived: true }
}

async function wrongIn(whole: Whole, { workspace, row }: SegmentOf): Promise<string | undefined> {
  const name = whole.names.search
  let bytes = 0
  const read = async (part: number): Promise<Uint8Array | undefined> => {
    const kept = await whole.part(workspace, row, part)
    bytes += kept?.length ?? 0
    return kept
  }
  const header = await read(0)
  if (header === undefined) return `their segment in ${name} has no header`
  const { made, lastRecord } = await remade(whole, { workspace, row })
  try {
    const segment = openSegment(header, createPartCache(0))
    for (const stream of streamNames)
      for (const place of segment.streams[stream]) {
        const steps = segment.raw(place)
        for (let step = steps.next(); step.done !== true;)
          step = steps.next(step.value && (await read(step.value.part)))
      }
  } catch (error) {
    if (error instanceof SegmentDamaged || error instanceof SegmentGone)
      return `their segment in ${name} cannot be read: ${error.message}`
    throw error
  }
  if (!headerOf(made).equals(header)) return `their segment in ${name} differs from what they say`
  const fits =
    row.hash === hashOfHeader([header]) &&
    row.bytes === bytes &&
    equalBytes(row.lastRecord, lastRecord)
  return fits ? undefined : `${name} lists their segment with another hash, size or last entry`
}

async function remade({ journal }: Whole, { workspace, row }: SegmentOf) {
  const [first, end] = [firstOf(row), lastOf(row)]
  const builder = createSegmentBuilder(first, end - first + 1)
  let lastRecord: Uint8Array = new Uint8Array()
  for (let last = first - 1; last < end;) {
    const entries = await journal.after(workspace, last, Math.min(entriesPerRead, end - last))
    for (const entry of entries) if (entry.sequence <= end) builder.add(entry)
    const ending = entries.at(-1)
    if (ending?.sequence === end) lastRecord = eventHash(ending.record, sha256)
    last = ending?.sequence ?? end
  }
  // The chain pass reports missing entries.
  builder.addMissing(end)
  return { made: runSteps(builder.finishing(sumOf), () => undefined), lastRecord }
}
