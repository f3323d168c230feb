import assert from "node:assert/strict"
import { after, test } from "node:test"
import { expectChain } from "../chain.ts"
import { faultyProgram } from "../program.ts"
import type { Fault } from "../crash/faults.ts"
import {
  eventFor,
  makeWorkspace,
  eventually,
  startService,
  writeEvent,
  type Reply,
  type Service,
} from "../service.ts"
import { exchange, request } from "./raw.ts"
import { expectRows, type Row } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"

// What operators and their machines ask: health, readiness, limits. Every limit that is shown is
// enforced. The metrics are in metrics.test.ts, the description in openapi.test.ts.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const anonymous = service.client()

/** A service whose limits are all small enough to be reached. */
const tight = await startWatched({
  environment: {
    TALLYSTICK_LIMIT_EVENT_BYTES_MAX: "2000",
    TALLYSTICK_LIMIT_BATCH_BYTES_MAX: "6000",
    TALLYSTICK_LIMIT_BATCH_EVENTS_MAX: "8",
    TALLYSTICK_LIMIT_DEPTH_MAX: "4",
    TALLYSTICK_LIMIT_STRING_BYTES_MAX: "100",
    TALLYSTICK_LIMIT_HEADERS_BYTES_MAX: "4000",
    TALLYSTICK_LIMIT_URI_BYTES_MAX: "300",
    TALLYSTICK_LIMIT_QUEUED_EVENTS_MAX: "5",
    TALLYSTICK_LIMIT_CONTEXT_CHARACTERS_MAX: "20",
    TALLYSTICK_PUBLIC_URL: "https://ledger.example/tally",
  },
})
after(() => tight[Symbol.asyncDispose]())
const small = await makeWorkspace(tight)

test("healthz and readyz report a process that lives and can append", async () => {
  await expectRows([
    { as: anonymous, ask: "GET /healthz", gets: 200, shows: { status: "ok" } },
    { as: anonymous, ask: "GET /readyz", gets: 200, shows: { ready: true }, hasNot: ["checks"] },
    { as: anonymous, ask: "GET /readyz?verbose", gets: 200, has: ["checks"] },
    { as: anonymous, ask: "GET /readyz?verbose=true", gets: 200, has: ["checks"] },
    { as: anonymous, ask: "GET /readyz?verbose=false", gets: 200, hasNot: ["checks"] },
    { as: anonymous, ask: "GET /readyz?verbose=yes", gets: "400 invalid_field", has: ["verbose"] },
    {
      as: anonymous,
      ask: "GET /healthz?x=1",
      gets: "400 invalid_field",
      has: ["x is not a known query parameter"],
    },
  ])
  const { checks } = (await anonymous.get("/readyz?verbose")).json()
  for (const check of checks) assert.equal(check.ok, true, JSON.stringify(check))
  assert.ok(checks.length >= 2)
})

// Metrics -----------------------------------------------------------------------------------------

test("no metric names a tenant or has a value that a stranger can choose", async () => {
  const strange = ["/v1/strange-path-1", "/v1/workspaces/strange-workspace", "/strange%20path-2"]
  for (const path of strange) await anonymous.get(path)
  await anonymous.ask("DELETE", "/v1/events")
  const minted = await writeEvent(acme)
  await acme.reader.get(`${acme.path}/receipts/${minted.receipt}`)
  const { headers, text } = await anonymous.get("/metrics")
  assert.match(headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/)
  for (const one of [
    "strange",
    acme.id,
    "rcp_",
    "evt_",
    "tsk_",
    "ada@example.com",
    "usr_1",
    service.data,
  ])
    assert.ok(!text.includes(one), one)
})

// Limits that are set -----------------------------------------------------------------------------

test("a configured limit is enforced and shown", async () => {
  const send = (changes: object, gets: Row["gets"], has: Row["has"] = [], headers = {}): Row => ({
    as: small.writer,
    ask: "POST /v1/events",
    send: eventFor(small.id, changes),
    headers: { "idempotency-key": crypto.randomUUID(), ...headers },
    gets,
    has,
  })
  const batch = (
    events: number,
    gets: Row["gets"],
    has: Row["has"] = [],
    metadata: object = {},
  ): Row => ({
    as: small.writer,
    ask: "POST /v1/events/batch",
    send: {
      events: Array.from({ length: events }, () => ({
        idempotencyKey: crypto.randomUUID(),
        ...eventFor(small.id, { metadata }),
      })),
    },
    gets,
    has,
  })
  const list = (count: number): object => ({
    list: Array.from({ length: count }, () => "a".repeat(90)),
  })
  await expectRows([
    {
      as: tight.client(),
      ask: "GET /v1/limits",
      gets: 200,
      shows: {
        eventBytesMax: 2000,
        batchBytesMax: 6000,
        batchEventsMax: 5,
        depthMax: 4,
        stringBytesMax: 100,
        headersBytesMax: 4000,
        uriBytesMax: 300,
        queuedEventsMax: 5,
      },
    },
    send({ metadata: list(10) }, 202),
    send({ metadata: list(20) }, "413 payload_too_large", ["2000"]),
    send({ metadata: { a: { b: { c: 1 } } } }, 202),
    send({ metadata: { a: { b: { c: {} } } } }, "400 invalid_json", ["4"]),
    send({ metadata: { a: "a".repeat(100) } }, 202),
    send({ metadata: { a: "a".repeat(101) } }, "400 invalid_field", ["100"]),
    send({}, 202, [], { "x-trace-id": "t".repeat(20) }),
    send({}, "400 invalid_field", [/X-Trace-Id.*20/], { "x-trace-id": "t".repeat(21) }),
    batch(5, 202),
    batch(6, "400 invalid_field", [/events.*1 to 5/]),
    batch(5, "413 payload_too_large", ["6000"], list(15)),
    { as: tight.client(), ask: `GET /${"a".repeat(300)}`, gets: "414 uri_too_long", has: ["300"] },
  ])
  const { replies } = await exchange(
    tight.url,
    request(tight.url, "GET /healthz", [`X-Long: ${"a".repeat(4000)}`]),
  )
  assert.deepEqual(
    [replies[0]?.status, JSON.parse(replies[0]?.body ?? "").error],
    [431, "headers_too_large"],
  )
})

/** A service whose queue has five places, which stay taken for a while. */
const startSlow = (fault: Fault) =>
  startService({
    program: faultyProgram,
    arguments: [fault],
    environment: { TALLYSTICK_LIMIT_QUEUED_EVENTS_MAX: "5" },
  })

const eventsOf = (id: string, count: number): readonly object[] =>
  Array.from({ length: count }, () => ({ idempotencyKey: crypto.randomUUID(), ...eventFor(id) }))

const writeBatch = (service: Service, ...events: (readonly object[])[]): Promise<Reply> =>
  service.root.post("/v1/events/batch", { events: events.flat() })

test("a write beyond the queue is refused at once, is not recorded, and may be repeated", async () => {
  await using slow = await startSlow("storage is slow")
  const { id } = await makeWorkspace(slow)
  // Whichever of the two comes second is refused.
  for (let isRefused = false; !isRefused;) {
    const events = eventsOf(id, 5)
    const other = { isAnswered: false }
    const first = writeBatch(slow, eventsOf(id, 5)).finally(() => (other.isAnswered = true))
    const reply = await writeBatch(slow, events)
    isRefused = reply.status === 503
    if (isRefused) assert.deepEqual([reply.json().error, other.isAnswered], ["overloaded", false])
    await first
    if (!isRefused) continue
    const { results } = (await writeBatch(slow, events)).json()
    for (const result of results)
      assert.deepEqual(Object.keys(result), ["receipt"], "none of them had been recorded")
  }
  await expectChain(slow.root, id)
})

test("a batch as large as the queue is accepted, for any number of workspaces, and no larger one", async () => {
  await using service = await startService({
    environment: { TALLYSTICK_LIMIT_QUEUED_EVENTS_MAX: "5" },
  })
  const [one, other] = [await makeWorkspace(service), await makeWorkspace(service)]
  const { batchEventsMax } = (await service.root.get("/v1/limits")).json()
  assert.equal(batchEventsMax, 5, "the default is 1,000")
  const events = [...eventsOf(one.id, 2), ...eventsOf(other.id, 3)]
  assert.equal((await writeBatch(service, events)).status, 202)
  const larger = await writeBatch(service, events, eventsOf(one.id, 1))
  assert.deepEqual([larger.status, larger.json().error], [400, "invalid_field"])
  assert.match(larger.json().detail, /^events must be an array of 1 to 5 items$/)
  for (const { id } of [one, other]) await expectChain(service.root, id)
})

test("a batch that was recorded in part is never reported as refused", async () => {
  await using slow = await startSlow("storage is slow")
  const [one, other] = [await makeWorkspace(slow), await makeWorkspace(slow)]
  for (let isDivided = false; !isDivided;) {
    const events = [...eventsOf(one.id, 2), ...eventsOf(other.id, 3)]
    const first = writeBatch(slow, eventsOf(other.id, 3))
    const reply = await writeBatch(slow, events)
    isDivided = reply.status === 503
    if (isDivided) assert.equal(reply.json().error, "ledger_unavailable")
    await first
    if (!isDivided) continue
    const { results } = (await writeBatch(slow, events)).json()
    assert.deepEqual(
      results.map(({ replayed }: { replayed?: true }) => replayed),
      [true, true, undefined, undefined, undefined],
    )
  }
  for (const { id } of [one, other]) await expectChain(slow.root, id)
})

test("a batch that may have been recorded in part is never reported as refused", async () => {
  await using failing = await startSlow("storage is slow and fails")
  const [refused, unknown] = [await makeWorkspace(failing), await makeWorkspace(failing)]
  let unsaid = 0
  // Two of eight appends fail: one before anything was stored, and one after.
  for (let time = 0; time < 8; time++) {
    const first = writeBatch(failing, eventsOf(refused.id, 4))
    const reply = await writeBatch(failing, eventsOf(refused.id, 2), eventsOf(unknown.id, 1))
    if (reply.status !== 202) assert.equal(reply.json().error, "ledger_unavailable")
    if (reply.status !== 202) unsaid += 1
    await first
  }
  assert.ok(unsaid > 0)
  assert.match(failing.log(), /the storage failed/)
  for (const { id } of [refused, unknown]) await expectChain(failing.root, id)
})

test("with a public URL, addresses in answers begin with it, and its host name is answered", async () => {
  const { receipt, verificationUrl } = await writeEvent(small)
  assert.equal(verificationUrl, `https://ledger.example/tally${small.path}/receipts/${receipt}`)
  const asked = async (host: string): Promise<number | undefined> =>
    (await exchange(tight.url, request(tight.url, "GET /healthz", [`Host: ${host}`]))).replies[0]
      ?.status
  assert.deepEqual(
    [
      await asked("ledger.example"),
      await asked("ledger.example:443"),
      await asked("example"),
      await asked("localhost"),
    ],
    [200, 200, 400, 200],
  )
  const { origin } = (await small.reader.get(small.path)).json()
  assert.match(origin, /^ledger\.example\/ledgers\//)
})

test("a start on every interface without a public URL warns that it names ledgers after none", async () => {
  for (const [host, environment, warns] of [
    ["0.0.0.0", {}, true],
    ["0.0.0.0", { TALLYSTICK_PUBLIC_URL: "https://ledger.example" }, false],
    ["127.0.0.1", {}, false],
  ] as const) {
    await using open = await startService({
      environment: { TALLYSTICK_HOST: host, ...environment },
    })
    await eventually("the start to be over", async () => open.log().includes("listening"))
    assert.equal(open.log().includes("the names of ledgers contain 0.0.0.0"), warns)
    assert.equal(await open.end(), 0)
  }
})

test("every receipt of this run verifies, and no secret leaked", async () => {
  await service.finish()
  await tight.finish()
})

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 20, refused: 5 }))
