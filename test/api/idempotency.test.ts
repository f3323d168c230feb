import assert from "node:assert/strict"
import { after, test } from "node:test"
import { readChain } from "../chain.ts"
import { eventFor, makeKey, makeWorkspace, type Reply, type Workspace } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"

// One entry for each key, for ever: the same request again is answered with the first receipt,
// another one is refused.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const { writer, reader } = acme

const reused = (about: string, send: unknown, key: string, has: Row["has"] = [/rcp_/]): Row => ({
  about,
  as: writer,
  ask: "POST /v1/events",
  send,
  headers: { "idempotency-key": key },
  gets: "422 idempotency_key_reused",
  has,
})

test("a used key returns the first receipt, byte for byte, to any writer and each time", async () => {
  const key = crypto.randomUUID()
  const event = eventFor(acme.id, {
    target: { type: "t", id: "x", email: { b: 1, a: 2 }, zeta: [], alpha: {} },
  })
  const first = await writer.write(event, key, { "x-trace-id": "first", "x-request-id": "r-1" })
  const another = await makeKey(service, acme.id, { scopes: ["write"] })
  assert.equal(first.headers.get("idempotency-replayed"), null)
  for (const client of [writer, another, service.root, writer]) {
    const again = await client.write(event, key, { "x-trace-id": "again", "x-request-id": "r-2" })
    assert.deepEqual(
      [again.status, again.text, again.headers.get("idempotency-replayed")],
      [202, first.text, "true"],
    )
    assert.equal(again.headers.get("x-request-id"), "r-2", "the answer is new, its body is not")
  }
})

test("requests that differ in form only are the same request", async () => {
  const key = crypto.randomUUID()
  const first = await writer.write(
    eventFor(acme.id, { metadata: { a: 1, b: [1.5, { c: "é", d: 1e3 }], z: -0 } }),
    key,
  )
  const { actor, target } = eventFor(acme.id)
  const same = [
    JSON.stringify(
      { ...eventFor(acme.id), metadata: { z: 0, b: [1.5, { d: 1000, c: "é" }], a: 1 } },
      null,
      2,
    ),
    `{"userVisible":false,"metadata":{"b":[1.50,{"d":1000.0,"c":"\\u00e9"}],"a":1.0,"z":0e5},"source":"api","occurredAt":"2026-01-31T09:30:00Z","target":${JSON.stringify(target)},` +
      `"actor":{"email":"ada@example.com","type":"user","id":"usr_1"},"action":"billing.invoice.approve","projectId":"core","workspaceId":"${acme.id}"}`,
  ]
  assert.deepEqual(actor, { id: "usr_1", type: "user", email: "ada@example.com" })
  for (const body of same) {
    const again = await writer.post("/v1/events", body, { "idempotency-key": key })
    assert.deepEqual([again.status, again.text], [202, first.text])
  }
})

test("defaults are the same as leaving them out", async () => {
  const key = crypto.randomUUID()
  const first = await writer.write(eventFor(acme.id), key)
  for (const more of [
    { metadata: {} },
    { userVisible: false },
    { metadata: {}, userVisible: false },
  ]) {
    assert.equal((await writer.write(eventFor(acme.id, more), key)).text, first.text)
  }
  const explicit = crypto.randomUUID()
  const second = await writer.write(
    eventFor(acme.id, { metadata: {}, userVisible: false }),
    explicit,
  )
  assert.equal((await writer.write(eventFor(acme.id), explicit)).text, second.text)
})

test("another body is refused with the receipt that the key belongs to, and nothing is recorded", async () => {
  const key = crypto.randomUUID()
  await writer.write(eventFor(acme.id, { projectId: "other" }))
  const metadata = { n: 1, s: "1", list: [1, 2], none: null }
  const first = (await writer.write(eventFor(acme.id, { metadata }), key)).json()
  const changed = (changes: object): Row =>
    reused(JSON.stringify(changes), eventFor(acme.id, { metadata, ...changes }), key, [
      first.receipt,
    ])
  await expectRows([
    changed({ projectId: "other" }),
    changed({ projectId: "unheard-of" }),
    changed({ action: "billing.invoice.reject" }),
    changed({ action: "Billing.invoice.approve" }),
    changed({ actor: { id: "usr_1", type: "user" } }),
    changed({ actor: { id: "usr_1", type: "user", email: "ADA@example.com" } }),
    changed({ actor: { id: "usr_1", type: "user", email: "ada@example.com", x: null } }),
    changed({ actor: { id: "usr_1", type: "member", email: "ada@example.com" } }),
    changed({ target: { id: "inv_9", type: "invoice", name: "Invoice 9 " } }),
    changed({ target: { id: "inv_9", type: "invoice" } }),
    changed({ occurredAt: "2026-01-31T09:30:00z" }),
    changed({ occurredAt: "2026-01-31T09:30:00+00:00" }),
    changed({ occurredAt: "2026-01-31T09:30:00.0Z" }),
    changed({ source: "automation" }),
    changed({ userVisible: true }),
    changed({ metadata: undefined }),
    changed({ metadata: { ...metadata, n: "1" } }),
    changed({ metadata: { ...metadata, s: 1 } }),
    changed({ metadata: { ...metadata, list: [2, 1] } }),
    changed({ metadata: { ...metadata, none: undefined } }),
    changed({ metadata: { ...metadata, s: "1 " } }),
    changed({ metadata: { ...metadata, more: {} } }),
  ])
  const unheard = eventFor(acme.id, { projectId: "unheard-of" })
  assert.deepEqual(
    (await writer.write(unheard, key)).json().receipt,
    first,
    "the answer has the receipt itself",
  )
  const item = { ...unheard, idempotencyKey: key }
  const batch = await writer.post("/v1/events/batch", { events: [item, item] })
  assert.deepEqual(
    batch
      .json()
      .results.map(({ error, receipt }: { error: string; receipt: object }) => [error, receipt]),
    [
      ["idempotency_key_reused", first],
      ["idempotency_key_reused", first],
    ],
  )
  assert.equal(
    (await reader.get(`${acme.path}/projects/unheard-of`)).status,
    404,
    "a refused write has made the project that it names",
  )
  const next = (await writer.write(eventFor(acme.id))).json()
  assert.equal(next.previousHash, first.eventHash)
})

test("a refused request does not use up its key", async () => {
  const key = crypto.randomUUID()
  await expectRows([
    { ...reused("", eventFor(acme.id, { action: "approve" }), key, []), gets: "400 invalid_field" },
    { ...reused("", "{", key, []), gets: "400 invalid_json" },
    { ...reused("", eventFor("elsewhere"), key, []), gets: "403 workspace_forbidden" },
    { ...reused("", eventFor(acme.id), key, []), as: reader, gets: "403 insufficient_scope" },
    {
      ...reused("", eventFor(acme.id), key, []),
      gets: 202,
      answerHeaders: { "idempotency-replayed": null },
    },
  ])
})

test("a key is compared exactly, and belongs to its workspace", async () => {
  const other = await makeWorkspace(service)
  const key = `Order-4711-${crypto.randomUUID()}`
  const first = (await writer.write(eventFor(acme.id), key)).json()
  for (const another of [key.toLowerCase(), `${key}.`, key.slice(0, -1), key.slice(0, 12)]) {
    assert.notEqual(
      (await writer.write(eventFor(acme.id), another)).json().receipt,
      first.receipt,
      another,
    )
  }
  const elsewhere = await service.root.write(eventFor(other.id), key)
  assert.equal(elsewhere.headers.get("idempotency-replayed"), null)
  assert.equal((await writer.write(eventFor(acme.id), key)).json().receipt, first.receipt)
})

test("a caller who may not write to the original's project learns nothing about it", async () => {
  const key = crypto.randomUUID()
  const original = eventFor(acme.id, { projectId: "secret-project" })
  const first = (await writer.write(original, key)).json()
  const bound = await makeKey(service, acme.id, { scopes: ["write"], projectIds: ["mine"] })
  const hasNot = [first.receipt, first.eventId, "rcp_", "secret-project"]
  await expectRows([
    {
      ...reused("its project", original, key, []),
      as: bound,
      gets: "403 project_forbidden",
      hasNot,
    },
    {
      ...reused("its own project", eventFor(acme.id, { projectId: "mine" }), key, []),
      as: bound,
      hasNot,
    },
    {
      ...reused("the one who may", eventFor(acme.id, { projectId: "mine" }), key, [first.receipt]),
    },
  ])
})

test("a changed setting does not make a repeated request another one", async () => {
  const changing = await makeWorkspace(service)
  const key = crypto.randomUUID()
  const event = eventFor(changing.id, { metadata: { phone: "+49 1", plan: "pro" } })
  const first = await changing.writer.write(event, key)
  const changes = [
    { personalKeys: ["phone"] },
    { personalKeys: ["*"] },
    { laneRules: [{ prefix: "billing", lane: "security" }] },
    { projects: "closed", hotDays: 0 },
  ]
  for (const settings of changes) {
    assert.equal((await service.root.patch(changing.path, settings)).status, 200)
    assert.equal(
      (await changing.writer.write(event, key)).text,
      first.text,
      JSON.stringify(settings),
    )
  }
  const sealed = crypto.randomUUID()
  const second = await changing.writer.write(event, sealed)
  assert.equal(second.json().lane, "security")
  await service.root.patch(changing.path, { personalKeys: [], laneRules: [] })
  assert.equal((await changing.writer.write(event, sealed)).text, second.text)
  assert.equal(
    (await changing.writer.write({ ...event, metadata: { phone: "+49 2", plan: "pro" } }, sealed))
      .status,
    422,
  )
})

async function expectOneBetween(
  { reader: client, id }: Workspace,
  before: Reply,
  behind: Reply,
): Promise<void> {
  const { hashes } = await readChain(client, id, [before.json(), behind.json()])
  assert.equal(hashes.indexOf(behind.json().eventHash) - hashes.indexOf(before.json().eventHash), 2)
}

test("a hundred sends at once make one entry, and all get its receipt", async () => {
  const crowd = await makeWorkspace(service)
  const key = crypto.randomUUID()
  const before = await crowd.writer.write(eventFor(crowd.id))
  const send = (place: number) =>
    place % 3 === 0
      ? crowd.writer.post("/v1/events/batch", {
          events: [{ idempotencyKey: key, ...eventFor(crowd.id) }],
        })
      : crowd.writer.write(eventFor(crowd.id), key)
  const replies = await Promise.all(Array.from({ length: 100 }, (_, place) => send(place)))
  const receipts = replies.map((reply) => {
    assert.equal(reply.status, 202, reply.text)
    const { results: [result] = [], ...single } = reply.json()
    return {
      receipt: result?.receipt ?? single,
      replayed: result?.replayed ?? reply.headers.get("idempotency-replayed") === "true",
    }
  })
  assert.equal(new Set(receipts.map(({ receipt }) => JSON.stringify(receipt))).size, 1)
  assert.equal(receipts.filter(({ replayed }) => !replayed).length, 1, "one of them was the first")
  await expectOneBetween(crowd, before, await crowd.writer.write(eventFor(crowd.id)))
})

test("of a hundred different requests with one key at once, one is recorded", async () => {
  const crowd = await makeWorkspace(service)
  const key = crypto.randomUUID()
  const before = await crowd.writer.write(eventFor(crowd.id))
  const replies = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      crowd.writer.write(eventFor(crowd.id, { metadata: { n } }), key),
    ),
  )
  const recorded = replies.filter(({ status }) => status === 202)
  assert.equal(recorded.length, 1)
  const receipt = recorded[0]?.json().receipt
  for (const reply of replies)
    if (reply.status !== 202)
      assert.match(reply.text, new RegExp(`idempotency_key_reused.*${receipt}`))
  await expectOneBetween(crowd, before, await crowd.writer.write(eventFor(crowd.id)))
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 200, refused: 80 }))
