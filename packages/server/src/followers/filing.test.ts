import assert from "node:assert/strict"
import test from "node:test"
import { wordsOf } from "@tallystick/client/grammar"
import type { Clock } from "../clock.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { write } from "../store/contract/written-entries.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory, type MemoryStore } from "../store/memory.ts"
import { ownLeases } from "../store/growth.ts"
import { createSegmentBuilder } from "../store/search/segment-builder.ts"
import { hashOfHeader, packSegment } from "../store/search/segment-format.ts"
import type { Wanted } from "../store/search/search.ts"
import { firstOf, sizeOf } from "../store/search/segment-plan.ts"
import type { SegmentKeeper, SegmentName } from "../store/search/segments.ts"
import { disclosuresFor } from "../store/opened-entry.ts"
import type { Stored } from "../store/entries.ts"
import type { JournalReader, Leases } from "../store/store.ts"
import { startFiling, type FilingReport } from "./filing.ts"
import type { DestroyedContent } from "./segment-cleaning.ts"

interface House extends MemoryStore {
  readonly filing: MemoryStore["filing"]
  readonly reports: FilingReport[]
  readonly loop: ReturnType<typeof startFiling>
  /** Ends all sleeps, a second later. */
  wakeAll(): void
}

function openHouse(
  bend: {
    readonly journal?: (it: JournalReader) => JournalReader
    readonly segments?: (it: SegmentKeeper) => SegmentKeeper
    readonly leases?: Leases
    readonly store?: MemoryStore
    readonly mergedBytesMax?: number
  } = {},
): House {
  const store = bend.store ?? openMemory()
  const sleepers: (() => void)[] = []
  let elapsedMs = 0
  const clock: Clock = {
    now: () => 0,
    elapsed: () => elapsedMs,
    sleep: () => new Promise((wake) => sleepers.push(wake)),
  }
  const reports: FilingReport[] = []
  const { journal, segments, leases } = store.filing
  const loop = startFiling({
    store: {
      ...store.filing,
      journal: bend.journal?.(journal) ?? journal,
      segments: bend.segments?.(segments) ?? segments,
      leases: bend.leases ?? leases,
    },
    clock,
    limits: {
      ...defaultLimits,
      fileEntriesMax: 1000,
      mergedBytesMax: bend.mergedBytesMax ?? defaultLimits.mergedBytesMax,
    },
    report: (report) => reports.push(report),
  })
  const wakeAll = (): void => {
    elapsedMs += 1000
    for (const wake of sleepers.splice(0)) wake()
  }
  return { ...store, reports, loop, wakeAll }
}

/** Notes each segment that is stored, such as "acme 1.0". */
function noting(stored: string[]) {
  return (it: SegmentKeeper): SegmentKeeper => ({
    ...it,
    async put(workspace, name, ...rest) {
      stored.push(`${workspace} ${name.level}.${name.k}`)
      await it.put(workspace, name, ...rest)
    },
  })
}

/** Level and place of the stored segments, such as "1.0". */
async function keptOf({ filing }: House, workspace: string): Promise<string> {
  const kept = await filing.segments.list(workspace)
  return kept.map(({ level, k }) => `${level}.${k}`).join(" ")
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const names = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `e${from + at}`)

/** Waits until no more segments are made. */
async function untilKept(house: House, workspace: string, kept: string): Promise<void> {
  for (let turns = 0; (await keptOf(house, workspace)) !== kept; turns++) {
    assert.ok(turns < 10_000, `${workspace} has ${await keptOf(house, workspace)}, not ${kept}`)
    await settled()
  }
}

async function totalOf(house: House, workspace: string): Promise<number | undefined> {
  const hits = await house.served.search.find(workspace, { system: "with" }, 1e9, 1)
  return hits?.total
}

/** Entries of a segment of level 1. */
const usual = 4096

test("a few entries make no segment, and all of them are found", async () => {
  const house = openHouse()
  assert.equal(await house.loop.catchUp("acme"), 0)
  await write(house.served, "acme", names(255))
  house.loop.poke(["acme", "empty"])
  await settled()
  assert.equal(await house.loop.catchUp("acme"), 255)
  assert.deepEqual([await keptOf(house, "acme"), await totalOf(house, "acme")], ["", 255])
  const told = house.reports.flatMap((it) => (it.kind === "filed" ? it.positions : []))
  assert.deepEqual(
    new Map(told.map(([workspace, ...rest]) => [workspace, rest])),
    new Map([
      ["acme", [255, 255]],
      ["empty", [0, 0]],
    ]),
  )
  await write(house.served, "acme", names(1, 255))
  house.loop.poke(["acme"])
  await untilKept(house, "acme", "0.0")
  assert.equal(await totalOf(house, "acme"), 256)
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("entries wait a second at most until they fill a usual segment, if the ones before did", async () => {
  const house = openHouse()
  const grow = async (from: number, to: number): Promise<void> => {
    await write(house.served, "acme", names(to - from, from))
    house.loop.poke(["acme"])
    await settled()
  }
  await grow(0, usual)
  await untilKept(house, "acme", "1.0")
  await grow(usual, 2 * usual - 1)
  assert.equal(await keptOf(house, "acme"), "1.0")
  await grow(2 * usual - 1, 2 * usual + 300)
  await untilKept(house, "acme", "1.0 1.1")
  await settled()
  assert.equal(await keptOf(house, "acme"), "1.0 1.1", "the next ones wait again")
  // A second later, and nothing more was written.
  house.wakeAll()
  await untilKept(house, "acme", "1.0 1.1 0.32")
  await grow(2 * usual + 300, 3 * usual + 300)
  // The segment before it took a second.
  await untilKept(house, "acme", "1.0 1.1 1.2 0.48")
  assert.equal(await totalOf(house, "acme"), 3 * usual + 300)
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("sixteen segments become one, also of large entries", async () => {
  const [grown, late] = [openHouse(), openHouse()]
  await writeLarge(grown, 450)
  grown.loop.poke(["acme"])
  await untilKept(grown, "acme", "0.0")
  await writeUsual(grown, 15 * 256 - 450)
  grown.loop.poke(["acme"])
  const fifteen = Array.from({ length: 15 }, (_, k) => `0.${k}`).join(" ")
  await untilKept(grown, "acme", fifteen)
  assert.equal(await totalOf(grown, "acme"), 15 * 256)
  await writeUsual(grown, 256)
  grown.loop.poke(["acme"])
  await untilKept(grown, "acme", "1.0")

  await writeLarge(late, 450)
  await writeUsual(late, usual - 450)
  await late.loop.catchUp("acme")
  assert.equal(await keptOf(late, "acme"), "1.0")
  for (const house of [grown, late]) {
    assert.equal(await totalOf(house, "acme"), usual)
    await house.loop.close()
    await expectChain(house.served.journal, "acme")
  }
})

test("a backlog becomes large segments at once, and urgent work comes first", async () => {
  const order: string[] = []
  const house = openHouse({ segments: noting(order) })
  await write(house.served, "large", names(17 * usual + 10))
  for (const workspace of ["a", "b", "merged"]) await write(house.served, workspace, names(usual))
  for (let k = 0; k < 16; k++) await keepSmall(house, "merged", k)
  house.loop.poke(["large", "a", "b", "merged"])
  await untilKept(house, "large", "2.0 1.16")
  assert.deepEqual(order, ["a 1.0", "b 1.0", "merged 1.0", "large 2.0", "large 1.16"])
  assert.equal(await totalOf(house, "large"), 17 * usual + 10)
  await house.loop.close()
})

test("a failure is reported, refuses waiting searches, and is tried again", async () => {
  let failing = true
  const house = openHouse({
    segments: (it) => ({
      ...it,
      put: (...asked) =>
        failing ? Promise.reject(new Error("the disk is full")) : it.put(...asked),
    }),
  })
  const detail = "acme: the disk is full"
  await write(house.served, "acme", names(usual))
  await assert.rejects(house.loop.catchUp("acme"), /the disk is full/)
  house.loop.poke(["acme"])
  await settled()
  const failed = () => house.reports.filter(({ kind }) => kind === "failed")
  const before = failed().length
  house.loop.poke(["acme"])
  await settled()
  assert.equal(failed().length, before, "a disk that failed is not asked again at once")
  house.wakeAll()
  await settled()
  assert.ok(failed().length > before)
  assert.deepEqual(failed().at(-1), { kind: "failed", detail })
  assert.equal(await totalOf(house, "acme"), usual, "and all is found meanwhile")
  failing = false
  house.wakeAll()
  await untilKept(house, "acme", "1.0")
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("a segment is written once, even if the answer was lost or another process made it", async () => {
  const written: string[] = []
  let isLost = true
  const house = openHouse({
    segments: (it) => ({
      ...it,
      async put(workspace, name, ...rest) {
        await it.put(workspace, name, ...rest)
        written.push(`${workspace} ${name.level}.${name.k}`)
        if (workspace === "lost" && isLost) throw new Error("the answer was lost")
      },
    }),
  })
  for (const workspace of ["lost", "awaited"]) await write(house.served, workspace, names(usual))
  house.loop.poke(["lost"])
  await untilKept(house, "lost", "1.0")
  await settled()
  isLost = false
  house.wakeAll()
  await settled()
  // The loop is working on it, and a search waits for it.
  house.loop.poke(["awaited"])
  await new Promise((resolve) => setImmediate(resolve))
  await house.loop.catchUp("awaited")
  await settled()
  assert.deepEqual(written, ["lost 1.0", "awaited 1.0"])
  await house.loop.close()
})

test("a segment is dropped if smaller ones with its entries were made meanwhile", async () => {
  const reading = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const written: string[] = []
  let reads = 0
  const house = openHouse({
    segments: noting(written),
    journal: (it) => ({
      ...it,
      async after(...asked) {
        // The second read of the large segment.
        if (++reads === 2) {
          reading.resolve()
          await held.promise
        }
        return it.after(...asked)
      },
    }),
  })
  await write(house.served, "acme", names(usual))
  house.loop.poke(["acme"])
  await reading.promise
  for (const k of [0, 1]) await keepSmall(house, "acme", k)
  held.resolve()
  await untilKept(house, "acme", "1.0")
  const others = Array.from({ length: 14 }, (_, k) => `acme 0.${k + 2}`)
  assert.deepEqual(written, [...others, "acme 1.0"])
  assert.equal(await totalOf(house, "acme"), usual)
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("large entries go into small segments, so that no segment takes much memory", async () => {
  const written: string[] = []
  // 80 MiB in 4,096 of them. The body is unreadable, which costs least.
  const body = new Uint8Array(20 * 1024)
  const house = openHouse({
    journal: (it) => ({
      ...it,
      after: async (...asked) => (await it.after(...asked)).map((entry) => ({ ...entry, body })),
    }),
    segments: noting(written),
  })
  await write(house.served, "acme", names(usual))
  house.loop.poke(["acme"])
  await untilKept(house, "acme", "1.0")
  const small = Array.from({ length: 16 }, (_, k) => `acme 0.${k}`)
  assert.deepEqual(written, [...small, "acme 1.0"])
  await house.loop.close()
})

test("a workspace that cannot be read does not hold up the others", async () => {
  let failing = true
  const house = openHouse({
    journal: (it) => ({
      ...it,
      after: (workspace, ...rest) =>
        failing && workspace === "bad"
          ? Promise.reject(new Error("unreadable"))
          : it.after(workspace, ...rest),
    }),
  })
  for (const workspace of ["bad", "good"]) await write(house.served, workspace, names(usual))
  house.loop.poke(["bad", "good"])
  await untilKept(house, "good", "1.0")
  assert.equal(await keptOf(house, "bad"), "")
  assert.deepEqual(
    house.reports.find(({ kind }) => kind === "failed"),
    { kind: "failed", detail: "bad: unreadable" },
  )
  failing = false
  house.wakeAll()
  await untilKept(house, "bad", "1.0")
  await house.loop.close()
})

test("missing entries are filed as missing, and a journal that ends before its head is reported", async () => {
  const gone = [4, 5, 4096, 8192]
  const house = openHouse({
    journal: (it) => ({
      ...it,
      after: async (workspace, sequence, limit) =>
        (await it.after(workspace, sequence, limit + gone.length))
          .filter((entry) => !gone.includes(entry.sequence))
          .slice(0, limit),
    }),
  })
  await write(house.served, "acme", names(2 * usual))
  house.loop.poke(["acme"])
  await untilKept(house, "acme", "1.0")
  await assert.rejects(house.loop.catchUp("acme"), /ends before its head/)
  assert.equal(await totalOf(house, "acme"), 2 * usual)
  await house.loop.close()
})

test("a stop refuses waiting and later searches", async () => {
  let release = () => {}
  const house = openHouse({
    segments: (it) => ({
      ...it,
      put: () =>
        new Promise((_, reject) => {
          release = () => reject(new Error("too late"))
        }),
    }),
  })
  await write(house.served, "acme", names(usual))
  const waiting = house.loop.catchUp("acme")
  const refused = assert.rejects(waiting, /too late|stopped/)
  await settled()
  const closed = house.loop.close()
  release()
  await closed
  await refused
  await assert.rejects(house.loop.catchUp("acme"), /stopped/)
})

test("an interrupted merge is repeated by the next start", async () => {
  const store = openMemory()
  await write(store.served, "acme", names(usual))
  const never = new Promise<never>(() => {})
  const stopped = openHouse({
    store,
    segments: (it) => ({ ...it, put: async () => await never }),
  })
  for (let k = 0; k < 16; k++) await keepSmall(stopped, "acme", k)
  stopped.loop.poke(["acme"])
  await settled()
  assert.equal((await store.filing.segments.list("acme")).length, 16)
  const next = openHouse({ store })
  next.loop.poke(["acme"])
  await untilKept(next, "acme", "1.0")
  assert.equal(await totalOf(next, "acme"), usual)
  await next.loop.close()
})

test("a large merge is stored in pieces, and is repeated after an interruption at any point", async () => {
  const store = openMemory()
  await writeUsual(store, usual)
  const never = new Promise<never>(() => {})
  const all = { store, mergedBytesMax: 0 }
  const first = openHouse(all)
  for (let k = 0; k < 16; k++) await keepSmall(first, "acme", k)
  await first.loop.close()
  let pieces = 0
  let endsAfter = 0
  for (; (await keptOf(first, "acme")) !== "1.0"; endsAfter++) {
    // The process dies within a piece. The first piece is the removal of leftovers.
    pieces = 0
    const cut =
      <A extends unknown[], T>(act: (...asked: A) => Promise<T>) =>
      async (...asked: A): Promise<T> =>
        pieces++ < endsAfter ? await act(...asked) : await never
    const stopped = openHouse({
      ...all,
      segments: (it) => ({
        ...it,
        stage: cut((...asked) => it.stage(...asked)),
        put: cut((...asked) => it.put(...asked)),
        sweep: cut((...asked) => it.sweep(...asked)),
      }),
    })
    stopped.loop.poke(["acme"])
    for (let turns = 0; turns < 1000 && pieces <= endsAfter; turns++)
      await new Promise((resolve) => setImmediate(resolve))
    assert.equal(await totalOf(stopped, "acme"), usual)
  }
  assert.ok(endsAfter >= 4, `${endsAfter} pieces`)
  const next = openHouse(all)
  next.loop.poke(["acme"])
  await untilKept(next, "acme", "1.0")
  await expectRebuilt(next, { actor: [], target: [], bodies: [] })
  await next.loop.close()
  assert.equal(await store.filing.segments.sweep("acme"), false)
  await expectChain(store.served.journal, "acme")
})

test("a small merge leaves the pieces of a large one that is under way", async () => {
  const store = openMemory()
  await write(store.served, "acme", names(16 * usual + 15 * 256))
  for (let k = 0; k < 16; k++) await keepSegment(store, "acme", { level: 1, k })
  for (let k = 0; k < 15; k++) await keepSegment(store, "acme", { level: 0, k: 256 + k })
  let pieces = 0
  const house = openHouse({
    store,
    mergedBytesMax: 0,
    segments: (it) => ({
      ...it,
      async stage(workspace, name, ...asked) {
        await it.stage(workspace, name, ...asked)
        if (name.level === 1 || ++pieces > 1) return
        await write(store.served, "acme", names(256, 16 * usual + 15 * 256))
        house.loop.poke(["acme"])
        // The step ends.
        house.wakeAll()
      },
    }),
  })
  house.loop.poke(["acme"])
  await untilKept(house, "acme", "2.0 1.16")
  assert.deepEqual(
    house.reports.filter(({ kind }) => kind === "failed"),
    [],
  )
  assert.equal(await totalOf(house, "acme"), 17 * usual)
  await house.loop.close()
  assert.equal(await store.filing.segments.sweep("acme"), false)
  await expectChain(store.served.journal, "acme")
})

test("pieces of a merge that began before something was destroyed are removed", async () => {
  const gone = { actor: [7], target: [], bodies: [] }
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const never = new Promise<never>(() => {})
  const store = openMemory()
  await writeUsual(store, usual)
  const stopped = openHouse({
    store,
    mergedBytesMax: 0,
    segments: (it) => ({ ...it, put: async () => (reach(), await never) }),
  })
  for (let k = 0; k < 16; k++) await keepSmall(stopped, "acme", k)
  stopped.loop.poke(["acme"])
  await reached
  const next = openHouse({ store, mergedBytesMax: 0 })
  await next.loop.forget("acme", gone)
  assert.equal(await store.filing.segments.sweep("acme"), false)
  assert.deepEqual(await foundBy(next, "ada@example.com"), { total: usual - 1 })
  await next.loop.close()
  await expectChain(store.served.journal, "acme")
})

test("a workspace is left to the process that follows it, until a search here waits", async () => {
  const ours = new Set<string>()
  const house = openHouse({
    leases: {
      hold: async (workspace) => ours.has(workspace),
      take: async (workspace) => void ours.add(workspace),
      onTaken() {},
    },
  })
  for (const workspace of ["acme", "other"]) await write(house.served, workspace, names(usual))
  house.loop.poke(["acme", "other"])
  await settled()
  const left = ["acme", "other"].map((workspace) => ({ kind: "left", workspace }))
  assert.deepEqual([await keptOf(house, "acme"), house.reports], ["", left])
  assert.equal(await house.loop.catchUp("acme"), usual)
  assert.deepEqual([await keptOf(house, "acme"), await keptOf(house, "other")], ["1.0", ""])
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("a merge ends when another process takes the workspace", async () => {
  let isOurs = true
  let pieces = 0
  const house = openHouse({
    mergedBytesMax: 0,
    leases: { ...ownLeases, hold: async () => isOurs },
    segments: (it) => ({
      ...it,
      async stage(...asked) {
        pieces++
        isOurs = false
        // The step ends.
        house.wakeAll()
        await it.stage(...asked)
      },
    }),
  })
  await writeUsual(house, usual)
  for (let k = 0; k < 16; k++) await keepSmall(house, "acme", k)
  house.loop.poke(["acme"])
  for (let turns = 0; turns < 100; turns++) await settled()
  assert.deepEqual(house.reports.at(-1), { kind: "left", workspace: "acme" })
  assert.equal(pieces, 1)
  assert.equal((await house.filing.segments.list("acme")).length, 16)
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("destroyed content is removed from segments, which equal new ones without it", async () => {
  const gone = { actor: [7, 4097, 5000], target: [8], bodies: [{ first: 4200, last: 4300 }] }
  let isDestroyed = false
  const house = openHouse({
    journal: (it) => ({
      ...it,
      after: async (...asked) =>
        (await it.after(...asked)).map((entry) => (isDestroyed ? withoutGone(entry, gone) : entry)),
      at: async (...asked) =>
        (await it.at(...asked)).map((entry) => entry && withoutGone(entry, gone)),
    }),
  })
  for (const _ of [1, 2, 3]) await writeUsual(house, usual)
  house.loop.poke(["acme"])
  await untilKept(house, "acme", "1.0 1.1 1.2")
  assert.deepEqual(await foundBy(house, "ada@example.com"), { total: 3 * usual })
  const untouched = (await house.filing.segments.list("acme"))[2]
  isDestroyed = true
  // A process that died after it repeats it.
  for (const _ of [1, 2]) {
    await house.loop.forget("acme", gone)
    await expectRebuilt(house, gone)
    assert.deepEqual((await house.filing.segments.list("acme"))[2], untouched)
  }
  assert.deepEqual(await foundBy(house, "ada@example.com"), { total: 3 * usual - 3 - 101 })
  assert.deepEqual(await foundBy(house, "Invoice 9"), { total: 3 * usual - 1 - 101 })
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("the other entries of a large segment that loses few contents are passed over in turns", async () => {
  const events: string[] = []
  const house = openHouse({
    journal: (it) => ({ ...it, at: (...asked) => (events.push("entries"), it.at(...asked)) }),
    segments: (it) => ({ ...it, part: (...asked) => (events.push("segment"), it.part(...asked)) }),
    leases: { ...ownLeases, hold: async () => events.push("turn") > 0 },
  })
  await write(house.served, "acme", names(10))
  const builder = createSegmentBuilder(1, 16 * usual)
  builder.addMissing(16 * usual)
  await house.filing.segments.put("acme", { level: 2, k: 0 }, packSegment(builder.finish()), [])
  await house.loop.forget("acme", { actor: [], target: [], bodies: [{ first: 5, last: 5 }] })
  const began = events.indexOf("entries")
  const turns = events.slice(began, events.indexOf("segment", began)).filter((it) => it === "turn")
  assert.ok(turns.length >= 3, `${turns.length} turns`)
  await house.loop.close()
})

test("a damaged segment is made again from the entries when something in it is destroyed", async () => {
  const gone = { actor: [7], target: [], bodies: [] }
  let isDamaged = true
  const house = openHouse({
    journal: (it) => ({
      ...it,
      after: async (...asked) =>
        (await it.after(...asked)).map((entry) => withoutGone(entry, gone)),
    }),
    segments: (it) => ({
      ...it,
      part: async (...[workspace, name, part]) =>
        isDamaged && part === 1 ? Buffer.from("damaged") : it.part(workspace, name, part),
      async put(...asked) {
        isDamaged = false
        await it.put(...asked)
      },
    }),
  })
  await writeUsual(house, usual)
  await keepSegment(house, "acme", { level: 1, k: 0 })
  await house.loop.forget("acme", gone)
  assert.deepEqual(await foundBy(house, "ada@example.com"), { total: usual - 1 })
  await expectRebuilt(house, gone)
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("a segment that was being made with destroyed content is begun again", async () => {
  const gone = { actor: [7], target: [], bodies: [] }
  let isDestroyed = false
  let reads = 0
  const house = openHouse({
    journal: (it) => ({
      ...it,
      async after(...asked) {
        reads++
        return (await it.after(...asked)).map((entry) =>
          isDestroyed ? withoutGone(entry, gone) : entry,
        )
      },
    }),
  })
  await writeUsual(house, usual)
  house.loop.poke(["acme"])
  while (reads < 3) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await keptOf(house, "acme"), "")
  isDestroyed = true
  await house.loop.forget("acme", gone)
  await untilKept(house, "acme", "1.0")
  await expectRebuilt(house, gone)
  await house.loop.close()
})

/** The entry after its part of this content was destroyed. */
function withoutGone(entry: Stored, { actor, target, bodies }: DestroyedContent): Stored {
  const { sequence } = entry
  if (bodies.some(({ first, last }) => first <= sequence && sequence <= last))
    return { ...entry, body: undefined, bodySalt: undefined, disclosures: "" }
  const left = (["actor", "target"] as const).flatMap((owner) =>
    (owner === "actor" ? actor : target).includes(sequence) ? [] : disclosuresFor(entry, owner),
  )
  return { ...entry, disclosures: left.join("~") }
}

/** Every segment equals one that is made of the remaining content. */
async function expectRebuilt({ filing }: House, gone: DestroyedContent): Promise<void> {
  for (const kept of await filing.segments.list("acme")) {
    const builder = createSegmentBuilder(kept.k * usual + 1, usual)
    for (const entry of await filing.journal.after("acme", kept.k * usual, usual))
      builder.add(withoutGone(entry, gone))
    assert.equal(kept.hash, hashOfHeader(packSegment(builder.finish())), `segment ${kept.k}`)
  }
}

async function foundBy({ served }: House, text: string) {
  const term = { kind: "text", not: false, words: wordsOf(text), isPrefix: false } as const
  const wanted: Wanted = { system: "with", query: { terms: [term] } }
  const hits = await served.search.find("acme", wanted, 1e9, 1)
  return { total: hits?.total }
}

/** Entries of 40 KB each. */
async function writeLarge({ served }: House, count: number): Promise<void> {
  const large = testEvent({ metadata: { note: "x".repeat(40_000) } })
  await openTestLedger(served.journal).record(
    testWorkspace(),
    Array.from({ length: count }, () => large),
  )
}

async function writeUsual({ served }: Pick<House, "served">, count: number): Promise<void> {
  await openTestLedger(served.journal).record(
    testWorkspace(),
    Array.from({ length: count }, () => testEvent()),
  )
}

async function keepSmall(house: House, workspace: string, k: number): Promise<void> {
  await keepSegment(house, workspace, { level: 0, k })
}

async function keepSegment(
  { filing }: Pick<MemoryStore, "filing">,
  workspace: string,
  name: SegmentName,
): Promise<void> {
  const [first, size] = [firstOf(name), sizeOf(name.level)]
  const builder = createSegmentBuilder(first, size)
  while (builder.count < size)
    for (const entry of await filing.journal.after(
      workspace,
      first - 1 + builder.count,
      Math.min(1000, size - builder.count),
    ))
      builder.add(entry)
  await filing.segments.put(workspace, name, packSegment(builder.finish()), [])
}
