import assert from "node:assert/strict"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { defaultLimits } from "../limits.ts"
import { write } from "../store/contract/written-entries.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory, type MemoryStore } from "../store/memory.ts"
import type { Search } from "../store/search/search.ts"
import type { JournalReader, Leases } from "../store/store.ts"
import { startFiling, type FilingReport } from "./filing.ts"

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
    readonly search?: (it: Search) => Search
    readonly leases?: Leases
  } = {},
): House {
  const store = openMemory()
  const sleepers: (() => void)[] = []
  let elapsedMs = 0
  const clock: Clock = {
    now: () => 0,
    elapsed: () => elapsedMs,
    sleep: () => new Promise((wake) => sleepers.push(wake)),
  }
  const reports: FilingReport[] = []
  const { journal, search, leases } = store.filing
  const loop = startFiling({
    store: {
      journal: bend.journal?.(journal) ?? journal,
      search: bend.search?.(search) ?? search,
      leases: bend.leases ?? leases,
    },
    clock,
    limits: { ...defaultLimits, fileEntriesMax: 10 },
    report: (report) => reports.push(report),
  })
  const wakeAll = (): void => {
    elapsedMs += 1000
    for (const wake of sleepers.splice(0)) wake()
  }
  return { ...store, reports, loop, wakeAll }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const names = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `e${from + at}`)

test("whoever waits until all is found waits for all that is there, and for no more", async () => {
  const house = openHouse()
  assert.equal(await house.loop.catchUp("acme"), 0)
  await write(house.served, "acme", names(35))
  await write(house.served, "other", names(3))
  const both = await Promise.all([house.loop.catchUp("acme"), house.loop.catchUp("acme")])
  assert.deepEqual(both, [35, 35])
  assert.equal(await house.served.search.position("acme"), 35)
  assert.equal(await house.loop.catchUp("acme"), 35)
  assert.equal(await house.loop.catchUp("other"), 3)
  assert.equal((await house.served.search.find("acme", { system: "with" }, 99, 50))?.total, 35)
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})

test("all who are poked are filed, in steps, each workspace in turn", async () => {
  const house = openHouse()
  for (const workspace of ["a", "b", "c"]) await write(house.served, workspace, names(12))
  house.loop.poke(["a", "b", "c", "empty"])
  await settled()
  for (const workspace of ["a", "b", "c"])
    assert.equal(await house.served.search.position(workspace), 12)
  const steps = house.reports.map((report) =>
    report.kind === "filed" ? report.positions : assert.fail(report.detail),
  )
  assert.deepEqual(steps.slice(0, 3), [[["a", 10, 12]], [["b", 10, 12]], [["c", 10, 12]]])
  assert.deepEqual(steps.slice(3).flat(), [
    ["a", 12, 12],
    ["b", 12, 12],
    ["c", 12, 12],
  ])
  await house.loop.close()
})

test("what fails is reported, refused to those who wait, and tried again", async () => {
  let failing = true
  const house = openHouse({
    search: (it) => ({
      ...it,
      fileAll: (batches) =>
        failing ? Promise.reject(new Error("the disk is full")) : it.fileAll(batches),
    }),
  })
  await write(house.served, "acme", names(3))
  await assert.rejects(house.loop.catchUp("acme"), /the disk is full/)
  house.loop.poke(["acme"])
  await settled()
  assert.equal(house.reports.length, 1, "a disk that failed is not asked again at once")
  house.wakeAll()
  await settled()
  assert.deepEqual(house.reports, [
    { kind: "failed", detail: "the disk is full" },
    { kind: "failed", detail: "the disk is full" },
  ])
  failing = false
  house.wakeAll()
  await settled()
  assert.equal(await house.served.search.position("acme"), 3)
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
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
  for (const workspace of ["bad", "good"]) await write(house.served, workspace, names(3))
  house.loop.poke(["bad", "good"])
  assert.equal(await house.loop.catchUp("good"), 3)
  assert.equal(await house.served.search.position("bad"), 0)
  assert.deepEqual(
    house.reports.find(({ kind }) => kind === "failed"),
    { kind: "failed", detail: "bad: unreadable" },
  )
  failing = false
  await settled()
  house.wakeAll()
  await settled()
  assert.equal(await house.served.search.position("bad"), 3)
  await house.loop.close()
})

test("entries that are gone from the journal are found as missing, and a journal that ends before its head is said to", async () => {
  const house = openHouse({
    journal: (it) => ({
      ...it,
      after: async (...asked) =>
        (await it.after(...asked)).filter(
          ({ sequence }) => sequence !== 4 && sequence !== 5 && sequence !== 12,
        ),
    }),
  })
  await write(house.served, "acme", names(12))
  await assert.rejects(house.loop.catchUp("acme"), /ends before its head/)
  assert.equal(await house.served.search.position("acme"), 11)
  const { sequences, total } = await house.filing.search.find("acme", { system: "without" }, 99, 50)
  assert.deepEqual([sequences.length, total], [11, 11])
  await house.loop.close()
})

test("a stop refuses those who wait, and all who come later", async () => {
  let release = () => {}
  const house = openHouse({
    search: (it) => ({
      ...it,
      fileAll: () =>
        new Promise((_, reject) => {
          release = () => reject(new Error("too late"))
        }),
    }),
  })
  await write(house.served, "acme", names(3))
  const waiting = house.loop.catchUp("acme")
  const refused = assert.rejects(waiting, /too late|stopped/)
  await settled()
  const closed = house.loop.close()
  release()
  await closed
  await refused
  await assert.rejects(house.loop.catchUp("acme"), /stopped/)
})

test("a workspace that another process follows is left to it, until somebody here waits", async () => {
  const ours = new Set<string>()
  const house = openHouse({
    leases: {
      hold: async (workspace) => ours.has(workspace),
      take: async (workspace) => void ours.add(workspace),
    },
  })
  for (const workspace of ["acme", "other"]) await write(house.served, workspace, names(3))
  house.loop.poke(["acme", "other"])
  await settled()
  assert.deepEqual([await house.served.search.position("acme"), house.reports], [0, []])
  assert.equal(await house.loop.catchUp("acme"), 3)
  assert.deepEqual(
    [await house.served.search.position("acme"), await house.served.search.position("other")],
    [3, 0],
  )
  await house.loop.close()
  await expectChain(house.served.journal, "acme")
})
