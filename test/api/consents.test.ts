import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeKey, makeWorkspace } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"

// POST /v1/consents: a person agreed to a version of a policy.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const { writer, reader } = acme

const consent = (changes: object = {}): Record<string, unknown> => ({
  workspaceId: acme.id,
  subject: { id: "usr_1", email: "ada@example.com" },
  mode: "explicit",
  policyVersion: 3,
  surface: "sign-up form",
  ...changes,
})
const record = async (changes: object = {}, key: string = crypto.randomUUID()) => {
  const reply = await writer.post("/v1/consents", consent(changes), { "idempotency-key": key })
  assert.equal(reply.status, 202, reply.text)
  return reply
}

test("a consent becomes an entry about its subject", async () => {
  const before = new Date().toISOString()
  const reply = await record({ metadata: { locale: "de" } })
  assert.deepEqual(Object.keys(reply.json()), ["receipt"])
  const { receipt } = reply.json()
  assert.deepEqual(
    [receipt.lane, receipt.storageClass, receipt.queued, receipt.policyVersion],
    ["policy", "hot", true, 3],
  )

  const { entry, receipt: now } = (
    await reader.get(`${acme.path}/receipts/${receipt.receipt}`)
  ).json()
  assert.deepEqual({ ...now, queued: true }, receipt)
  assert.partialDeepStrictEqual(entry, {
    kind: "consent",
    action: "policy.consent.record",
    lane: "policy",
    source: "api",
    userVisible: true,
    policyVersion: 3,
    projectId: "core",
    actor: { id: "usr_1", type: "subject", email: "ada@example.com" },
    target: { id: "core:3", type: "policy", name: "Policy version 3" },
  })
  assert.deepEqual(entry.metadata, {
    locale: "de",
    mode: "explicit",
    surface: "sign-up form",
    policyVersion: 3,
  })
  assert.ok(
    entry.occurredAt >= before && entry.occurredAt === entry.receivedAt,
    "it occurred when it was received",
  )
})

test("a consent names a project, which is created if needed", async () => {
  const { receipt } = (
    await record({
      projectId: "shop",
      policyVersion: 2_147_483_647,
      mode: "implicit",
      surface: "banner",
    })
  ).json()
  const { entry } = (await reader.get(`${acme.path}/receipts/${receipt.receipt}`)).json()
  assert.deepEqual(
    [entry.projectId, entry.target.id, entry.metadata.mode],
    ["shop", "shop:2147483647", "implicit"],
  )
  assert.equal((await reader.get(`${acme.path}/projects/shop`)).status, 200)

  await service.root.patch(acme.path, { projects: "closed" })
  await expectRows([
    refused("a closed workspace", { projectId: "unheard-of" }, /./, "404 not_found"),
  ])
  await service.root.patch(acme.path, { projects: "open" })
})

const refused = (
  about: string,
  changes: object,
  says: RegExp,
  gets = "400 invalid_field",
): Row => ({
  about,
  as: writer,
  ask: "POST /v1/consents",
  send: consent(changes),
  headers: { "idempotency-key": "a-key-that-is-never-used-twice" },
  gets,
  has: [says],
})

test("wrong, missing and unknown fields are refused by name", async () => {
  const sent = (field: string, value: unknown, says: RegExp): Row =>
    refused(`${field} = ${JSON.stringify(value)}`, { [field]: value }, says)
  await expectRows([
    sent("workspaceId", undefined, /workspaceId is required/),
    sent("workspaceId", "", /workspaceId.*non-empty string/),
    sent("subject", undefined, /subject is required/),
    sent("subject", "usr_1", /subject must be an object/),
    sent("subject", { id: "usr_1" }, /subject\.email is required/),
    sent("subject", { email: "ada@example.com" }, /subject\.id is required/),
    sent("subject", { id: "", email: "ada@example.com" }, /subject\.id.*non-empty/),
    sent("subject", { id: "usr_1", email: "" }, /subject\.email.*non-empty/),
    sent("subject", { id: "usr_1", email: null }, /subject\.email/),
    sent(
      "subject",
      { id: "usr_1", email: "ada@example.com", type: "user" },
      /subject\.type is not a known field/,
    ),
    sent("mode", undefined, /mode is required/),
    sent("mode", "opt-in", /mode must be one of explicit, implicit/),
    sent("mode", null, /mode/),
    sent("policyVersion", undefined, /policyVersion is required/),
    sent("policyVersion", 0, /policyVersion.*1 to 2147483647/),
    sent("policyVersion", 2_147_483_648, /policyVersion/),
    sent("policyVersion", 1.5, /policyVersion/),
    sent("policyVersion", "3", /policyVersion/),
    sent("surface", undefined, /surface is required/),
    sent("surface", "", /surface.*non-empty string/),
    sent("surface", 4, /surface/),
    sent("projectId", "system", /projectId/),
    sent("projectId", null, /projectId/),
    sent("metadata", null, /metadata must be an object/),
    sent("metadata", { mode: "implicit" }, /metadata\.mode/),
    sent("metadata", { surface: "x" }, /metadata\.surface/),
    sent("metadata", { policyVersion: 3 }, /metadata\.policyVersion/),
    sent("metadata", { relatedReceiptIds: ["x"] }, /metadata\.relatedReceiptIds\[0\]/),
    sent("occurredAt", "2026-01-31T09:30:00Z", /occurredAt is not a known field/),
    sent("source", "api", /source is not a known field/),
    sent("userVisible", true, /userVisible is not a known field/),
    { ...refused("no key", {}, /Idempotency-Key/), headers: {} },
    {
      ...refused("a short key", {}, /Idempotency-Key/),
      headers: { "idempotency-key": "elevenchars" },
    },
  ])
})

test("a repeated consent returns the first one, even much later", async () => {
  const key = crypto.randomUUID()
  const first = await record({ metadata: { a: 1, b: { d: 1, c: 2.0 } } }, key)
  const again = await writer.post(
    "/v1/consents",
    `{"metadata":{"b":{"c":2,"d":1.0},"a":1},"surface":"sign-up form","projectId":"core","policyVersion":3,"mode":"explicit","subject":{"email":"ada@example.com","id":"usr_1"},"workspaceId":"${acme.id}"}`,
    { "idempotency-key": key },
  )
  assert.equal(again.text, first.text)
  assert.deepEqual(
    [first.headers.get("idempotency-replayed"), again.headers.get("idempotency-replayed")],
    [null, "true"],
  )
  for (const changes of [
    { mode: "implicit" },
    { policyVersion: 4 },
    { surface: "footer" },
    { projectId: "shop" },
    { metadata: {} },
    { subject: { id: "usr_1", email: "b@example.com" } },
  ]) {
    await expectRows([
      {
        ...refused(
          "",
          { metadata: { a: 1, b: { c: 2, d: 1 } }, ...changes },
          /rcp_/,
          "422 idempotency_key_reused",
        ),
        headers: { "idempotency-key": key },
      },
    ])
  }
})

test("consents have keys of their own: an event may have the same", async () => {
  const key = crypto.randomUUID()
  const event = await writer.write(eventFor(acme.id), key)
  const agreed = await record({}, key)
  assert.equal(agreed.headers.get("idempotency-replayed"), null)
  assert.notEqual(agreed.json().receipt.receipt, event.json().receipt)
  assert.equal((await writer.write(eventFor(acme.id), key)).text, event.text)
  assert.equal((await record({}, key)).text, agreed.text)
})

test("a stranger sees the policy of a public consent, and not the person", async () => {
  await service.root.post(`${acme.path}/projects`, { id: "public", receipts: "public" })
  const { receipt } = (
    await record({ projectId: "public", subject: { id: "usr_2", email: "grace@example.com" } })
  ).json()
  await expectRows([
    {
      as: service.client(),
      ask: `GET ${acme.path}/receipts/${receipt.receipt}`,
      gets: 200,
      hasNot: ["grace@example.com", "provenance"],
      shows: {
        verified: true,
        disclosures: [],
        entry: {
          actor: { id: "usr_2", type: "subject", email: "g•••@example.com" },
          target: { name: "Policy version 3" },
        },
        receipt: { actor: { email: "g•••@example.com" }, target: { name: "Policy version 3" } },
      },
    },
  ])
})

test("a key for some projects records consents in these only, and `core` is no exception", async () => {
  const bound = await makeKey(service, acme.id, { scopes: ["write"], projectIds: ["shop"] })
  const headers = { "idempotency-key": crypto.randomUUID() }
  await expectRows([
    {
      as: bound,
      ask: "POST /v1/consents",
      send: consent(),
      headers,
      gets: "403 project_forbidden",
    },
    {
      as: bound,
      ask: "POST /v1/consents",
      send: consent({ projectId: "shop" }),
      headers,
      gets: 202,
    },
  ])
})

test("a look-up answers the consents of exactly one person, and is recorded before", async () => {
  const shop = await makeWorkspace(service, { personalKeys: ["locale"] })
  const subjects = ["usr_1", "USR_1", "usr_10", "x usr_1", "usr_1"]
  const receipts: string[] = []
  for (const [at, id] of subjects.entries()) {
    const subject = { id, email: at === 0 ? "usr_1@example.com" : "usr_1" }
    const sent = consent({ workspaceId: shop.id, subject, policyVersion: at + 1 })
    const projectId = at === 0 ? "core" : "shop"
    const reply = await shop.writer.post(
      "/v1/consents",
      { ...sent, projectId, metadata: { locale: "de" } },
      { "idempotency-key": crypto.randomUUID() },
    )
    assert.equal(reply.status, 202, reply.text)
    receipts.push(reply.json().receipt.receipt)
  }
  for (const party of [{ actor: { id: "usr_1", type: "subject" } }, {}])
    await shop.writer.write(eventFor(shop.id, { ...party, userVisible: true }))
  const ask = `POST ${shop.path}/consents/lookup`
  const send = { subject: "usr_1", reason: "asked by Ada Lovelace" }
  const bound = await makeKey(service, shop.id, { scopes: ["read"], projectIds: ["shop"] })
  const known = { workspaceId: shop.id, subject: "usr_1", verified: true, hasMore: false }
  const [all, , first, rest, ofShop] = await expectRows([
    { as: shop.reader, ask, send, gets: 200, shows: { ...known, total: 2 } },
    { as: shop.reader, ask, send: { ...send, subject: "usr" }, gets: 200, shows: { total: 0 } },
    { as: shop.reader, ask, send: { ...send, limit: 1 }, gets: 200, shows: { hasMore: true } },
    { as: shop.reader, ask, send: { ...send, cursor: 0 }, gets: 200 },
    { as: bound, ask, send, gets: 200, shows: { ...known, total: 1 } },
  ])
  const receiptsOf = (reply: typeof all): string[] =>
    reply?.json().events.map(({ receipt }: { receipt: string }) => receipt) ?? []
  assert.deepEqual(receiptsOf(all), [receipts[4], receipts[0]])
  assert.partialDeepStrictEqual(all?.json().events[1], {
    kind: "consent",
    actor: { id: "usr_1", type: "subject", email: "usr_1@example.com" },
    metadata: { locale: "de", mode: "explicit", policyVersion: 1 },
  })
  assert.deepEqual(receiptsOf(rest), receiptsOf(all))
  assert.deepEqual(receiptsOf(ofShop), [receipts[4]])
  const next = await shop.reader.post(`${shop.path}/consents/lookup`, {
    ...send,
    cursor: first?.json().nextCursor,
  })
  assert.deepEqual(receiptsOf(next), [receipts[0]])

  const { events } = (
    await shop.reader.get(
      `${shop.path}/events?projectId=system&query=action:policy.consent.lookup&include=proof`,
    )
  ).json()
  assert.equal(events.length, 6, "one for each that was answered")
  const recorded = events.at(-1)
  assert.equal(recorded.receipt, all?.json().lookupReceiptId)
  assert.partialDeepStrictEqual(recorded, {
    kind: "admin",
    lane: "policy",
    actor: { id: shop.reader.bearer?.split("_")[1], type: "api_key" },
    target: { id: shop.id, type: "workspace", ...send },
    metadata: {},
  })
  for (const { proof } of events)
    assert.doesNotMatch(proof.body, /usr_1|Lovelace/, "a proof that is handed on tells nobody")
})

test("a look-up that the service is too busy for is not recorded", async () => {
  await using busy = await startWatched({
    environment: { TALLYSTICK_LIMIT_SEARCHES_WAITING_MAX: "1" },
  })
  const { path, reader } = await makeWorkspace(busy)
  const asked = Array.from({ length: 20 }, () => [
    reader.post(`${path}/consents/lookup`, { subject: "usr_1", reason: "a test" }),
    reader.get(`${path}/consents?subject=usr_1&projectId=core`),
  ])
  const states = (await Promise.all(asked.flat())).map((answer) =>
    answer.status === 200 ? "answered" : answer.json().error,
  )
  assert.ok(states.includes("overloaded"))
  assert.match(states.join(), /^((answered|overloaded),?)+$/)
  const query = "projectId=system&query=action:policy.consent.lookup"
  const recorded = (await reader.get(`${path}/events?${query}`)).json()
  assert.equal(recorded.total, states.filter((state) => state === "answered").length)
})

test("a look-up without a person or a reason is refused, and not recorded", async () => {
  const lookUp = (send: object, says: RegExp, gets = "400 invalid_field"): Row => ({
    as: reader,
    ask: `POST ${acme.path}/consents/lookup`,
    send,
    gets,
    has: [says],
  })
  await expectRows([
    lookUp({ subject: "usr_1" }, /reason is required/),
    lookUp({ subject: "usr_1", reason: "" }, /reason must be a non-empty string/),
    lookUp({ reason: "a request" }, /subject is required/),
    lookUp({ subject: "", reason: "a request" }, /subject must be a non-empty string/),
    lookUp({ subject: "usr_1", reason: "a request", limit: 101 }, /limit/),
    lookUp({ subject: "usr_1", reason: "a request", cursor: -1 }, /cursor/),
    lookUp({ subject: "usr_1", reason: "a request", at: "2026" }, /at is not a known field/),
    { ...lookUp({ subject: "usr_1", reason: "a request" }, /scope/), as: writer, gets: 403 },
  ])
  const found = await reader.get(
    `${acme.path}/events?projectId=system&query=action:policy.consent.lookup`,
  )
  assert.equal(found.json().total, 0)
})

test("consents are counted by version and mode, with and without sealed metadata", async () => {
  const sealing = await makeWorkspace(service, { personalKeys: ["*"] })
  for (const { id, writer } of [acme, sealing]) {
    const at = id === acme.id ? "counted" : "core"
    for (const [policyVersion, mode] of [
      [7, "explicit"],
      [7, "implicit"],
      [7, "explicit"],
      [8, "explicit"],
    ])
      await writer.post(
        "/v1/consents",
        consent({ workspaceId: id, projectId: at, policyVersion, mode }),
        { "idempotency-key": crypto.randomUUID() },
      )
    const values = async (field: string, query: string) =>
      (
        await service.root.get(
          `/v1/workspaces/${id}/events/values?projectId=${at}&storage=all&field=${field}&query=${encodeURIComponent(query)}`,
        )
      ).json().values
    assert.deepEqual(await values("metadata.policyVersion", "kind:consent"), [
      { value: "7", count: 3 },
      { value: "8", count: 1 },
    ])
    assert.deepEqual(await values("metadata.mode", "kind:consent metadata.policyVersion:7"), [
      { value: "explicit", count: 2 },
      { value: "implicit", count: 1 },
    ])
  }
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 50, refused: 30 }))
