import assert from "node:assert/strict"
import test from "node:test"
import { parseBody, parseRecord, readDestroyed } from "@tallystick/proof"
import { systemClock, type Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { consentAction, withdrawalAction } from "../ledger/consent.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { cacheRegistry } from "../store/cached-documents.ts"
import { unpaced } from "../runtime/pace.ts"
import { TestClock } from "../runtime/test-clock.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import { changed, type Change } from "../store/documents.ts"
import { readState, stateChange } from "../store/retention-state.ts"
import type { Store } from "../store/store.ts"
import { findDue } from "./due-entries.ts"
import type { ActiveHold } from "./held-entries.ts"
import { createExpiry, startExpiry, type ExpiryParts } from "./expiry.ts"

// Two processes with one database. A process may see changes of the other one late.

const staleMsMax = 3000
const dayMs = 86_400_000
const by = { kind: "instance" } as const
const count = 40

async function openHouse() {
  const { served, filing } = openMemory()
  const { registry, journal } = served
  let nowMs = Date.UTC(2026, 0, 1)
  const workspace = testWorkspace("acme", { retention: [{ days: 1 }] })
  const outside = openTestLedger(journal, { clock: { ...systemClock, now: () => nowMs }, registry })
  const { id, value } = workspace
  const created: Change = { kind: "workspace", id, version: 0, value }
  await outside.record(workspace, [testEvent({})], [created])
  await outside.record(
    workspace,
    Array.from({ length: count - 1 }, () => testEvent({ receivedAtMs: nowMs })),
  )
  nowMs += 2 * dayMs

  // The only use of the index is the size of the checkpoint.
  const store = {
    journal,
    index: { checkpoint: async () => ({ size: covered }) },
  } as unknown as Store
  let covered = count

  const findAll: ExpiryParts["due"] = (question) => findDue(journal, question, unpaced)
  const startProcess = ({
    due = findAll,
    destroys = async () => {},
    appendsMax = Infinity,
  } = {}) => {
    let appends = 0
    let elapsedMs = 0
    let isDying = false
    const clock: Clock = {
      now: () => nowMs,
      elapsed: () => elapsedMs,
      sleep: async (ms) => void (elapsedMs += ms),
    }
    const cached = cacheRegistry({ ...registry, staleMsMax }, clock)
    const ledger = openTestLedger(
      {
        ...journal,
        async append(group) {
          if (++appends > appendsMax) throw new LedgerError("storage_full", "nothing was recorded")
          const outcome = await journal.append(group)
          cached.forget(group.workspace, group.changes ?? [])
          return outcome
        },
      },
      { clock, registry: cached },
    )
    const expiry = createExpiry({
      registry: cached,
      ledger,
      clock,
      store,
      due,
      content: {
        ...filing.content,
        isOurs: async () => true,
        async destroyBodies(...asked) {
          if (isDying) throw new Error("killed")
          await destroys()
          return filing.content.destroyBodies(...asked)
        },
      },
      removeFromArchive: async () => {},
      forget: async () => {},
    })
    return {
      run: () => expiry.run(by, workspace),
      /** Caches what it reads now. */
      read: async () => {
        await cached.get("workspace", id, id)
        await cached.get("retention-state", id, "state")
        await cached.get("destroyed", id, "000000000")
      },
      async dieInRun() {
        isDying = true
        await assert.rejects(expiry.run(by, workspace), /killed/)
      },
    }
  }
  return {
    startProcess,
    findAll,
    /** The journal lacks one of the entries. */
    dueUpTo(last: number, lacking?: number) {
      let reads = 0
      const after: Store["journal"]["after"] = async (workspaceId, sequence, limit) => {
        assert.ok(++reads < 100, "it reads the same entries again and again")
        const entries = await journal.after(workspaceId, sequence, limit + 1)
        return entries.filter((one) => one.sequence !== lacking).slice(0, limit)
      }
      const rules = value.retention ?? []
      const question = { workspace: id, rules, holds: [], after: 0, upTo: last, nowMs }
      return findDue({ after }, question, unpaced)
    },
    /** The body of one entry is not the one that was recorded. */
    async dueWithChanged(sequence: number) {
      const after: Store["journal"]["after"] = async (...asked) =>
        (await journal.after(...asked)).map((entry) =>
          entry.sequence === sequence && entry.body !== undefined
            ? { ...entry, body: Buffer.from(String(Buffer.from(entry.body)).replace("usr", "USR")) }
            : entry,
        )
      const rules = value.retention ?? []
      const question = { workspace: id, rules, holds: [], after: 0, upTo: count, nowMs }
      return findDue({ after }, question, unpaced)
    },
    cover: (sequence: number) => (covered = sequence),
    /** Another process ends the rules. */
    async keepForEver() {
      const state = await readState(registry, id)
      const changes = [
        changed(workspace, { ...value, retention: [] }),
        stateChange(state, state.value),
      ]
      await outside.record(workspace, [testEvent({})], changes)
    },
    /** The sequences that entries record as destroyed, in order, with repetitions. */
    async recorded() {
      const all: number[] = []
      for (const { record, sequence, body } of await journal.after(id, 0, 1000)) {
        const kind = parseRecord(record)?.kind ?? "event"
        const read = body && parseBody(body, id)
        if (typeof read !== "object") continue
        for (const { first, last } of readDestroyed(kind, sequence, read)?.bodies ?? [])
          for (let at = first; at <= last; at++) all.push(at)
      }
      return all.toSorted((a, b) => a - b)
    },
    async expectGone(sequences: readonly number[]) {
      const entries = await journal.after(id, 0, count)
      const gone = entries.flatMap((one) => (one.body === undefined ? [one.sequence] : []))
      assert.deepEqual(gone, sequences)
      await expectChain(journal, id)
    },
  }
}

const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1)

test("contents that a dead process has recorded as expired are destroyed by the next, and recorded once", async () => {
  const house = await openHouse()
  house.cover(10)
  const [first, second] = [house.startProcess(), house.startProcess()]
  await first.run()
  await second.read()
  house.cover(count)
  await first.dieInRun()
  // Its cache says that no run is open.
  await second.run()
  assert.deepEqual(await house.recorded(), upTo(count))
  await house.expectGone(upTo(count))
})

test("a run that ends on a full disk says that nothing was recorded only if that is true", async () => {
  const house = await openHouse()
  /** In two steps. */
  const due: ExpiryParts["due"] = async (question) =>
    question.after === 0
      ? { ...(await house.findAll({ ...question, upTo: 10 })), isEnd: false }
      : await house.findAll(question)
  await assert.rejects(house.startProcess({ due, appendsMax: 0 }).run(), { code: "storage_full" })
  assert.deepEqual(await house.recorded(), [])
  const partly = house.startProcess({ due, appendsMax: 1 }).run()
  await assert.rejects(partly, { code: "ledger_unavailable" })
  assert.deepEqual(await house.recorded(), upTo(10))
  // Of the run before it, and of its own contents. Its end is not recorded.
  const unended = house.startProcess({ appendsMax: 2 }).run()
  await assert.rejects(unended, { code: "ledger_unavailable" })
  await house.startProcess().run()
  assert.deepEqual(await house.recorded(), upTo(count))
  await house.expectGone(upTo(count))
})

test("a run that grew is not done before all of it is destroyed", async () => {
  const house = await openHouse()
  house.cover(10)
  const [first, second] = [house.startProcess(), house.startProcess()]
  await first.dieInRun()
  // It reads what the first has recorded so far, and that all of it is still there.
  await second.read()
  await house.startProcess().run()
  house.cover(count)
  await house.startProcess().dieInRun()
  await second.run()
  assert.deepEqual(await house.recorded(), upTo(count))
  await house.expectGone(upTo(count))
})

test("a run that grows while another process finishes it is not done before all of it is destroyed", async () => {
  const house = await openHouse()
  const [isRead, mayGrow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = house.startProcess({
    async due(question) {
      if (question.after === 0)
        return { ...(await house.findAll({ ...question, upTo: 10 })), isEnd: false }
      isRead.resolve()
      await mayGrow.promise
      return house.findAll(question)
    },
  })
  const died = first.dieInRun()
  await isRead.promise
  const second = house.startProcess({
    async destroys() {
      mayGrow.resolve()
      await died
    },
  })
  await second.run()
  assert.deepEqual(await house.recorded(), upTo(count))
  await house.expectGone(upTo(count))
})

test("contents that another process destroyed meanwhile are not recorded again", async () => {
  const house = await openHouse()
  house.cover(20)
  const before = await house.dueUpTo(20)
  await house.startProcess().run()
  await house.startProcess({ due: async () => before }).run()
  assert.deepEqual(await house.recorded(), upTo(20))
  await house.expectGone(upTo(20))
})

test("nothing expires by rules that another process has just ended", async () => {
  const house = await openHouse()
  const late = house.startProcess()
  await late.read()
  await house.keepForEver()
  await late.run()
  assert.deepEqual(await house.recorded(), [])
  await house.expectGone([])
})

test("a missing entry at the end of what may expire does not keep the search for due entries going", async () => {
  const house = await openHouse()
  const due = await house.dueUpTo(10, 10)
  assert.deepEqual([due.last, due.isEnd], [9, true])
})

test("what is not as it was recorded does not expire: nobody could show later that it was changed", async () => {
  const house = await openHouse()
  const { ranges } = await house.dueWithChanged(7)
  assert.deepEqual(ranges, [
    [
      { first: 1, last: 6 },
      { first: 8, last: count },
    ],
  ])
})

test("while a hold keeps a consent, its withdrawal does not expire: the consent would be valid again", async () => {
  const { journal, registry } = openMemory().served
  const workspace = testWorkspace("acme")
  const consent = (action: string) => testEvent({ kind: "consent", action })
  const events = [testEvent(), consent(consentAction), consent(withdrawalAction)]
  await openTestLedger(journal, { registry }).record(workspace, events)
  const [, given] = await journal.after("acme", 0, 3)
  const due = (holds: readonly ActiveHold[]) => {
    const rules = [{ days: 1 }, { action: "policy.consent", days: 1 }]
    const nowMs = Date.UTC(2026, 1, 1)
    const question = { workspace: "acme", rules, holds, after: 0, upTo: 3, nowMs }
    return findDue(journal, question, unpaced)
  }
  const hold = { id: "hold", scope: { receiptIds: [given?.receipt ?? ""] } }
  const event = { first: 1, last: 1 }
  assert.partialDeepStrictEqual(await due([hold]), { ranges: [[event], []], held: 2 })
  const both = [[event], [{ first: 2, last: 3 }]]
  assert.partialDeepStrictEqual(await due([]), { ranges: both, held: 0 })
})

test("after workspaces could not be listed once, contents still expire", async () => {
  const { registry, journal } = openMemory().served
  const workspace = testWorkspace("acme")
  const created: Change = { ...workspace, version: 0 }
  await openTestLedger(journal, { registry }).record(workspace, [testEvent({})], [created])
  const ran = Promise.withResolvers<unknown>()
  const failures: unknown[] = []
  const expiring = startExpiry(
    {
      expiry: { run: async () => ({ entries: 7, held: 0 }), finish: async () => {} },
      registry: {
        async list(...asked) {
          if (failures.length === 0) throw new Error("the database is away")
          return registry.list(...asked)
        },
      },
      clock: systemClock,
      everyMs: 1,
      newestMs: undefined,
      isOff: () => undefined,
    },
    { ran: ran.resolve, doubted: () => undefined, failed: (_, error) => failures.push(error) },
  )
  const result = await Promise.race([ran.promise, systemClock.sleep(5000)])
  assert.deepEqual(result, { entries: 7, held: 0 })
  assert.deepEqual(failures, [new Error("the database is away")])
  await expiring.close()
})

test("nothing expires by a clock that has moved ahead until it has run steadily for as long, or for 20 hours", async () => {
  const { registry, journal } = openMemory().served
  const workspace = testWorkspace("acme")
  const created: Change = { ...workspace, version: 0 }
  await openTestLedger(journal, { registry }).record(workspace, [testEvent({})], [created])
  const hourMs = 3_600_000
  /** What happens at each look of a service whose newest entry is this old. */
  const begin = async (restMs: number | undefined) => {
    const clock = new TestClock()
    const set = { ms: 0 }
    const did: string[] = []
    const expiring = startExpiry(
      {
        expiry: {
          async run() {
            did.push("expired")
            // As where another process does it: so this one tries again at the next look.
            return undefined
          },
          finish: async () => void did.push("no"),
        },
        registry,
        clock: {
          now: () => clock.now() + set.ms,
          elapsed: () => clock.elapsed(),
          sleep: (delayMs) => clock.sleep(delayMs),
        },
        everyMs: hourMs,
        newestMs: restMs === undefined ? undefined : clock.now() - restMs,
        isOff: () => undefined,
      },
      {
        ran: () => undefined,
        doubted: (aheadMs) => did.push(`ahead by ${aheadMs / hourMs}`),
        failed: (_, error) => did.push(String(error)),
      },
    )
    const looks = async (byMs = 0, count = 1): Promise<string> => {
      for (let look = 0; look < count; look++) {
        clock.advance(byMs)
        for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
      return did.splice(0).join(", ")
    }
    const close = () => {
      clock.advance(hourMs)
      return expiring.close()
    }
    return { looks, set, close }
  }
  const many = (what: string, count: number) => Array.from({ length: count }, () => what).join(", ")
  const { looks, set, close } = await begin(undefined)
  assert.equal(await looks(), "no", "a start")
  assert.equal(await looks(600_000), "expired", "ten minutes after a start")
  set.ms = 30 * dayMs
  assert.equal(await looks(hourMs), "ahead by 720, no")
  set.ms = 20 * dayMs
  assert.equal(await looks(hourMs, 20), `ahead by 480, ${many("no", 20)}`)
  set.ms = -500
  assert.equal(await looks(hourMs), "expired", "set right")
  set.ms = -30 * dayMs
  assert.equal(await looks(hourMs), "expired", "behind")
  set.ms = 0
  assert.equal(await looks(hourMs), "expired", "no longer behind")
  set.ms = 2 * hourMs
  assert.equal(await looks(hourMs, 3), "no, no, expired", "ahead by two hours")
  set.ms += 30 * dayMs
  assert.equal(await looks(hourMs, 21), `ahead by 720, ${many("no", 20)}, expired`)
  await close()
  for (const [restMs, said, hours] of [
    [5000, "no", 0],
    [2.5 * hourMs, "no", 3],
    [2000 * dayMs, "ahead by 48000, no", 20],
  ] as const) {
    const started = await begin(restMs)
    assert.equal(await started.looks(), said)
    const until = [...Array.from({ length: hours }, () => "no"), "expired"]
    const seen = [await started.looks(600_000)]
    for (let hour = 0; hour < hours; hour++) seen.push(await started.looks(hourMs))
    assert.deepEqual(seen, until, `${restMs}`)
    await started.close()
  }
})
