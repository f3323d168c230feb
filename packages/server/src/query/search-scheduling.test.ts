import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { TestClock } from "../runtime/test-clock.ts"
import type { Finder, Hits, Wanted } from "../store/search/search.ts"
import { createFinding } from "./search-scheduling.ts"

const list: Wanted = { system: "without" }
const search: Wanted = {
  ...list,
  query: { terms: [{ kind: "text", not: false, words: ["word"], isPrefix: true }] },
}
const hits: Hits = { sequences: [1], hasMore: false, total: 1, end: 1 }

/** A finder whose searches take three steps each, and lists one. The test ends each step. */
function openFinder({ isFiled = true }: { readonly isFiled?: boolean } = {}) {
  const steps: string[] = []
  const under: { readonly name: string; readonly end: () => void }[] = []
  const outcomes: string[] = []
  const finder: Finder = {
    position: async () => 0,
    async find(workspace, wanted, before, _limit, turn = (step) => step()) {
      for (let left = wanted.query === undefined ? 1 : 3; left > 0; left--) {
        const name = `${workspace} ${before}`
        await turn(async () => {
          steps.push(name)
          await new Promise<void>((end) => under.push({ name, end }))
        })
      }
      return isFiled ? hits : undefined
    },
    count: async () => [],
  }
  const clock = new TestClock()
  const limits = { searchTimeoutMs: 2000, searchesWaitingMax: 200 }
  const filed: string[] = []
  const { find } = createFinding({
    search: finder,
    clock,
    limits,
    file: async (workspace) => void filed.push(workspace),
  })
  const soon = () => new Promise((resolve) => setImmediate(resolve))

  /** `number` names the search in the events. */
  const ask = (workspace: string, number: number, wanted = search, signal?: AbortSignal): void => {
    const name = `${workspace} ${number}`
    find(workspace, wanted, number, 1, signal).then(
      () => outcomes.push(`${name} done`),
      (error: unknown) =>
        outcomes.push(`${name} ${error instanceof LedgerError ? error.code : String(error)}`),
    )
  }
  const endStep = async (): Promise<void> => {
    under.shift()?.end()
    await soon()
  }
  const pass = async (delayMs: number): Promise<void> => {
    clock.advance(delayMs)
    await soon()
  }
  return { steps, filed, outcomes, ask, endStep, pass, under: () => under.map(({ name }) => name) }
}

test("searches take turns between workspaces, step by step, and lists wait for none of them", async () => {
  const { ask, endStep, under, steps, outcomes } = openFinder()
  for (let number = 1; number <= 16; number++) ask("greedy", number)
  ask("acme", 1)
  ask("acme", 2, list)
  await endStep()
  assert.deepEqual(under(), ["acme 2", "acme 1"], "the list is answered at once, beside a search")
  while (!outcomes.includes("acme 1 done")) await endStep()
  const turns = steps
    .filter((name) => name !== "acme 2")
    .map((name) => (name === "acme 1" ? "acme" : "greedy"))
  assert.equal(
    turns.join(" "),
    "greedy acme greedy acme greedy acme greedy",
    "one step of others before each of its own, however many wait",
  )
  assert.deepEqual(outcomes, ["acme 2 done", "acme 1 done"])
  while (under().length > 0) await endStep()
  assert.equal(outcomes.filter((outcome) => outcome.endsWith("done")).length, 18)
})

test("a search whose client left costs no further step, whether it had begun or not", async () => {
  const { ask, endStep, under, steps, outcomes } = openFinder()
  const clients = Array.from({ length: 150 }, () => new AbortController())
  for (const [number, { signal }] of clients.entries()) ask("greedy", number, search, signal)
  await endStep()
  for (const client of clients) client.abort(new LedgerError("bad_request", "gone"))
  ask("acme", 1)
  await endStep()
  assert.deepEqual(under(), ["acme 1"])
  while (under().length > 0) await endStep()
  assert.deepEqual(steps, ["greedy 0", "greedy 1", "acme 1", "acme 1", "acme 1"])
  assert.deepEqual(
    [outcomes.length, outcomes.filter((outcome) => outcome.endsWith("bad_request")).length],
    [151, 150],
  )
  const late = AbortSignal.abort(new LedgerError("bad_request", "gone"))
  for (const wanted of [search, list]) ask("acme", 2, wanted, late)
  await endStep()
  assert.deepEqual(outcomes.slice(-2), ["acme 2 bad_request", "acme 2 bad_request"])
  assert.equal(steps.length, 5)
})

test("a search that is not answered in time is refused at once, and ends with its current step", async () => {
  const { ask, endStep, under, pass, steps, outcomes } = openFinder()
  ask("acme", 1)
  await pass(1999)
  await endStep()
  assert.deepEqual(outcomes, [])
  await pass(1)
  assert.deepEqual(outcomes, ["acme 1 overloaded"], "though its second step is not over")
  assert.deepEqual([under(), steps.length], [["acme 1"], 2])
  ask("beta", 1)
  assert.deepEqual(under(), ["acme 1"], "nothing interrupts a step")
  await endStep()
  assert.deepEqual([under(), steps.length], [["beta 1"], 3])
  while (under().length > 0) await endStep()
  assert.deepEqual(outcomes, ["acme 1 overloaded", "beta 1 done"])
})

test("entries that are not filed yet are filed first, and the search is repeated once", async () => {
  const { ask, endStep, under, filed, outcomes } = openFinder({ isFiled: false })
  ask("acme", 1, list)
  await endStep()
  assert.deepEqual([filed, outcomes], [["acme"], []])
  while (under().length > 0) await endStep()
  assert.deepEqual([filed, outcomes], [["acme"], ["acme 1 ledger_unavailable"]])
})
