import assert from "node:assert/strict"
import { test } from "node:test"
import { createClient, type Client, type ClientOptions, type ListedEntry } from "./index.ts"
import { event, failure } from "./test-calls.ts"
import { vkeysOf } from "./trusted-keys.ts"

// Calls over a scripted network, with time and randomness under the test's control. test/api tests
// the client against the real service.

/** One reaction of the network: a response, an error, or silence until the attempt is aborted. */
type Happening = Response | Error | "silence" | "breaks off"

interface Sent {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: string | undefined
}

function network(happenings: readonly Happening[], options: Partial<ClientOptions> = {}) {
  const left = [...happenings]
  const sent: Sent[] = []
  const waits: number[] = []
  let now = 0
  let keys = 0
  const client = createClient({
    baseUrl: "https://ledger.example.com/",
    key: "tsk_key",
    async fetch(url, { method = "", headers, body, signal } = {}) {
      sent.push({
        method,
        url: url instanceof Request ? url.url : url.toString(),
        headers: new Headers(headers),
        body: typeof body === "string" ? body : undefined,
      })
      const happening = left.shift() ?? assert.fail("one attempt too many")
      if (happening instanceof Error) throw happening
      if (happening === "breaks off")
        return new Response(
          new ReadableStream({
            pull: (controller) => controller.error(new TypeError("terminated")),
          }),
        )
      if (happening !== "silence") return happening
      return await new Promise<Response>((_, reject) =>
        signal?.addEventListener("abort", () => reject(new Error("aborted"))),
      )
    },
    now: () => now,
    // The timeout of an attempt passes only if nothing else happens. A wait between attempts passes
    // at once.
    async sleep(ms, signal) {
      const isAttempt = ms === attemptTimeoutMs
      if (isAttempt) await Promise.resolve().then(() => Promise.resolve())
      for (let turn = 0; isAttempt && turn < 20 && !signal.aborted; turn++)
        await new Promise((resolve) => setImmediate(resolve))
      if (signal.aborted) return
      if (!isAttempt) waits.push(ms)
      now += ms
    },
    random: () => 0.5,
    newKey: () => `made-key-${++keys}-of-this-test`,
    attemptTimeoutMs,
    ...options,
  })
  return { client, sent, waits, left }
}

const attemptTimeoutMs = 7777
const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  })
const problem = (status: number, error: string, headers: Record<string, string> = {}): Response =>
  json(status, { error, detail: `${error} it is` }, { "x-request-id": "req-1", ...headers })

test("all attempts of a write have the same key and bytes", async () => {
  const { client, sent, left } = network([
    new TypeError("fetch failed"),
    "silence",
    "breaks off",
    problem(503, "ledger_unavailable"),
    problem(500, "internal_error"),
    new Response("<html>bad gateway", { status: 502 }),
    json(202, { receipt: "rcp_1" }, { "idempotency-replayed": "true" }),
  ])
  const { receipt, replayed, idempotencyKey } = await client.events.write(event)
  assert.deepEqual(
    [receipt.receipt, replayed, idempotencyKey],
    ["rcp_1", true, "made-key-1-of-this-test"],
  )
  assert.equal(left.length, 0)
  assert.equal(sent.length, 7)
  for (const { method, url, headers, body } of sent) {
    assert.deepEqual(
      [method, url, body],
      ["POST", "https://ledger.example.com/v1/events", JSON.stringify(event)],
    )
    assert.equal(headers.get("idempotency-key"), "made-key-1-of-this-test")
    assert.equal(headers.get("authorization"), "Bearer tsk_key")
  }
})

test("each call has a key of its own, unless the caller gives one", async () => {
  const receipts = Array.from({ length: 3 }, () => json(202, { receipt: "rcp_1" }))
  const { client, sent } = network(receipts)
  await client.events.write(event)
  await client.events.write(event)
  await client.events.write(event, { idempotencyKey: "order-4711-created" })
  const keys = sent.map(({ headers }) => headers.get("idempotency-key"))
  assert.deepEqual(keys, [
    "made-key-1-of-this-test",
    "made-key-2-of-this-test",
    "order-4711-created",
  ])
})

test("a batch gets missing keys once, and each result has its key", async () => {
  const results = [{ receipt: { receipt: "rcp_1" } }, { error: "invalid_field", detail: "no" }]
  const { client, sent } = network([problem(503, "ledger_unavailable"), json(202, { results })])
  const outcomes = await client.events.writeBatch([
    event,
    { ...event, idempotencyKey: "order-4711-created" },
  ])
  assert.deepEqual(
    outcomes.map(({ idempotencyKey }) => idempotencyKey),
    ["made-key-1-of-this-test", "order-4711-created"],
  )
  assert.deepEqual(
    outcomes.map((outcome) => "receipt" in outcome),
    [true, false],
  )
  assert.equal(sent[0]?.body, sent[1]?.body)
  assert.equal(sent[0]?.headers.has("idempotency-key"), false)
})

test("the error of a failed batch has all its keys, so that it can be retried", async () => {
  const { client, sent } = network([problem(503, "ledger_unavailable")], { retriesMax: 0 })
  const { outcome, idempotencyKey, idempotencyKeys } = await failure(
    client.events.writeBatch([event, { ...event, idempotencyKey: "order-4711-created" }]),
  )
  assert.deepEqual(
    [outcome, idempotencyKey, idempotencyKeys],
    ["unknown", undefined, ["made-key-1-of-this-test", "order-4711-created"]],
  )
  assert.deepEqual(
    JSON.parse(String(sent[0]?.body)).events.map(
      (one: { idempotencyKey: string }) => one.idempotencyKey,
    ),
    idempotencyKeys,
  )
  const unsent = await failure(client.events.writeBatch([{ ...event, metadata: { a: 1n } }]))
  assert.deepEqual(
    [unsent.outcome, unsent.idempotencyKeys],
    ["rejected", ["made-key-2-of-this-test"]],
  )
})

test("waits double up to their maximum, with full jitter, and honour Retry-After", async () => {
  const busy = Array.from({ length: 6 }, () => problem(503, "ledger_unavailable"))
  const doubling = network([...busy, json(202, { receipt: "rcp_1" })], {
    waitMs: 100,
    waitMaxMs: 1000,
  })
  await doubling.client.events.write(event)
  assert.deepEqual(doubling.waits, [50, 100, 200, 400, 500, 500])

  const asked = network([
    problem(429, "rate_limited", { "retry-after": "3" }),
    json(202, { receipt: "rcp_1" }),
  ])
  await asked.client.events.write(event)
  assert.deepEqual(asked.waits, [3050])

  const tooLong = network([problem(503, "read_only", { "retry-after": "60" })])
  const { code, retryAfterSeconds } = await failure(tooLong.client.events.write(event))
  assert.deepEqual([code, retryAfterSeconds, tooLong.waits], ["read_only", 60, []])
})

test("the error of a key that was used for another request has the receipt that the key belongs to", async () => {
  const receipt = { receipt: "rcp_1", eventHash: "0".repeat(64) }
  const asked = network([
    json(422, { error: "idempotency_key_reused", detail: "it was used", receipt }),
  ])
  assert.deepEqual((await failure(asked.client.events.write(event))).receipt, receipt)
})

test("the answer decides whether the outcome is known", async () => {
  const cases: readonly (readonly [Happening, string, number, "rejected" | "unknown"])[] = [
    [problem(400, "invalid_field"), "invalid_field", 400, "rejected"],
    [problem(422, "idempotency_key_reused"), "idempotency_key_reused", 422, "rejected"],
    [problem(429, "rate_limited"), "rate_limited", 429, "rejected"],
    [problem(503, "overloaded"), "overloaded", 503, "rejected"],
    [problem(503, "storage_full"), "storage_full", 503, "rejected"],
    [problem(503, "read_only"), "read_only", 503, "rejected"],
    [problem(503, "shutting_down"), "shutting_down", 503, "rejected"],
    [problem(503, "ledger_unavailable"), "ledger_unavailable", 503, "unknown"],
    [problem(503, "integrity_failure"), "integrity_failure", 503, "unknown"],
    [problem(500, "internal_error"), "internal_error", 500, "unknown"],
    [new Response("<html>", { status: 504 }), "unexpected_answer", 504, "unknown"],
    [new Response("<html>", { status: 202 }), "unexpected_answer", 202, "unknown"],
    [new TypeError("fetch failed"), "network_error", 0, "unknown"],
    ["breaks off", "network_error", 0, "unknown"],
    ["silence", "timeout", 0, "unknown"],
  ]
  for (const [happening, code, status, outcome] of cases) {
    const error = await failure(network([happening], { retriesMax: 0 }).client.events.write(event))
    assert.deepEqual([error.code, error.status, error.outcome], [code, status, outcome])
    assert.equal(error.idempotencyKey, "made-key-1-of-this-test")
    assert.equal(
      error.requestId,
      happening instanceof Response && happening.headers.has("x-request-id") ? "req-1" : undefined,
    )
    assert.ok(error.detail.length > 0 && error.message.startsWith(code))
  }
})

test("after an unknown attempt, a refusal leaves the outcome unknown", async () => {
  for (const last of [problem(503, "overloaded"), problem(401, "unauthorized")]) {
    const { outcome } = await failure(
      network([new TypeError("fetch failed"), last], { retriesMax: 1 }).client.events.write(event),
    )
    assert.equal(outcome, "unknown")
  }
  const { outcome } = await failure(
    network([problem(503, "overloaded"), problem(503, "overloaded")], {
      retriesMax: 1,
    }).client.events.write(event),
  )
  assert.equal(outcome, "rejected")
})

test("a call that must not run twice is retried only if the service refused it before it ran", async () => {
  const key = { name: "one", scopes: ["read"] } as const
  for (const happening of [
    new TypeError("fetch failed"),
    problem(503, "ledger_unavailable"),
    "silence",
  ] as const) {
    const { client, sent } = network([happening])
    assert.equal((await failure(client.apiKeys.create("acme", key))).outcome, "unknown")
    assert.equal(sent.length, 1)
  }
  const { client, sent } = network([
    problem(503, "overloaded"),
    problem(408, "request_timeout"),
    problem(429, "rate_limited"),
    json(201, { keyId: "1" }),
  ])
  await client.apiKeys.create("acme", key)
  assert.equal(sent.length, 4)
})

test("a write that another program answers has an unknown outcome, and is no success", async () => {
  const consent = {
    workspaceId: "acme",
    subject: { id: "usr_1", email: "ada@example.com" },
    mode: "explicit",
    policyVersion: 1,
    surface: "form",
  } as const
  const receipt = { receipt: "rcp_1" }
  const writes: readonly (readonly [(client: Client) => Promise<unknown>, readonly unknown[]])[] = [
    [({ events }) => events.write(event), [{ receipt: 5 }, { receipt }]],
    [({ consents }) => consents.record(consent), [{ receipt: null }, receipt]],
    [
      ({ events }) => events.writeBatch([event, event]),
      [{ results: [] }, { results: [{ receipt }] }, { results: [{ receipt }, {}] }],
    ],
  ]
  for (const [write, answers] of writes)
    for (const answer of [...answers, {}, [], null, "ok", 5]) {
      const { client, sent } = network([json(200, answer)])
      const { code, status, outcome } = await failure(write(client))
      const said = JSON.stringify(answer)
      assert.deepEqual([code, status, outcome], ["unexpected_answer", 200, "unknown"], said)
      assert.equal(sent.length, 1, said)
    }
})

test("a read that another program answers fails and says so, instead of ending or waiting", async () => {
  const entries = (iteration: AsyncGenerator<ListedEntry>) => Array.fromAsync(iteration)
  const reads: readonly ((client: Client) => Promise<unknown>)[] = [
    ({ workspaces }) => workspaces.get("acme"),
    ({ service }) => service.readiness(),
    ({ apiKeys }) => Array.fromAsync(apiKeys.each("acme")),
    ({ events }) => entries(events.each("acme")),
    ({ events }) => entries(events.follow("acme")),
    ({ events }) => entries(events.exportEach("acme")),
    ({ events }) => events.export("acme", { format: "csv" }),
  ]
  const answers = ["<html>", "", "null", "5\n", "[]", '{"sequence":1}\n']
  for (const [at, read] of reads.entries())
    for (const answer of at === 0 ? answers.slice(0, -1) : answers) {
      const { client, sent } = network([new Response(answer)])
      const { code, status } = await failure(read(client))
      assert.deepEqual([code, status], ["unexpected_answer", 200], `${at} ${answer}`)
      assert.equal(sent.length, 1, `${at} ${answer}`)
    }
})

test("a 4xx is not retried, nor is an unreadable answer", async () => {
  for (const happening of [
    problem(400, "invalid_field"),
    problem(404, "not_found"),
    new Response("?", { status: 200 }),
  ]) {
    const { client, sent } = network([happening])
    await failure(client.workspaces.get("acme"))
    assert.equal(sent.length, 1)
  }
})

test("the whole call ends in its time, attempts and waits together", async () => {
  const { client, sent, waits } = network(["silence", "silence", "silence"], {
    timeoutMs: 2 * attemptTimeoutMs + 15,
    waitMs: 20,
  })
  const error = await failure(client.events.write(event))
  assert.deepEqual([error.code, error.outcome, sent.length, waits], ["timeout", "unknown", 2, [10]])
  assert.equal(error.detail, `no answer arrived within ${attemptTimeoutMs} ms`)

  const short = network(["silence"], { timeoutMs: 5000, attemptTimeoutMs: 6000 })
  assert.equal(
    (await failure(short.client.events.write(event))).detail,
    "no answer arrived within the 5000 ms of the whole call",
  )
})

test("an aborted call ends at once, and its error says whether anything was sent", async () => {
  const before = network([])
  const error = await failure(
    before.client.events.write(event, { signal: AbortSignal.abort("enough") }),
  )
  assert.deepEqual(
    [error.code, error.outcome, error.cause, before.sent.length],
    ["aborted", "rejected", "enough", 0],
  )

  const giveUp = new AbortController()
  const during = network(["silence"])
  const call = failure(during.client.events.write(event, { signal: giveUp.signal }))
  giveUp.abort("enough")
  const { code, outcome } = await call
  assert.deepEqual([code, outcome, during.sent.length], ["aborted", "unknown", 1])
})

test("pages follow each other until there are no more, and never in a circle", async () => {
  const page = (sequences: readonly number[], hasMore: boolean) =>
    json(200, {
      events: sequences.map((sequence) => ({ sequence })),
      nextCursor: sequences.at(-1) ?? 0,
      hasMore,
    })
  const { client, sent } = network([page([9, 8], true), page([7], false)])
  const found: number[] = []
  for await (const { sequence } of client.events.each("acme", { query: "a b", limit: 2 }))
    found.push(sequence)
  assert.deepEqual(found, [9, 8, 7])
  assert.deepEqual(
    sent.map(({ url }) => new URL(url).search),
    ["?query=a+b&limit=2", "?query=a+b&limit=2&cursor=8"],
  )

  const projects = (cursor: string | null) =>
    json(200, { projects: [{ id: "core" }], nextCursor: cursor })
  const lists = network([projects("x"), projects("y"), projects(null)])
  assert.equal((await Array.fromAsync(lists.client.projects.each("acme"))).length, 3)
  const circle = network([projects("x"), projects("x")])
  const error = await failure(Array.fromAsync(circle.client.projects.each("acme")))
  assert.equal(error.code, "unexpected_answer")
})

test("an iteration that ends early requests no further page", async () => {
  const { client, sent } = network([
    json(200, { projects: [{ id: "a" }, { id: "b" }], nextCursor: "x" }),
  ])
  for await (const { id } of client.projects.each("acme")) if (id === "b") break
  assert.equal(sent.length, 1)
})

test("an id cannot change the path around it", async () => {
  const { client, sent } = network([json(200, {}), json(200, {}), json(200, {})])
  await client.workspaces.get("a/../b?c#d")
  await client.log.tile("acme", "0/x001/234")
  await client.log.records("acme", 2, { after: 7, limit: 5 })
  assert.deepEqual(
    sent.map(({ url }) => url.replace(new URL(url).origin, "")),
    [
      "/v1/workspaces/a%2F..%2Fb%3Fc%23d",
      "/v1/workspaces/acme/tlog/tile/0/x001/234",
      "/v1/workspaces/acme/tlog/epochs/2/records?after=7&limit=5",
    ],
  )
  for (const id of ["", ".", ".."])
    assert.equal((await failure(client.workspaces.get(id))).code, "invalid_field")
  assert.equal(sent.length, 3)
})

test("every write has the client's context, and a call's own takes precedence", async () => {
  const receipt = { receipt: "rcp_1" }
  const { client, sent } = network(
    [json(202, { receipt }), json(202, { results: [{ receipt }] })],
    {
      context: { environment: "production", server: "web-1" },
    },
  )
  await client.consents.record(
    {
      workspaceId: "acme",
      subject: { id: "usr_1", email: "ada@example.com" },
      mode: "explicit",
      policyVersion: 1,
      surface: "form",
    },
    { context: { server: "web-2", traceId: "t1" } },
  )
  await client.events.writeBatch([event])
  const said = sent.map(({ headers }) =>
    ["environment", "server"].map((name) => headers.get(`x-service-${name}`)),
  )
  assert.deepEqual(said, [
    ["production", "web-2"],
    ["production", "web-1"],
  ])
  assert.equal(sent[0]?.headers.get("x-trace-id"), "t1")
})

test("readiness is an answer even if the service is not ready", async () => {
  const no = network([json(503, { ready: false, reason: "the queue is full" })])
  assert.deepEqual(await no.client.service.readiness(), {
    ready: false,
    reason: "the queue is full",
  })
  const closing = network([problem(503, "shutting_down")], { retriesMax: 0 })
  assert.equal((await failure(closing.client.service.readiness())).code, "shutting_down")
})

test("the defaults work: a key is made, time passes, and a late attempt is aborted", async () => {
  const keys: (string | null)[] = []
  const client = createClient({
    baseUrl: "http://127.0.0.1",
    attemptTimeoutMs: 20,
    waitMs: 1,
    async fetch(_url, { headers, signal } = {}) {
      keys.push(new Headers(headers).get("idempotency-key"))
      if (keys.length === 2) return json(202, { receipt: "rcp_1" })
      return await new Promise((_, reject) =>
        signal?.addEventListener("abort", () => reject(new Error("aborted"))),
      )
    },
  })
  await client.events.write(event)
  assert.match(keys[0] ?? "", /^[0-9a-f]{32}$/)
  assert.deepEqual(keys, [keys[0], keys[0]])
})

test("a redirection is not followed: a POST that has become a GET would succeed at something else", async () => {
  const moved = new Response("", {
    status: 301,
    headers: { location: "https://elsewhere.example.com/v1/events" },
  })
  const redirects: unknown[] = []
  const client = createClient({
    baseUrl: "http://ledger.example.com",
    fetch: async (_url, { redirect } = {}) => (redirects.push(redirect), moved),
  })
  const { code, status, outcome, detail } = await failure(client.events.write(event))
  assert.deepEqual(
    [code, status, outcome, redirects],
    ["unexpected_answer", 301, "rejected", ["manual"]],
  )
  assert.match(detail, /redirects to https:\/\/elsewhere\.example\.com\//)
})

test("the client refuses a request that it cannot send, and does not show the key", async () => {
  const { client, sent } = network([], { key: "tsk_secret\n1" })
  const refused = await failure(client.workspaces.list())
  assert.deepEqual(
    [refused.code, refused.outcome, refused.cause],
    ["invalid_field", "rejected", undefined],
  )
  assert.doesNotMatch(`${refused.stack}`, /tsk_secret/)
  assert.equal(refused.detail, "key has characters that a header cannot have")
  const endless = await failure(
    network([]).client.events.write({ ...event, metadata: { count: 1n } }),
  )
  assert.deepEqual(
    [endless.code, endless.outcome, endless.detail],
    ["invalid_field", "rejected", "the body cannot be written as JSON: count is a BigInt"],
  )
  // JSON.stringify would write {}, and the ledger would keep it.
  for (const [change, name] of [
    [new Map([["plan", "pro"]]), "Map"],
    [new Set(["pro"]), "Set"],
    [new RangeError("too far"), "RangeError"],
  ] as const) {
    const call = network([]).client.events.write({ ...event, metadata: { changes: [{ change }] } })
    const { code, detail } = await failure(call)
    assert.deepEqual(
      [code, detail],
      [
        "invalid_field",
        `the body cannot be written as JSON: change is of ${name}, whose content JSON leaves out`,
      ],
    )
  }
  // JSON.stringify would write null, and the ledger would keep it.
  for (const number of [NaN, Infinity, -Infinity]) {
    const call = network([]).client.events.writeBatch([{ ...event, metadata: { sums: [number] } }])
    const { code, outcome } = await failure(call)
    assert.deepEqual([code, outcome], ["invalid_field", "rejected"], `${number}`)
  }
  assert.equal(sent.length, 0)
  for (const baseUrl of [
    "ledger.example.com",
    "https://",
    "https://a/?b",
    "https://a/#b",
    "ftp://a",
    "https://ada:secret@a",
    "http://a:99999",
    "http://a b",
    "http://[::1",
    "https://a/v1",
    "https://a/v1/",
    // Only a page has an address of its own.
    "",
  ])
    assert.throws(() => createClient({ baseUrl }), {
      name: "TallystickError",
      code: "invalid_field",
      outcome: "rejected",
    })
  for (const baseUrl of ["http://a", "https://a:8443/ledger/"]) createClient({ baseUrl })
  createClient({ baseUrl: "", fetch })
})

test("a call without what it needs, as from a program without types, says so", async () => {
  const untyped = createClient as (options?: unknown) => Client
  for (const options of [undefined, null, "https://ledger.example.com"])
    assert.throws(() => untyped(options), {
      name: "TallystickError",
      code: "invalid_field",
      detail: "options must be an object with a baseUrl, such as https://ledger.example.com",
    })
  const { client, sent } = network([])
  const writeBatch = client.events.writeBatch as (events?: unknown) => Promise<unknown>
  for (const events of [undefined, { events: [event] }, [event, null]]) {
    const { code, outcome, detail } = await failure(writeBatch(events))
    assert.deepEqual(
      [code, outcome, detail],
      ["invalid_field", "rejected", "events must be an array of events"],
    )
  }
  assert.equal(sent.length, 0)
})

test("null, and a value in the place of another, are refused by name, and nothing is sent", async () => {
  const { client, sent } = network([])
  const { events, receipts, packs, log, policies, service } = client
  const options = "options must be an object"
  const query = "query must be an object"
  const id = "an id in a path must be a string, and not be empty, . or .."
  const signal = "signal must be an AbortSignal, such as the signal of an AbortController"
  const none: never = null as never // as from a program without types
  const any = (value: unknown): never => value as never
  const calls: readonly (readonly [detail: string, call: () => Promise<unknown>])[] = [
    [options, () => events.write(event, none)],
    [options, () => events.write(event, any("order-4711-created"))],
    [options, () => events.write(event, any(["order-4711-created"]))],
    [options, () => events.writeBatch([event], none)],
    [options, () => events.list("acme", {}, none)],
    [options, () => events.follow("acme", {}, none).next()],
    [options, () => events.feed("acme", { wait: 1 }, none)],
    [options, () => events.export("acme", {}, none)],
    [options, () => receipts.verify("acme", "rcp_1", none)],
    [options, () => packs.verify("acme", "pack_1", none)],
    [options, () => packs.download("acme", "pack_1", none)],
    [options, () => log.checkpoint("acme", none)],
    [options, () => log.vkey("acme", none)],
    [options, () => log.keys("acme", none)],
    [options, () => log.tile("acme", "0/000", none)],
    [options, () => service.health(none)],
    [query, () => events.feed("acme", none)],
    [query, () => events.follow("acme", none).next()],
    [query, () => policies.get("acme", 1, none)],
    ["query must be a string, a number or a boolean", () => events.list("acme", { query: none })],
    [
      "from must be a string, a number or a boolean",
      () => events.list("acme", { from: any(new Date(0)) }),
    ],
    [id, () => events.list(none)],
    [id, () => receipts.get("acme", any({ receipt: "rcp_1" }))],
    [id, () => log.tile("acme", none)],
    [signal, () => events.write(event, { signal: any(new AbortController()) })],
    [signal, () => events.follow("acme", {}, { signal: any({}) }).next()],
    ["signal must be an object", () => service.health({ signal: none })],
    [
      "enviroment is no member of a context",
      () => events.write(event, { context: any({ enviroment: "production" }) }),
    ],
    [
      "context.server must be a string",
      () => events.writeBatch([event], { context: { server: any(1) } }),
    ],
    ["context must be an object", () => events.write(event, { context: any("production") })],
  ]
  for (const [detail, call] of calls) {
    const refused = await failure(call())
    assert.deepEqual(
      [refused.code, refused.outcome, refused.detail],
      ["invalid_field", "rejected", detail],
      call.toString(),
    )
  }
  const key = "key must be a string that is not empty, or be absent"
  const clients: readonly (readonly [detail: string | RegExp, options: object])[] = [
    [key, { key: null }],
    [key, { key: "" }],
    ["fetch must be a function", { fetch: null }],
    ["sleep must be a function", { sleep: 5 }],
    ["enviroment is no member of a context", { context: { enviroment: "production" } }],
    [/^baseUrl must be the text of an http or https URL/, { baseUrl: new URL("https://a") }],
  ]
  for (const [detail, wrong] of clients)
    assert.throws(() => network([], wrong), { code: "invalid_field", detail })
  assert.equal(sent.length, 0)
})

test("an option that is misspelt or malformed is refused, and nothing is sent", async () => {
  // As from a program without types.
  const misspelt: object = { idempotencykey: "order-4711-created" }
  const malformed: object = { timeoutMs: "5s" }
  const { client, sent } = network([])
  for (const [options, detail] of [
    [misspelt, "idempotencykey is not a known option"],
    [malformed, "timeoutMs must be a number, 0 or more"],
    [{ waitMs: NaN }, "waitMs must be a number, 0 or more"],
  ] as const) {
    const { code, outcome, ...refused } = await failure(client.events.write(event, options))
    assert.deepEqual([code, outcome, refused.detail], ["invalid_field", "rejected", detail])
    assert.throws(() => network([], options), { code: "invalid_field", detail })
  }
  assert.equal(sent.length, 0)
  const unset = {
    timeoutMs: undefined,
    signal: undefined,
    idempotencyKey: undefined,
    context: { server: undefined },
  }
  await network([json(202, { receipt: "rcp_1" })]).client.events.write(event, unset)
})

test("a trusted key may have the end of line of its file, and is refused if it is no key", async () => {
  const { client, sent } = network([])
  for (const trustedKeys of [["log.vkey"], [""], "log.vkey" as unknown as string[]]) {
    const refused = await failure(client.receipts.verify("acme", "rcp_1", { trustedKeys }))
    assert.match(refused.detail, /^trustedKeys/)
    assert.match(
      (await failure(client.packs.verify("acme", "pack_1", { trustedKeys }))).detail,
      /^trustedKeys/,
    )
    assert.throws(() => network([], { trustedKeys }), { code: "invalid_field" })
  }
  assert.equal(sent.length, 0)
  const key =
    "127.0.0.1/ledgers/wf0fafohrj2j9bhd1mgkxk+2bb04d03+AdonQODfdgQi2nOE6RZCtKXQMqR3dSV4FKIvbgkou0xT"
  assert.equal(vkeysOf([`${key}\n`])[0], key)
})

test("a finished call leaves nothing with a signal that other calls share", async () => {
  const giveUp = new AbortController()
  const given: (AbortSignal | null | undefined)[] = []
  const client = createClient({
    baseUrl: "https://ledger.example.com",
    fetch: async (_url, { signal } = {}) => (given.push(signal), json(202, { receipt: "rcp_1" })),
  })
  await client.events.write(event, { signal: giveUp.signal })
  giveUp.abort()
  assert.deepEqual(
    given.map((signal) => signal?.aborted),
    [false],
  )
})

test("a Retry-After date is relative to the Date of the answer", async () => {
  const at = (retryAfter: string, date?: string) =>
    network([
      problem(429, "rate_limited", {
        "retry-after": retryAfter,
        ...(date === undefined ? {} : { date }),
      }),
      json(200, {}),
    ])
  const dated = at("Sat, 31 Jan 2026 09:30:02 GMT", "Sat, 31 Jan 2026 09:30:00 GMT")
  const past = at("Sat, 31 Jan 2026 09:29:00 GMT", "Sat, 31 Jan 2026 09:30:00 GMT")
  const unclear = at("Sat, 31 Jan 2026 09:30:02 GMT")
  for (const { client } of [dated, past, unclear]) await client.service.limits()
  assert.deepEqual([dated.waits, past.waits, unclear.waits], [[2050], [50], [50]])
})

test("a finished call leaves no timer that would keep a program alive", async () => {
  const clocks: AbortSignal[] = []
  const sleep = (_ms: number, signal: AbortSignal): Promise<void> => {
    clocks.push(signal)
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve()))
  }
  for (const happening of [
    json(200, {}),
    problem(404, "not_found"),
    new TypeError("fetch failed"),
  ] as const)
    await network([happening], { sleep, retriesMax: 0 })
      .client.workspaces.get("acme")
      .catch(() => undefined)
  assert.deepEqual(
    clocks.map(({ aborted }) => aborted),
    [true, true, true],
  )
})

test("names of members arrive as they were sent", async () => {
  const texts = [String.raw`{"metadata":{"a":0,"\\":0}}`, String.raw`{"metadata":{"a":0,"\n":0}}`]
  const names = (entry: object): readonly string[] =>
    Object.keys("metadata" in entry && entry.metadata instanceof Object ? entry.metadata : {})
  const sent = [
    ["a", "\\"],
    ["a", "\n"],
  ]

  const pages = network(texts.map((text) => new Response(`{"events":[${text}]}`)))
  for (const expected of sent) {
    const { events } = await pages.client.events.list("acme")
    assert.deepEqual(events.map(names), [expected])
  }

  const headers = { "x-ledger-sequence": "9" }
  const lines = network([new Response(`${texts.join("\n")}\n{"end":{"count":2}}\n`, { headers })])
  const exported = await Array.fromAsync(lines.client.events.exportEach("acme"))
  assert.deepEqual(exported.map(names), sent)

  const stream = texts.map((text, at) => `id: ${at}\nevent: entry\ndata: ${text}\n\n`).join("")
  const followed: (readonly string[])[] = []
  const feed = new Response(stream, { headers: { "content-type": "text/event-stream" } })
  for await (const entry of network([feed]).client.events.follow("acme"))
    if (followed.push(names(entry)) === 2) break
  assert.deepEqual(followed, sent)
})

test("a feed that is cut is followed again from there, after a wait", async () => {
  const headers = { "content-type": "text/event-stream" }
  const feeds = [1, 2].map(
    (id) => new Response(`id: ${id}\nevent: entry\ndata: {"sequence":${id}}\n\n`, { headers }),
  )
  const { client, sent, waits } = network(feeds)
  const seen: number[] = []
  for await (const { sequence } of client.events.follow("acme", {}, { attemptTimeoutMs }))
    if (seen.push(sequence) === 2) break
  assert.deepEqual(seen, [1, 2])
  assert.deepEqual(
    sent.map((request) => request.headers.get("last-event-id")),
    ["0", "1"],
  )
  const silence = 45_000
  assert.deepEqual(
    waits.filter((ms) => ms !== silence),
    [500],
  )
})

test("what is undefined is as if it were absent, in options and in what is sent", async () => {
  // Types allow it without exactOptionalPropertyTypes.
  const options = { timeoutMs: undefined, retriesMax: undefined } as object
  const { client, waits } = network([problem(503, "overloaded"), json(200, {})], options)
  await client.service.limits({ waitMs: undefined })
  assert.deepEqual(waits, [50])
  // A pack has more time than other calls.
  const slow = network([problem(503, "overloaded"), json(201, {})], { timeoutMs: 10 })
  const unset = { attemptTimeoutMs, timeoutMs: undefined }
  await slow.client.packs.create("acme", { title: "Evidence", receiptIds: [] }, unset)
  const writing = network([json(202, { receipt: "rcp_1" })])
  // Its type allows it also with exactOptionalPropertyTypes, which this project has.
  const actor = { id: "usr_1", type: "user", email: undefined }
  await writing.client.events.write({ ...event, actor, userVisible: undefined })
  assert.doesNotMatch(String(writing.sent[0]?.body), /email|userVisible/)
})
