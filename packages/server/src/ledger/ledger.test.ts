import assert from "node:assert/strict"
import { createHash, hkdfSync } from "node:crypto"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { defaultLimits } from "../limits.ts"
import type { Pace } from "../runtime/pace.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { Workspace } from "../store/documents.ts"
import type { Journal } from "../store/store.ts"
import type { Draft } from "./ledger.ts"
import { hasCode, openTestLedger, testEvent, testKeyring, testWorkspace } from "./test-ledger.ts"

const receivedAtMs = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
const clock: Clock = { now: () => receivedAtMs + 10, elapsed: () => 0, sleep: async () => {} }

const workspaceNamed = (id: string, personalKeys: readonly string[] = []): Workspace =>
  testWorkspace(id, { personalKeys, laneRules: [{ prefix: "order", lane: "data" }] })

function openLedger(bend: (journal: Journal) => Journal = (journal) => journal) {
  const { served } = openMemory()
  const ledger = openTestLedger(bend(served.journal), { clock })
  return { served, ledger }
}

const order = testEvent({
  action: "order.create",
  actor: { id: "usr_1", type: "user", email: "ada@example.com", further: [1, { x: "ß" }] },
  occurredAt: "2026-01-02T03:00:00+01:00",
  userVisible: true,
  metadata: { amount: 1 },
  keyId: "key",
  context: { requestId: "one" },
  receivedAtMs,
})
const withKey = (key: string, more: Partial<Draft> = {}): Draft => ({
  ...order,
  ...more,
  idempotency: { route: "/v1/events", key },
})

test("if the entry of one used key cannot be read, the others of the batch are not called refused", async () => {
  let canRead = true
  const away = new LedgerError("archive_unavailable", "the archive cannot be read")
  const { served, ledger } = openLedger((journal) => ({
    ...journal,
    at: (...asked) => (canRead ? journal.at(...asked) : Promise.reject(away)),
  }))
  const acme = workspaceNamed("acme")
  await ledger.record(acme, [withKey("order-4711-created")])
  const batch = [withKey("order-4711-created"), withKey("order-4712-created")]
  canRead = false
  await assert.rejects(ledger.record(acme, batch), hasCode("ledger_unavailable"))
  assert.equal((await expectChain(served.journal, "acme")).size, 2)
  canRead = true
  const again = await ledger.record(acme, batch)
  assert.deepEqual(
    again.map(({ kind }) => kind),
    ["replayed", "replayed"],
  )
})

test("events and consents have separate key spaces, and so does each workspace", async () => {
  const { served, ledger } = openLedger()
  const kinds = async (workspace: string, route: "/v1/events" | "/v1/consents") =>
    (
      await ledger.record(workspaceNamed(workspace), [
        { ...order, idempotency: { route, key: "the-same-key" } },
      ])
    )[0]?.kind
  assert.deepEqual(
    [
      await kinds("acme", "/v1/events"),
      await kinds("acme", "/v1/consents"),
      await kinds("other", "/v1/events"),
      await kinds("acme", "/v1/consents"),
    ],
    ["recorded", "recorded", "recorded", "replayed"],
  )
  const [stored] = await served.journal.at("acme", [1])
  const idemSecret = new Uint8Array(
    hkdfSync(
      "sha256",
      testKeyring.secret,
      createHash("sha256").update("acme").digest(),
      "tallystick idempotency",
      32,
    ),
  )
  const digest = createHash("sha256")
    .update("ALK1")
    .update(idemSecret)
    .update("/v1/events\nthe-same-key")
    .digest()
  assert.equal(stored?.idem, digest.subarray(0, 16).toString("base64url"))
  await expectChain(served.journal, "acme")
  await expectChain(served.journal, "other")
})

test("a batch is answered in order: new entries, replays, and reused keys", async () => {
  const { served, ledger } = openLedger()
  const acme = workspaceNamed("acme", ["amount"])
  await ledger.record(acme, [withKey("first-of-all-keys")])
  const answers = await ledger.record(acme, [
    withKey("a-new-key-of-many"),
    withKey("first-of-all-keys"),
    withKey("first-of-all-keys", { userVisible: false }),
    withKey("a-new-key-of-many"),
    withKey("another-new-key-"),
    withKey("another-new-key-", { projectId: "else" }),
  ])
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    ["recorded", "replayed", "reused", "replayed", "recorded", "reused"],
  )
  assert.deepEqual(await ledger.record(acme, []), [])
  assert.equal((await expectChain(served.journal, "acme")).size, 3)
})

test("other requests run before each event is sealed and answered, and around the comparison of replays", async () => {
  const { served, ledger } = openLedger()
  const acme = workspaceNamed("acme")
  let heard = 0
  const pace: Pace = { isUp: () => true, next: async () => void heard++ }
  const all = ["first-of-all-keys", "second-of-all-keys", "third-of-all-keys"].map((key) =>
    withKey(key),
  )
  const heardWhile = async (said: readonly Draft[]): Promise<number> => {
    heard = 0
    await ledger.record(acme, said, [], pace)
    return heard
  }
  assert.equal(await heardWhile(all), 3 + 3)
  assert.equal(await heardWhile(all), 3 + 3 + 1 + 3)
  await expectChain(served.journal, "acme")
})

test("a full queue refuses at once, even while the first entry is being sealed, and accepts again when it has room", async () => {
  const { served } = openMemory()
  const ledger = openTestLedger(served.journal, {
    clock,
    limits: { ...defaultLimits, queuedEventsMax: 5 },
  })
  const write = (workspace: string, names: string, pace?: Pace) =>
    ledger.record(
      workspaceNamed(workspace),
      [...names].map((name) => withKey(`a-key-of-its-own-${name}`)),
      [],
      pace,
    )
  const { promise: goOn, resolve: sealTheRest } = Promise.withResolvers<void>()
  const taken = [write("acme", "abc", { isUp: () => true, next: () => goOn }), write("other", "d")]
  assert.equal(ledger.admission.entries, 4)
  await assert.rejects(write("acme", "ef"), hasCode("overloaded"))
  taken.push(write("acme", "g"))
  await assert.rejects(write("third", "h"), hasCode("overloaded"))
  sealTheRest()
  await Promise.all(taken)
  assert.equal(ledger.admission.entries, 0)
  const again = await write("acme", "efhij")
  assert.deepEqual(
    again.map(({ kind }) => kind),
    Array.from("efhij", () => "recorded"),
  )
  assert.equal((await expectChain(served.journal, "acme")).size, 9)
  await expectChain(served.journal, "other")
})

test("the queue gets its places back after every outcome", async () => {
  const { ledger } = openLedger((journal) => ({
    ...journal,
    append: () => Promise.reject(new Error("the disk does not answer")),
  }))
  await assert.rejects(
    ledger.record(workspaceNamed("acme"), [withKey("order-4711-created")]),
    hasCode("ledger_unavailable"),
  )
  assert.equal(ledger.admission.entries, 0)
})

test("an unreadable original is an integrity failure, not a reused key", async () => {
  let tampered = false
  const { served, ledger } = openLedger((journal) => ({
    ...journal,
    at: async (workspace, sequences) =>
      (await journal.at(workspace, sequences)).map((entry) =>
        tampered && entry !== undefined ? { ...entry, disclosures: "" } : entry,
      ),
  }))
  const acme = workspaceNamed("acme")
  await ledger.record(acme, [withKey("order-4711-created")])
  const holed: Journal = {
    ...served.journal,
    at: async (_, sequences) => sequences.map(() => undefined),
  }
  const blind = openTestLedger(holed, { clock })
  await assert.rejects(
    blind.record(acme, [withKey("order-4711-created")]),
    hasCode("integrity_failure"),
  )
  // A refusal would say that the other one was not recorded.
  await assert.rejects(
    blind.record(acme, [withKey("order-4711-created"), withKey("order-4712-created")]),
    hasCode("ledger_unavailable"),
  )
  // Disclosures that were destroyed leave a request that differs.
  tampered = true
  assert.equal((await ledger.record(acme, [withKey("order-4711-created")]))[0]?.kind, "reused")
  await expectChain(served.journal, "acme")
})

test("an entry has the caller's fields, the time of receipt, the lane, and whether the clock was ahead", async () => {
  const { served, ledger } = openLedger()
  const ahead = async (occurredAt: string) => {
    const [one] = await ledger.record(workspaceNamed("acme"), [{ ...order, occurredAt }])
    return one?.kind === "recorded" ? one.opened.content.clockAhead : assert.fail()
  }
  assert.equal(await ahead("2026-01-02T03:09:05.006Z"), undefined, "five minutes are allowed")
  assert.equal(await ahead("2026-01-02T03:09:05.007Z"), true)
  assert.equal(await ahead("2026-01-02t05:09:05.007+02:00"), true)
  assert.equal(await ahead("2026-01-02t05:09:05.006999999+02:00"), undefined)
  assert.equal(await ahead("9999-12-31T23:59:59z"), true)
  assert.equal(await ahead("0000-01-01T00:00:00-23:59"), undefined)
  const [one] = await ledger.record(workspaceNamed("acme"), [order])
  assert.ok(one?.kind === "recorded")
  const { id, receipt, ...content } = one.opened.content
  assert.match(`${id} ${receipt}`, /^evt_\w{36} rcp_\w{36}$/)
  const { receivedAtMs: _, kind: __, ...asSaid } = order
  const added = {
    workspaceId: "acme",
    receivedAt: "2026-01-02T03:04:05.006Z",
    lane: "data",
    policyVersion: undefined,
    clockAhead: undefined,
  }
  assert.deepEqual(content, { ...asSaid, ...added })
  await expectChain(served.journal, "acme")
})
