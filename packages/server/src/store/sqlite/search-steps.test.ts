import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import type { Term } from "@tallystick/client/grammar"
import { LedgerError } from "../../error.ts"
import { defaultLimits } from "../../limits.ts"
import type { Finder, Turn, Wanted } from "../search/search.ts"
import type { Store } from "../store.ts"
import { openSqlite } from "./open-sqlite.ts"
import { placeOf } from "./search-places.ts"
import { partyToken, wordToken } from "./search-tokens.ts"

// What a search may cost in one step, held against an index that is written here directly: to file
// as many entries takes minutes.

const closing: (() => Promise<void> | void)[] = []
test.afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/**
 * A store whose index says of a workspace's entries that each has these tokens; the journal has
 * none of them.
 */
async function openIndex(
  entries: number,
  tokens: string,
  searchListBytesMax = defaultLimits.searchListBytesMax,
): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  const store = await openSqlite(
    { data: folder, limits: { ...defaultLimits, diskReserveBytes: 0, searchListBytesMax } },
    (cause) => assert.fail(cause),
  )
  closing.push(() => store.close())
  using index = new DatabaseSync(join(folder, "search.db"))
  index
    .prepare("INSERT INTO workspaces (number, id, position, hash) VALUES (?, 'acme', ?, x'')")
    .run(number, entries)
  index
    .prepare(
      `WITH RECURSIVE entries (sequence) AS (SELECT 1 UNION ALL SELECT sequence + 1 FROM entries WHERE sequence < ?)
       INSERT INTO search (rowid, nobody) SELECT ? + sequence, ${tokens} FROM entries`,
    )
    .run(entries, placeOf(number, 0))
  return store
}

const number = 1
const all = `'${number}#o ${wordToken(number, "each")}'`

function word(
  said: string,
  options: { readonly not?: boolean; readonly isPrefix?: boolean } = {},
): Term {
  return { kind: "text", not: false, isPrefix: false, ...options, words: [said] }
}

const wanted = (...terms: readonly Term[]): Wanted => ({ system: "without", query: { terms } })

async function turnsOf(search: Finder, asked: Wanted, before: number, limit: number) {
  let turns = 0
  const turn: Turn = (step) => ((turns += 1), step())
  return { hits: await search.find("acme", asked, before, limit, turn), turns: () => turns }
}

test("a search of a large index is many steps, and what they find together is what one would", async () => {
  const entries = 400_000
  // Every 50,000th is rare.
  const { search } = await openIndex(
    entries,
    `${all} || iif(sequence % 50000 = 0, ' ${wordToken(number, "rare")}', '')`,
  )
  const rare = Array.from({ length: 8 }, (_, at) => (8 - at) * 50_000)
  const newest = (count: number, from = entries) =>
    Array.from({ length: count }, (_, at) => from - at)

  const broad = await turnsOf(search, wanted(word("each")), entries + 1, 3)
  assert.deepEqual(broad.hits, { sequences: newest(3), hasMore: true, total: entries })
  assert.ok(broad.turns() > 2, `it was counted in ${broad.turns()} turns`)
  const again = await turnsOf(search, wanted(word("each")), 1000, 3)
  assert.deepEqual(
    [again.hits, again.turns()],
    [{ sequences: newest(3, 999), hasMore: true, total: entries }, 1],
    "the total is remembered",
  )
  const without = await turnsOf(
    search,
    wanted(word("each"), word("rare", { not: true })),
    entries + 1,
    3,
  )
  assert.deepEqual(without.hits, {
    sequences: newest(3, entries - 1),
    hasMore: true,
    total: entries - 8,
  })

  for (const asked of [wanted(word("rare")), wanted(word("each"), word("rare"))]) {
    for (const [before, limit] of [
      [entries + 1, 100],
      [entries + 1, 8],
      [entries + 1, 3],
      [150_001, 2],
      [50_000, 2],
      [1, 2],
    ] as const) {
      const below = rare.filter((sequence) => sequence < before)
      const { hits, turns } = await turnsOf(search, asked, before, limit)
      assert.deepEqual(
        hits,
        { sequences: below.slice(0, limit), hasMore: below.length > limit, total: 8 },
        `below ${before}`,
      )
      assert.ok(turns() <= 8)
    }
  }
})

test("a search that is ended between two steps takes no other, and what it has counted is not counted again", async () => {
  const { search } = await openIndex(600_000, all)
  let left = 2
  const turn: Turn = (step) => {
    if (left-- === 0) throw new LedgerError("overloaded", "enough")
    return step()
  }
  await assert.rejects(search.find("acme", wanted(word("each")), 600_001, 1, turn), {
    code: "overloaded",
  })
  const { hits, turns } = await turnsOf(search, wanted(word("each")), 600_001, 1)
  assert.equal(hits?.total, 600_000)
  const other = await turnsOf(search, wanted(word("each"), word("else", { not: true })), 600_001, 1)
  assert.deepEqual([other.hits?.total, other.turns() - turns()], [600_000, 2])
})

test("starts that too many entries have are refused before they are gathered, and asked of nobody whom nothing is about", async () => {
  const ada = { id: "ada", type: "user" }
  const person = partyToken(number, "actor", "core", ada)
  const words = `'${number}#o ${person} ${number}:w' || sequence || ' ${number}:v' || (sequence % 20)`
  const { search } = await openIndex(5000, words, 16_000)
  const find = (asked: Wanted) => search.find("acme", asked, 5001, 10)
  const start = word("w", { isPrefix: true })
  await assert.rejects(find(wanted(start)), (error) => {
    assert.ok(error instanceof LedgerError && error.code === "invalid_field")
    assert.match(error.detail, /^query .*write more of each word/)
    return true
  })
  assert.equal((await find(wanted(word("w400", { isPrefix: true }))))?.total, 11)
  assert.equal((await find(wanted(word("w77"))))?.total, 1)
  assert.equal(
    (await find(wanted(word("v", { isPrefix: true }))))?.total,
    5000,
    "a start of few words is these words",
  )

  const about = (id: string, type = "user"): Wanted => ({
    ...wanted(start),
    projectIds: ["core"],
    subject: { id, types: [type] },
  })
  await assert.rejects(find(about("ada")), { code: "invalid_field" })
  for (const nobody of [
    about("nobody"),
    about("ad"),
    about("ada", "robot"),
    { ...about("ada"), projectIds: ["cor"] },
  ])
    assert.deepEqual(await find(nobody), { sequences: [], hasMore: false, total: 0 })
})

test("a start that is gathered three times is measured three times: for a person as the actor, as the target, and as both", async () => {
  const [ada, bob] = [
    { id: "ada", type: "user" },
    { id: "bob", type: "user" },
  ]
  const tokens = [
    partyToken(number, "actor", "core", ada),
    partyToken(number, "actor", "core", bob),
    partyToken(number, "target", "core", bob),
  ]
  const { search } = await openIndex(
    5000,
    `'${number}#o ${tokens.join(" ")} ${number}:w' || sequence`,
    200_000,
  )
  const find = (id: string) =>
    search.find(
      "acme",
      {
        ...wanted(word("w", { isPrefix: true })),
        projectIds: ["core"],
        subject: { id, types: ["user"] },
      },
      5001,
      10,
    )
  assert.equal((await find("ada"))?.total, 5000)
  await assert.rejects(find("bob"), { code: "invalid_field" })
})
