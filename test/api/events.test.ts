import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeKey, makeWorkspace, writeEvent, type Reply } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"

// POST /v1/events: accepted and refused events, and the entries that they become.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const { writer, reader } = acme

const key = { "idempotency-key": "a-key-that-is-never-used-twice" }
const refused = (about: string, changes: object, says: RegExp): Row => ({
  about,
  as: writer,
  ask: "POST /v1/events",
  send: eventFor(acme.id, changes),
  headers: key,
  gets: "400 invalid_field",
  has: [says],
})

test("a receipt has the written event and its place in the chain", async () => {
  const event = eventFor(acme.id, {
    actor: { id: "usr_7", type: "user", email: "grace@example.com", department: "Compilers" },
    target: { id: "inv_8", type: "invoice", name: "Rechnung № 8", url: "https://example.com/8" },
    occurredAt: "2026-01-31T10:30:00.123456789+01:00",
    metadata: { amount: 1299.5, nested: { list: [1, "two", null, true] } },
    userVisible: true,
  })
  const [first, second] = [await writer.write(event), await writer.write(event)]

  assert.equal(first.status, 202)
  const { receipt, eventId, eventHash, verificationUrl, timestamp, receivedAt, ...rest } =
    first.json()
  assert.match(receipt, /^rcp_[0-9A-Z]{36}$/)
  assert.match(eventId, /^evt_[0-9A-Z]{36}$/)
  assert.equal(verificationUrl, `${service.url}${acme.path}/receipts/${receipt}`)
  for (const time of [timestamp, receivedAt])
    assert.equal(new Date(time).toISOString(), time, "our times are UTC with milliseconds")
  assert.ok(receivedAt <= timestamp)
  assert.equal(second.json().previousHash, eventHash, "the second entry follows the first")
  assert.deepEqual(
    { ...rest, previousHash: "" },
    {
      accepted: true,
      previousHash: "",
      actor: event["actor"],
      target: event["target"],
      lane: "operations",
      storageClass: "hot",
      queued: true,
      provenance: { keyId: writer.bearer?.split("_")[1] },
    },
  )

  const { entry, receipt: now } = (await reader.get(`${acme.path}/receipts/${receipt}`)).json()
  for (const [name, value] of Object.entries(event))
    assert.deepEqual(entry[name], value, `${name} comes back as it was sent`)
  assert.equal(entry.kind, "event")
  assert.equal(entry.sequence, 5, "behind the four acts that made the workspace and its keys")
  assert.deepEqual({ ...now, queued: true }, first.json(), "a receipt stays as it was given")
})

test("ids sort by time, and no two are equal", async () => {
  const receipts: string[] = []
  for (let count = 0; count < 20; count++)
    receipts.push((await writer.write(eventFor(acme.id))).json().receipt)
  assert.equal(new Set(receipts).size, 20)
  assert.deepEqual(
    receipts.map((id) => id.slice(0, 14)),
    receipts.map((id) => id.slice(0, 14)).toSorted(),
  )
})

// shapes/check.test.ts has every rule of a field, and shapes/time.test.ts those of a time.
test("wrong, missing and unknown fields are refused by name, and nothing is recorded", async () => {
  const sent = (field: string, value: unknown, says: RegExp): Row =>
    refused(`${field} = ${JSON.stringify(value)}`, { [field]: value }, says)
  const before = (await writer.write(eventFor(acme.id))).json()
  await expectRows([
    sent("workspaceId", "", /workspaceId.*non-empty string/),
    sent("workspaceId", undefined, /workspaceId is required/),
    sent("projectId", "all", /projectId.*reserved/),
    sent("action", "approve", /action/),
    sent("actor", { id: "usr_1" }, /actor\.type is required/),
    sent("target", null, /target must be an object/),
    sent("source", "cron", /source must be one of api, automation, dashboard, system/),
    sent("occurredAt", "2026-02-30T00:00:00Z", /occurredAt/),
    sent(
      "metadata",
      { relatedReceiptIds: [before.receipt, "evt_1"] },
      /metadata\.relatedReceiptIds\[1\]/,
    ),
    sent("userVisible", "true", /userVisible must be true or false/),
    ...["metdata", "id", "kind", "lane", "idempotencyKey", "policyVersion"].map((field) =>
      sent(field, 1, new RegExp(`${field} is not a known field`)),
    ),
    refused("a string over 64 KiB", { metadata: { text: "a".repeat(65_537) } }, /metadata\.text/),
    {
      about: "an array",
      as: writer,
      ask: "POST /v1/events",
      send: [],
      headers: key,
      gets: "400 invalid_field",
      has: ["the body must be an object"],
    },
  ])
  const next = (await writer.write(eventFor(acme.id), key["idempotency-key"])).json()
  assert.equal(
    next.previousHash,
    before.eventHash,
    "nothing was recorded, and the key was not consumed",
  )
})

test("values at the limits of the rules are accepted", async () => {
  const taken = (changes: object, headers: Record<string, string> = {}): Row => ({
    as: writer,
    ask: "POST /v1/events",
    send: eventFor(acme.id, changes),
    headers: { "idempotency-key": crypto.randomUUID(), ...headers },
    gets: 202,
  })
  const [first] = await expectRows([
    taken({ metadata: { text: "a".repeat(65_536) } }),
    taken({ metadata: { text: "€".repeat(21_845) } }),
    taken({ action: `${"a".repeat(99)}.${"b".repeat(100)}` }),
    taken({ action: "0.-" }),
    taken({ projectId: "a".repeat(64) }),
    taken({ projectId: "All" }),
    taken({ actor: { id: " ", type: "\u{1f642}", email: "" } }),
    taken({ target: { id: "x", type: "y" } }),
    taken({ target: { id: "x", type: "y", email: { b: [1], a: null }, 2: "two", 10: "ten" } }),
    taken({
      actor: { id: "x", type: "y", name: { b: 1, a: 2 }, other: { other: 1 }, toString: "own" },
    }),
    taken({ metadata: {} }),
    taken({ metadata: { relatedReceiptIds: [] } }),
    taken({
      metadata: { "": "no name", 2: "two", 10: "ten", "\u{1f642}": "\ud83d\ude42", constructor: 1 },
    }),
    taken({ source: "system" }),
    taken({ source: "dashboard", userVisible: false }),
    taken({}, { "idempotency-key": "!23456789ab~" }),
    taken({}, { "idempotency-key": "k".repeat(255) }),
    taken({}, { "content-type": "application/json; charset=UTF-8" }),
    taken({}, { "content-type": 'Application/JSON;charset="utf-8"' }),
  ])
  await expectRows([taken({ metadata: { relatedReceiptIds: [first?.json().receipt] } })])
})

test("the size of an event is bounded, and the refusal names limit and size", async () => {
  const bytes = (size: number): string => {
    const event = eventFor(acme.id, { metadata: { list: [] as string[] } })
    const fill = (event["metadata"] as { list: string[] }).list
    while (JSON.stringify(event).length + 60_003 < size) fill.push("a".repeat(60_000))
    fill.push("a".repeat(size - JSON.stringify(event).length - (fill.length === 0 ? 2 : 3)))
    return JSON.stringify(event)
  }
  await expectRows([
    {
      as: writer,
      ask: "POST /v1/events",
      send: bytes(262_144),
      headers: { "idempotency-key": "exactly-as-large" },
      gets: 202,
    },
    {
      as: writer,
      ask: "POST /v1/events",
      send: bytes(262_145),
      headers: key,
      gets: "413 payload_too_large",
      has: ["262144", "262145"],
    },
  ])
})

test("Idempotency-Key is required, and is 12 to 255 visible characters", async () => {
  const sent = (headers: Record<string, string>): Row => ({
    as: writer,
    ask: "POST /v1/events",
    send: eventFor(acme.id),
    headers,
    gets: "400 invalid_field",
    has: ["Idempotency-Key"],
  })
  await expectRows([
    sent({}),
    sent({ "idempotency-key": "" }),
    sent({ "idempotency-key": "elevenchars" }),
    sent({ "idempotency-key": "k".repeat(256) }),
    sent({ "idempotency-key": "with a space in it" }),
    sent({ "idempotency-key": "schlüssel-4711" }),
  ])
})

test("occurredAt is returned as sent", async () => {
  const good =
    "2026-01-31T09:30:00Z 2026-01-31t09:30:00z 2026-01-31T10:30:00+01:00 2026-01-31T09:30:00-00:00 2024-02-29T23:59:59.999999999+23:59 \
    0000-01-01T00:00:00Z 1969-12-31T23:59:59.9Z 9999-12-31T23:59:59Z 2000-02-29T00:00:00Z 0001-01-01T00:00:00.1+00:00".split(
      /\s+/,
    )
  for (const occurredAt of good) {
    const reply = await writer.write(eventFor(acme.id, { occurredAt }))
    assert.equal(reply.status, 202, occurredAt)
    const { entry } = (await reader.get(`${acme.path}/receipts/${reply.json().receipt}`)).json()
    assert.equal(entry.occurredAt, occurredAt)
    assert.equal(entry.clockAhead, occurredAt.startsWith("9999") ? true : undefined)
  }
})

test("an event that is dated more than five minutes ahead is marked", async () => {
  const at = async (minutes: number, zone: string): Promise<unknown> => {
    const occurredAt = new Date(Date.now() + minutes * 60_000).toISOString().replace("Z", zone)
    const { receipt } = (await writer.write(eventFor(acme.id, { occurredAt }))).json()
    return (await reader.get(`${acme.path}/receipts/${receipt}`)).json().entry.clockAhead
  }
  assert.equal(await at(-60 * 24 * 365, "Z"), undefined)
  assert.equal(await at(4.9, "Z"), undefined)
  assert.equal(await at(5.2, "Z"), true)
  assert.equal(await at(5.2 + 60, "+01:00"), true)
  assert.equal(await at(4.9 + 60, "+01:00"), undefined)
  assert.equal(await at(5.2 - 60, "-01:00"), true)
})

test("a lane is frozen when the event is received", async () => {
  const lanes = await makeWorkspace(service)
  const { receipt, lane } = (
    await lanes.writer.write(eventFor(lanes.id, { action: "billing.x" }))
  ).json()
  assert.equal(lane, "operations")
  await service.root.patch(lanes.path, { laneRules: [{ prefix: "billing", lane: "data" }] })
  assert.equal((await writeEvent(lanes, { action: "billing.x" })).lane, "data")
  const { receipt: now, entry } = (
    await lanes.reader.get(`${lanes.path}/receipts/${receipt}`)
  ).json()
  assert.deepEqual([now.lane, entry.lane], ["operations", "operations"])
})

test("policyVersion is taken from metadata if it is an integer of at least 1", async () => {
  const rows: readonly (readonly [unknown, number | undefined])[] = [
    ...([
      [1, 1],
      [7, 7],
      [2_147_483_647, 2_147_483_647],
      [2_147_483_648, 2_147_483_648],
    ] as const),
    ...([
      [0, undefined],
      [-1, undefined],
      [1.5, undefined],
      ["3", undefined],
      [null, undefined],
      [[1], undefined],
    ] as const),
  ]
  for (const [given, expected] of rows) {
    const reply = (
      await writer.write(eventFor(acme.id, { metadata: { policyVersion: given } }))
    ).json()
    const { entry } = (await reader.get(`${acme.path}/receipts/${reply.receipt}`)).json()
    assert.deepEqual(
      [reply.policyVersion, entry.policyVersion, entry.metadata],
      [expected, expected, { policyVersion: given }],
    )
  }
})

test("five headers and traceparent are kept as provenance, and each is checked", async () => {
  const headers = {
    "x-service-environment": "production",
    "x-service-server": "web-3",
    "x-request-id": "req-1",
    "x-session-id": "sess 2",
    "x-trace-id": "trace-3",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  }
  const reply = await writer.write(eventFor(acme.id), undefined, headers)
  assert.equal(reply.headers.get("x-request-id"), "req-1")
  const provenance = {
    environment: "production",
    server: "web-3",
    requestId: "req-1",
    sessionId: "sess 2",
    traceId: "trace-3",
    traceparent: headers.traceparent,
    keyId: writer.bearer?.split("_")[1],
  }
  assert.deepEqual(reply.json().provenance, provenance)
  const shown = (await reader.get(`${acme.path}/receipts/${reply.json().receipt}`)).json()
  assert.deepEqual([shown.receipt.provenance, shown.entry.provenance], [provenance, provenance])

  const byInstance = await service.root.write(eventFor(acme.id))
  assert.equal(byInstance.json().provenance, undefined, "the instance key is no API key")
  const odd = await writer.write(eventFor(acme.id), undefined, {
    "x-request-id": "has a space",
    "x-service-server": "",
  })
  assert.notEqual(odd.headers.get("x-request-id"), "has a space")
  assert.deepEqual(odd.json().provenance, { requestId: "has a space", keyId: provenance.keyId })
  await expectRows(
    Object.keys(headers)
      .filter((name) => name !== "traceparent")
      .map((name) => ({
        about: name,
        as: writer,
        ask: "POST /v1/events",
        send: eventFor(acme.id),
        headers: { ...key, [name]: "x".repeat(1025) },
        gets: "400 invalid_field",
        has: [new RegExp(name, "i")],
      })),
  )
})

test("an invalid traceparent is ignored, as the W3C says", async () => {
  const [trace, parent] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"]
  const good = [
    `00-${trace}-${parent}-01`,
    `00-${trace}-${parent}-00`,
    `00-${trace}-${parent}-ff`,
    `00-${"0".repeat(31)}1-${parent}-01`,
  ]
  const bad = [
    "",
    "00-1",
    `00-${trace}-${parent}`,
    `00-${trace}-${parent}-1`,
    `00-${trace}-${parent}-01-`,
    `00-${trace}-${parent}-01-more`,
    `01-${trace}-${parent}-01`,
    `ff-${trace}-${parent}-01`,
    `00-${trace.toUpperCase()}-${parent}-01`,
    `00-${trace}-${parent.toUpperCase()}-01`,
    `00-${"0".repeat(32)}-${parent}-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `00-${trace}-${parent}-0g`,
    `00_${trace}_${parent}_01`,
    `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`,
    "x".repeat(1025),
    "\u00ff",
  ]
  const key = writer.bearer?.split("_")[1]
  for (const traceparent of [...good, ...bad]) {
    const reply = await writer.write(eventFor(acme.id), undefined, { traceparent })
    const kept = good.includes(traceparent) ? { traceparent, keyId: key } : { keyId: key }
    assert.deepEqual([reply.status, reply.json().provenance], [202, kept], traceparent)
    const shown = (await reader.get(`${acme.path}/receipts/${reply.json().receipt}`)).json()
    assert.deepEqual([shown.receipt.provenance, shown.entry.provenance], [kept, kept], traceparent)
  }
  const [first] = good
  const batch = { events: [{ idempotencyKey: crypto.randomUUID(), ...eventFor(acme.id) }] }
  const { results } = (
    await writer.post("/v1/events/batch", batch, { traceparent: first ?? "" })
  ).json()
  assert.deepEqual(results[0].receipt.provenance, { traceparent: first, keyId: key })
})

test("an event makes an unknown project, unless the workspace is closed", async () => {
  const open = await makeWorkspace(service)
  const write = (workspace: string, projectId: string): Row => ({
    as: service.root,
    ask: "POST /v1/events",
    send: eventFor(workspace, { projectId }),
    headers: { "idempotency-key": crypto.randomUUID() },
    gets: 202,
  })
  await expectRows([
    write(open.id, "core"),
    { as: open.reader, ask: `GET ${open.path}/projects/checkout`, gets: "404 not_found" },
    write(open.id, "checkout"),
    {
      as: open.reader,
      ask: `GET ${open.path}/projects/checkout`,
      gets: 200,
      shows: { id: "checkout", receipts: "private", activityLinks: false },
    },
    {
      as: service.root,
      ask: `PATCH ${open.path}`,
      send: { projects: "closed" },
      gets: 200,
      shows: { projects: "closed" },
    },
    { ...write(open.id, "checkuot"), gets: "404 not_found" },
    write(open.id, "checkout"),
    { as: open.reader, ask: `GET ${open.path}/projects/checkuot`, gets: "404 not_found" },
    { as: service.root, ask: `POST ${open.path}/projects`, send: { id: "checkuot" }, gets: 201 },
    write(open.id, "checkuot"),
  ])
})

test("concurrent events for a new project create it once", async () => {
  const fresh = await makeWorkspace(service)
  const replies = await Promise.all(
    Array.from({ length: 20 }, () =>
      fresh.writer.write(eventFor(fresh.id, { projectId: "together" })),
    ),
  )
  assert.deepEqual(
    replies.map(({ status }) => status),
    replies.map(() => 202),
  )
  const { projects } = (await fresh.reader.get(`${fresh.path}/projects`)).json()
  assert.deepEqual(
    projects.map(({ id }: { id: string }) => id),
    ["together", "core"],
  )
})

test("a key that is bound to projects writes to these only", async () => {
  const bound = await makeKey(service, acme.id, {
    scopes: ["write"],
    projectIds: ["mine", "later"],
  })
  const to = (projectId: string, gets: Row["gets"]): Row => ({
    as: bound,
    ask: "POST /v1/events",
    send: eventFor(acme.id, { projectId }),
    headers: { "idempotency-key": crypto.randomUUID() },
    gets,
    hasNot: ["core", "nowhere"],
  })
  const [known, unknown] = (await expectRows([
    to("core", "403 project_forbidden"),
    to("nowhere", "403 project_forbidden"),
  ])) as [Reply, Reply]
  assert.equal(known.text, unknown.text, "whether it exists or not")
  const mine = await bound.write(eventFor(acme.id, { projectId: "mine" }))
  assert.equal(mine.status, 202)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 350, refused: 30 }))
