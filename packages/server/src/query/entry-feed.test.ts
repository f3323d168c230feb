import assert from "node:assert/strict"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { createPace, unpaced } from "../runtime/pace.ts"
import { createFeed, type FeedParts } from "./entry-feed.ts"
import type { FeedPage, FeedRequest } from "./feed-page.ts"

interface House {
  readonly feed: ReturnType<typeof createFeed>
  /** Adds an entry, and notifies the clients that follow. */
  grow(): void
  /** Ends all sleeps: the beat, and the pause between two growths. */
  wakeAll(): void
  /** Follows a workspace, usually acme, after a sequence. */
  follow(
    after: number,
    signal?: AbortSignal,
    workspace?: string,
  ): AsyncGenerator<FeedPage, void, undefined> & { nextEntries(): Promise<readonly number[]> }
}

/** A workspace whose entries all match. `bend` may delay or refuse a read. */
function openHouse(
  bend: (page: FeedPage, request: FeedRequest) => FeedPage | Promise<FeedPage> = (page) => page,
  limits: Partial<FeedParts["limits"]> = {},
  pace: FeedParts["pace"] = unpaced,
): House {
  let last = 0
  let hear = Promise.withResolvers<void>()
  const sleepers: (() => void)[] = []
  const clock: Clock = {
    now: () => 0,
    elapsed: () => 0,
    sleep: () => new Promise((wake) => sleepers.push(wake)),
  }
  const feed = createFeed({
    async *grown() {
      for (;;) {
        await hear.promise
        hear = Promise.withResolvers()
        yield ["acme"]
      }
    },
    queries: {
      async after(_, request) {
        const sequences = Array.from({ length: last }, (__, at) => at + 1).slice(request.after)
        const events = sequences.map(() => new Uint8Array())
        return bend({ events, sequences, nextAfter: last, hasMore: false }, request)
      },
    },
    workspaceOf: async () => testWorkspace("acme", {}),
    clock,
    pace,
    limits: { ...defaultLimits, ...limits },
    onDeath: (cause) => assert.fail(cause),
  })
  return {
    feed,
    grow() {
      last += 1
      hear.resolve()
    },
    wakeAll() {
      for (const wake of sleepers.splice(0)) wake()
    },
    follow(after, signal = new AbortController().signal, workspace = "acme") {
      const asked = { wanted: { system: "without" }, storage: "all", after } as const
      const pages = feed.follow(workspace, { ...asked, limit: 9, bytesMax: 1024 }, signal)
      const nextEntries = async (): Promise<readonly number[]> => {
        for (;;) {
          const { value } = await pages.next()
          if (value === undefined || value.sequences.length > 0) return value?.sequences ?? []
        }
      }
      return Object.assign(pages, { nextEntries })
    },
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const timeout = 10_000

test(
  "a read that began before an entry was added does not count as having seen it",
  { timeout },
  async () => {
    const late = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    let isHeld = false
    const house = openHouse(async (page, { after }) => {
      if (!isHeld || after !== 1) return page
      isHeld = false
      begun.resolve()
      await late.promise
      return page
    })
    house.grow()
    const one = house.follow(0)
    assert.deepEqual(await one.nextEntries(), [1])
    const next = one.nextEntries()
    await settled()
    // Reads after 1 while there is nothing, and the answer is late.
    isHeld = true
    const other = house.follow(1).nextEntries()
    await begun.promise
    house.wakeAll()
    house.grow()
    assert.deepEqual(await next, [2])
    late.resolve()
    assert.deepEqual(await other, [2])
    house.feed.close()
  },
)

for (const code of ["overloaded", "ledger_unavailable"] as const)
  test(`a read that is refused with ${code} is retried at the next beat`, { timeout }, async () => {
    let isRefused = true
    const house = openHouse((page) => {
      if (isRefused) throw new LedgerError(code, "ask again")
      return page
    })
    house.grow()
    const found = house.follow(0).nextEntries()
    await settled()
    isRefused = false
    house.wakeAll()
    assert.deepEqual(await found, [1])
    house.feed.close()
  })

test("a read that fails in another way ends the stream", { timeout }, async () => {
  const house = openHouse(() => {
    throw new LedgerError("not_found", "there is no such workspace")
  })
  await assert.rejects(house.follow(0).next(), { code: "not_found" })
  house.feed.close()
})

test("a client that leaves frees its place, and the next one is served", { timeout }, async () => {
  const house = openHouse((page) => page, { followersMax: 1 })
  const leaving = new AbortController()
  const first = house.follow(0, leaving.signal)
  await first.next()
  await assert.rejects(house.follow(0).next(), { code: "overloaded" })
  const ending = first.next()
  leaving.abort()
  assert.equal((await ending).done, true)
  // The beat finds nobody and stops.
  house.wakeAll()
  await settled()
  const second = house.follow(0)
  assert.deepEqual((await second.next()).value?.sequences, [])
  const beaten = second.next()
  await settled()
  house.wakeAll()
  assert.deepEqual((await beaten).value?.sequences, [])
  house.feed.close()
})

test(
  "when all places are taken, the workspace with the most followers loses its oldest",
  { timeout },
  async () => {
    const house = openHouse((page) => page, { followersMax: 3 })
    const follow = (workspace: string) => house.follow(0, undefined, workspace)
    const greedy = [follow("greedy"), follow("greedy"), follow("greedy")] as const
    for (const one of greedy) await one.next()
    const waiting = greedy[0].nextEntries()
    const acme = follow("acme")
    await acme.next()
    assert.deepEqual(await waiting, [], "it ends, though it sleeps and nothing wakes it")
    assert.equal((await greedy[0].next()).done, true)
    for (const refused of ["greedy", "acme"])
      await assert.rejects(follow(refused).next(), { code: "overloaded" })
    await follow("beta").next()
    assert.deepEqual(await greedy[1].nextEntries(), [])
    await assert.rejects(follow("gamma").next(), { code: "overloaded" }, "each of three has one")
    const entries = acme.nextEntries()
    house.grow()
    assert.deepEqual(await entries, [1], "the others go on")
    house.feed.close()
  },
)

test("a client that loses its place while its read is refused ends, too", { timeout }, async () => {
  const busy = Promise.withResolvers<FeedPage>()
  let isBusy = false
  const house = openHouse((page) => (isBusy ? busy.promise : page), { followersMax: 2 })
  const greedy = [house.follow(0), house.follow(0)] as const
  for (const one of greedy) await one.next()
  isBusy = true
  const ends = [greedy[0].nextEntries(), greedy[1].next()] as const
  house.grow()
  await settled()
  const next = house.follow(0, undefined, "beta").next()
  await settled()
  busy.reject(new LedgerError("overloaded", "there are too many searches"))
  assert.deepEqual(await ends[0], [])
  await next
  house.feed.close()
  await ends[1]
})

test("a stop ends a waiting client at once", { timeout }, async () => {
  const house = openHouse()
  const follower = house.follow(0)
  await follower.next()
  const ending = follower.nextEntries()
  await settled()
  house.feed.close()
  assert.deepEqual(await ending, [])
})

test("of many followers that wake together, some go on in each turn of the loop", async () => {
  // Time that stands still, as none of them has begun its work when the last one looks at it.
  const pace = createPace({ elapsed: () => 0 }, defaultLimits.pieceMs)
  const house = openHouse(undefined, {}, pace)
  const followers = Array.from({ length: 200 }, () => house.follow(0))
  let turn = 0
  let isOver = false
  const count = (): void => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  count()
  const mostInTurn = async (wake: () => void): Promise<number> => {
    const woken = followers.map((follower) => follower.next().then(() => turn))
    wake()
    const together = Map.groupBy(await Promise.all(woken), (inTurn) => inTurn).values()
    return Math.max(...together.map(({ length }) => length))
  }
  const most = [
    await mostInTurn(() => {}),
    await mostInTurn(() => house.grow()),
    await mostInTurn(() => house.wakeAll()),
  ]
  isOver = true
  for (const each of most) assert.ok(each <= 64, `at once: ${most.join(", ")}`)
})
