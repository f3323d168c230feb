import assert from "node:assert/strict"
import test from "node:test"
import { eventHash } from "@tallystick/proof"
import { storedBy } from "../../ledger/test-entries.ts"
import { sha256 } from "../../runtime/sha256.ts"
import { packZstd } from "../../runtime/zstd.ts"
import { createSegmentBuilder } from "../../store/search/segment-builder.ts"
import {
  hashOfHeader,
  headerOf,
  packPart,
  packSegment,
  recordOf,
  streamNames,
  sumOf,
  type MadeSegment,
  type StreamName,
} from "../../store/search/segment-format.ts"
import { firstOf, lastOf } from "../../store/search/segment-plan.ts"
import type { SegmentParts, SegmentRow } from "../../store/search/segments.ts"
import type { Whole } from "../../store/whole-ledger.ts"
import { blocksOf, checkSegment, makeBlock } from "./segment-check.ts"
import { createChance, newSeed } from "../../../../../test/chance.ts"

const name = { level: 0, k: 3 }
const workspace = "acme"
const [first, end] = [firstOf(name), lastOf(name)]
const seed = newSeed()
const chance = createChance(seed)
const entries = Array.from({ length: end - first + 1 }, (_, at) => storedBy(chance, first + at))

/** What `fsck` reads of a ledger with these entries and this segment. */
function wholeOf(parts: SegmentParts): Whole {
  const after: Whole["journal"]["after"] = async (_, sequence, limit) =>
    entries.filter((entry) => entry.sequence > sequence).slice(0, limit)
  const whole: Pick<Whole, "names" | "part"> & { journal: Pick<Whole["journal"], "after"> } = {
    journal: { after },
    names: { journal: "journal.db", index: "index.db", search: "search.db" },
    part: async (_, __, part) => parts[part],
  }
  // Nothing else is read of it.
  return whole as Whole
}

function rowOf(parts: SegmentParts): SegmentRow {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0)
  const lastRecord = eventHash(entries.at(-1)?.record ?? assert.fail("an entry"), sha256)
  return { ...name, hash: hashOfHeader(parts), bytes, lastRecord }
}

function made(bounds?: Parameters<typeof createSegmentBuilder>[2]): MadeSegment {
  const builder = createSegmentBuilder(first, entries.length, bounds)
  for (const entry of entries) builder.add(entry)
  return builder.finish()
}

/** One byte of a stream's last part is another one, and the header has the hash of what is there. */
function forged(stream: StreamName, segment = made()): SegmentParts {
  const streams = recordOf((each) =>
    segment.streams[each].map((part, at, all) => {
      if (each !== stream || at < all.length - 1) return part
      const raw = Buffer.from(part.raw)
      raw[raw.length - 1] = (raw.at(-1) ?? 0) ^ 1
      return { ...part, raw }
    }),
  )
  return packSegment({ facts: segment.facts, streams })
}

/** Segments of so few entries have no unions. */
const mayBeEmpty = new Set<StreamName>(["nanos", "entryUnions", "valueUnions"])

test(`a byte of any stream that differs is found, with and without its hash (seed ${seed})`, async () => {
  const parts = packSegment(made())
  assert.equal(await checkSegment(wholeOf(parts), { workspace, row: rowOf(parts) }), undefined)
  let part = 0
  for (const stream of streamNames) {
    const { length } = made().streams[stream]
    if (mayBeEmpty.has(stream) && length === 0) continue
    assert.ok(length > 0, stream)
    part += length
    const wrong = forged(stream)
    const fault = await checkSegment(wholeOf(wrong), { workspace, row: rowOf(wrong) })
    assert.equal(fault?.what, "their segment in search.db differs from what they say", stream)
    // The same part under the header of the right one.
    const mixed = parts.with(part, wrong[part] ?? assert.fail("a part"))
    const damaged = await checkSegment(wholeOf(mixed), { workspace, row: rowOf(mixed) })
    assert.match(damaged?.what ?? "", /^their segment in search.db cannot be read:/, stream)
  }
})

test("another version of zstd is no fault, and a row that says something else is one", async () => {
  const segment = made()
  const parts = [
    headerOf({ ...segment, streams: recordOf((each) => segment.streams[each].map(sumOf)) }),
    ...streamNames.flatMap((each) => segment.streams[each].map(({ raw }) => packZstd(raw, 7))),
  ]
  assert.ok(!parts.every((part, at) => at === 0 || part.equals(packedAt(segment, at))))
  const row = rowOf(parts)
  assert.equal(await checkSegment(wholeOf(parts), { workspace, row }), undefined)
  const fault = await checkSegment(wholeOf(parts), { workspace, row: { ...row, bytes: 1 } })
  assert.equal(fault?.what, "search.db lists their segment with another hash, size or last entry")
})

function packedAt(segment: MadeSegment, part: number): Uint8Array {
  const all = streamNames.flatMap((each) => segment.streams[each])
  return packPart(all[part - 1] ?? assert.fail("a part"))
}

test("a union of lists that differs is found", async () => {
  const bounds = { blockRows: 64 }
  const segment = made(bounds)
  const { lastRecord } = rowOf(packSegment(segment))
  const blocks = Array.from({ length: entries.length / bounds.blockRows }, (_, block) => {
    const at = block * bounds.blockRows
    const builder = createSegmentBuilder(first + at, bounds.blockRows, bounds)
    for (const entry of entries.slice(at, at + bounds.blockRows)) builder.add(entry)
    return { parts: packSegment(builder.finish()), lastRecord }
  })
  const faultOf = (parts: SegmentParts) =>
    checkSegment(wholeOf(parts), { workspace, row: rowOf(parts), blocks })
  assert.equal(await faultOf(packSegment(segment)), undefined)
  for (const stream of ["entryUnions", "valueUnions"] as const) {
    assert.ok(segment.streams[stream].length > 0, stream)
    const fault = await faultOf(forged(stream, segment))
    assert.match(fault?.what ?? "", /differs from what they say/, stream)
  }
})

test("a large segment is merged of its blocks", async () => {
  const parts = packSegment(made())
  const whole = wholeOf(parts)
  const row = rowOf(parts)
  const blocks = await Promise.all(
    [0, 64, 128, 192].map((at) =>
      makeBlock(whole, { workspace, first: first + at, end: first + at + 63 }),
    ),
  )
  assert.equal(await checkSegment(whole, { workspace, row, blocks }), undefined)
  const wrong = forged("entries")
  const given = { workspace, row: rowOf(wrong), blocks }
  assert.match(
    (await checkSegment(wholeOf(wrong), given))?.what ?? "",
    /differs from what they say/,
  )

  assert.deepEqual(blocksOf({ workspace, row }), [])
  assert.deepEqual(blocksOf({ workspace, row: { ...row, level: 2 } }), [])
  const large = blocksOf({ workspace, row: { ...row, level: 3, k: 2 } })
  assert.deepEqual(large.at(0), { workspace, first: 2_097_153, end: 2_162_688 })
  assert.deepEqual(large.at(-1), { workspace, first: 3_080_193, end: 3_145_728 })
  assert.equal(large.length, 16)
})
