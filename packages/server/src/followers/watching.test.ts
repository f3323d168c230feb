import assert from "node:assert/strict"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { OvertakenError } from "../error.ts"
import type { Ledger } from "../ledger/ledger.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { TestClock } from "../runtime/test-clock.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { Checkpoint } from "../store/index-state.ts"
import type { JournalReader, Leases, WatchedStore } from "../store/store.ts"
import type { Auditor } from "./auditor.ts"
import { IntegrityError, type Checkpointer } from "./checkpointer.ts"
import { startWatching, type Sighting } from "./watching.ts"

const everyMs = defaultLimits.checkpointEveryMs

interface House {
  readonly ledger: Ledger
  readonly watched: WatchedStore
  readonly clock: TestClock
  readonly sightings: Sighting[]
  readonly watching: ReturnType<typeof startWatching>
  /** How far the checkpointer has taken a workspace. */
  position(workspace: string): Promise<number>
  write(workspace: string, count?: number): Promise<unknown>
  seen(kind: Sighting["kind"], workspace?: string): number
}

/** Watches a store in memory. The checkpointer is a stub that counts: it has tests of its own. */
function openHouse(
  bend: {
    readonly journal?: (journal: JournalReader) => JournalReader
    readonly checkpointer?: (it: Checkpointer) => Checkpointer
    readonly hold?: Leases["hold"]
    readonly look?: Auditor["look"]
  } = {},
): House {
  const { served, watched } = openMemory()
  const clock = new TestClock()
  const sightings: Sighting[] = []
  const ledger = openTestLedger(served.journal, { clock })
  const counting = countingCheckpointer(clock)
  const watching = startWatching({
    journal: bend.journal?.(watched.journal) ?? watched.journal,
    leases: { ...watched.leases, ...(bend.hold && { hold: bend.hold }) },
    checkpointer: bend.checkpointer?.(counting) ?? counting,
    ...(bend.look && { audit: () => idleAuditor(bend.look) }),
    clock,
    limits: { ...defaultLimits, followEntriesMax: 10 },
    report: (sighting) => sightings.push(sighting),
  })
  return {
    ledger,
    watched,
    clock,
    sightings,
    watching,
    position: (workspace) => counting.position(workspace),
    write: (workspace, count = 1) =>
      ledger.record(
        testWorkspace(workspace),
        Array.from({ length: count }, () => testEvent()),
      ),
    seen: (kind, workspace) =>
      sightings.filter(
        (sighting) =>
          sighting.kind === kind &&
          (workspace === undefined ||
            (sighting.kind !== "audited" && sighting.workspace === workspace)),
      ).length,
  }
}

function countingCheckpointer(clock: Clock): Checkpointer {
  const sizes = new Map<string, number>()
  const signed = new Map<string, Checkpoint>()
  const since = new Map<string, number>()
  return {
    position: async (workspace) => sizes.get(workspace) ?? 0,
    async take(workspace, pieces) {
      if (!since.has(workspace)) since.set(workspace, clock.now())
      const last = pieces.at(-1)?.sequences.at(-1)
      if (last !== undefined) sizes.set(workspace, last)
    },
    async sign(workspace) {
      const size = sizes.get(workspace) ?? 0
      since.delete(workspace)
      if (size > (signed.get(workspace)?.size ?? 0))
        signed.set(workspace, { size, root: new Uint8Array(32), note: "", signedMs: clock.now() })
      return signed.get(workspace)
    },
    unsignedSinceMs: (workspace) => since.get(workspace),
    signedLast: (workspace) => signed.get(workspace),
  }
}

function idleAuditor(look: Auditor["look"] = async () => {}): Auditor {
  return { dueMs: () => Infinity, step: async () => {}, look, save: async () => {} }
}

/** Waits until nothing can run without the clock. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test("entries are followed at once, and signed at most once per interval", async () => {
  const house = openHouse()
  await house.write("acme", 35)
  house.watching.poke(["acme"])
  await settled()
  assert.equal(await house.position("acme"), 35)
  assert.equal(house.seen("signed"), 1, "the first is signed at once")
  for (let step = 1; step <= 20; step++) {
    house.clock.advance(everyMs / 10)
    await house.write("acme")
    house.watching.poke(["acme"])
    await settled()
    assert.equal(await house.position("acme"), 35 + step)
    assert.equal(house.seen("signed"), 1 + Math.floor(step / 10), `after ${step} tenths`)
  }
  // The last one is signed when its time has come, without another poke.
  await house.write("acme")
  house.watching.poke(["acme"])
  await settled()
  house.clock.advance(everyMs - 1)
  await settled()
  assert.equal(house.seen("signed"), 3)
  house.clock.advance(1)
  await settled()
  assert.equal(house.seen("signed"), 4)
  // Nothing new, nothing signed.
  for (let step = 0; step < 5; step++) {
    house.clock.advance(everyMs)
    house.watching.poke(["acme"])
    await settled()
  }
  assert.equal(house.seen("signed"), 4)
  await house.watching.close()
  await expectChain(house.watched.journal, "acme")
})

test("a request for a proof makes the service sign at once, with all entries so far", async () => {
  const house = openHouse()
  await house.write("acme")
  house.watching.poke(["acme"])
  await settled()
  await house.write("acme", 25)
  assert.equal((await house.watching.seal("acme"))?.size, 26)
  const [one, two] = await Promise.all([house.watching.seal("acme"), house.watching.seal("empty")])
  assert.deepEqual([one?.size, two], [26, undefined])
  await house.watching.close()
  await expectChain(house.watched.journal, "acme")
})

test("a seal of a workspace that is written to all the time ends, and does not hold up others", async () => {
  let isBusy = true
  const house = openHouse({
    journal: (journal) => ({
      ...journal,
      async linked(workspace, ...asked) {
        const pieces = await journal.linked(workspace, ...asked)
        if (isBusy && workspace === "busy") await house.write(workspace)
        return pieces
      },
    }),
  })
  await house.write("busy", 25)
  await house.write("acme")
  const sealed: (number | undefined)[] = []
  for (const workspace of ["busy", "acme"])
    void house.watching.seal(workspace).then((checkpoint) => sealed.push(checkpoint?.size))
  await settled()
  isBusy = false
  await settled()
  const [busy = 0, acme] = sealed
  assert.ok(busy >= 25 && busy < 35, `sealed at ${busy}`)
  assert.equal(acme, 1)
  await house.watching.close()
  await expectChain(house.watched.journal, "busy")
})

test("if the lease of a workspace is unknown, it is asked again, without another entry", async () => {
  let told: boolean | undefined
  const house = openHouse({ hold: async () => told })
  await house.write("acme", 5)
  house.watching.poke(["acme"])
  await settled()
  assert.deepEqual(house.sightings, [], "nobody was told that others follow it")
  told = true
  house.clock.advance(1000)
  await settled()
  assert.equal(await house.position("acme"), 5)
  assert.equal(house.seen("signed"), 1)
  // The same if the lease is unknown when it is time to sign.
  await house.write("acme")
  house.watching.poke(["acme"])
  await settled()
  told = undefined
  house.clock.advance(everyMs)
  await settled()
  assert.equal(house.seen("signed"), 1)
  told = true
  house.clock.advance(1000)
  await settled()
  house.clock.advance(everyMs)
  await settled()
  assert.equal(house.seen("signed"), 2)
  await house.watching.close()
  await expectChain(house.watched.journal, "acme")
})

test("if another server takes a workspace over, its entries are no longer awaited here", async () => {
  let isOurs = true
  const house = openHouse({ hold: async () => isOurs })
  await house.write("acme", 5)
  house.watching.poke(["acme"])
  await settled()
  const covered: Sighting = { kind: "covered", workspace: "acme", sequence: 5 }
  assert.deepEqual(
    house.sightings.findLast(({ kind }) => kind === "covered"),
    covered,
  )
  // It is followed here, and signed there.
  await house.write("acme")
  house.watching.poke(["acme"])
  await settled()
  isOurs = false
  house.clock.advance(everyMs)
  await settled()
  assert.equal(house.seen("signed"), 1)
  assert.equal(house.seen("left", "acme"), 1)
  await house.watching.close()
  await expectChain(house.watched.journal, "acme")
})

test("no lag is negative, because their sum would fall", async () => {
  const nowMs = new TestClock().now()
  const house = openHouse({
    // The clock was set back since the entries were taken.
    checkpointer: (it) => ({ ...it, unsignedSinceMs: () => nowMs + 60_000 }),
  })
  await house.write("acme")
  house.watching.poke(["acme"])
  await settled()
  const signed = house.sightings.find((sighting) => sighting.kind === "signed")
  assert.equal(signed?.lagMs, 0)
  await house.watching.close()
})

test("entries that another server has followed or signed count as covered here too", async () => {
  // Its tree has grown elsewhere, so nothing is taken here.
  const grownElsewhere = (it: Checkpointer): Checkpointer => ({
    ...it,
    position: async () => 5,
    sign: async () => ({ size: 5, root: new Uint8Array(32), note: "", signedMs: 0 }),
  })
  const house = openHouse({ checkpointer: grownElsewhere })
  await house.write("acme", 5)
  house.watching.poke(["acme"])
  await settled()
  assert.equal(house.seen("signed"), 0)
  const covered: Sighting = { kind: "covered", workspace: "acme", sequence: 5 }
  assert.deepEqual(
    house.sightings.findLast(({ kind }) => kind === "covered"),
    covered,
  )
  await house.watching.close()
  await expectChain(house.watched.journal, "acme")
})

test("a workspace with a broken chain is reported once and halted, and the others continue", async () => {
  const house = openHouse({
    checkpointer: (it) => ({
      ...it,
      async take(workspace, pieces) {
        if (workspace === "broken") throw new IntegrityError("entry 1: the body has another hash")
        await it.take(workspace, pieces)
      },
    }),
  })
  for (const workspace of ["broken", "acme"]) await house.write(workspace, 3)
  for (const _ of [1, 2, 3]) {
    house.watching.poke(["broken", "acme"])
    await settled()
    house.clock.advance(everyMs)
    await settled()
  }
  assert.equal(house.seen("broken"), 1)
  assert.deepEqual(
    house.sightings.find(({ kind }) => kind === "broken"),
    { kind: "broken", workspace: "broken", detail: "entry 1: the body has another hash", from: 1 },
  )
  assert.equal(house.seen("signed", "broken"), 0)
  assert.equal(await house.position("broken"), 0)
  assert.equal(await house.watching.seal("broken"), undefined)
  assert.equal((await house.watching.seal("acme"))?.size, 3)
  await house.watching.close()
  await expectChain(house.watched.journal, "acme")
})

test("a stop waits until the finding of a broken chain is stored, and says if it was not", async () => {
  const looking = Promise.withResolvers<void>()
  const house = openHouse({
    checkpointer: (it) => ({
      ...it,
      take: async () => assert.fail(new IntegrityError("entry 1: the body has another hash")),
    }),
    look: () => looking.promise,
  })
  await house.write("broken")
  house.watching.poke(["broken"])
  await settled()
  assert.equal(house.seen("broken"), 1)
  let isClosed = false
  const closed = house.watching.close().then(() => (isClosed = true))
  await settled()
  assert.equal(isClosed, false)
  looking.reject(new Error("the disk is full"))
  await closed
  assert.equal(house.seen("failed", "broken"), 1)
})

test("another process that is ahead is no failure, and it is tried again", async () => {
  let isAhead = true
  const house = openHouse({
    checkpointer: (it) => ({
      ...it,
      take: async (...asked) => {
        if (isAhead) throw new OvertakenError("another process is ahead")
        return it.take(...asked)
      },
    }),
  })
  await house.write("acme", 3)
  house.watching.poke(["acme"])
  await settled()
  assert.deepEqual([house.seen("overtaken"), house.seen("failed")], [1, 0])
  isAhead = false
  house.clock.advance(1000)
  await settled()
  assert.equal((await house.watching.seal("acme"))?.size, 3)
  await house.watching.close()
  await expectChain(house.watched.journal, "acme")
})

test("any other failure is reported and tried again, without another write", async () => {
  let failing = true
  const house = openHouse({
    journal: (journal) => ({
      ...journal,
      linked: (...asked) =>
        failing ? Promise.reject(new Error("no answer")) : journal.linked(...asked),
    }),
  })
  await house.write("acme", 3)
  house.watching.poke(["acme"])
  await settled()
  assert.equal(house.seen("failed"), 1)
  house.clock.advance(1000)
  await settled()
  assert.equal(house.seen("failed"), 2)
  failing = false
  house.clock.advance(1000)
  await settled()
  assert.equal(await house.position("acme"), 3)
  house.clock.advance(1000)
  await settled()
  assert.equal(house.seen("signed"), 1)
  await house.watching.close()
  await expectChain(house.watched.journal, "acme")
})

test("a stop signs the followed entries, and ends all waiting", async () => {
  const house = openHouse()
  await house.write("acme")
  house.watching.poke(["acme"])
  await settled()
  await house.write("acme")
  house.watching.poke(["acme"])
  await settled()
  assert.equal(house.seen("signed"), 1)
  const waiting = house.watching.seal("acme")
  await house.watching.close()
  assert.equal((await waiting)?.size, 2)
  assert.equal(house.seen("signed"), 2)
  await assert.rejects(house.watching.seal("acme"), /stopped/)
  await expectChain(house.watched.journal, "acme")
})

test("a stop ends in time, and leaves further signatures to the next start", async () => {
  const house = openHouse({
    checkpointer: (it) => ({
      ...it,
      async sign(workspace) {
        house.clock.advance(100)
        return it.sign(workspace)
      },
    }),
  })
  const names = Array.from({ length: 40 }, (_, at) => `workspace-${at}`)
  for (const name of names) await house.write(name)
  house.watching.poke(names)
  await house.watching.close()
  assert.equal(house.seen("signed"), defaultLimits.lastSigningMs / 100)
  for (const name of names) await expectChain(house.watched.journal, name)
})
