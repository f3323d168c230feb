// Tests the write side with disk faults, many clients, another process on the same data and a clock
// that goes back, and compares it with a simple model: a map from each key to the first entry under
// it.
//
// All randomness comes from the seed, so SEED=<seed> npm test -- <this file> repeats a failure.

import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { disclosuresOf, openEntry, type Content } from "../store/opened-entry.ts"
import { LedgerError } from "../error.ts"
import { defaultLimits } from "../limits.ts"
import type { Change, Workspace } from "../store/documents.ts"
import type { Head } from "../store/entries.ts"
import type { Journal, Registry } from "../store/store.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import { sameRequest, type SameRequest } from "./idempotency.ts"
import type { Ledger, Draft } from "./ledger.ts"
import { openTestLedger, testEvent, testWorkspace } from "./test-ledger.ts"
import { createChance, newSeed, type Chance } from "../../../../test/chance.ts"

const begin = newSeed()
/** A run that fails says its own. */
const seeds =
  process.env["SEED"] === undefined
    ? Array.from({ length: Number(process.env["SEEDS"] ?? 300) }, (_, at) => begin + at)
    : [begin]
const triesMax = 40

/** Counts the work of a run, because a run that did too little proves nothing. */
interface Work {
  recorded: number
  replayed: number
  reused: number
  refused: number
  unknown: number
  conflicts: number
  changes: number
  theirs: number
}

const noWork: Work = {
  recorded: 0,
  replayed: 0,
  reused: 0,
  refused: 0,
  unknown: 0,
  conflicts: 0,
  changes: 0,
  theirs: 0,
}

interface Canary {
  readonly journal?: (journal: Journal) => Journal
  readonly same?: SameRequest
}

test("with any disk fault, each key has one entry, acknowledged entries are kept, and the chain is intact", async () => {
  const done = { ...noWork }
  for (const seed of seeds) {
    const work = await simulate(seed)
    for (const kind of Object.keys(done) as (keyof Work)[]) done[kind] += work[kind]
  }
  for (const [kind, count] of Object.entries(done))
    assert.ok(
      seeds.length === 1 || count >= seeds.length / 4,
      `${kind} happened ${count} times only: ${JSON.stringify(done)}`,
    )
})

const canaries: readonly (readonly [fault: string, canary: Canary])[] = [
  ["a head that is believed across an error", { journal: believeHeads }],
  [
    "a comparison that ignores a field",
    {
      same: (kind, recorded, asked) =>
        sameRequest(kind, { ...recorded, occurredAt: "" }, { ...asked, occurredAt: "" }),
    },
  ],
  ["an answer before the entry is stored", { journal: answerFirst }],
]
for (const [fault, canary] of canaries) {
  test(`the simulation detects ${fault}`, async () => {
    await assert.rejects(async () => {
      for (let seed = 1; seed <= 50; seed++) await simulate(seed, canary)
    }, /^Error: seed \d+/)
  })
}

/** A faulty journal: it caches the head of each append, even if the append fails. */
function believeHeads(journal: Journal): Journal {
  const believed = new Map<string, Head>()
  return {
    ...journal,
    head: async (workspace) => believed.get(workspace) ?? (await journal.head(workspace)),
    append(group) {
      const { workspace, entries, from } = group
      const last = entries.at(-1)?.record ?? new Uint8Array()
      const hash = createHash("sha256").update("\0").update(last).digest()
      believed.set(workspace, {
        sequence: from.sequence + entries.length,
        hash,
        timeMs: from.timeMs,
      })
      return journal.append(group)
    },
  }
}

/** A faulty journal: it answers an append before it is done. */
function answerFirst(journal: Journal): Journal {
  return {
    ...journal,
    async append(group) {
      const late = journal.append(group)
      const known = await Promise.race([late, turn()])
      late.catch(() => {})
      return known ?? { kind: "done" }
    },
  }
}

async function simulate(
  seed: number,
  { journal: bend = (journal) => journal, same = sameRequest }: Canary = {},
): Promise<Work> {
  try {
    return await run(seed, bend, same)
  } catch (cause) {
    throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
  }
}

interface Known {
  readonly variant: number
  readonly receipt: string
}

async function run(
  seed: number,
  bend: (journal: Journal) => Journal,
  same: SameRequest,
): Promise<Work> {
  const chance = createChance(seed)
  const work = { ...noWork }
  const { served } = openMemory()
  const clock = wanderingClock(chance)
  const parts = {
    clock,
    limits: { ...defaultLimits, queuedEventsMax: 20, commitEntriesMax: 6 },
  }
  const random = (into: Uint8Array) => into.forEach((_, at) => (into[at] = chance.below(256)))
  const theirs = openTestLedger(served.journal, { ...parts, random })
  const workspaces = ["acme", "other"].map((id) => testWorkspace(id))
  const disk = faultyDisk(served.journal, chance, async () => {
    work.theirs += 1
    await theirs.record(chance.pick(workspaces), [saidOf({ theirs: work.theirs }, 0)])
  })
  const ledger = openTestLedger(bend(disk), { ...parts, random, same })

  const model = new Map<string, Known>()
  const toldRecorded = new Set<string>()
  const notRecorded = new Set<string>()
  const acknowledged = new Map<string, number>()
  const client = async (name: number) => {
    for (let op = 0; op < 8; op++) {
      const workspace = chance.pick(workspaces)
      if (chance.percent(15)) {
        work.changes += 1
        if (await count(ledger, served.registry, workspace, work))
          acknowledged.set(workspace.id, (acknowledged.get(workspace.id) ?? 0) + 1)
      } else {
        const own = chance.percent(30)
        const items = Array.from({ length: 1 + chance.below(4) }, (_, at) => ({
          key: own ? `key-of-${name}-${op}-${at}` : `shared-key-${chance.below(8)}`,
          variant: chance.below(3),
        }))
        await write(ledger, workspace, items, own && chance.percent(50))
      }
      await turns(chance.below(3))
    }
  }
  await Promise.all([1, 2, 3, 4, 5].map(client))
  await ledger.sequencer.drained()
  assert.equal(ledger.admission.entries, 0)
  for (const workspace of workspaces) await expectModel(workspace)
  return work

  /**
   * Retries until there is an answer, as a client must. It gives up only if nothing was recorded.
   */
  async function write(
    to: Ledger,
    workspace: Workspace,
    items: readonly { key: string; variant: number }[],
    givesUp: boolean,
  ): Promise<void> {
    const said = items.map(({ key, variant }) => ({
      ...saidOf({ key }, variant),
      idempotency: { route: "/v1/events" as const, key },
    }))
    let doubtful = false
    for (let attempt = 0; attempt < triesMax; attempt++) {
      const answer = await to.record(workspace, said).catch((error: unknown) => error)
      if (Array.isArray(answer)) {
        for (const [at, { key, variant }] of items.entries())
          learn(
            `${workspace.id} ${key}`,
            variant,
            answer[at] as Awaited<ReturnType<Ledger["record"]>>[number],
          )
        return
      }
      if (!(answer instanceof LedgerError)) throw answer
      assert.ok(
        ["overloaded", "storage_full", "ledger_unavailable"].includes(answer.code),
        answer.code,
      )
      if (answer.code === "ledger_unavailable") {
        doubtful = true
        work.unknown += 1
      } else {
        work.refused += 1
        if (givesUp && !doubtful) {
          for (const { key } of items) notRecorded.add(`${workspace.id} ${key}`)
          return
        }
      }
      await turns(1 + chance.below(4))
    }
    assert.fail(`not answered after ${triesMax} tries`)
  }

  /** The first answer for a key determines the expected answer of all later ones. */
  function learn(
    key: string,
    asked: number,
    told: Awaited<ReturnType<Ledger["record"]>>[number],
  ): void {
    if (told.kind === "gone") assert.fail("nothing is destroyed here")
    work[told.kind] += 1
    const content = (told.kind === "reused" ? told.original : told.opened).content
    const variant = variantOf(content)
    if (told.kind === "reused")
      assert.notEqual(variant, asked, `${key}: the same request was called another`)
    else assert.equal(variant, asked, `${key}: another request was called the same`)
    const known = model.get(key)
    // The client that recorded it may get its answer after clients with replays.
    if (told.kind === "recorded") assert.ok(!toldRecorded.has(key), `${key}: recorded twice`)
    if (told.kind === "recorded") toldRecorded.add(key)
    if (known !== undefined)
      assert.deepEqual({ variant, receipt: content.receipt }, known, `${key}: two answers differ`)
    model.set(key, { variant, receipt: content.receipt })
  }

  async function expectModel(workspace: Workspace): Promise<void> {
    const found = new Map<string, Known>()
    let counter = 0
    for (const stored of await served.journal.after(workspace.id, 0, 10_000)) {
      const { content } =
        openEntry(stored, disclosuresOf(stored)) ?? assert.fail("an entry cannot be opened")
      const { key, counted } = content.metadata
      if (counted !== undefined)
        assert.equal(counted, ++counter, "changes and their entries are in one order")
      if (typeof key !== "string") continue
      assert.ok(!found.has(key), `${key} has two entries`)
      found.set(key, { variant: variantOf(content), receipt: content.receipt })
    }
    for (const [key, known] of model)
      if (key.startsWith(`${workspace.id} `))
        assert.deepEqual(
          found.get(key.slice(workspace.id.length + 1)),
          known,
          `${key} is not what was acknowledged`,
        )
    for (const key of found.keys())
      assert.ok(
        model.has(`${workspace.id} ${key}`),
        `${key} is there, and its client was told that it is not`,
      )
    for (const key of notRecorded) assert.ok(!model.has(key), `${key} was refused, and is there`)
    assert.equal(
      (await served.registry.get("project", workspace.id, "counter"))?.version ?? 0,
      counter,
      "a change and its entry are both there or neither",
    )
    assert.ok(counter >= (acknowledged.get(workspace.id) ?? 0), "an acknowledged change is there")
    await expectChain(served.journal, workspace.id)
  }
}

/**
 * Changes a document from its present version. Returns true if that was acknowledged. Without a key
 * there is no retry.
 */
async function count(
  ledger: Ledger,
  registry: Registry,
  workspace: Workspace,
  work: Work,
): Promise<boolean> {
  const version = (await registry.get("project", workspace.id, "counter"))?.version ?? 0
  const change: Change = {
    kind: "project",
    id: "counter",
    version,
    value: { name: `${version + 1}`, receipts: "private", activityLinks: false, createdAt: "" },
  }
  const answer = await ledger
    .record(workspace, [saidOf({ counted: version + 1 }, 0)], [change])
    .catch((error: unknown) => error)
  if (Array.isArray(answer)) return true
  if (!(answer instanceof LedgerError)) throw answer
  if (answer.code === "conflict") work.conflicts += 1
  return false
}

/** A variant differs from the others in one field, each in another. */
function saidOf(metadata: Draft["metadata"], variant: number): Draft {
  return testEvent({
    actor: { id: "usr_1", type: "user", ...(variant === 1 ? { email: "ada@example.com" } : {}) },
    occurredAt: variant === 2 ? "2026-01-01T00:00:00.5Z" : "2026-01-01T00:00:00Z",
    metadata,
  })
}

function variantOf({ actor, occurredAt }: Content): number {
  return actor["email"] !== undefined ? 1 : occurredAt.includes(".5") ? 2 : 0
}

/**
 * Simulates the disk and another process. An append may be refused, fail before or after it has
 * stored, or find that the other process wrote first. A read of the head may fail. All of these
 * take time.
 */
function faultyDisk(journal: Journal, chance: Chance, interfere: () => Promise<void>): Journal {
  return {
    ...journal,
    async head(workspace) {
      await turns(chance.below(2))
      if (chance.percent(3)) throw new Error("the head cannot be read")
      return journal.head(workspace)
    },
    async append(group) {
      await turns(chance.below(3))
      if (chance.percent(5)) throw new LedgerError("storage_full", "the disk is full")
      if (chance.percent(10)) throw new Error("failed before it stored")
      if (chance.percent(10)) await interfere()
      const outcome = await journal.append(group)
      await turns(chance.below(3))
      if (chance.percent(10)) throw new Error("failed after it had stored")
      return outcome
    },
  }
}

function wanderingClock(chance: Chance): Clock {
  let nowMs = 1_800_000_000_000
  let elapsedMs = 0
  return {
    now: () => (nowMs += chance.below(20) - 8),
    elapsed: () => ++elapsedMs,
    sleep: async () => {},
  }
}

async function turns(count: number): Promise<void> {
  for (let done = 0; done < count; done++) await turn()
}

function turn(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)))
}
