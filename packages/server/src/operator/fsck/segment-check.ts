// A segment of the search, made again from its entries and compared.

import { equalBytes, eventHash } from "@tallystick/proof"
import type { Fault } from "./fault.ts"
import { createSegmentBuilder } from "../../store/search/segment-builder.ts"
import { createPartCache } from "../../store/search/part-cache.ts"
import {
  hashOfHeader,
  headerOf,
  openSegment,
  openSource,
  packSegment,
  runSteps,
  streamNames,
  sumOf,
  type MadeSegment,
  type PartSum,
} from "../../store/search/segment-format.ts"
import { usualBlockRows } from "../../store/search/segment-columns.ts"
import { mergeInto } from "../../store/search/segment-merge.ts"
import { firstOf, lastOf } from "../../store/search/segment-plan.ts"
import {
  SegmentDamaged,
  SegmentGone,
  type SegmentParts,
  type SegmentRow,
} from "../../store/search/segments.ts"
import type { Whole } from "../../store/whole-ledger.ts"
import { sha256 } from "../../runtime/sha256.ts"

export interface SegmentOf {
  readonly workspace: string
  readonly row: SegmentRow
  /** Those of a segment that has several. */
  readonly blocks?: readonly MadeBlock[]
}

/** Entries of a segment, from the first to the last. */
export interface BlockOf {
  readonly workspace: string
  readonly first: number
  readonly end: number
}

/** What is kept of a segment of these entries, and the hash of the last one's record. */
export interface MadeBlock {
  readonly parts: SegmentParts
  readonly lastRecord: Uint8Array
}

const entriesPerRead = 256

/** The blocks that a large segment is merged of; none of another one. */
export function blocksOf({ workspace, row }: SegmentOf): readonly BlockOf[] {
  const [start, last] = [firstOf(row), lastOf(row)]
  const blocks: BlockOf[] = []
  for (let first = start; last - start >= usualBlockRows && first <= last; first += usualBlockRows)
    blocks.push({ workspace, first, end: first + usualBlockRows - 1 })
  return blocks
}

export async function makeBlock(whole: Whole, given: BlockOf): Promise<MadeBlock> {
  const { builder, lastRecord } = await filled(whole, given)
  return { parts: packSegment(builder.finish()), lastRecord }
}

export async function checkSegment(whole: Whole, given: SegmentOf): Promise<Fault | undefined> {
  const { workspace, row } = given
  const [sequence, upTo] = [firstOf(row), lastOf(row)]
  const wrong = await wrongIn(whole, given)
  return wrong === undefined
    ? undefined
    : { workspace, sequence, upTo, what: wrong, isDerived: true }
}

async function wrongIn(whole: Whole, given: SegmentOf): Promise<string | undefined> {
  const { workspace, row } = given
  const name = whole.names.search
  let bytes = 0
  const read = async (part: number): Promise<Uint8Array | undefined> => {
    const kept = await whole.part(workspace, row, part)
    bytes += kept?.length ?? 0
    return kept
  }
  const header = await read(0)
  if (header === undefined) return `their segment in ${name} has no header`
  const { made, lastRecord } = await remade(whole, given)
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

async function remade(whole: Whole, { workspace, row, blocks = [] }: SegmentOf) {
  const last = blocks.at(-1)
  if (last !== undefined) return { made: mergedOf(blocks), lastRecord: last.lastRecord }
  const given = { workspace, first: firstOf(row), end: lastOf(row) }
  const { builder, lastRecord } = await filled(whole, given)
  return { made: runSteps(builder.finishing(sumOf), () => undefined), lastRecord }
}

function mergedOf(blocks: readonly MadeBlock[]): MadeSegment<PartSum> {
  const opened = blocks.map(({ parts: [header = new Uint8Array()] }) => openSource(header))
  const partsOf = new Map(opened.map(({ hash }, at) => [hash, blocks[at]?.parts]))
  return runSteps(mergeInto(opened, sumOf), ({ hash }, part) => partsOf.get(hash)?.[part])
}

async function filled({ journal }: Whole, { workspace, first, end }: BlockOf) {
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
  return { builder, lastRecord }
}
