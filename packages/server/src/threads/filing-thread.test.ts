import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { LedgerError } from "../error.ts"
import { fileBeside, firstPokeMs, type FilingBeside } from "./filing-thread.ts"
import { defaultLimits } from "../limits.ts"
import { write } from "../store/contract/written-entries.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openStore } from "../store/open.ts"
import type { Store } from "../store/store.ts"

interface House {
  readonly folder: string
  readonly store: Store
  readonly filing: FilingBeside
  /** What filing could not do. */
  readonly failures: readonly string[]
  /** Appends so many entries. */
  write(count: number): Promise<number>
}

const closing: (() => unknown)[] = []

test.afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** On a busy machine, too. */
const patientMs = 120_000

async function openHouse(findWaitMs: number): Promise<House> {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  const onDeath = (cause: Error): never => assert.fail(cause)
  const store = await openStore(
    { data: folder, limits: { ...defaultLimits, diskReserveBytes: 0 } },
    onDeath,
  )
  closing.push(() => store.close())
  const failures: string[] = []
  const filing = fileBeside(
    { place: { data: folder }, packs: true, limits: { ...defaultLimits, findWaitMs } },
    store,
    (report) => void (report.kind === "failed" && failures.push(report.detail)),
    onDeath,
  )
  closing.push(() => filing.close())
  let written = 0
  return {
    folder,
    store,
    filing,
    failures,
    async write(count) {
      const names = Array.from({ length: count }, () => `e${written++}`)
      await write(store, "acme", names)
      return written
    },
  }
}

test("a search finds all earlier entries, filed or not", async () => {
  const house = await openHouse(patientMs)
  const find = (written: number) =>
    house.store.search.find("acme", { system: "with" }, written + 1, 1)
  for (const count of [1, 700, 3, 1]) {
    const written = await house.write(count)
    assert.deepEqual(await find(written), {
      sequences: [written],
      hasMore: written > 1,
      total: written,
      end: written,
    })
  }
  // Too many to be looked through one by one, unless they are filed by now.
  const written = await house.write(20_000)
  const position = await house.store.search.position("acme")
  const hits = await find(written)
  assert.ok(hits === undefined || position > 0)
  await house.filing.catchUp("acme")
  assert.equal(await house.store.search.position("acme"), written)
  assert.deepEqual(await find(written), {
    sequences: [written],
    hasMore: true,
    total: written,
    end: written,
  })
  await house.filing.catchUp("nobody")
  await expectChain(house.store.journal, "acme")
})

test("entries are filed after a moment, also without a search", async () => {
  const house = await openHouse(patientMs)
  for (const segments of [1, 2]) {
    await house.write(4096)
    while (segmentsIn(house.folder) < segments) await sleep(10)
  }
  await expectChain(house.store.journal, "acme")
})

test("an empty ledger needs no thread, and the first entry starts it", async () => {
  let starts = 0
  const house = await openHouse(patientMs)
  const count = (): void => void starts++
  process.on("worker", count)
  closing.push(() => process.off("worker", count))
  await sleep(firstPokeMs + 500)
  assert.equal(await house.filing.content.isOurs("acme"), true)
  assert.equal(starts, 0)
  await house.write(1)
  while (starts === 0) await sleep(10)
  await house.filing.catchUp("acme")
  assert.equal(starts, 1)
  await expectChain(house.store.journal, "acme")
})

test("a thread that cannot start is started again, and files what was written meanwhile", async () => {
  const house = await openHouse(patientMs)
  const path = join(house.folder, "search.db")
  renameSync(path, `${path}.away`)
  mkdirSync(path)
  await house.write(4096)
  while (house.failures.length < 2) await sleep(10)
  assert.match(house.failures[0] ?? "", /search\.db/)
  rmdirSync(path)
  renameSync(`${path}.away`, path)
  while (segmentsIn(house.folder) < 1) await sleep(10)
  await expectChain(house.store.journal, "acme")
})

test("a search that would wait too long is refused, and a later one finds the entry", async () => {
  const house = await openHouse(500)
  {
    using other = new DatabaseSync(join(house.folder, "search.db"))
    other.exec("BEGIN IMMEDIATE")
    await house.write(4100)
    await assert.rejects(
      house.filing.catchUp("acme"),
      (error) => error instanceof LedgerError && error.code === "ledger_unavailable",
    )
    other.exec("ROLLBACK")
  }
  while (segmentsIn(house.folder) < 1) await sleep(10)
  await expectChain(house.store.journal, "acme")
})

function segmentsIn(folder: string): number {
  using search = new DatabaseSync(join(folder, "search.db"), { readOnly: true })
  return Number(search.prepare("SELECT count(*) AS count FROM segments").get()?.["count"])
}
