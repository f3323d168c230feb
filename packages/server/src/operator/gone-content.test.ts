import assert from "node:assert/strict"
import test from "node:test"
import { createFrontier, openBody, parseBody } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { createCheckpointer } from "../followers/checkpointer.ts"
import { recheckEntry } from "../followers/recheck-entry.ts"
import { openWalk, walkOn } from "../followers/walk-chain.ts"
import type { RecordOutcome } from "../ledger/ledger.ts"
import { recheck } from "../ledger/recheck.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { readEntries } from "../query/pack-entries.ts"
import { createCheckpoints } from "../query/verified-checkpoints.ts"
import { findReceipt, showReceipt } from "../query/verified-entries.ts"
import { createLeaves } from "../query/verified-leaves.ts"
import { unpaced } from "../runtime/pace.ts"
import { sha256 } from "../runtime/sha256.ts"
import { disclosuresOf } from "../store/opened-entry.ts"
import { destroyedChanges } from "../store/destroyed.ts"
import { expectChain } from "../store/expect-chain.ts"
import { memoryHeads } from "../store/heads.ts"
import { linkRows } from "../store/linked-rows.ts"
import { openMemory } from "../store/memory.ts"
import type { Stored } from "../store/entries.ts"
import type { Journal } from "../store/store.ts"
import { readRoot } from "../store/tree-reads.ts"

// An entry that lacks its body or a sealed field is intact if an entry records the destruction, and
// is broken otherwise. All checks agree on that.

const clock: Clock = { now: () => Date.UTC(2026, 0, 2), elapsed: () => 0, sleep: async () => {} }
const acme = testWorkspace()
const entries = 6
const [bodiless, fieldless] = [3, 4]
const idempotency = (at: number) => ({ route: "/v1/events" as const, key: `key ${at}` })

async function openHouse() {
  const { served, watched } = openMemory()
  const { registry, index } = served
  const ledger = openTestLedger(served.journal, { clock, registry })
  const write = async (at: number, journal: Journal = served.journal): Promise<RecordOutcome> => {
    const writer = openTestLedger(journal, { clock, registry })
    const [outcome] = await writer.record(acme, [testEvent({ idempotency: idempotency(at) })])
    return outcome ?? assert.fail()
  }
  await ledger.record(acme, [testEvent()], [{ ...acme, version: 0 }])
  for (let at = 2; at <= entries; at++) await write(at)
  const journal = withoutContent(served.journal)
  const [sealed] = await served.journal.at("acme", [fieldless])
  const explain = async (): Promise<void> => {
    const destroyed = {
      why: "erased",
      bodies: [{ first: bodiless, last: bodiless }],
      fields: [{ sequence: fieldless, digests: digestsOf(sealed) }],
    } as const
    const changes = await destroyedChanges(registry, "acme", destroyed, "ers_1")
    await ledger.record(acme, [testEvent()], changes)
  }
  return { served, watched, registry, index, journal, explain, write }
}

function digestsOf(stored: Stored | undefined): readonly string[] {
  const body = parseBody(stored?.body ?? new Uint8Array())
  const opened = typeof body === "string" ? undefined : openBody(body, [], sha256)
  assert.ok(opened?.ok && opened.missing.length > 0 && disclosuresOf(stored ?? assert.fail()))
  return opened.missing
}

/** One entry has lost its body, and another one its sealed fields. */
function withoutContent(journal: Journal): Journal {
  const bare = (stored: Stored): Stored =>
    stored.sequence === bodiless
      ? { ...stored, body: undefined, bodySalt: undefined, disclosures: "" }
      : stored.sequence === fieldless
        ? { ...stored, disclosures: "" }
        : stored
  const after: Journal["after"] = async (...asked) => (await journal.after(...asked)).map(bare)
  return {
    ...journal,
    after,
    at: async (...asked) => (await journal.at(...asked)).map((one) => one && bare(one)),
    linked: async (...asked) => [linkRows(await after(...asked))],
  }
}

type House = Awaited<ReturnType<typeof openHouse>>

/** The result of each check for a chain that lacks a body and a field: a fault or nothing. */
async function faultsFoundBy(house: House): Promise<Readonly<Record<string, string | undefined>>> {
  const { journal, registry, index } = house
  const checkpointer = createCheckpointer({
    journal,
    registry,
    clock,
    index: house.watched.index,
    heads: memoryHeads(),
    signersOf: async () => [],
    isGenuine: async () => true,
    rootAt: (log, size) => readRoot({ journal, index }, log, size),
  })
  const checked = (sequence: number) =>
    recheckEntry({ journal, registry, index, isGenuine: async () => true }, acme, sequence)
  const nothing = createFrontier(undefined, sha256).save()
  const walk = (await openWalk(journal, acme, undefined, nothing)) ?? assert.fail()
  return {
    start: await recheck({ journal, registry }, acme, entries),
    checkpointer: await faultOf(checkpointer.take("acme", await journal.linked("acme", 0, 99))),
    auditor: await faultOf(walkOn({ journal, registry }, walk, 99)),
    body: await checked(bodiless),
    fields: await checked(fieldless),
    sound: await checked(2),
  }
}

async function faultOf(done: Promise<unknown>): Promise<string | undefined> {
  try {
    await done
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

test("every check reports content that is missing without a record", async () => {
  const house = await openHouse()
  const faults = await faultsFoundBy(house)
  for (const name of ["start", "checkpointer", "auditor", "body"])
    assert.match(faults[name] ?? "", /its body is missing, and no entry records/, name)
  assert.match(faults["fields"] ?? "", /sealed fields are missing, and no entry records/)
  assert.equal(faults["sound"], undefined)
  assert.deepEqual(await shownBy(house), { body: "broken", fields: "broken", sound: "pending" })
  await assert.rejects(house.write(bodiless, house.journal), { code: "integrity_failure" })
  await expectChain(house.served.journal, "acme")
})

test("no check reports content whose destruction is recorded", async () => {
  const house = await openHouse()
  await house.explain()
  assert.deepEqual(
    Object.entries(await faultsFoundBy(house)).filter(([, fault]) => fault !== undefined),
    [],
  )
  assert.deepEqual(await shownBy(house), { body: "pending", fields: "pending", sound: "pending" })
  const { kind } = await house.write(bodiless, house.journal)
  assert.equal(kind, "gone", "a replay says that the content is gone")
  const source = { ...house, pace: unpaced }
  const read = async (sequence: number) =>
    (await Array.fromAsync(readEntries(source, acme, [sequence]))).length
  await assert.rejects(read(bodiless), { code: "content_gone" })
  assert.equal(await read(fieldless), 1)
  await expectChain(house.served.journal, "acme")
})

test("an entry without its body shows the fields of its record, and the others are empty", async () => {
  const house = await openHouse()
  await house.explain()
  const shown = JSON.parse((await show(house, bodiless)).entry)
  const [stored] = await house.served.journal.at("acme", [bodiless])
  assert.equal(shown.receipt, stored?.receipt)
  assert.deepEqual(
    [shown.sequence, shown.kind, shown.timestamp, shown.action, shown.projectId],
    [bodiless, "event", "2026-01-02T00:00:00.000Z", "", ""],
  )
  assert.match(shown.hash, /^[0-9a-f]{64}$/)
  const { body, bodySalt, record } = JSON.parse((await show(house, bodiless)).proof)
  assert.deepEqual([body, bodySalt], [null, null])
  assert.equal(record, Buffer.from(stored?.record ?? []).toString("base64"))
  await expectChain(house.served.journal, "acme")
})

async function show({ served, journal }: House, sequence: number) {
  const leaves = createLeaves(served, defaultLimits)
  const isGenuine = () => assert.fail("nothing is signed")
  const checkpoints = createCheckpoints({ store: served, leaves, isGenuine })
  const more = { leaves, checkpoints, haltedFrom: () => undefined, suspect: () => {} }
  const [stored] = await journal.at("acme", [sequence])
  const source = { ...served, ...more, journal }
  const found = await findReceipt(source, acme, stored ?? assert.fail(), clock.now(), unpaced)
  return showReceipt(found, acme, "", "https://ledger.example", true)
}

async function shownBy(house: House): Promise<Readonly<Record<string, string>>> {
  const integrityOf = async (sequence: number): Promise<string> =>
    JSON.parse((await show(house, sequence)).entry).integrity
  return {
    body: await integrityOf(bodiless),
    fields: await integrityOf(fieldless),
    sound: await integrityOf(2),
  }
}
