import assert from "node:assert/strict"
import test from "node:test"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { compareByChance, searchContract, type OpenedSearch } from "../contract/search-contract.ts"
import { createMemorySegments } from "./memory-segments.ts"
import type { Filed } from "./search.ts"
import { missing } from "./searchable-fields.ts"
import { createSegmentBuilder } from "./segment-builder.ts"
import { packSegment } from "./segment-format.ts"
import { firstOf, lastOf, sizeOf, usualLevel } from "./segment-plan.ts"
import { createSegmentSearch } from "./segment-search.ts"
import type { SegmentKeeper, SegmentName, SegmentReader, Turns } from "./segments.ts"
import { recordedAs } from "./unfiled-entries.ts"
import { createChance, seedOf, type Chance } from "../../../../../test/chance.ts"

interface House extends OpenedSearch {
  readonly segments: SegmentKeeper
  /** Keeps a segment of a workspace's entries, those of them that are there. */
  keep(workspace: string, name: SegmentName): Promise<void>
}

/** Runs a search to the end. */
type Run = <T>(begin: () => Turns<T | undefined>) => Promise<T | undefined>

interface HouseOptions {
  readonly elapsed?: () => number
  readonly cacheBytes?: number
  readonly run?: Run
}

/** `keeps`: after entries were filed, whether all of them are kept, or what is due, or none. */
function openHouse(
  keeps: "all" | "due" | "none",
  { elapsed = () => 0, cacheBytes = 2 ** 20, run = (begin) => allOf(begin()) }: HouseOptions = {},
): House {
  const entries = new Map<string, Filed[]>()
  const of = (workspace: string): readonly Filed[] => entries.get(workspace) ?? []
  const segments = createMemorySegments()
  const searching = createSegmentSearch({
    recorded: {
      last: async (workspace) => of(workspace).length,
      after: async (workspace, sequence, limit) =>
        of(workspace)
          .slice(sequence, sequence + limit)
          .map((filed) =>
            recordedAs(
              filed.sequence,
              500,
              () => filed,
              (builder) => builder.addFiled(filed),
            ),
          ),
    },
    segments,
    clock: { elapsed },
    cacheBytes,
  })
  const house: House = {
    segments,
    search: {
      find: (...[workspace, wanted, before, limit]) =>
        run(() => searching.find(workspace, wanted, before, limit)),
      count: (...[workspace, wanted, counting]) =>
        run(() => searching.count(workspace, wanted, counting)),
    },
    async keep(workspace, name) {
      const some = of(workspace).slice(firstOf(name) - 1, lastOf(name))
      const builder = createSegmentBuilder(firstOf(name), Math.max(some.length, 1))
      for (const filed of some) builder.addFiled(filed)
      await segments.put(workspace, name, packSegment(builder.finish()), [])
    },
    async file(workspace, more) {
      const before = of(workspace).length
      entries.set(workspace, [...of(workspace), ...more])
      // A segment that is not full yet is made again with the next entries.
      const size = sizeOf(usualLevel)
      const end = keeps === "all" ? Math.ceil : keeps === "due" ? Math.floor : () => 0
      for (let k = Math.floor(before / size); k < end(of(workspace).length / size); k++)
        await house.keep(workspace, { level: usualLevel, k })
    },
    close: async () => {},
  }
  return house
}

async function allOf<T>(turns: Turns<T>): Promise<T> {
  for (;;) {
    const { done, value } = await turns.next()
    if (done === true) return value
  }
}

for (const keeps of ["none", "all"] as const)
  searchContract(`entries of which ${keeps} are kept`, async () => openHouse(keeps))

for (const [keeps, entries, questions, leastAnswered] of [
  ["none", 150, 600, 600],
  ["all", 150, 600, 600],
  ["due", 9000, 90, 100],
] as const) {
  test(`whatever is asked of ${entries} entries of which ${keeps} are kept, the answer is that of the plain filter`, async (context) => {
    const chance = createChance(seedOf(context))
    const answered = await compareByChance(openHouse(keeps), chance, entries, questions)
    assert.ok(answered > leastAnswered, `${answered} questions had an answer`)
  })
}

test("searches that pause while others read, with hardly any memory, have the answers of the plain filter", async (context) => {
  const chance = createChance(seedOf(context))
  const { run, end, counts } = runBeside(chance)
  let elapsedMs = 0
  const house = openHouse("all", {
    // Every turn is up with its first step.
    elapsed: () => (elapsedMs += 1000),
    cacheBytes: 1024 * (1 + chance.below(200)),
    run,
  })
  const file: House["file"] = async (...more) => {
    await end()
    await house.file(...more)
  }
  await compareByChance({ ...house, file }, chance, 9000, 90)
  await end()
  context.diagnostic(JSON.stringify(counts))
  assert.ok(counts.most > 2 && counts.compared > 100 && counts.dropped > 0, JSON.stringify(counts))
})

interface Running {
  /** True if it has ended with this step. */
  step(): Promise<boolean>
  drop(): Promise<unknown>
}

/**
 * Asks everything twice. What is not waited for is taken further now and then, beside many others
 * that have paused, or dropped. It must have the same answer.
 */
function runBeside(chance: Pick<Chance, "below">) {
  const under: Running[] = []
  const counts = { most: 0, compared: 0, dropped: 0 }
  const goOn = async (): Promise<void> => {
    const at = chance.below(under.length)
    const one = under[at] ?? assert.fail("it is under way")
    const isDropped = chance.below(100) === 0
    if (isDropped) counts.dropped++
    if (isDropped) await one.drop()
    if (isDropped || (await one.step())) under.splice(at, 1)
  }
  const run: Run = async <T>(begin: () => Turns<T | undefined>) => {
    const answers: (T | undefined)[] = []
    const start = (): Running => {
      const turns = begin()
      return {
        async step() {
          const { done, value } = await turns.next()
          if (done !== true) return false
          if (answers.push(value) < 2) return true
          assert.deepEqual(answers[0], answers[1])
          counts.compared++
          return true
        },
        drop: () => turns.return(undefined),
      }
    }
    const asked = start()
    under.push(start())
    counts.most = Math.max(counts.most, under.length)
    for (;;) {
      if (under.length > 0 && chance.below(2) === 0) await goOn()
      else if (await asked.step()) return answers.at(-1)
    }
  }
  const end = async (): Promise<void> => {
    while (under.length > 0) await goOn()
  }
  return { run, end, counts }
}

/** A search in an engine that is a round trip away. Counts the trips on which it waited. */
function openDistant(entries: readonly Filed[], kept: SegmentReader) {
  let trips = 0
  let under: Promise<void> | undefined
  const trip = (): Promise<void> => {
    trips += under === undefined ? 1 : 0
    under ??= new Promise((resolve) => {
      setImmediate(() => {
        under = undefined
        resolve()
      })
    })
    return under
  }
  const last = { asked: 0, known: entries.length }
  const search = createSegmentSearch({
    recorded: {
      async last() {
        const answer = last.asked++ === 0 ? last.known : entries.length
        await trip()
        return answer
      },
      after: () => assert.fail("all entries are in a segment"),
    },
    segments: {
      list: (workspace) => trip().then(() => kept.list(workspace)),
      part: (...asked) => trip().then(() => kept.part(...asked)),
    },
    clock: { elapsed: () => 0 },
    cacheBytes: 2 ** 20,
  })
  const find = async () => {
    const before = trips
    const hits = await allOf(search.find("acme", { system: "with" }, Infinity, 5))
    return { trips: trips - before, end: hits?.end, total: hits?.total }
  }
  return { find, last }
}

test("what a search begins with takes one round trip, two if entries came between its questions", async () => {
  const all = Array.from({ length: 256 }, (_, at) => missing(at + 1))
  const segments = createMemorySegments()
  const builder = createSegmentBuilder(1, all.length)
  for (const filed of all) builder.addFiled(filed)
  await segments.put("acme", { level: 0, k: 0 }, packSegment(builder.finish()), [])
  const { find, last } = openDistant(all, segments)
  await find()
  const found = { end: 256, total: 256 }
  assert.deepEqual(await find(), { ...found, trips: 1 })
  Object.assign(last, { asked: 0, known: 255 })
  assert.deepEqual(await find(), { ...found, trips: 2 })
})

test("a segment that is made again while a search reads its parts is asked once more", async () => {
  const named = (name: string): readonly Filed[] =>
    Array.from({ length: 256 }, (_, at) => {
      const filed = missing(at + 1)
      const actor = [{ names: ["actor"], value: name, isText: true }]
      return { ...filed, fields: { ...filed.fields, actor } }
    })
  const segments = createMemorySegments()
  const keep = (entries: readonly Filed[]): Promise<void> => {
    const builder = createSegmentBuilder(1, entries.length)
    for (const filed of entries) builder.addFiled(filed)
    return segments.put("acme", { level: 0, k: 0 }, packSegment(builder.finish()), [])
  }
  const terms = [{ kind: "text", not: false, words: ["ada"], isPrefix: true }] as const
  /** How many entries a search finds if their name is erased after these turns. */
  const totalAfter = async (turnsBefore: number): Promise<number | undefined> => {
    await keep(named("Ada"))
    let elapsedMs = 0
    const { find } = createSegmentSearch({
      recorded: { last: async () => 256, after: () => assert.fail("all entries are kept") },
      segments,
      // Every turn is up with its first step.
      clock: { elapsed: () => (elapsedMs += 1000) },
      cacheBytes: 0,
    })
    const turns = find("acme", { system: "with", query: { terms } }, Infinity, 5)
    for (let turn = 0; turn < turnsBefore; turn++)
      if ((await turns.next()).done === true) return undefined
    await keep(named("Grace"))
    return (await allOf(turns))?.total
  }
  const totals: number[] = []
  for (;;) {
    const total = await totalAfter(totals.length)
    if (total === undefined) break
    totals.push(total)
  }
  // Whatever was read before is of the segment as it was.
  assert.deepEqual(new Set(totals), new Set([0, 256]), String(totals))
})

test("an erased name is not found again, however searches before and after the erasure alternate", async () => {
  const named = (name: string): readonly Filed[] =>
    Array.from({ length: 6 }, (_, at) => {
      const filed = missing(at + 1)
      const actor = [{ names: ["actor"], value: name, isText: true }]
      return { ...filed, fields: { ...filed.fields, actor } }
    })
  const terms = [{ kind: "text", not: false, words: ["ada"], isPrefix: true }] as const
  /** Large entries: some are made a chunk before all that were read are added. */
  const recordedOf = (filed: Filed) =>
    recordedAs(
      filed.sequence,
      300_000,
      () => filed,
      (builder) => builder.addFiled(filed),
    )
  /** Takes a search so many turns further. True if it has ended. */
  const goOn = async (turns: Turns<unknown>, count: number): Promise<boolean> => {
    for (let turn = 0; turn < count; turn++) if ((await turns.next()).done === true) return true
    return false
  }
  /** Takes the search before so many turns, then the one after, and then both to their ends. */
  const alternate = async (before: number, after: number) => {
    const erased = { ...recordedOf(missing(7)), endsDestruction: true }
    let entries = named("Ada").map(recordedOf)
    let elapsedMs = 0
    const { find } = createSegmentSearch({
      recorded: {
        last: async () => entries.length,
        after: async (_, sequence, limit) => entries.slice(sequence, sequence + limit),
      },
      segments: createMemorySegments(),
      // Every turn is up with its first step.
      clock: { elapsed: () => (elapsedMs += 1000) },
      cacheBytes: 2 ** 24,
    })
    const search = () => find("acme", { system: "with", query: { terms } }, Infinity, 5)
    const [first, second] = [search(), search()]
    const isFirstOver = await goOn(first, before)
    entries = [...named("Grace").map(recordedOf), erased]
    const isSecondOver = await goOn(second, after)
    await goOn(first, Infinity)
    await goOn(second, Infinity)
    return { isFirstOver, isSecondOver, total: (await allOf(search()))?.total }
  }
  let rounds = 0
  for (let before = 0; ; before++) {
    let isOver = false
    for (let after = 0; ; after++, rounds++) {
      const { isFirstOver, isSecondOver, total } = await alternate(before, after)
      assert.equal(total, 0, `after ${before} and ${after} turns`)
      isOver = isFirstOver
      if (isSecondOver) break
    }
    if (isOver) break
  }
  assert.ok(rounds > 50, String(rounds))
})

test("what is remembered of a search does not grow with the projects that it may see", async () => {
  const segments = createMemorySegments()
  const builder = createSegmentBuilder(1, 256)
  builder.addMissing(256)
  await segments.put("acme", { level: 0, k: 0 }, packSegment(builder.finish()), [])
  const { find } = createSegmentSearch({
    recorded: { last: async () => 256, after: () => assert.fail("all entries are kept") },
    segments,
    clock: { elapsed: () => 0 },
    cacheBytes: 2 ** 20,
  })
  const projectIds = Array.from({ length: 1000 }, (_, at) => String(at).padStart(64, "p"))
  setFlagsFromString("--expose-gc")
  // Any context that is made after the flag was set has it.
  const collect = runInNewContext("gc") as () => void
  const usedBytes = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const searches = 500
  const before = usedBytes()
  for (let ms = 0; ms < searches; ms++)
    await allOf(find("acme", { system: "without", projectIds, from: { ms, ns: 0 } }, Infinity, 5))
  const bytes = (usedBytes() - before) / searches
  assert.ok(bytes < 8 * 1024, `${bytes} bytes a search`)
})
