import assert from "node:assert/strict"
import test from "node:test"
import type { EventsPage, ListedEntry } from "@tallystick/client/wire"
import type { Desk } from "../desk.ts"
import { loadHistory, pageOfBoth, queryOf } from "./both-sides.ts"

const thing = { type: "user", id: "usr_1" }
const other = { type: "user", id: "usr_2" }
const entry = (sequence: number, actor: object, target: object): ListedEntry =>
  // Only these members are used.
  ({ sequence, actor, target }) as ListedEntry
/** A ledger in which it acts in every third entry, and is acted on in every fifth. */
const ledger = Array.from({ length: 200 }, (_, at) => 200 - at).map((sequence) =>
  entry(sequence, sequence % 3 === 0 ? thing : other, sequence % 5 === 0 ? thing : other),
)
/** A page of these, below a cursor. */
function pageOf(all: readonly ListedEntry[], cursor: number, limit: number) {
  const below = all.filter(({ sequence }) => cursor === 0 || sequence < cursor)
  const events = below.slice(0, limit)
  const page = {
    events,
    total: all.length,
    hasMore: below.length > limit,
    nextCursor: events.at(-1)?.sequence ?? 0,
  }
  return { ok: true, value: page as unknown as EventsPage } as const
}

const ask = (cursor: number, limit: number) => async (query: string) => {
  const all = ledger.filter(({ actor, target }) => {
    if (query.startsWith("actor:")) return actor.id === thing.id
    return target.id === thing.id && !(query.includes(" -actor:") && actor.id === thing.id)
  })
  return pageOf(all, cursor, limit)
}

test("pages of both sides are merged in order, completely and without duplicates", async () => {
  const expected = ledger.filter(({ sequence }) => sequence % 3 === 0 || sequence % 5 === 0)
  for (const limit of [1, 2, 7, 100]) {
    const found: number[] = []
    for (let cursor = 0, pages = 0; ; pages++) {
      const told = await pageOfBoth(thing, ["did", "done"], ask(cursor, limit))
      assert.ok(told.ok && pages < 300)
      assert.equal(told.value.total, expected.length, "what it did to itself counts once")
      found.push(...told.value.events.map(({ sequence }) => sequence))
      if (!told.value.hasMore) break
      cursor = told.value.nextCursor
    }
    assert.deepEqual(
      found,
      expected.map(({ sequence }) => sequence),
      String(limit),
    )
  }
})

test("another thing with the same id is left out", async () => {
  const namesake = entry(9, { type: "invoice", id: "usr_1" }, { type: "user", id: "usr_2" })
  const page = { events: [namesake], total: 1, hasMore: false, nextCursor: 9 }
  const told = await pageOfBoth(thing, ["did"], async () => ({
    ok: true,
    value: page as unknown as EventsPage,
  }))
  assert.ok(told.ok)
  assert.deepEqual(told.value.events, [])
})

test("an id with a quotation mark, which no search can name, is found by its beginning", () => {
  assert.equal(queryOf({ type: "a b", id: 'x"y' }, "did"), 'actor:"x"* type:"a b"')
})

test("a history passes over namesakes, and counts those that it has met no longer", async () => {
  const invoice = { type: "invoice", id: thing.id }
  const entries = Array.from({ length: 450 }, (_, at) => 450 - at).map((sequence) =>
    entry(sequence, sequence <= 3 ? thing : other, invoice),
  )
  const get = async (_: readonly string[], asked: Parameters<Desk["get"]>[1] = {}) => {
    const all = String(asked["query"]).startsWith("actor:")
      ? entries.slice(-3)
      : entries.slice(0, -3)
    return pageOf(all, Number(asked["cursor"]), Number(asked["limit"]))
  }
  // The types of values are those of the caller.
  const load = loadHistory({ get: get as unknown as Desk["get"] }, thing, ["did", "done"])
  const told = await load(0, 100)
  assert.ok(told.ok)
  const { events, total, hasMore } = told.value
  assert.deepEqual([events.map(({ sequence }) => sequence), total, hasMore], [[3, 2, 1], 3, false])
})

test("the total of a history is a bound until its end, where it is exact", async () => {
  // Namesakes stand everywhere, and the id is so long that what it did to itself is found twice.
  const long = { type: "user", id: "é".repeat(150) }
  const namesake = { type: "invoice", id: long.id }
  const entries = Array.from({ length: 90 }, (_, at) => 90 - at).map((sequence) =>
    entry(sequence, sequence % 2 === 0 ? long : namesake, sequence % 3 === 0 ? long : other),
  )
  const get = async (_: readonly string[], asked: Parameters<Desk["get"]>[1] = {}) => {
    const side = String(asked["query"]).startsWith("actor:") ? "actor" : "target"
    const all = entries.filter((each) => each[side].id === long.id)
    return pageOf(all, Number(asked["cursor"]), Number(asked["limit"]))
  }
  // The types of values are those of the caller.
  const load = loadHistory({ get: get as unknown as Desk["get"] }, long, ["did", "done"])
  const exact = 60
  for (let cursor = 0, shown = 0; ;) {
    const told = await load(cursor, 7)
    assert.ok(told.ok)
    const { events, total, isTotalBound, hasMore, nextCursor } = told.value
    shown += events.length
    assert.equal(isTotalBound, hasMore)
    assert.ok(total >= exact, String(total))
    if (!hasMore) {
      assert.deepEqual([shown, total], [exact, exact])
      break
    }
    cursor = nextCursor
  }
})

test("one side is asked for all of its entries, and so are both if the id is too long for more", async () => {
  const asked: string[] = []
  const noted = async (query: string) => {
    asked.push(query)
    return await ask(0, 10)(query)
  }
  await pageOfBoth(thing, ["done"], noted)
  await pageOfBoth({ id: "é".repeat(150) }, ["did", "done"], noted)
  assert.deepEqual(asked, [
    queryOf(thing, "done"),
    `actor:"${"é".repeat(150)}"`,
    `target:"${"é".repeat(150)}"`,
  ])
})
