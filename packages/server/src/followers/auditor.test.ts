import assert from "node:assert/strict"
import test from "node:test"
import { createFrontier, eventHash } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import type { Ledger } from "../ledger/ledger.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { sha256 } from "../runtime/sha256.ts"
import { expectChain } from "../store/expect-chain.ts"
import type { SignedHead } from "../store/heads.ts"
import { openMemory } from "../store/memory.ts"
import type { Stored } from "../store/entries.ts"
import type { Audit, Finding } from "../store/index-state.ts"
import type { JournalReader } from "../store/store.ts"
import { createAuditor, type AuditSummary, type Auditor } from "./auditor.ts"

const roundEveryMs = 60_000
const perSecond = 50
const startMs = Date.parse("2027-01-15T08:00:00Z")

/** A clock that moves only on request. */
class TestClock implements Clock {
  ms = 0
  now(): number {
    return startMs + this.ms
  }
  elapsed(): number {
    return this.ms
  }
  async sleep(): Promise<void> {}
}

interface House {
  readonly ledger: Ledger
  readonly journal: JournalReader
  readonly clock: TestClock
  readonly signed: Map<string, SignedHead>
  /** Changes the entries that the auditors read. */
  bend: (entries: readonly Stored[]) => readonly Stored[]
  /** Whether the index refuses to store what the auditors have found. */
  isIndexFull: boolean
  /** Whether this process follows the workspaces. */
  follows: boolean
  audit(id: string): Promise<Audit | undefined>
  make(id: string, count: number): Promise<void>
  write(id: string, count: number): Promise<void>
  open(): Opened
}

interface Opened {
  readonly auditor: Auditor
  readonly found: Finding[]
  readonly failed: string[]
  readonly summaries: AuditSummary[]
  /** Steps when they are due, until a round is complete. */
  readonly round: () => Promise<AuditSummary>
}

function openHouse(): House {
  const { served, watched } = openMemory()
  const clock = new TestClock()
  const signed = new Map<string, SignedHead>()
  const ledger = openTestLedger(served.journal, { clock })
  const journal: JournalReader = {
    ...watched.journal,
    after: async (workspace, sequence, limit) =>
      house.bend(await watched.journal.after(workspace, sequence, limit)),
    at: async (workspace, sequences) =>
      (await watched.journal.at(workspace, sequences)).map((entry) =>
        entry === undefined ? undefined : house.bend([entry])[0],
      ),
  }
  const write = async (id: string, count: number): Promise<void> => {
    const document = testWorkspace(id)
    await ledger.record(
      document,
      Array.from({ length: count }, (_, place) => ({
        ...said,
        idempotency: { route: "/v1/events", key: `a-key-of-${id}-${place}` },
      })),
    )
  }
  const house: House = {
    ledger,
    journal: watched.journal,
    clock,
    signed,
    bend: (entries) => entries,
    isIndexFull: false,
    follows: true,
    audit: (id) => watched.index.audit(id),
    write,
    async make(id, count) {
      const document = testWorkspace(id)
      const made = { ...said, kind: "admin", action: "workspace.create" } as const
      await ledger.record(document, [made], [{ ...document, version: 0 }])
      await write(id, count - 1)
      const entries = await watched.journal.after(id, 0, count)
      const tree = createFrontier(undefined, sha256)
      for (const { record } of entries) tree.append(eventHash(record, sha256))
      signed.set(document.value.origin, { size: count, root: tree.root() })
    },
    open: () => openAuditor(),
  }
  function openAuditor(): Opened {
    const [found, failed, summaries]: [Finding[], string[], AuditSummary[]] = [[], [], []]
    const auditor = createAuditor(
      {
        journal,
        leases: { ...watched.leases, hold: async () => house.follows },
        index: {
          ...watched.index,
          async putAudit(...asked) {
            if (house.isIndexFull) throw new Error("the disk is full")
            return watched.index.putAudit(...asked)
          },
        },
        registry: watched.registry,
        heads: { get: async (origin) => signed.get(origin) },
        isGenuine: () => assert.fail("the index has no checkpoint"),
        clock,
        limits: { auditEntriesPerSecond: perSecond, auditRoundEveryMs: roundEveryMs },
      },
      {
        found: (finding) => found.push(finding),
        failed: (workspace, detail) => failed.push(`${workspace}: ${detail}`),
        summarise: (summary) => summaries.push(summary),
      },
    )
    const round = async (): Promise<AuditSummary> => {
      for (let steps = 0; steps < 1000; steps++) {
        clock.ms = Math.max(clock.ms, auditor.dueMs())
        await auditor.step()
        // Between two rounds it waits for longer than between two steps.
        if (auditor.dueMs() > clock.ms + roundEveryMs / 2)
          return summaries.at(-1) ?? assert.fail("nothing was told")
      }
      assert.fail("the round does not end")
    }
    return { auditor, found, failed, summaries, round }
  }
  return house
}

const said = testEvent({ receivedAtMs: startMs })

test("a round re-verifies every entry of every workspace, no faster than it may", async () => {
  const house = openHouse()
  for (const [id, count] of [
    ["one", 35],
    ["two", 1],
    ["three", 70],
  ] as const)
    await house.make(id, count)
  const { auditor, round, found, failed } = house.open()
  const summary = await round()
  assert.deepEqual(
    [summary.round, summary.entries, summary.verified, summary.failed, found, failed],
    [1, 106, 106, 0, [], []],
  )
  const tookMs = house.clock.ms
  assert.ok(
    tookMs >= ((106 - 2 * (perSecond / 5)) * 1000) / perSecond,
    `106 entries took ${tookMs} ms`,
  )
  assert.ok(auditor.dueMs() >= roundEveryMs, "a small ledger is left in peace until the next round")
  assert.equal((await round()).verified, 212)
  for (const id of ["one", "two", "three"]) await expectChain(house.journal, id)
})

test("entries that a round has not re-verified were verified since the previous round began", async () => {
  const house = openHouse()
  await house.make("one", 30)
  const { auditor, summaries, round } = house.open()
  await auditor.step()
  assert.equal(
    summaries[0]?.sinceMs,
    Date.parse("2026-01-01T00:00:00Z"),
    "before the first round: since there is a workspace",
  )
  const first = await round()
  assert.equal(first.sinceMs, startMs)
  const second = await round()
  assert.equal(
    summaries.find((summary) => summary.round === 2 && summary.entries < 30)?.sinceMs,
    startMs,
  )
  assert.equal(second.sinceMs, startMs + roundEveryMs)
  await expectChain(house.journal, "one")
})

test("the verified ranges are stored: this round's entries, and after them those of the previous round", async () => {
  const house = openHouse()
  await house.make("one", 30)
  const checked = async () => (await house.audit("one"))?.checked
  const first = house.open()
  await first.auditor.step()
  await first.auditor.save()
  const part = { to: perSecond / 5 - 5, sinceMs: startMs }
  assert.deepEqual(await checked(), [part], "no more than was read")
  await first.round()
  assert.deepEqual(await checked(), [{ to: 30, sinceMs: startMs }])

  await house.write("one", 34)
  house.clock.ms = first.auditor.dueMs()
  const sinceMs = house.clock.now()
  await first.auditor.step()
  await first.auditor.save()
  assert.deepEqual(await checked(), [
    { ...part, sinceMs },
    { to: 30, sinceMs: startMs },
  ])
  const second = house.open()
  house.clock.ms += 1000
  await second.auditor.step()
  await second.auditor.save()
  const [own, ...earlier] = (await checked()) ?? []
  assert.ok((own?.to ?? 0) > part.to, "a restart goes on")
  assert.deepEqual([own?.sinceMs, earlier], [sinceMs, [{ to: 30, sinceMs: startMs }]])
  await second.round()
  assert.deepEqual(await checked(), [{ to: 35, sinceMs }])

  house.bend = (entries) =>
    entries.map((entry) => (entry.sequence === 17 ? { ...entry, body: undefined } : entry))
  const brokenMs = second.auditor.dueMs()
  await second.round()
  assert.deepEqual(await checked(), [
    { to: 16, sinceMs: startMs + brokenMs },
    { to: 35, sinceMs },
  ])
  house.bend = (entries) => entries
  await expectChain(house.journal, "one")
})

type Bend = (entry: Stored) => Stored | undefined

/** Damages to entry 17 of 30, and the fault that is found. */
const damages: Readonly<Record<string, readonly [bend: Bend, sequence: number, says: RegExp]>> = {
  "a byte of the record": [
    (entry) => ({ ...entry, record: flipped(entry.record, 5) }),
    17,
    /entry 17/,
  ],
  "a byte of the link": [
    (entry) => ({ ...entry, record: flipped(entry.record, 60) }),
    17,
    /entry 17: its record/,
  ],
  "the record's time, which only the next entry and the tree know": [
    (entry) => ({ ...entry, record: flipped(entry.record, 15) }),
    18,
    /entry 1[78]: its record/,
  ],
  "a byte of the body": [
    (entry) => ({ ...entry, body: flipped(entry.body, 9) }),
    17,
    /entry 17: its body does not match/,
  ],
  "a byte of the salt": [
    (entry) => ({ ...entry, bodySalt: flipped(entry.bodySalt, 3) }),
    17,
    /entry 17: its body does not match/,
  ],
  "no body": [(entry) => ({ ...entry, body: undefined }), 17, /entry 17: its body is missing/],
  "a letter of what is sealed": [
    (entry) => ({ ...entry, disclosures: entry.disclosures.replace(/^W/, "X") }),
    17,
    /entry 17: its sealed fields do not match its body/,
  ],
  "nothing of what is sealed": [
    (entry) => ({ ...entry, disclosures: "" }),
    17,
    /entry 17: \d of its sealed fields are missing/,
  ],
  "another receipt beside it": [
    (entry) => ({ ...entry, receipt: "rcp_0" }),
    17,
    /entry 17: it is stored under another receipt/,
  ],
  "no key beside it": [
    (entry) => ({ ...entry, idem: undefined }),
    17,
    /entry 17: it is stored under another idempotency key/,
  ],
  "nothing at all": [
    () => undefined,
    17,
    /entry 18: its record has the index 17|entry 17: it is missing/,
  ],
}

function flipped(bytes: Uint8Array | undefined, at: number): Uint8Array {
  const copy = Uint8Array.from(bytes ?? [])
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

for (const [what, [bend, sequence, says]] of Object.entries(damages)) {
  test(`found: ${what}`, async () => {
    const house = openHouse()
    for (const id of ["before", "acme", "after"]) await house.make(id, 30)
    const { found, round } = house.open()
    assert.equal((await round()).failed, 0, "the canary: nothing is wrong yet")
    house.bend = (entries) =>
      entries.flatMap((entry) =>
        entry.workspace === "acme" && entry.sequence === 17 ? (bend(entry) ?? []) : [entry],
      )
    const summary = await round()
    assert.deepEqual([found.length, found[0]?.workspace], [1, "acme"])
    assert.ok([17, sequence].includes(found[0]?.sequence ?? 0), `entry ${found[0]?.sequence}`)
    assert.match(found[0]?.detail ?? "", says)
    assert.equal(summary.failed, 1)
    assert.ok(
      summary.entries >= 60 + 16 - 10 && summary.entries < 90,
      "the others were re-verified",
    )
    await round()
    assert.equal(found.length, 1, "what is known is left alone")

    const again = house.open()
    await again.auditor.step()
    assert.deepEqual(
      [again.found.length, again.found[0]?.sequence, again.found[0]?.foundMs],
      [1, found[0]?.sequence, found[0]?.foundMs],
    )
    house.bend = (entries) => entries
    const mended = house.open()
    assert.equal((await mended.round()).entries, 90, "what was mended is re-verified again")
    assert.deepEqual(mended.found, [])
  })
}

test("a reported entry is checked by the auditor before it counts as broken", async () => {
  const house = openHouse()
  await house.make("acme", 30)
  const { auditor, found, failed } = house.open()
  for (const sequence of [1, 17, 30, 31, 99]) await auditor.look("acme", sequence)
  await auditor.look("nobody", 1)
  assert.deepEqual([found, failed], [[], []])
  house.bend = (entries) =>
    entries.map((entry) =>
      entry.sequence === 17 ? { ...entry, body: flipped(entry.body, 9) } : entry,
    )
  await auditor.look("acme", 18)
  assert.deepEqual(found, [], "its neighbour holds")
  for (let read = 0; read < 3; read++) await auditor.look("acme", 17)
  assert.deepEqual(
    found.map(({ workspace, sequence }) => [workspace, sequence]),
    [["acme", 17]],
  )
})

test("an entry that is reported while the auditor starts counts as one finding", async () => {
  const house = openHouse()
  await house.make("acme", 30)
  house.bend = (entries) =>
    entries.map((entry) =>
      entry.sequence === 17 ? { ...entry, body: flipped(entry.body, 9) } : entry,
    )
  const { auditor, found, round } = house.open()
  await Promise.all([auditor.look("acme", 17), auditor.step()])
  const { failed } = await round()
  assert.deepEqual([found.length, failed], [1, 1])
})

test("a finding that could not be stored is stored as soon as that is possible", async () => {
  const house = openHouse()
  for (const id of ["one", "two"]) await house.make(id, 30)
  const { auditor, found, failed } = house.open()
  house.isIndexFull = true
  house.bend = (entries) =>
    entries.map((entry) =>
      entry.sequence === 17 ? { ...entry, body: flipped(entry.body, 9) } : entry,
    )
  await assert.rejects(auditor.look("one", 17), { message: "the disk is full" })
  for (let steps = 0; steps < 5; steps++) await auditor.step()
  assert.equal(await house.audit("one"), undefined)
  assert.match(failed.join(), /the disk is full/)
  house.isIndexFull = false
  for (let steps = 0; steps < 5; steps++) await auditor.step()
  const stored = await Promise.all(["one", "two"].map((id) => house.audit(id)))
  assert.deepEqual(
    stored.map((audit) => audit?.finding),
    ["one", "two"].map((id) => found.find(({ workspace }) => workspace === id)),
  )
})

test("a chain that was rewritten from an entry on, or cut, does not match what was signed", async () => {
  const house = openHouse()
  await house.make("anew", 20)
  await house.make("cut", 20)
  await house.make("same", 20)
  house.signed.set("ledger.example/ledgers/anew", { size: 20, root: new Uint8Array(32).fill(1) })
  house.signed.set("ledger.example/ledgers/cut", { size: 21, root: new Uint8Array(32).fill(1) })
  const { found, round } = house.open()
  await round()
  assert.deepEqual(
    found.map(({ workspace, detail }) => [workspace, detail]),
    [
      ["cut", "it ends at entry 20, before the last of the 21 that were signed"],
      ["anew", "the first 20 entries are not those that were signed"],
    ],
  )
  // A check of a single entry cannot show that the chain is repaired.
  const again = house.open()
  await again.auditor.step()
  assert.deepEqual(again.found, found)
})

test("a restart continues the round", async () => {
  const house = openHouse()
  await house.make("one", 100)
  await house.make("two", 40)
  const first = house.open()
  for (let step = 0; step < 6; step++) {
    house.clock.ms = Math.max(house.clock.ms, first.auditor.dueMs())
    await first.auditor.step()
  }
  await first.auditor.save()
  const done = first.summaries.at(-1)?.entries ?? 0
  assert.ok(done > 0 && done < 140, `${done} entries`)
  const second = house.open()
  const summary = await second.round()
  assert.equal(summary.entries, 140)
  assert.ok(
    summary.verified <= 140 - done && summary.verified > 0,
    `${summary.verified} after the restart, ${done} before`,
  )
  assert.deepEqual([first.found, second.found], [[], []])
  await expectChain(house.journal, "one")
})

test("after a restart a finding holds until it is repaired, also while the archive is unreachable", async () => {
  const house = openHouse()
  for (const id of ["acme", "other"]) await house.make(id, 20)
  const broken = (entries: readonly Stored[]): readonly Stored[] =>
    entries.map((entry) =>
      entry.sequence === 7 ? { ...entry, body: flipped(entry.body, 5) } : entry,
    )
  house.bend = broken
  const before = house.open()
  const { round } = await before.round()
  assert.equal(before.found.length, 2)
  house.bend = (entries) => {
    if (entries[0]?.workspace === "acme")
      throw new LedgerError("archive_unavailable", "the archive cannot be reached")
    return broken(entries)
  }
  const again = house.open()
  await again.auditor.step()
  assert.deepEqual(again.found, before.found)
  assert.deepEqual(again.failed, [])
  // Both are repaired: the round, which has not verified all of them, goes on.
  house.bend = (entries) => entries
  const repaired = house.open()
  const summary = await repaired.round()
  assert.deepEqual([summary.round, summary.verified, repaired.found.length], [round, 40, 0])
})

test("a workspace that cannot be read is reported, is tried again in the next round, and does not delay the others", async () => {
  const house = openHouse()
  for (const id of ["one", "two"]) await house.make(id, 20)
  const { found, failed, round } = house.open()
  house.bend = (entries) => {
    if (entries[0]?.workspace === "two") throw new Error("the disk does not answer")
    return entries
  }
  const summary = await round()
  assert.deepEqual([summary.unread, summary.entries, summary.failed, found], [1, 20, 0, []])
  assert.deepEqual(failed, ["two: re-verifying entry 1: the disk does not answer"])
  house.bend = (entries) => entries
  const next = await round()
  assert.deepEqual([next.unread, next.entries, next.failed], [0, 40, 0])
})

test("constant writes to a workspace do not keep a round from its end", async () => {
  const house = openHouse()
  await house.make("busy", 30)
  const { auditor, round, summaries } = house.open()
  await auditor.step()
  await house.ledger.record(
    testWorkspace("busy"),
    Array.from({ length: 50 }, () => said),
  )
  assert.equal((await round()).entries, 30)
  assert.equal((await round()).entries, 80)
  assert.ok(summaries.every(({ failed }) => failed === 0))
  await expectChain(house.journal, "busy")
})

test("an auditor leaves a workspace to another one that is further ahead, or that follows it", async () => {
  const house = openHouse()
  await house.make("one", 100)
  const [first, second] = [house.open(), house.open()]
  for (const { auditor } of [first, second]) await auditor.step()
  for (const { auditor } of [first, second]) await auditor.save()
  const left = await second.round()
  assert.ok(left.entries < 100 && left.left === 0, `${left.entries} entries`)
  assert.equal((await house.audit("one"))?.isDone, false, "what was kept is the other's")
  assert.equal((await first.round()).entries, 100)
  const kept = await house.audit("one")
  assert.deepEqual([kept?.isDone, kept?.entries], [true, 100])
  house.follows = false
  assert.equal((await first.round()).entries, 0)
  assert.deepEqual(await house.audit("one"), kept)
  assert.deepEqual([first.found, first.failed, second.found, second.failed], [[], [], [], []])
  await expectChain(house.journal, "one")
})
