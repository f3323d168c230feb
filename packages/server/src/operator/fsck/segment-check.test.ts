import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test from "node:test"
import {
  canonicalize,
  eventHash,
  isJsonObject,
  parseJson,
  type JsonObject,
} from "@tallystick/proof"
import { storedBy } from "../../ledger/test-entries.ts"
import { sha256 } from "../../runtime/sha256.ts"
import { packZstd } from "../../runtime/zstd.ts"
import { createSegmentBuilder } from "../../store/search/segment-builder.ts"
import { KeyCursor, KeyWriter, type StreamPart } from "../../store/search/key-stream.ts"
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
import type { Stored } from "../../store/entries.ts"
import type { SegmentParts, SegmentRow } from "../../store/search/segments.ts"
import type { Whole } from "../../store/whole-ledger.ts"
import { blocksOf, checkSegment, readBlock, type SegmentOf } from "./segment-check.ts"
import { createChance, newSeed } from "../../../../../test/chance.ts"

const name = { level: 0, k: 3 }
const workspace = "acme"
const [first, end] = [firstOf(name), lastOf(name)]
const seed = newSeed()
const chance = createChance(seed)
const entries = Array.from({ length: end - first + 1 }, (_, at) => storedBy(chance, first + at))

const secret = randomBytes(32)
const differs = "their segment in search.db differs from what they say"

/** What `fsck` reads of a ledger with these entries and this segment. */
function wholeOf(parts: SegmentParts, stored: readonly Stored[] = entries): Whole {
  const after: Whole["journal"]["after"] = async (_, sequence, limit) =>
    stored.filter((entry) => entry.sequence > sequence).slice(0, limit)
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

type Bounds = Parameters<typeof createSegmentBuilder>[2]

function made(bounds?: Bounds, stored: readonly Stored[] = entries): MadeSegment {
  const builder = createSegmentBuilder(first, entries.length, bounds)
  for (const entry of stored) builder.add(entry)
  builder.addMissing(end)
  return builder.finish()
}

/** What is wrong with this segment of the entries. */
async function wrongIn(
  parts: SegmentParts,
  given: Partial<SegmentOf> = {},
): Promise<string | undefined> {
  const asked = { workspace, row: rowOf(parts), secret, ...given }
  return (await checkSegment(wholeOf(parts), asked))?.what
}

/** What some entries say, of which each few are a block: small segments have unions so. */
const blockRows = 64
function said(stored?: readonly Stored[]): Promise<Pick<Required<SegmentOf>, "blocks">> {
  const whole = wholeOf([], stored)
  const given = { workspace, row: rowOf([]), secret }
  const read = blocksOf(given, blockRows).map((block) => readBlock(whole, block))
  return Promise.all(read).then((blocks) => ({ blocks }))
}

/** The same facts with other parts, under a header that has their hashes. */
function withParts(
  { facts, streams }: MadeSegment,
  stream: StreamName,
  change: (parts: readonly StreamPart[]) => readonly StreamPart[],
): SegmentParts {
  return packSegment({ facts, streams: { ...streams, [stream]: change(streams[stream]) } })
}

/** One byte of a stream's last part is another one, and the header has the hash of what is there. */
function forged(stream: StreamName, segment = made()): SegmentParts {
  return withParts(segment, stream, (parts) =>
    parts.map((part, at) => {
      if (at < parts.length - 1) return part
      const raw = Buffer.from(part.raw)
      raw[raw.length - 1] = (raw.at(-1) ?? 0) ^ 1
      return { ...part, raw }
    }),
  )
}

/** Segments of so few entries have no unions. */
const mayBeEmpty = new Set<StreamName>(["nanos", "entryUnions", "valueUnions"])

test(`a byte of any stream that differs is found, with and without its hash (seed ${seed})`, async () => {
  const parts = packSegment(made())
  assert.equal(await wrongIn(parts), undefined)
  let part = 0
  for (const stream of streamNames) {
    const { length } = made().streams[stream]
    if (mayBeEmpty.has(stream) && length === 0) continue
    assert.ok(length > 0, stream)
    part += length
    const wrong = forged(stream)
    assert.equal(await wrongIn(wrong), differs, stream)
    // The same part under the header of the right one.
    const mixed = parts.with(part, wrong[part] ?? assert.fail("a part"))
    assert.match(
      (await wrongIn(mixed)) ?? "",
      /^their segment in search.db cannot be read:/,
      stream,
    )
  }
})

test("another version of zstd is no fault, and a row that says something else is one", async () => {
  const segment = made()
  const parts = [
    headerOf({ ...segment, streams: recordOf((each) => segment.streams[each].map(sumOf)) }),
    ...streamNames.flatMap((each) => segment.streams[each].map(({ raw }) => packZstd(raw, 7))),
  ]
  assert.ok(!parts.every((part, at) => at === 0 || part.equals(packedAt(segment, at))))
  assert.equal(await wrongIn(parts), undefined)
  const row = rowOf(parts)
  for (const other of [{ bytes: 1 }, { hash: "00" }, { lastRecord: Buffer.alloc(32) }])
    assert.equal(
      await wrongIn(parts, { row: { ...row, ...other } }),
      "search.db lists their segment with another hash, size or last entry",
    )
})

function packedAt(segment: MadeSegment, part: number): Uint8Array {
  const all = streamNames.flatMap((each) => segment.streams[each])
  return packPart(all[part - 1] ?? assert.fail("a part"))
}

test("a union of lists that differs is found, and a large segment is read in blocks", async () => {
  const segment = made({ blockRows })
  const blocks = await said()
  assert.equal(blocks.blocks.length, 4)
  assert.equal(await wrongIn(packSegment(segment), blocks), undefined)
  for (const stream of ["entries", "entryUnions", "valueUnions"] as const) {
    assert.ok(segment.streams[stream].length > 0, stream)
    assert.equal(await wrongIn(forged(stream, segment), blocks), differs, stream)
  }
  const given = { workspace, row: rowOf([]), secret }
  assert.equal(blocksOf(given).length, 1)
  assert.equal(blocksOf({ ...given, row: { ...given.row, level: 2 } }).length, 1)
  const large = blocksOf({ ...given, row: { ...given.row, level: 3, k: 2 } })
  assert.deepEqual([large[0]?.first, large[0]?.end], [2_097_153, 2_162_688])
  assert.deepEqual([large.at(-1)?.first, large.at(-1)?.end], [3_080_193, 3_145_728])
  assert.equal(large.length, 16)
})

const columns = new Set<StreamName>(["occurred", "nanos", "made", "ids", "receipts"])

test(`any byte that is another one is found, and one more or less (seed ${seed})`, async () => {
  const few = entries.filter((_, at) => at % 64 === 63)
  const segment = made({ blockRows }, few)
  const sums = recordOf((stream) => segment.streams[stream].map(sumOf))
  const blocks = await said(few)
  const right = packSegment(segment)
  assert.equal(await wrongIn(right, blocks), undefined)
  let place = 0
  for (const stream of streamNames)
    for (const [at, part] of segment.streams[stream].entries()) {
      place++
      const { raw } = part
      const changed = [Buffer.concat([raw, Buffer.of(0)]), raw.subarray(0, -1), raw.subarray(1)]
      // Each byte of a column is compared in the same way; of others, chance draws a quarter.
      const step = columns.has(stream) ? 97 : 4
      for (let byte = chance.below(Math.min(step, raw.length)); byte < raw.length; byte += step) {
        const other = Buffer.from(raw)
        other[byte] = (raw[byte] ?? 0) ^ (1 + chance.below(255))
        changed.push(other)
      }
      for (const [change, other] of changed.entries()) {
        const one = { ...part, raw: other }
        const streams = { ...sums, [stream]: sums[stream].with(at, sumOf(one)) }
        const parts = right.with(place, packPart(one)).with(0, headerOf({ ...segment, streams }))
        assert.equal(await wrongIn(parts, blocks), differs, `${stream} ${at}, change ${change}`)
      }
    }
  const [header = assert.fail("a header"), ...rest] = right
  const unhashed = header.subarray(0, -32)
  for (let at = 0; at < unhashed.length; at++) {
    const other = Buffer.from(unhashed)
    other[at] = (other[at] ?? 0) ^ (1 + chance.below(255))
    const hashed = Buffer.concat([other, sha256(other)])
    assert.ok(await wrongIn([hashed, ...rest], blocks), `byte ${at} of the header`)
  }
})

test("a header that counts more than it has is found at once", async () => {
  const segment = made()
  for (const facts of [
    { keys: 2 ** 32 - 1 },
    { words: 2 ** 32 - 1 },
    { count: 2 ** 32 - 1 },
    { first: 1 },
  ])
    assert.equal(
      await wrongIn(packSegment({ ...segment, facts: { ...segment.facts, ...facts } })),
      differs,
    )
  for (const stream of ["keys", "entries", "words", "values"] as const)
    assert.equal(await wrongIn(withParts(segment, stream, () => [])), differs, stream)
  const [header = assert.fail("a header"), ...rest] = packSegment(segment)
  // The names together are counted behind the times of the only block.
  const at = Buffer.from(header).indexOf("actor") - 2
  const much = Buffer.concat([
    header.subarray(0, at),
    Buffer.of(0xff, 0xff, 0xff, 0xff, 0x0f),
    header.subarray(at + 1, -32),
  ])
  const wrong = await wrongIn([Buffer.concat([much, sha256(much)]), ...rest])
  assert.match(wrong ?? "", /the header of a segment is damaged/)
})

test("a part that the header does not list is found", async () => {
  const parts = packSegment(made())
  const more = [...parts, parts[1] ?? assert.fail("a part")]
  assert.equal(await wrongIn(more, { row: rowOf(parts) }), differs)
})

test("the same keys and lists in another form are found", async () => {
  const segment = made()
  const keys = (all: readonly StreamPart[]): Buffer[] => {
    const [{ raw } = assert.fail("a part")] = all
    const cursor = new KeyCursor(raw, all[1]?.first ?? segment.facts.keys)
    const found: Buffer[] = []
    while (cursor.next()) found.push(Buffer.from(cursor.key.subarray(0, cursor.length)))
    return found
  }
  /** The keys of the first part, as several parts. */
  const cut = (all: readonly StreamPart[]): StreamPart[] => {
    const writer = new KeyWriter((part: StreamPart) => part)
    for (const [at, key] of keys(all).entries()) {
      if (at === 20) writer.items.finish()
      writer.add(key, key.length)
    }
    writer.items.finish()
    return [...writer.items.parts, ...all.slice(1)]
  }
  const separated = (all: readonly StreamPart[]): StreamPart[] =>
    all.map((part, at) =>
      at > 0 ? part : { ...part, separator: Buffer.concat([part.separator, Buffer.of(0)]) },
    )
  const whole = (all: readonly StreamPart[]): StreamPart[] => {
    const writer = new KeyWriter((part: StreamPart) => part)
    // Each key as if it were the first.
    for (const key of keys(all)) {
      writer.items.begin()
      writer.items.body.varint(0)
      writer.items.body.varint(key.length)
      writer.items.body.append(key)
    }
    writer.items.finish()
    return writer.items.parts
      .map((part) => ({ ...part, separator: all[0]?.separator ?? part.separator }))
      .concat(all.slice(1))
  }
  /** The number that the first item begins with takes a byte more. */
  const longer = (all: readonly StreamPart[], items: number): StreamPart[] => {
    const [part = assert.fail("a part"), ...rest] = all
    const restarts = Math.ceil((rest[0]?.first ?? items) / 16)
    const raw = Buffer.concat([
      part.raw.subarray(0, restarts * 4),
      Buffer.of((part.raw[restarts * 4] ?? 0) | 0x80, 0),
      part.raw.subarray(restarts * 4 + 1),
    ])
    assert.ok((part.raw[restarts * 4] ?? 0) < 0x80)
    for (let at = 1; at < restarts; at++) raw.writeUInt32LE(raw.readUInt32LE(at * 4) + 1, at * 4)
    return [{ ...part, raw }, ...rest]
  }
  const { facts } = segment
  const forms: readonly [StreamName, (all: readonly StreamPart[]) => readonly StreamPart[]][] = [
    ["keys", cut],
    ["keys", separated],
    ["keys", whole],
    ["keys", (all) => longer(all, facts.keys)],
    ["entries", (all) => longer(all, facts.keys)],
    ["words", (all) => longer(all, facts.words)],
    ["values", (all) => longer(all, facts.words)],
  ]
  for (const [at, [stream, change]] of forms.entries())
    assert.equal(
      await wrongIn(withParts(segment, stream, change)),
      differs,
      `form ${at} of ${stream}`,
    )
})

test(`a segment of other entries is found, with what was erased or without an entry (seed ${seed})`, async () => {
  const right = packSegment(made())
  const sealed = entries.filter(({ disclosures }) => disclosures !== "")
  const others: (readonly Stored[])[] = Array.from({ length: 16 }, () => {
    const { sequence } = chance.pick(entries)
    return entries.map((entry) =>
      entry.sequence === sequence ? storedBy(chance, sequence) : entry,
    )
  })
  for (let count = 0; count < 8; count++) {
    const { sequence } = chance.pick(sealed)
    others.push(
      entries.map((one) => (one.sequence === sequence ? { ...one, disclosures: "" } : one)),
    )
    others.push(entries.filter((one) => one.sequence !== sequence))
  }
  let found = 0
  for (const stored of others) {
    const parts = packSegment(made({}, stored))
    const isSame = hashOfHeader(parts) === hashOfHeader(right)
    assert.equal(await wrongIn(parts), isSame ? undefined : differs)
    // The journal has others, and the segment is as it was.
    const given = { workspace, row: rowOf(right), secret }
    const fault = await checkSegment(wholeOf(right, stored), given)
    assert.equal(fault?.what, isSame ? undefined : differs)
    if (!isSame) found++
  }
  assert.ok(found > 20, String(found))
})

test("entries may have more names than are remembered at once", async () => {
  const stored = entries.map((entry): Stored => {
    const body = parseJson(Buffer.from(entry.body ?? []).toString())
    if (!isJsonObject(body)) return entry
    const names = Array.from({ length: 120 }, (_, at) => [`n${entry.sequence}.${at}`, "a value"])
    const metadata = Object.fromEntries(names) as JsonObject
    return { ...entry, disclosures: "", body: Buffer.from(canonicalize({ ...body, metadata })) }
  })
  const segment = made({}, stored)
  assert.ok(segment.facts.keys > 20_000, String(segment.facts.keys))
  const parts = packSegment(segment)
  const given = { workspace, row: rowOf(parts), secret }
  assert.equal(await checkSegment(wholeOf(parts, stored), given), undefined)
})
