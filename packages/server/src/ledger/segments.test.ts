import assert from "node:assert/strict"
import test from "node:test"
import { sealedBy, storedBy, wantedBy } from "./test-entries.ts"
import { compareAnswers, compareSegments } from "./test-segments.ts"
import type { Stored } from "../store/entries.ts"
import { findableOf, matches } from "../store/search/matching.ts"
import type { Counted, Counting, Filed, Wanted } from "../store/search/search.ts"
import { filedOf, missing } from "../store/search/searchable-fields.ts"
import { createSegmentBuilder } from "../store/search/segment-builder.ts"
import { addCounts, countedOf, countIn, Counts } from "../store/search/segment-counts.ts"
import { createPartCache } from "../store/search/part-cache.ts"
import {
  headerOf,
  packPart,
  sumOf,
  openMade,
  openSegment,
  packSegment,
  runSteps,
  type MadeSegment,
  type Segment,
} from "../store/search/segment-format.ts"
import type { StreamPart } from "../store/search/key-stream.ts"
import { ListCursor, ListWriter } from "../store/search/list-stream.ts"
import { mergeInto, replaceEntries } from "../store/search/segment-merge.ts"
import { matchesIn } from "../store/search/segment-query.ts"
import {
  SegmentDamaged,
  SegmentGone,
  type SegmentParts,
  type Steps,
} from "../store/search/segments.ts"
import { createChance, seedOf, type Chance } from "../../../../test/chance.ts"

function entriesBy(chance: Chance, first: number, count: number): Stored[] {
  return Array.from({ length: count }, (_, at) => storedBy(chance, first + at))
}

function made(
  entries: readonly Stored[],
  bounds?: Parameters<typeof createSegmentBuilder>[2],
): MadeSegment {
  const builder = createSegmentBuilder(entries[0]?.sequence ?? 1, entries.length, bounds)
  for (const entry of entries) builder.add(entry)
  return builder.finish()
}

function opened(parts: SegmentParts, cacheBytes = 2 ** 20): Segment {
  return openSegment(parts[0] ?? assert.fail("a header"), createPartCache(cacheBytes))
}

function run<T>(steps: Steps<T>, parts: SegmentParts = []): T {
  return runSteps(steps, (_, part) => parts[part])
}

function bytesOf(segment: MadeSegment): string {
  return Buffer.from(packSegment(segment)[0] ?? []).toString("hex")
}

test("a segment finds the same entries as the plain filter, also hostile ones, stored and in memory", (t) => {
  const found = compareSegments(createChance(seedOf(t)), 8, 400)
  assert.ok(found > 500, `${found} searches found something`)
})

test("merged segments have the same bytes as one that was made at once", (t) => {
  const chance = createChance(seedOf(t))
  for (let round = 0; round < 10; round++) {
    const entries = entriesBy(chance, 1 + round * 64, 16 * (1 + chance.below(8)))
    const pieces: Stored[][] = []
    for (let at = 0; at < entries.length;) {
      const end = at + 1 + chance.below(40)
      pieces.push(entries.slice(at, end))
      at = end
    }
    const packed = pieces.map((piece) => packSegment(made(piece)))
    const segments = packed.map((parts) => opened(parts, 0))
    const merged = runSteps(
      mergeInto(segments, (part) => part),
      (segment, part) => packed[segments.findIndex(({ hash }) => hash === segment.hash)]?.[part],
    )
    const whole = made(entries)
    assert.equal(bytesOf(merged), bytesOf(whole))
    assert.deepEqual(packSegment(merged), packSegment(whole))
    // A builder that makes segments early, because its memory is limited.
    assert.equal(bytesOf(made(entries, { bytesMax: 20_000 })), bytesOf(whole))
  }
})

test("a segment of several blocks is the same, merged or made at once, and finds the same entries", (t) => {
  const chance = createChance(seedOf(t))
  const bounds = { blockRows: 16 }
  for (let round = 0; round < 5; round++) {
    const entries = entriesBy(chance, 1 + round * 64, 33 + chance.below(150))
    const pieces: Stored[][] = []
    for (let at = 0; at < entries.length;) {
      const end = at + 16 * (1 + chance.below(3))
      pieces.push(entries.slice(at, end))
      at = end
    }
    const packed = pieces.map((piece) => packSegment(made(piece, bounds)))
    const segments = packed.map((parts) => opened(parts, 0))
    const taken: StreamPart[] = []
    const take = (part: StreamPart) => sumOf((taken.push(part), part))
    const merged = runSteps(
      mergeInto(segments, take),
      (segment, part) => packed[segments.findIndex(({ hash }) => hash === segment.hash)]?.[part],
    )
    const whole = packSegment(made(entries, bounds))
    assert.deepEqual([headerOf(merged), ...taken.map(packPart)], whole)
    assert.equal(
      bytesOf(made(entries, { bytesMax: 20_000, ...bounds })),
      bytesOf(made(entries, bounds)),
    )
    compareAnswers(chance, [opened(whole, 0), opened(whole)], whole, entries, 50)
  }
})

test("searches read the unions of lists: one that says something else changes the answer", (t) => {
  const chance = createChance(seedOf(t))
  const builder = createSegmentBuilder(1, 256, { blockRows: 64 })
  for (let at = 1; at <= 256; at++) {
    const filed = filedOf(storedBy(chance, at))
    // A search for what all entries have ends early.
    const value = at === 1 ? "other" : `many${at % 100}`
    const nobody = [{ names: ["metadata.many"], value, isText: true }]
    builder.addFiled({ ...filed, fields: { nobody, actor: [], target: [] } })
  }
  const segment = builder.finish()
  const terms = [{ kind: "text", not: false, words: ["many"], isPrefix: true }] as const
  const found = (parts: SegmentParts) =>
    run(matchesIn(opened(parts), { system: "with", query: { terms } }), parts).count
  assert.equal(found(packSegment(segment)), 255)
  for (const stream of ["entryUnions", "valueUnions"] as const) {
    const { [stream]: unions } = segment.streams
    const changed = unions.map((part) => ({ ...part, raw: firstNumbers(segment, stream, part) }))
    const streams = { ...segment.streams, [stream]: changed }
    assert.ok(found(packSegment({ ...segment, streams })) < 255, stream)
  }
})

/** Of each list in a part its first number alone. */
function firstNumbers(
  { facts }: MadeSegment,
  stream: "entryUnions" | "valueUnions",
  { first, raw }: StreamPart,
): Uint8Array {
  const most = stream === "entryUnions" ? facts.count : facts.keys
  const count = facts[stream].length - first
  const cursor = new ListCursor(raw, count, most)
  const writer = new ListWriter(most, (part) => part)
  for (let at = 0; at < count; at++) {
    cursor.goTo(at)
    writer.add(Uint32Array.of(cursor.first), 0, 1)
  }
  writer.items.finish()
  return writer.items.parts[0]?.raw ?? assert.fail("a part")
}

test("a segment with fewer entries than a block has no unions", (t) => {
  const entries = entriesBy(createChance(seedOf(t)), 1, 31)
  const { streams } = made(entries, { blockRows: 32 })
  assert.deepEqual([streams.entryUnions, streams.valueUnions], [[], []])
})

test("the scanner reads the same fields as a simple reader", (t) => {
  const chance = createChance(seedOf(t))
  let compared = 0
  for (let round = 0; round < 300; round++) {
    const entry = storedBy(chance, 7)
    const [scanned, byHand] = [createSegmentBuilder(7, 1), createSegmentBuilder(7, 1)]
    scanned.add(entry)
    byHand.addFiled(filedOf(entry))
    const what = `${Buffer.from(entry.body ?? []).toString()}`
    const expected = bytesOf(byHand.finish())
    assert.equal(bytesOf(scanned.finish()), expected, what)
    const packedDisclosures = packedOf(entry.disclosures)
    if (packedDisclosures === undefined) continue
    const packed = createSegmentBuilder(7, 1)
    packed.add({ ...entry, packedDisclosures })
    assert.equal(bytesOf(packed.finish()), expected, `packed, ${what}`)
    compared++
  }
  assert.ok(compared > 100, `only ${compared} with packed disclosures`)
})

/**
 * The stored form of disclosures. Undefined if there are none, or if their bytes would not restore
 * them exactly.
 */
function packedOf(disclosures: string): Uint8Array | undefined {
  const parts = disclosures.split("~").map((text) => Buffer.from(text, "base64url"))
  const text = parts.map((part) => part.toString("base64url")).join("~")
  if (disclosures === "" || text !== disclosures) return undefined
  return Buffer.concat(parts.flatMap((part, at) => (at === 0 ? [part] : [Buffer.of(0xff), part])))
}

test("a segment after an erasure equals a new one", (t) => {
  const chance = createChance(seedOf(t))
  let unions = 0
  for (let round = 0; round < 20; round++) {
    // Only a key id in clear, as in older versions, would survive the erasure of its owner's
    // fields.
    const length = round % 5 === 0 ? 200 : 30
    const entries = Array.from({ length }, (_, at) => sealedBy(chance, 1 + at))
    const erased = new Set(
      entries.map(({ sequence }) => sequence).filter(() => chance.below(3) === 0),
    )
    const without = entries.map((entry) =>
      erased.has(entry.sequence) ? { ...entry, disclosures: "" } : entry,
    )
    const bounds = round % 2 === 0 ? { blockRows: 8 } : {}
    const left = run(
      replaceEntries(
        openMade(made(entries, bounds)),
        {
          isErased: (_, sequence) => erased.has(sequence),
          other: undefined,
          isReplaced: () => false,
        },
        (part) => part,
      ),
    )
    assert.equal(bytesOf(left), bytesOf(made(without, bounds)))
    unions += left.facts.entryUnions.length
  }
  assert.ok(unions > 0, "large ones have unions")
})

test("a segment without destroyed bodies equals a new one", (t) => {
  const chance = createChance(seedOf(t))
  let unions = 0
  for (let round = 0; round < 20; round++) {
    const first = 1 + round * 40
    const count = (round % 6 === 0 ? 180 : 5) + chance.below(36)
    // Nothing is erased from odd entries, which may have fields in clear, as in older versions.
    const isOdd = (sequence: number): boolean => sequence % 2 === 1
    const entries = Array.from({ length: count }, (_, at) =>
      isOdd(first + at) ? storedBy(chance, first + at) : sealedBy(chance, first + at),
    )
    // Sometimes all entries: then no entry has an id in its column.
    const isChosen = round % 10 === 0 ? () => true : () => chance.below(3) === 0
    const gone = new Set(entries.map(({ sequence }) => sequence).filter(isChosen))
    const erased = new Set(
      entries.map(({ sequence }) => sequence).filter((one) => !isOdd(one) && chance.below(3) === 0),
    )
    const left = entries.map(({ body, bodySalt, ...entry }) =>
      gone.has(entry.sequence)
        ? { ...entry, disclosures: "" }
        : { ...entry, body, bodySalt, ...(erased.has(entry.sequence) && { disclosures: "" }) },
    ) as Stored[]
    const bounds = round % 2 === 0 ? { blockRows: 8 } : {}
    const builder = createSegmentBuilder(first, count, bounds)
    for (const entry of left) if (gone.has(entry.sequence)) builder.add(entry)
    builder.addMissing(first + count - 1)
    const replaced = run(
      replaceEntries(
        openMade(made(entries, bounds)),
        {
          other: openMade(builder.finish()),
          isReplaced: (sequence) => gone.has(sequence),
          isErased: (_, sequence) => erased.has(sequence),
        },
        (part) => part,
      ),
    )
    assert.equal(bytesOf(replaced), bytesOf(made(left, bounds)), `round ${round}`)
    unions += replaced.facts.entryUnions.length
  }
  assert.ok(unions > 0, "large ones have unions")
})

test("entries that are missing in the journal keep their places", (t) => {
  const entries = entriesBy(createChance(seedOf(t)), 1, 9).filter(
    ({ sequence }) => sequence % 3 === 0,
  )
  const builder = createSegmentBuilder(1, 10)
  for (const entry of entries) builder.add(entry)
  builder.addMissing(10)
  const segment = openMade(builder.finish())
  const wanted = { system: "with" } as const
  assert.deepEqual(
    run(matchesIn(segment, wanted)).newestBelow(99, 99),
    [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
  )
})

test("a timeline and the commonest values count the same entries as the plain filter", (t) => {
  const chance = createChance(seedOf(t))
  let counted = 0
  for (let round = 0; round < 40; round++) {
    const entries = entriesBy(chance, 1, 60)
    const filed = entries.map(filedOf)
    const pieces = [entries.slice(0, 25), entries.slice(25)].map((piece) =>
      openMade(made(piece, { blockRows: 16 })),
    )
    const wanted: Wanted = round % 2 === 0 ? { system: "with" } : wantedBy(chance, filed)
    const found = filed.filter((entry) => matches(findableOf(entry), wanted))
    const earliest = Math.min(...filed.map(({ occurredMs }) => occurredMs))
    const field = valueFields[round % valueFields.length] ?? ""
    const timeline = {
      kind: "timeline",
      fromMs: earliest + 1_000_000,
      bucketMs: 3_600_000,
      buckets: 12,
      by: chance.below(2) === 0 ? "lane" : "project",
    } as const
    const values = { kind: "values", field, limit: 1 + chance.below(9), valuesMax: 1000 } as const
    const what = `of ${field}, ${JSON.stringify(wanted)}`
    assert.deepEqual(countsOf(pieces, wanted, { kind: "days" }), daysBy(found), what)
    assert.deepEqual(countsOf(pieces, wanted, timeline), timelineBy(found, timeline), what)
    const commonest = countsOf(pieces, wanted, values)
    assert.deepEqual(commonest, valuesBy(found, field, wanted).slice(0, values.limit), what)
    counted += commonest.length
  }
  assert.ok(counted > 50, `${counted} values`)
})

const valueFields =
  "metadata.a action actor target email name type lane project kind trace key lane metadata.a".split(
    " ",
  )

function countsOf(
  segments: readonly Segment[],
  wanted: Wanted,
  counting: Counting,
): readonly Counted[] {
  const total = new Counts()
  for (const segment of segments)
    addCounts(total, run(countIn(segment, run(matchesIn(segment, wanted)), counting)), counting)
  return countedOf(total, counting)
}

function timelineBy(
  found: readonly Filed[],
  { by, fromMs, bucketMs, buckets }: Extract<Counting, { kind: "timeline" }>,
): Counted[] {
  const nameOf = ({ lane, projectId }: Filed) => (by === "lane" ? lane : projectId)
  const names = [...new Set(found.map(nameOf))].toSorted()
  return names.map((name) => {
    const counts = Array.from({ length: buckets }, () => 0)
    for (const { occurredMs } of found.filter((entry) => nameOf(entry) === name)) {
      const bucket = Math.floor((occurredMs - fromMs) / bucketMs)
      if (bucket >= 0 && bucket < buckets) counts[bucket] = (counts[bucket] ?? 0) + 1
    }
    return { name, counts }
  })
}

function daysBy(found: readonly Filed[]): Counted[] {
  const days = found.map(({ occurredMs }) => new Date(occurredMs).toISOString().split("T")[0] ?? "")
  return [...Map.groupBy(days, (day) => day)]
    .map(([name, { length }]) => ({ name, counts: [length] }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** The values by which a reader may find an entry, under the last of their names. */
function valuesBy(found: readonly Filed[], field: string, { subject }: Wanted): Counted[] {
  const counts = new Map<string, number>()
  for (const { fields, actor, target, lane } of found) {
    const isSubject = ({ id, type }: { id: string; type: string }) =>
      subject === undefined || (id === subject.id && subject.types.includes(type))
    const seen = [
      ...fields.nobody,
      ...(isSubject(actor) ? fields.actor : []),
      ...(isSubject(target) ? fields.target : []),
    ]
    const own = seen.filter(({ names }) => names.at(-1) === field).map(({ value }) => value)
    // An entry without its content has a lane, and no value that says it.
    const said = field === "lane" ? [lane] : own
    for (const value of new Set(said.map((each) => each.toLowerCase())))
      counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  return [...counts]
    .toSorted(([a, more], [b, less]) => less - more || (a < b ? -1 : 1))
    .map(([name, count]) => ({ name, counts: [count] }))
}

test("a field with too many values is refused with a sentence", (t) => {
  const segments = [openMade(made(entriesBy(createChance(seedOf(t)), 1, 50)))]
  const counting = { kind: "values", field: "project", limit: 1, valuesMax: 1 } as const
  assert.throws(() => countsOf(segments, { system: "with" }, counting), /more than 1 different/)
})

test("values that are too long together are refused with a sentence, of one segment or several", () => {
  const counting = { kind: "values", field: "metadata.x", limit: 1, valuesMax: 1000 } as const
  const segmentOf = (first: number) => {
    const builder = createSegmentBuilder(first, 150)
    for (let sequence = first; sequence < first + 150; sequence++) {
      const long = {
        names: ["metadata.x"],
        value: `${sequence}${"x".repeat(60_000)}`,
        isText: true,
      }
      const none = missing(sequence)
      builder.addFiled({ ...none, fields: { ...none.fields, nobody: [long] } })
    }
    return openMade(builder.finish())
  }
  const [one, other] = [segmentOf(1), segmentOf(151)]
  assert.equal(countsOf([one], { system: "with" }, counting).length, 1)
  assert.throws(() => countsOf([one, other], { system: "with" }, counting), /too long together/)
})

test("a changed byte in a stored segment is noticed or harmless", (t) => {
  const chance = createChance(seedOf(t))
  const entries = entriesBy(chance, 1, 80)
  const filed = entries.map(filedOf)
  const parts = packSegment(made(entries))
  let noticed = 0
  for (let round = 0; round < 400; round++) {
    const place = chance.below(parts.length)
    const changed = parts.map((part, at) => (at === place ? changedBy(chance, part) : part))
    const isSame = changed.every(
      (part, at) => Buffer.compare(part, parts[at] ?? new Uint8Array()) === 0,
    )
    const wanted = wantedBy(chance, filed)
    const ask = (from: SegmentParts) =>
      run(matchesIn(opened(from), wanted), from).newestBelow(99, 99)
    try {
      assert.deepEqual(ask(changed), ask(parts))
    } catch (error) {
      if (!(error instanceof SegmentDamaged)) throw error
      assert.ok(!isSame)
      noticed++
    }
  }
  assert.ok(noticed > 50, `${noticed} noticed`)
})

function changedBy(chance: Chance, part: Uint8Array): Uint8Array {
  const at = chance.below(part.length)
  switch (chance.below(3)) {
    case 0:
      return part.subarray(0, at)
    case 1:
      return Buffer.concat([part, Buffer.of(0)])
    default:
      return part.map((byte, place) => (place === at ? byte ^ (1 + chance.below(255)) : byte))
  }
}

test("a missing part and a damaged part are distinguished", (t) => {
  const parts = packSegment(made(entriesBy(createChance(seedOf(t)), 1, 20)))
  const wanted = { system: "without" } as const
  assert.throws(() => run(matchesIn(opened(parts), wanted), parts.slice(0, 1)), SegmentGone)
})

test("the cache evicts the least recently used part", () => {
  const cache = createPartCache(10)
  cache.set("a", new Uint8Array(4))
  cache.set("b", new Uint8Array(4))
  assert.equal(cache.get("a")?.length, 4)
  cache.set("c", new Uint8Array(4))
  assert.deepEqual(
    [cache.get("a")?.length, cache.get("b"), cache.get("c")?.length],
    [4, undefined, 4],
  )
  cache.set("d", new Uint8Array(40))
  assert.deepEqual([cache.get("a"), cache.get("d")], [undefined, undefined])
})

test("the steps of a broad search are short, with any number of values", () => {
  const builder = createSegmentBuilder(1, 4096)
  const chance = createChance(7)
  for (let at = 1; at <= 600; at++) {
    const own = storedBy(chance, at)
    // One entry is not found, or the search would end with the first values.
    const texts = Array.from(
      { length: at === 1 ? 0 : 60 },
      (_, place) => `word${(at * 31 + place * 7) % 997} x${at}y${place}`,
    )
    const filed = filedOf({ ...own, sequence: at })
    const nobody = texts.map((value) => ({ names: ["metadata.many"], value, isText: true }))
    builder.addFiled({ ...filed, fields: { ...filed.fields, nobody } })
  }
  const segment = openMade(builder.finish())
  const terms = [{ kind: "text", not: false, words: ["w"], isPrefix: true }] as const
  const steps = matchesIn(segment, { system: "with", query: { terms } })
  let pauses = 0
  for (let step = steps.next(); step.done !== true; step = steps.next(undefined)) pauses++
  assert.ok(pauses >= 10, `${pauses} pauses`)
})
