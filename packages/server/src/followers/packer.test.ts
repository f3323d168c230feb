import assert from "node:assert/strict"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { defaultLimits } from "../limits.ts"
import { workspaceNamed, write } from "../store/contract/written-entries.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory, type MemoryStore } from "../store/memory.ts"
import { createSegmentBuilder } from "../store/search/segment-builder.ts"
import { packSegment } from "../store/search/segment-format.ts"
import { sizeOf, usualLevel } from "../store/search/segment-plan.ts"
import type { ContentKeeper } from "../store/content-keeper.ts"
import type { Leases } from "../store/store.ts"
import { startPacker, type PackerReport } from "./packer.ts"

interface House extends MemoryStore {
  readonly packer: ReturnType<typeof startPacker>
  readonly reports: PackerReport[]
  /** Milliseconds of each pause. */
  readonly pauses: number[]
  write(count: number): Promise<void>
  /** Sets the clock. The time of an entry is its sequence. */
  setTime(timeMs: number): void
  /** Signs a checkpoint that covers this many entries. */
  sign(size: number): Promise<void>
  /** The next segment of this level, where all have the same; 4,096 entries if none is given. */
  file(level?: number): Promise<void>
  packed(): Promise<number>
  /** Waits until the packer has nothing more to do. */
  settle(): Promise<void>
}

const packAfterMs = 24_000

function openHouse({
  content = (it: ContentKeeper) => it,
  leases = undefined as Leases | undefined,
} = {}): House {
  const store = openMemory()
  const { filing, served, watched } = store
  const sleepers: (() => void)[] = []
  let [elapsedMs, nowMs] = [0, 0]
  const clock: Clock = {
    now: () => nowMs,
    elapsed: () => elapsedMs,
    sleep(delayMs) {
      pauses.push(delayMs)
      return new Promise((wake) => sleepers.push(wake))
    },
  }
  const pauses: number[] = []
  const reports: PackerReport[] = []
  const parts = { ...filing, leases: leases ?? filing.leases, content: content(filing.content) }
  const limits = { ...defaultLimits, packAfterMs }
  const packer = startPacker({
    store: parts,
    clock,
    limits,
    report: (said) => reports.push(said),
  })
  let [segments, signed] = [0, 0]
  return {
    ...store,
    packer,
    reports,
    pauses,
    async write(count) {
      const { sequence = 0 } = (await served.journal.head("acme")) ?? {}
      const names = Array.from({ length: count }, (_, place) => `e${sequence + place + 1}`)
      await write(served, "acme", names, sequence === 0 ? [workspaceNamed("acme")] : [])
      packer.grown("acme", sequence + count)
    },
    setTime(timeMs) {
      nowMs = timeMs
    },
    async sign(size) {
      const checkpoint = { size, root: new Uint8Array(32), note: "", signedMs: 0 }
      assert.ok(await watched.index.putCheckpoint("acme", 1, signed, checkpoint))
      signed = size
    },
    async file(level = usualLevel) {
      const [k, size] = [segments++, sizeOf(level)]
      const builder = createSegmentBuilder(k * size + 1, size)
      for (const entry of await filing.journal.after("acme", k * size, size)) builder.add(entry)
      await filing.segments.put("acme", { level, k }, packSegment(builder.finish()), [])
      packer.grown("acme", (await served.journal.head("acme"))?.sequence ?? 0)
    },
    async packed() {
      const frames = await filing.content.frames("acme", 0, Number.MAX_SAFE_INTEGER)
      return frames.reduce((sum, { count }) => sum + count, 0)
    },
    async settle() {
      for (let turns = 0; turns < 300; turns++) {
        elapsedMs += 1000
        for (const wake of sleepers.splice(0)) wake()
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

test("bodies are packed once a segment has them and a checkpoint covers them, and not before", async () => {
  const house = openHouse()
  await house.write(8300)
  await house.settle()
  assert.equal(await house.packed(), 0)
  await house.file()
  await house.settle()
  assert.equal(await house.packed(), 0)
  // The segment was made before the checkpoint that covers it: the packer comes back.
  await house.sign(200)
  await house.settle()
  assert.equal(await house.packed(), 192)
  await house.sign(8300)
  await house.settle()
  assert.equal(await house.packed(), 4096)
  await house.file()
  await house.settle()
  assert.equal(await house.packed(), 8192)
  const entries = house.reports.reduce(
    (sum, said) => sum + (said.kind === "packed" ? said.entries : 0),
    0,
  )
  assert.equal(entries, 8192)
  assert.equal((await expectChain(house.served.journal, "acme")).size, 8300)
  await house.packer.close()
})

test("the newest bodies stay in their rows, though small segments have them", async () => {
  const house = openHouse()
  await house.write(4200)
  await house.sign(4200)
  for (let made = 0; made < 15; made++) await house.file(0)
  await house.settle()
  assert.equal(await house.packed(), 0)
  await house.file(0)
  await house.settle()
  assert.equal(await house.packed(), 4096)
  await expectChain(house.served.journal, "acme")
  await house.packer.close()
})

test("pauses are longer during many writes", async () => {
  const house = openHouse()
  await house.write(4200)
  await house.file()
  await house.sign(4200)
  house.packer.grown("acme", 4200 + 10_000)
  await house.settle()
  assert.equal(await house.packed(), 4096)
  // After the first stretch, in the second in which it grew, and after each four of the others.
  assert.deepEqual(
    house.pauses.filter((ms) => ms === 4 || ms === 100),
    [100, ...Array.from({ length: 15 }, () => 4)],
  )
  await expectChain(house.served.journal, "acme")
  await house.packer.close()
})

test("a failure is reported and tried again", async () => {
  let failures = 0
  const house = openHouse({
    content: (it) => ({
      ...it,
      async pack(...asked) {
        if (failures++ < 2) throw new Error("the disk is away")
        return it.pack(...asked)
      },
    }),
  })
  await house.write(4200)
  await house.sign(4200)
  await house.file()
  await house.settle()
  assert.equal(await house.packed(), 4096)
  assert.deepEqual(
    house.reports.filter(({ kind }) => kind === "not packed"),
    Array.from({ length: 2 }, () => ({ kind: "not packed", detail: "acme: the disk is away" })),
  )
  await expectChain(house.served.journal, "acme")
  await house.packer.close()
})

test("if another server has packed the due bodies, the next due ones are packed", async () => {
  let others = 0
  const house = openHouse({
    content: (it) => ({
      ...it,
      async pack(workspace, after, upTo) {
        if (others > 0) return it.pack(workspace, after, upTo)
        while ((await it.pack(workspace, after, upTo)) !== undefined) others += 1
        return undefined
      },
    }),
  })
  await house.write(8300)
  await house.sign(8300)
  await house.file()
  await house.settle()
  assert.equal(others, 64, "stretches")
  await house.file()
  await house.settle()
  assert.equal(await house.packed(), 8192)
  await expectChain(house.served.journal, "acme")
  await house.packer.close()
})

test("a workspace that another server follows is left to it", async () => {
  let isOurs = false
  const followers: ((workspace: string) => void)[] = []
  const house = openHouse({
    leases: {
      hold: async () => isOurs,
      take: async () => {},
      onTaken: (follower) => void followers.push(follower),
    },
  })
  await house.write(4200)
  await house.sign(4200)
  await house.file()
  await house.settle()
  assert.equal(await house.packed(), 0)
  isOurs = true
  // Nothing more is recorded.
  for (const taken of followers) taken("acme")
  await house.settle()
  assert.equal(await house.packed(), 4096)
  await expectChain(house.served.journal, "acme")
  await house.packer.close()
})

test("old entries are packed, whether or not a segment has them", async () => {
  const house = openHouse()
  await house.write(600)
  await house.sign(600)
  await house.settle()
  assert.equal(await house.packed(), 0)
  house.setTime(packAfterMs + 400)
  await house.settle()
  assert.equal(await house.packed(), 384, "whole stretches of the 399 that are old")
  await house.file(0)
  await house.settle()
  assert.equal(await house.packed(), 384)
  house.setTime(packAfterMs + 601)
  await house.settle()
  assert.equal(await house.packed(), 576)
  await expectChain(house.served.journal, "acme")
  await house.packer.close()
})
