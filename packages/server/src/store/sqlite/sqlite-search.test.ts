import assert from "node:assert/strict"
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { defaultLimits } from "../../limits.ts"
import { write } from "../contract/written-entries.ts"
import { expectChain } from "../expect-chain.ts"
import type { Filed, Wanted } from "../search/search.ts"
import { compareByChance, searchContract, type OpenedSearch } from "../contract/search-contract.ts"
import { openSqlite, openSqliteFiling } from "./open-sqlite.ts"

const folders = new Set<string>()
/** A store that a failed test left open would keep this process alive. */
const opened = new Set<OpenedSearch>()

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  folders.add(folder)
  return folder
}

async function openFolder(folder: string): Promise<OpenedSearch> {
  const served = await openSqlite(
    { data: folder, limits: { ...defaultLimits, diskReserveBytes: 0 } },
    (cause) => assert.fail(cause),
  )
  const filing = openSqliteFiling(folder)
  const store: OpenedSearch = {
    served,
    filing,
    async close() {
      opened.delete(store)
      await filing.close()
      await served.close()
    },
    async reopen() {
      await store.close()
      return openFolder(folder)
    },
  }
  opened.add(store)
  return store
}

test.afterEach(async () => {
  for (const store of opened) await store.close()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
})

searchContract("sqlite", () => openFolder(freshFolder()))

for (const [entries, questions, leastAnswered] of [
  [150, 600, 600],
  [15_000, 90, 100],
] as const) {
  test(`whatever is asked of ${entries} entries, the answer is that of the plain filter`, async (context) => {
    const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 32))
    context.diagnostic(`seed ${seed}`)
    const store = await openFolder(freshFolder())
    const answered = await compareByChance(store, chanceOf(seed), entries, questions)
    await store.close()
    assert.ok(answered > leastAnswered, `${answered} questions had an answer`)
  })
}

const asked = {
  system: "without",
  query: { terms: [{ kind: "text", not: false, words: ["word"], isPrefix: true }] },
} as const

function entry(sequence: number): Filed {
  const party = { id: "ada", type: "user" }
  return {
    sequence,
    projectId: "core",
    isSystem: false,
    lane: "data",
    userVisible: true,
    occurredMs: 0,
    occurredNs: 0,
    actor: party,
    target: party,
    fields: {
      nobody: [{ names: ["action"], value: `word ${sequence}`, isText: true }],
      actor: [],
      target: [],
    },
  }
}

/** A folder with so many entries, all of them filed. */
async function filledFolder(names: readonly string[]): Promise<string> {
  const folder = freshFolder()
  const store = await openFolder(folder)
  for (const [at, name] of names.entries()) {
    await write(store.served, "acme", [name])
    await store.filing.search.file("acme", [entry(at + 1)])
  }
  await store.close()
  return folder
}

async function positionAfterStart(folder: string): Promise<number> {
  const store = await openFolder(folder)
  const position = await store.served.search.position("acme")
  const hits = await store.served.search.find("acme", asked, 99, 10)
  assert.equal(hits?.total, position, "what is filed is found, and nothing else")
  for (let sequence = position + 1; sequence <= 2; sequence++)
    await store.filing.search.file("acme", [entry(sequence)])
  assert.equal(
    (await store.served.search.find("acme", asked, 99, 10))?.total,
    Math.max(position, 2),
  )
  await expectChain(store.served.journal, "acme")
  await store.close()
  return position
}

test("a search file is taken up by the next start if it belongs to its journal, and made anew if not", async () => {
  const folder = await filledFolder(["a", "b", "c"])
  assert.equal(await positionAfterStart(folder), 3)
  const older = await filledFolder(["a", "b"])
  const other = await filledFolder(["a", "another", "c"])
  for (const from of [older, other]) {
    for (const end of ["", "-wal", "-shm"]) rmSync(join(from, `search.db${end}`), { force: true })
    cpSync(join(folder, "search.db"), join(from, "search.db"))
    assert.equal(await positionAfterStart(from), 0)
  }
  for (const damage of ["no database ".repeat(1000), ""]) {
    writeFileSync(join(folder, "search.db"), damage)
    assert.equal(await positionAfterStart(folder), 0)
  }
})

test("what could not be filed whole is not filed at all, and is filed when it can be", async () => {
  const store = await openFolder(freshFolder())
  const { search } = store.filing
  await write(store.served, "acme", ["a", "b"])
  await search.file("acme", [entry(1)])
  // The third is not in the journal.
  await assert.rejects(search.file("acme", [entry(2), entry(3)]), /in the journal/)
  await write(store.served, "other", ["x"])
  await assert.rejects(
    search.fileAll([
      { workspace: "other", entries: [entry(1)] },
      { workspace: "acme", entries: [{ ...entry(2), occurredMs: Number.NaN }] },
    ]),
  )
  assert.deepEqual([await search.position("acme"), await search.position("other")], [1, 0])
  assert.equal((await store.served.search.find("acme", asked, 99, 10))?.total, 1)
  await search.fileAll([
    { workspace: "other", entries: [entry(1)] },
    { workspace: "acme", entries: [entry(2)] },
  ])
  for (const wanted of [asked, { system: "without" }] as const)
    assert.deepEqual(await store.served.search.find("acme", wanted, 99, 10), {
      sequences: [2, 1],
      hasMore: false,
      total: 2,
    })
  assert.equal((await store.served.search.find("other", asked, 99, 10))?.total, 1)
  await store.close()
})

test("a list costs the same however many projects there are", async (context) => {
  const store = await openFolder(freshFolder())
  const entries = 3000
  const projects = { one: 1, many: entries }
  for (const [workspace, count] of Object.entries(projects)) {
    const names = Array.from({ length: entries }, (_, at) => `${workspace} ${at}`)
    await write(store.served, workspace, names)
    const filed = names.map((_, at) => ({
      ...entry(at + 1),
      projectId: `p${at % count}`,
      occurredMs: at * 1000,
    }))
    await store.filing.search.file(workspace, filed)
  }
  const lists: Readonly<Record<string, Wanted>> = {
    all: { system: "without" },
    "those that are hot": { system: "without", firstSequence: entries / 2 },
    "a lane": { system: "with", lane: "data" },
    "a time": { system: "without", from: { ms: 500_000, ns: 0 }, to: { ms: 2_500_000, ns: 1 } },
    "one project and the service's own": { system: "with", projectIds: ["p0"] },
  }
  for (const [name, wanted] of Object.entries(lists)) {
    const took: Record<keyof typeof projects, number[]> = { one: [], many: [] }
    // In turns, so that whatever else the machine does is done to both.
    for (let turn = 0; turn < 40; turn++) {
      for (const workspace of ["one", "many"] as const) {
        const started = performance.now()
        const hits = await store.served.search.find(workspace, wanted, Number.MAX_SAFE_INTEGER, 20)
        took[workspace].push(performance.now() - started)
        assert.equal(
          hits?.sequences.length,
          wanted.projectIds === undefined || workspace === "one" ? 20 : 1,
        )
      }
    }
    const [one, many] = [middle(took.one), middle(took.many)]
    context.diagnostic(
      `${name}: ${one.toFixed(2)} ms of one project, ${many.toFixed(2)} ms of ${entries}`,
    )
    assert.ok(many < one * 2.5, `${name}: ${many} ms of ${entries} projects, ${one} ms of one`)
  }
  for (const workspace of Object.keys(projects)) await expectChain(store.served.journal, workspace)
  await store.close()
})

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}

/** Mulberry32. */
function chanceOf(seed: number): { below(end: number): number } {
  let state = seed >>> 0
  return {
    below(end) {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end)
    },
  }
}
