import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { encodeRecord } from "@tallystick/proof"
import { createFairQueue, type FairQueueLimits } from "../runtime/fair-queue.ts"
import { systemClock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { unpaced, type Pace } from "../runtime/pace.ts"
import { createSegmentBuilder } from "../store/search/segment-builder.ts"
import { packSegment } from "../store/search/segment-format.ts"
import type { Linked } from "../store/entries.ts"
import type { Journal, Store } from "../store/store.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { Hits } from "../store/search/search.ts"
import { createCheckpoints } from "./verified-checkpoints.ts"
import { createFinding, type Finding } from "./search-scheduling.ts"
import { createLeaves } from "./verified-leaves.ts"
import { createQueries, type PageRequest, type Queries, type QueryParts } from "./entry-queries.ts"
import { createChance, seedOf } from "../../../../test/chance.ts"

const dayMs = 86_400_000
const ledgerId = Buffer.alloc(32, 7)

const limits: FairQueueLimits & QueryParts["limits"] = {
  atOnceMax: 8,
  perWorkspaceMax: 8,
  waitingMax: 8,
  waitMs: 1000,
  pageBytesMax: 4 * 1024 * 1024,
}

/** There are so few entries that all of them are scanned. */
function findingOf({ search }: Store): Finding {
  return createFinding({
    search,
    clock: systemClock,
    limits: defaultLimits,
    file: () => assert.fail("nothing has to be filed first"),
  })
}

function queriesOf(
  served: Store,
  changes: Partial<QueryParts["limits"]> = {},
  pace: Pace = unpaced,
  reading = createFairQueue(systemClock, { ...limits, of: "pages" }),
  now = () => 0,
): Queries {
  // Nothing is signed here.
  const leaves = createLeaves(served, { verifiedTilesMax: 1 })
  const checkpoints = createCheckpoints({
    store: served,
    leaves,
    isGenuine: () => assert.fail("there is no checkpoint"),
  })
  const store = { ...served, leaves, checkpoints, haltedFrom: () => undefined, suspect: () => {} }
  return createQueries({
    store,
    finding: findingOf(served),
    reading,
    clock: { now },
    pace: { ...pace, of: () => pace },
    limits: { ...limits, ...changes },
  })
}

/** A wrapper that records the name of each called function. */
function telling<T extends object>(part: T, asked: string[]): T {
  return new Proxy(part, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name)
      if (typeof value !== "function") return value
      return (...given: unknown[]): unknown => {
        asked.push(String(name))
        return Reflect.apply(value, of, given)
      }
    },
  })
}

/** A workspace whose entries have only times. */
async function openTimes(now?: () => number) {
  const { served } = openMemory()
  const times: number[] = []
  let previousHash: Uint8Array = ledgerId

  async function append(timesMs: readonly number[], bodies: readonly string[] = []): Promise<void> {
    const from = { sequence: times.length, hash: previousHash, timeMs: times.at(-1) ?? 0 }
    const entries = timesMs.map((timeMs, place): Linked => {
      const index = times.length + place
      const record = encodeRecord({
        kind: "event",
        index,
        timeMs,
        ledgerId,
        previousHash,
        bodyHash: Buffer.alloc(32),
      })
      previousHash = createHash("sha256").update("\0").update(record).digest()
      const receipt = `rcp_${String(index).padStart(36, "0")}`
      return {
        record,
        receipt,
        idem: undefined,
        bodySalt: Buffer.alloc(16),
        body: Buffer.from(bodies[place] ?? "{}"),
        disclosures: "",
      }
    })
    assert.deepEqual(await served.journal.append({ workspace: "acme", from, entries }), {
      kind: "done",
    })
    times.push(...timesMs)
  }

  return { served, queries: queriesOf(served, {}, unpaced, undefined, now), times, append }
}

/** No more than a search needs. */
function bodyIn(projectId: string): string {
  const party = { id: "usr_1", type: "user" }
  const texts = { id: "", receipt: "", action: "a.b", source: "api", lane: "operations" }
  const occurredAt = "2026-01-31T09:30:00Z"
  const body = { ...texts, projectId, occurredAt, actor: party, target: party, metadata: {} }
  return JSON.stringify({ ...body, userVisible: false })
}

const workspaceOf = (hotDays: number) =>
  testWorkspace("acme", { ledgerId: ledgerId.toString("hex"), hotDays })

const request = (storage: PageRequest["storage"]): PageRequest => ({
  wanted: { system: "without" },
  storage,
  cursor: 0,
  limit: 100_000,
  isProven: false,
})

test("the border of the archive follows hotDays to the millisecond, as time passes and the setting changes", async (t) => {
  let nowMs = Date.UTC(2026, 0, 1)
  const { queries, times, append } = await openTimes(() => nowMs)
  const { below } = createChance(seedOf(t))
  let hotDays = 3
  let split = 0
  for (let round = 0; round < 200; round++) {
    if (below(3) === 0) hotDays = below(6)
    // Most entries are some time apart, some share a millisecond, and the clock is often just at
    // the border of one.
    if (below(2) === 0)
      await append(Array.from({ length: below(12) }, () => (nowMs += below(4) * below(dayMs / 8))))
    const edge = (times[below(times.length)] ?? nowMs) + hotDays * dayMs + below(3) - 1
    nowMs = Math.max(
      nowMs,
      below(4) === 0 && edge < nowMs + 5 * dayMs ? edge : nowMs + below(dayMs / 2),
    )
    const archived = times.filter((timeMs) => timeMs < nowMs - hotDays * dayMs).length
    const totals = { hot: times.length - archived, archive: archived, all: times.length }
    for (const storage of ["hot", "archive", "all"] as const) {
      const { total, events, nextCursor } = await queries.page(
        workspaceOf(hotDays),
        request(storage),
      )
      const last = storage === "archive" ? 1 : storage === "hot" ? archived + 1 : 1
      assert.deepEqual(
        [total, events.length, nextCursor],
        [totals[storage], totals[storage], total === 0 ? 0 : last],
        storage,
      )
    }
    if (archived > 0 && archived < times.length) split += 1
  }
  assert.ok(
    times.length > 250 && split > 50,
    `there was something on both sides ${split} times of ${times.length} entries`,
  )
})

test("an entry that the search knows and the journal lacks is broken, and so is the one after it", async () => {
  const { served, filing } = openMemory()
  const queries = queriesOf(served)
  const builder = createSegmentBuilder(1, 2)
  builder.addMissing(2)
  await filing.segments.put("acme", { level: 0, k: 0 }, packSegment(builder.finish()), [])
  const page = await queries.page(workspaceOf(90), request("all"))
  assert.deepEqual([page.total, page.nextCursor, page.verified], [2, 1, false])
  for (const [place, text] of page.events.entries())
    assert.partialDeepStrictEqual(JSON.parse(Buffer.from(text).toString()), {
      sequence: 2 - place,
      integrity: "broken",
      action: "",
      metadata: {},
    })
  // A feed must not skip these sequences, because entries at them would be missed later.
  const asked = { wanted: { system: "with" }, storage: "all", after: 0, limit: 9 } as const
  const feed = await queries.after(workspaceOf(90), { ...asked, bytesMax: 64 * 1024 })
  assert.deepEqual([feed.sequences, feed.nextAfter], [[], 0])
})

test("a page stays within its budget, has at least one entry, and paging shows each entry once", async () => {
  const { served, append } = await openTimes()
  const sizes = [10, 3000, 10, 900, 900, 900, 10, 20_000, 10]
  await append(
    sizes.map(() => 0),
    sizes.map((size) => JSON.stringify({ text: "x".repeat(size) })),
  )
  let read = 0
  const held: typeof served.held = async (...asked) => {
    const rows = await served.held(...asked)
    read += rows.entries.length
    return rows
  }
  const find: typeof served.search.find = async (...asked) => {
    const hits = await served.search.find(...asked)
    read += hits?.held?.entries.length ?? 0
    return hits
  }
  for (const pageBytesMax of [1, 2500, 6000, 100_000]) {
    const queries = queriesOf(
      { ...served, held, search: { ...served.search, find } },
      { pageBytesMax },
    )
    const seen: number[] = []
    read = 0
    for (let cursor = 0, hasMore = true; hasMore;) {
      const page = await queries.page(workspaceOf(90), { ...request("all"), limit: 4, cursor })
      const bytes = page.events.reduce((sum, event) => sum + event.length, 0)
      assert.ok(
        page.events.length === 1 || (page.events.length > 1 && bytes <= pageBytesMax),
        `${bytes} of ${pageBytesMax} bytes`,
      )
      for (const event of page.events)
        seen.push((JSON.parse(Buffer.from(event).toString()) as { sequence: number }).sequence)
      assert.deepEqual([page.total, page.nextCursor], [sizes.length, seen.at(-1)])
      ;({ nextCursor: cursor, hasMore } = page)
    }
    assert.deepEqual(seen, [9, 8, 7, 6, 5, 4, 3, 2, 1], `${pageBytesMax} bytes`)
    // Only one entry that does not fit, or a part of the budget, is read in vain.
    assert.ok(
      read <= (pageBytesMax === 100_000 ? sizes.length : 2 * sizes.length),
      `${read} rows were read for pages of ${pageBytesMax} bytes`,
    )
  }
})

test("a page asks the store once, and so does a read of a feed", async () => {
  const { served } = openMemory()
  const acme = testWorkspace("acme")
  const events = Array.from({ length: 30 }, (_, at) =>
    testEvent({ projectId: at % 3 === 0 ? "desk" : "core" }),
  )
  await openTestLedger(served.journal).record(acme, events)
  const asked: string[] = []
  const { journal, index, search, registry } = served
  const queries = queriesOf({
    ...telling(served, asked),
    journal: telling(journal, asked),
    index: telling(index, asked),
    search: telling(search, asked),
    registry: telling(registry, asked),
  })
  const words = { terms: [{ kind: "text", not: false, words: ["a"], isPrefix: true }] } as const
  for (const wanted of [{}, { projectIds: ["desk"] }, { query: words }]) {
    const within = { system: "without", ...wanted } as const
    const page = await queries.page(acme, {
      ...request("all"),
      wanted: within,
      cursor: 20,
      limit: 4,
    })
    assert.deepEqual([page.events.length, page.verified], [4, true])
    assert.deepEqual(asked.splice(0), ["find"])
    const after = {
      wanted: within,
      storage: "all",
      after: 20,
      limit: 2,
      bytesMax: 2 ** 20,
    } as const
    const look = await queries.after(acme, after)
    assert.deepEqual([look.events.length, look.hasMore], [2, true])
    assert.deepEqual(asked.splice(0), ["find"])
  }
  await expectChain(journal, "acme")
})

test("a page asks once what was erased of many entries", async () => {
  const { served, append } = await openTimes()
  const erased = JSON.parse(bodyIn("core")) as { actor: object }
  const actor = { ...erased.actor, _sd: ["A".repeat(43)] }
  // Sixteen are read at once.
  const count = 18
  await append(
    Array.from({ length: count }, () => 0),
    Array.from({ length: count }, () => JSON.stringify({ ...erased, actor })),
  )
  const asked: string[] = []
  const queries = queriesOf({ ...served, registry: telling(served.registry, asked) })
  const page = await queries.page(workspaceOf(90), request("all"))
  // No document says that they were.
  assert.deepEqual([page.events.length, page.verified], [count, false])
  assert.deepEqual(asked, ["get", "get"])
})

test("if a page has to wait, its entries are read only in its turn", async () => {
  const { served, append } = await openTimes()
  await append([0, 0, 0])
  const reading = createFairQueue(systemClock, { ...limits, atOnceMax: 1, of: "pages" })
  const found = Promise.withResolvers<Hits | undefined>()
  const find: typeof served.search.find = async (...asked) => {
    const hits = await served.search.find(...asked)
    found.resolve(hits)
    return hits
  }
  const store = { ...served, search: { ...served.search, find } }
  const queries = queriesOf(store, {}, unpaced, reading)
  const end = await reading.begin("other", undefined)
  const page = queries.page(workspaceOf(90), request("all"))
  assert.deepEqual(await found.promise, {
    sequences: [3, 2, 1],
    hasMore: false,
    total: 3,
    end: 3,
  })
  end()
  assert.equal((await page).events.length, 3)
})

test("a page whose client has left is not continued", async () => {
  const { served, append } = await openTimes()
  await append([0, 0, 0])
  const leaving = new AbortController()
  const reason = new LedgerError("bad_request", "left")
  let looked = 0
  const pace: Pace = {
    isUp: () => true,
    async next() {
      if (++looked === 6) leaving.abort(reason)
    },
  }
  const asked = { ...request("all"), signal: leaving.signal }
  const page = queriesOf(served, {}, pace).page(workspaceOf(90), asked)
  await assert.rejects(page, reason)
  assert.equal(looked, 6)
})

test("the border of the archive is read once, and again when its next entry is old enough", async () => {
  const { served, append } = await openTimes()
  let reads = 0
  const records: Journal["records"] = (...asked) => (reads++, served.journal.records(...asked))
  const nowMs = Date.UTC(2026, 0, 10)
  let clockMs = nowMs
  const counted = { ...served, journal: { ...served.journal, records } }
  const queries = queriesOf(counted, {}, unpaced, undefined, () => clockMs)
  await append([nowMs - 5 * dayMs, nowMs - 2 * dayMs, nowMs - dayMs])
  const readsOf = async (atMs: number): Promise<readonly [total: number, reads: number]> => {
    reads = 0
    clockMs = atMs
    const { total } = await queries.page(workspaceOf(3), { ...request("hot"), limit: 1 })
    return [total, reads]
  }
  assert.equal((await readsOf(nowMs))[0], 2)
  assert.deepEqual(await readsOf(nowMs), [2, 0])
  assert.deepEqual(await readsOf(nowMs + dayMs), [2, 0])
  const [total, again] = await readsOf(nowMs + dayMs + 1)
  assert.deepEqual([total, again > 0], [1, true])
})

test("the border of the archive goes back with a clock that was far ahead", async () => {
  const nowMs = Date.UTC(2026, 0, 10)
  let clockMs = nowMs
  const { queries, append } = await openTimes(() => clockMs)
  await append([nowMs - 5 * dayMs, nowMs - 2 * dayMs, nowMs - dayMs])
  const totalAt = async (atMs: number): Promise<number> => {
    clockMs = atMs
    return (await queries.page(workspaceOf(3), request("hot"))).total
  }
  for (const [aheadDays, total] of [
    [400, 0],
    [0, 2],
    [1.5, 1],
    [0, 2],
  ] as const)
    assert.equal(await totalAt(nowMs + aheadDays * dayMs), total)
})

test("a feed has every match once, oldest first, with few and with many matches", async (t) => {
  const { queries, times, append } = await openTimes()
  const { below } = createChance(seedOf(t))
  const nowMs = Date.UTC(2026, 0, 1)
  /** The project of each entry. A search for a thousand entries has more than one answer holds. */
  const projects: string[] = []
  for (const rareness of [1, 4000, 1, 3, 4000, 1]) {
    const some = Array.from({ length: 1000 + below(1500) }, () =>
      below(rareness) === 0 ? "desk" : "core",
    )
    projects.push(...some)
    await append(
      some.map(() => nowMs),
      some.map(bodyIn),
    )
  }
  for (const projectId of ["desk", "core", "unheard-of"]) {
    for (let round = 0; round < 5; round++) {
      const from = below(times.length)
      const found: number[] = []
      for (let after = from; ;) {
        const page = await queries.after(workspaceOf(3), {
          wanted: { projectIds: [projectId], system: "without" },
          storage: "all",
          after,
          limit: 1 + below(900),
          bytesMax: 4 * 1024 * 1024,
        })
        assert.equal(page.events.length, page.sequences.length)
        found.push(...page.sequences)
        after = page.nextAfter
        if (!page.hasMore) break
      }
      const expected = projects.flatMap((one, at) =>
        one === projectId && at + 1 > from ? [at + 1] : [],
      )
      assert.deepEqual(found, expected)
    }
  }
})

test("a feed of the archive does not skip entries that are still hot", async () => {
  const nowMs = Date.UTC(2026, 0, 10)
  let clockMs = nowMs
  const { queries, append } = await openTimes(() => clockMs)
  await append([nowMs - 5 * dayMs, nowMs - 4 * dayMs, nowMs - dayMs])
  const asked = { wanted: { system: "without" }, storage: "archive", limit: 9 } as const
  const at = async (after: number, timeMs: number) => {
    const request = { ...asked, after, bytesMax: 64 * 1024 }
    clockMs = timeMs
    const { sequences, nextAfter } = await queries.after(workspaceOf(3), request)
    return { sequences, nextAfter }
  }
  assert.deepEqual(await at(0, nowMs), { sequences: [1, 2], nextAfter: 2 })
  assert.deepEqual(await at(2, nowMs), { sequences: [], nextAfter: 2 })
  assert.deepEqual(await at(2, nowMs + 3 * dayMs), { sequences: [3], nextAfter: 3 })
})
