import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { createFairQueue, type FairQueueLimits } from "./fair-queue.ts"
import { TestClock } from "./test-clock.ts"

const limits: FairQueueLimits = { atOnceMax: 3, perWorkspaceMax: 2, waitingMax: 100, waitMs: 2000 }

/** Work that ends when it is told to, by the name of who asked. */
function openWork(changes: Partial<FairQueueLimits> = {}) {
  const clock = new TestClock()
  const queue = createFairQueue(clock, { ...limits, ...changes, of: "things" })
  const under = new Map<string, () => void>()
  const began: string[] = []
  const outcomes = new Map<string, string>()
  const soon = () => new Promise((resolve) => setImmediate(resolve))

  /** `acme 1` is the first of the workspace acme. */
  const ask = (name: string, signal?: AbortSignal): void => {
    const work = () =>
      new Promise<string>((resolve) => {
        began.push(name)
        under.set(name, () => resolve("done"))
      })
    queue.run(name.replace(/ .*/, ""), signal, work).then(
      (outcome) => outcomes.set(name, outcome),
      (error: unknown) =>
        outcomes.set(name, error instanceof LedgerError ? error.code : String(error)),
    )
  }
  const end = async (name: string): Promise<void> => {
    under.get(name)?.()
    under.delete(name)
    await soon()
  }
  const pass = async (delayMs: number): Promise<void> => {
    clock.advance(delayMs)
    await soon()
  }
  return { began, outcomes, soon, ask, end, pass, under: () => [...under.keys()] }
}

test("running work is limited in all and for one workspace, and workspaces take turns", async () => {
  const { ask, end, under, began } = openWork()
  for (let at = 1; at <= 20; at++) ask(`greedy ${at}`)
  assert.deepEqual(
    under(),
    ["greedy 1", "greedy 2"],
    "its own share, though there is room for three",
  )
  for (const name of ["acme 1", "acme 2", "beta 1"]) ask(name)
  assert.deepEqual(under(), ["greedy 1", "greedy 2", "acme 1"])
  for (const name of ["greedy 1", "acme 1", "greedy 2", "greedy 3"]) await end(name)
  assert.deepEqual(began, [
    "greedy 1",
    "greedy 2",
    "acme 1",
    "acme 2",
    "beta 1",
    "greedy 3",
    "greedy 4",
  ])
  while (under().length > 0) await end(under()[0] ?? "")
  assert.equal(began.length, 23, "everything had its turn")
  assert.deepEqual(
    began.slice(7),
    Array.from({ length: 16 }, (_, at) => `greedy ${at + 5}`),
  )
})

test("a workspace that arrives while another's work runs is next, and then they alternate", async () => {
  const { ask, end, began } = openWork({ atOnceMax: 1 })
  for (let at = 1; at <= 5; at++) ask(`greedy ${at}`)
  ask("acme 1")
  await end("greedy 1")
  await end("acme 1")
  ask("acme 2")
  await end("greedy 2")
  await end("acme 2")
  assert.deepEqual(began, ["greedy 1", "acme 1", "greedy 2", "acme 2", "greedy 3"])
})

test("failed work frees its place, and its caller gets the error", async () => {
  const queue = createFairQueue(new TestClock(), { ...limits, atOnceMax: 1, of: "things" })
  for (let at = 0; at < 3; at++)
    await assert.rejects(
      () => queue.run("acme", undefined, () => Promise.reject(new Error("no"))),
      /no/,
    )
  assert.equal(await queue.run("acme", undefined, async () => "yes"), "yes")
})

test("work that waits too long is refused, the oldest first, without having begun", async () => {
  const { ask, end, pass, outcomes, began } = openWork({ atOnceMax: 1 })
  for (const name of ["acme 1", "acme 2", "beta 1"]) ask(name)
  await pass(1500)
  ask("gamma 1")
  await pass(499)
  assert.equal(outcomes.size, 0)
  await pass(1)
  assert.deepEqual(
    [...outcomes],
    ["acme 2", "beta 1"].map((name) => [name, "overloaded"]),
  )
  await pass(1499)
  await end("acme 1")
  assert.deepEqual(began, ["acme 1", "gamma 1"])
  await pass(10_000)
  await end("gamma 1")
  assert.equal(outcomes.get("gamma 1"), "done", "what has begun is not refused")
})

test("work of a client that has left is dropped, even if it left before", async () => {
  const { ask, end, soon, outcomes, began } = openWork({ atOnceMax: 1 })
  const leaving = new AbortController()
  ask("acme 1", leaving.signal)
  ask("acme 2", leaving.signal)
  ask("acme 3")
  leaving.abort(new LedgerError("bad_request", "left"))
  ask("acme 4", leaving.signal)
  await soon()
  assert.deepEqual(
    [outcomes.get("acme 1"), outcomes.get("acme 2"), outcomes.get("acme 4")],
    [undefined, "bad_request", "bad_request"],
    "what has begun looks at its signal itself",
  )
  await end("acme 1")
  assert.deepEqual(began, ["acme 1", "acme 3"])
})

test("if too much work waits, the workspace with the longest queue loses its newest", async () => {
  const { ask, end, under, soon, outcomes } = openWork({ atOnceMax: 1, waitingMax: 4 })
  for (let at = 1; at <= 5; at++) ask(`greedy ${at}`)
  for (const name of ["acme 1", "beta 1", "greedy 6"]) ask(name)
  await soon()
  assert.deepEqual(
    [...outcomes],
    ["greedy 5", "greedy 4", "greedy 6"].map((name) => [name, "overloaded"]),
  )
  while (under().length > 0) await end(under()[0] ?? "")
  assert.deepEqual(
    [...outcomes].filter(([, outcome]) => outcome === "done").map(([name]) => name),
    ["greedy 1", "acme 1", "beta 1", "greedy 2", "greedy 3"],
  )
})

test("if every workspace has one waiting, the newcomer is refused", async () => {
  const { ask, end, under, soon, outcomes } = openWork({ atOnceMax: 1, waitingMax: 2 })
  for (const name of ["busy 1", "acme 1", "beta 1", "gamma 1", "delta 1"]) ask(name)
  await soon()
  assert.deepEqual(
    [...outcomes],
    ["gamma 1", "delta 1"].map((name) => [name, "overloaded"]),
  )
  while (under().length > 0) await end(under()[0] ?? "")
  assert.deepEqual([outcomes.get("acme 1"), outcomes.get("beta 1")], ["done", "done"])
})
