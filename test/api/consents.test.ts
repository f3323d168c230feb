import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeKey, makeWorkspace } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
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

test("fields that are wrong, missing or unknown are refused by name", async () => {
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

test("the same consent again is the first one, however much later", async () => {
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

test("a key that is bound to projects consents in these only, and `core` is one like any other", async () => {
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

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
