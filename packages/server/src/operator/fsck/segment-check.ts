// A segment of the search, compared with its entries. It is not made again: what its lists say and
// what the entries say is added up with numbers that only this run knows, and what is kept is read
// through and written again, to see that it has the one form that a segment of these lists has.

import { equalBytes, eventHash } from "@tallystick/proof"
import type { Fault } from "./fault.ts"
import { EntryAdder, type EntryPairs } from "../../store/search/entry-pairs.ts"
import { isSameSum, PairHash, totalOf } from "../../store/search/pair-sums.ts"
import {
  hashOfHeader,
  headerOf,
  openSource,
  streamNames,
  type StreamName,
} from "../../store/search/segment-format.ts"
import { ColumnWriter, joinBlocks, usualBlockRows } from "../../store/search/segment-columns.ts"
import { rewriteSegment } from "../../store/search/segment-rewrite.ts"
import { firstOf, lastOf } from "../../store/search/segment-plan.ts"
import {
  SegmentDamaged,
  SegmentGone,
  type SegmentRow,
  type Steps,
} from "../../store/search/segments.ts"
import type { Whole } from "../../store/whole-ledger.ts"
import { sha256 } from "../../runtime/sha256.ts"

export interface SegmentOf {
  readonly workspace: string
  readonly row: SegmentRow
  /** 32 bytes that nobody knew who wrote the segment. */
  readonly secret: Uint8Array
  /** What its entries say, if others have read them. */
  readonly blocks?: readonly SaidBlock[]
}

/** Entries of a segment, from the first to the last. */
export interface BlockOf extends Pick<SegmentOf, "workspace" | "row" | "secret"> {
  readonly first: number
  readonly end: number
  /** The most entries of a block. */
  readonly blockRows: number
}

/** What these entries say, and the hash of the last one's record. */
export interface SaidBlock extends EntryPairs {
  readonly lastRecord: Uint8Array
}

const entriesPerRead = 256

/** The blocks of a segment, whose entries threads read at once. */
export function blocksOf(
  { workspace, row, secret }: SegmentOf,
  blockRows = usualBlockRows,
): readonly BlockOf[] {
  const [start, last] = [firstOf(row), lastOf(row)]
  const blocks: BlockOf[] = []
  for (let first = start; first <= last; first += blockRows)
    blocks.push({
      workspace,
      row,
      secret,
      first,
      end: Math.min(first + blockRows - 1, last),
      blockRows,
    })
  return blocks
}

export async function readBlock(
  { journal }: Whole,
  { workspace, row, secret, first, end, blockRows }: BlockOf,
): Promise<SaidBlock> {
  const columns = new ColumnWriter(end - first + 1, blockRows)
  const adder = new EntryAdder(first, first - firstOf(row), columns, new PairHash(secret))
  let lastRecord: Uint8Array = new Uint8Array()
  for (let last = first - 1; last < end;) {
    const entries = await journal.after(workspace, last, Math.min(entriesPerRead, end - last))
    for (const entry of entries) if (entry.sequence <= end) adder.add(entry)
    const ending = entries.at(-1)
    if (ending?.sequence === end) lastRecord = eventHash(ending.record, sha256)
    last = ending?.sequence ?? end
  }
  // The chain pass reports missing entries.
  adder.addMissing(end)
  return { ...adder.finish(), lastRecord }
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
  const blocks =
    given.blocks ?? (await Promise.all(blocksOf(given).map((block) => readBlock(whole, block))))
  try {
    const steps = isAsSaid(header, given, blocks)
    let step = steps.next()
    while (step.done !== true) step = steps.next(step.value && (await read(step.value.part)))
    if (!step.value) return `their segment in ${name} differs from what they say`
  } catch (error) {
    if (error instanceof RangeError) return `their segment in ${name} differs from what they say`
    if (error instanceof SegmentDamaged || error instanceof SegmentGone)
      return `their segment in ${name} cannot be read: ${error.message}`
    throw error
  }
  const fits =
    row.hash === hashOfHeader([header]) &&
    row.bytes === bytes &&
    equalBytes(row.lastRecord, blocks.at(-1)?.lastRecord ?? new Uint8Array())
  return fits ? undefined : `${name} lists their segment with another hash, size or last entry`
}

/** Reads each of its parts once. */
function* isAsSaid(
  header: Uint8Array,
  { row, secret }: SegmentOf,
  blocks: readonly SaidBlock[],
): Steps<boolean> {
  const segment = openSource(header)
  const [first, last] = [firstOf(row), lastOf(row)]
  if (segment.first !== first || segment.count !== last - first + 1) return false
  const columns = joinBlocks(
    blocks.map((block) => block.columns),
    (part) => part,
  )
  const hash = new PairHash(secret)
  const { made, entries, listed, words } = yield* rewriteSegment(segment, columns, hash)
  let parts = 0
  for (const stream of streamNames) {
    parts += segment.streams[stream].length
    if (!walked.has(stream)) for (const place of segment.streams[stream]) yield* segment.raw(place)
  }
  const isMore = (yield { segment, part: parts + 1 }) !== undefined
  return (
    !isMore &&
    headerOf(made).equals(header) &&
    isSameSum(entries, totalOf(blocks.map(({ sum }) => sum))) &&
    isSameSum(listed, words)
  )
}

/** What `rewriteSegment` has read. */
const walked = new Set<StreamName>(["keys", "entries", "words", "values"])
