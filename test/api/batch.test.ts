import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeKey, makeWorkspace } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"

// POST /v1/events/batch: each event is judged alone, in order; an invalid envelope refuses all.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const other = await makeWorkspace(service)
const { writer, reader } = acme

const item = (changes: object = {}, idempotencyKey: unknown = crypto.randomUUID()): object => ({
  idempotencyKey,
  ...eventFor(acme.id, changes),
})
const sendBatch = async (events: readonly unknown[], headers?: Record<string, string>) => {
  const reply = await writer.post("/v1/events/batch", { events }, headers)
  assert.equal(reply.status, 202, reply.text)
  const { results } = reply.json()
  assert.equal(results.length, events.length)
  return results
}

test("a batch records its events in order, as single requests would", async () => {
  const results = await sendBatch(
    Array.from({ length: 50 }, (_, place) => item({ metadata: { place } })),
  )
  for (const [place, { receipt, replayed }] of results.entries()) {
    assert.equal(replayed, undefined)
    assert.equal(receipt.queued, true)
    const { entry } = (await reader.get(`${acme.path}/receipts/${receipt.receipt}`)).json()
    assert.equal(entry.metadata.place, place)
    if (place > 0) assert.equal(receipt.previousHash, results[place - 1].receipt.eventHash)
  }
})

test("an invalid event is reported at its place, and the other events are recorded", async () => {
  const used = item()
  await sendBatch([used])
  const rows: readonly (readonly [unknown, string | undefined, RegExp?])[] = [
    [item(), undefined],
    [item({ action: "approve" }), "invalid_field", /events\[1\]\.action/],
    [item({ metdata: {} }), "invalid_field", /events\[2\]\.metdata is not a known field/],
    [
      { ...item(), idempotencyKey: undefined },
      "invalid_field",
      /events\[3\]\.idempotencyKey is required/,
    ],
    [item({}, "elevenchars"), "invalid_field", /events\[4\]\.idempotencyKey/],
    [item({}, "has a space in it"), "invalid_field", /events\[5\]\.idempotencyKey/],
    [item({}, 123456789012), "invalid_field", /events\[6\]\.idempotencyKey/],
    [null, "invalid_field", /events\[7\] must be an object/],
    ["event", "invalid_field", /events\[8\] must be an object/],
    [[], "invalid_field", /events\[9\] must be an object/],
    [item({ workspaceId: other.id }), "workspace_forbidden"],
    [item({ workspaceId: "no-such-workspace" }), "workspace_forbidden"],
    [item({ projectId: "system" }), "invalid_field", /events\[12\]\.projectId/],
    [item({ occurredAt: "2026-02-30T00:00:00Z" }), "invalid_field", /events\[13\]\.occurredAt/],
    [{ ...used, source: "automation" }, "idempotency_key_reused", /rcp_/],
    [used, "replayed"],
    [
      item({ metadata: { list: Array.from({ length: 5 }, () => "a".repeat(60_000)) } }),
      "payload_too_large",
      /events\[16\].*262144/,
    ],
    [item({ metadata: { list: Array.from({ length: 4 }, () => "a".repeat(60_000)) } }), undefined],
    [item(), undefined],
  ]
  const results = await sendBatch(rows.map(([event]) => event))
  const recorded = results.filter(
    (result: { error?: string; replayed?: true }) => result.error === undefined && !result.replayed,
  )
  for (const [place, [, error, detail = /./]] of rows.entries()) {
    const result = results[place]
    if (error === undefined)
      assert.deepEqual(
        Object.keys(result),
        ["receipt"],
        `event ${place}: ${JSON.stringify(result)}`,
      )
    else if (error === "replayed") assert.equal(result.replayed, true)
    else {
      const members = [
        "error",
        "detail",
        ...(error === "idempotency_key_reused" ? ["receipt"] : []),
      ]
      assert.deepEqual(
        [Object.keys(result), result.error],
        [members, error],
        `event ${place}: ${JSON.stringify(result)}`,
      )
      assert.match(result.detail, detail)
    }
  }
  for (const [at, { receipt }] of recorded.entries())
    if (at > 0) assert.equal(receipt.previousHash, recorded[at - 1].receipt.eventHash)
})

test("an event that breaks a rule of JSON or a limit of strings does not stop the others", async () => {
  const recorded = () => [JSON.stringify(item()), undefined, undefined] as const
  const small = () => [
    recorded(),
    ['{"a":1,"a":2}', "invalid_json", "events[1]"],
    ['{"a":"\\ud800"}', "invalid_json", "events[2].a"],
    ['{"a":9007199254740993}', "invalid_json", "events[3].a"],
    [`${"[".repeat(33)}${"]".repeat(33)}`, "invalid_json", `events[4]${"[0]".repeat(32)}`],
    recorded(),
  ]
  const long = JSON.stringify(item({ metadata: { a: "a".repeat(65_537) } }))
  const large = () => [...small(), [long, "invalid_field", "events[6].metadata.a"], recorded()]
  for (const events of [small(), large()]) {
    const texts = events.map(([text]) => text)
    const reply = await writer.post("/v1/events/batch", `{"events":[${texts.join(",")}]}`)
    assert.equal(reply.status, 202, reply.text)
    const { results } = reply.json<{ results: { error?: string; detail?: string }[] }>()
    assert.deepEqual(
      results.map(({ error, detail }) => [error, detail?.split(" ")[0]]),
      events.map(([, error, place]) => [error, place]),
    )
  }
})

test("a batch of invalid events only is answered 202, too", async () => {
  const results = await sendBatch([null, item({ source: "cron" })])
  assert.deepEqual(
    results.map(({ error }: { error: string }) => error),
    ["invalid_field", "invalid_field"],
  )
})

test("the same key twice in a batch behaves as two requests", async () => {
  const twice = item()
  const key = crypto.randomUUID()
  const [first, again, one, otherOne] = await sendBatch([
    twice,
    twice,
    item({ source: "api" }, key),
    item({ source: "automation" }, key),
  ])
  assert.equal(first.replayed, undefined)
  assert.deepEqual(again, { receipt: first.receipt, replayed: true })
  assert.equal(otherOne.error, "idempotency_key_reused")
  assert.ok(otherOne.detail.includes(one.receipt.receipt))
})

test("a batch and single events share their keys", async () => {
  const event = eventFor(acme.id)
  const [single, batched] = [crypto.randomUUID(), crypto.randomUUID()]
  const written = await writer.write(event, single)
  const [replay, fresh] = await sendBatch([
    { idempotencyKey: single, ...event },
    { ...event, idempotencyKey: batched },
  ])
  assert.deepEqual(replay, { receipt: written.json(), replayed: true })
  const again = await writer.write(event, batched)
  assert.equal(again.headers.get("idempotency-replayed"), "true")
  assert.deepEqual(again.json(), fresh.receipt)
})

test("an invalid envelope refuses the whole batch", async () => {
  const key = "recorded-only-if-the-envelope-is-good"
  const sent = (
    about: string,
    send: unknown,
    gets: string,
    has: Row["has"] = [],
    headers: Row["headers"] = {},
  ): Row => ({
    about,
    as: writer,
    ask: "POST /v1/events/batch",
    send,
    headers,
    gets,
    has,
  })
  const good = item({}, key)
  await expectRows([
    sent("no events", {}, "400 invalid_field", [/events is required/]),
    sent("none", { events: [] }, "400 invalid_field", [/events.*1 to 1000/]),
    sent("too many", { events: Array.from({ length: 1001 }, () => good) }, "400 invalid_field", [
      /events.*1 to 1000/,
    ]),
    sent("no array", { events: good }, "400 invalid_field", ["events"]),
    sent("null", { events: null }, "400 invalid_field", ["events"]),
    sent("an array", [good], "400 invalid_field", ["must be an object"]),
    sent("another member", { events: [good], atomic: true }, "400 invalid_field", [
      "atomic is not a known field",
    ]),
    sent("a header", { events: [good] }, "400 invalid_field", ["Idempotency-Key"], {
      "idempotency-key": crypto.randomUUID(),
    }),
    sent("not JSON", `{"events":[${JSON.stringify(good)},]}`, "400 invalid_json"),
    sent(
      "more than 8 MiB",
      `{"events":[${JSON.stringify(good)}${" ".repeat(8 * 1024 * 1024)}]}`,
      "413 payload_too_large",
      ["8388608"],
    ),
    sent("a query parameter", { events: [good] }, "202"),
  ])
  await expectRows([
    {
      ...sent("", { events: [good] }, "400 invalid_field", ["dry"]),
      ask: "POST /v1/events/batch?dry=true",
    },
  ])
})

test("a batch of a thousand events is accepted, and so is one of almost 8 MiB", async () => {
  const results = await sendBatch(Array.from({ length: 1000 }, () => item()))
  assert.equal(
    new Set(results.map(({ receipt }: { receipt: { receipt: string } }) => receipt.receipt)).size,
    1000,
  )
  const large = Array.from({ length: 31 }, () =>
    item({ metadata: { list: Array.from({ length: 4 }, () => "a".repeat(62_000)) } }),
  )
  for (const result of await sendBatch(large)) assert.deepEqual(Object.keys(result), ["receipt"])
})

test("an event in a batch may be nested as deeply as a single one", async () => {
  const deep = (depth: number): object =>
    JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`)
  assert.equal((await writer.write(eventFor(acme.id, { metadata: deep(31) }))).status, 202)
  const [result] = await sendBatch([item({ metadata: deep(31) })])
  assert.deepEqual(Object.keys(result), ["receipt"])
})

test("the headers of a batch are the provenance of each of its events", async () => {
  const results = await sendBatch([item(), item()], {
    "x-service-environment": "staging",
    "x-trace-id": "t-1",
    "x-request-id": "r-1",
  })
  for (const { receipt } of results) {
    assert.deepEqual(receipt.provenance, {
      environment: "staging",
      traceId: "t-1",
      requestId: "r-1",
      keyId: writer.bearer?.split("_")[1],
    })
  }
})

test("in a batch, too, a key writes to its projects only, and a closed workspace gets no new project", async () => {
  const bound = await makeKey(service, other.id, {
    scopes: ["write"],
    projectIds: ["mine", "fresh"],
  })
  const to = (projectId: string): object => ({
    idempotencyKey: crypto.randomUUID(),
    ...eventFor(other.id, { projectId }),
  })
  await service.root.post(`${other.path}/projects`, { id: "mine" })
  await service.root.patch(other.path, { projects: "closed" })
  const reply = await bound.post("/v1/events/batch", {
    events: ["mine", "core", "fresh", "elsewhere", "mine"].map(to),
  })
  assert.deepEqual(
    reply
      .json()
      .results.map(
        ({ error, receipt }: { error?: string; receipt?: object }) =>
          error ?? (receipt && "recorded"),
      ),
    ["recorded", "project_forbidden", "not_found", "project_forbidden", "recorded"],
  )
})

test("an event whose key another of its batch uses makes no project", async () => {
  const key = crypto.randomUUID()
  const results = await sendBatch([
    item({ projectId: "of-the-first" }, key),
    item({ projectId: "of-the-refused" }, key),
    item({ projectId: "of-the-third" }),
  ])
  assert.deepEqual(
    results.map(({ error }: { error?: string }) => error),
    [undefined, "idempotency_key_reused", undefined],
  )
  const { projects } = (await reader.get(`${acme.path}/projects`)).json()
  const made = projects.map(({ id }: { id: string }) => id)
  assert.deepEqual(
    made.filter((id: string) => id.startsWith("of-the-")),
    ["of-the-third", "of-the-first"],
  )
})

test("the instance key may write to several workspaces in one batch", async () => {
  await service.root.patch(other.path, { projects: "open" })
  const events = [acme, other, acme, other].map(({ id }) => ({
    idempotencyKey: crypto.randomUUID(),
    ...eventFor(id),
  }))
  const { results } = (await service.root.post("/v1/events/batch", { events })).json()
  const workspaceOf = ({ receipt }: { receipt: { verificationUrl: string } }) =>
    receipt.verificationUrl.split("/")[5]
  assert.deepEqual(results.map(workspaceOf), [acme.id, other.id, acme.id, other.id])
  assert.equal(results[2].receipt.previousHash, results[0].receipt.eventHash)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 800, refused: 2 }))
