import assert from "node:assert/strict"
import { after, test } from "node:test"
import { readChain } from "../chain.ts"
import { makeKey, makeWorkspace, type Client } from "../service.ts"
import { find, writeAll } from "./pages.ts"
import { startWatched } from "./watched.ts"

// GET …/events/timeline and …/events/values: counts of what a list of the same filters has.

interface Timeline {
  readonly from: string
  readonly to: string
  readonly bucketSeconds: number
  readonly buckets: readonly {
    readonly start: string
    readonly total: number
    readonly counts: Readonly<Record<string, number>>
  }[]
}

interface Values {
  readonly values: readonly { readonly value: string; readonly count: number }[]
}

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)

const ada = { id: "usr_1", type: "user", email: "ada@example.com", name: "Ada" }
const grace = { id: "USR_2", type: "user", email: "Grace@Example.com" }
await writeAll(acme, {
  n1: { actor: ada, occurredAt: "2026-01-31T09:30:00Z", action: "auth.login.start" },
  n2: { actor: ada, occurredAt: "2026-01-31T09:59:59.999999999Z", metadata: { currency: "EUR" } },
  n3: { actor: grace, occurredAt: "2026-01-31T11:00:00+01:00", metadata: { currency: "eur" } },
  n4: { actor: ada, occurredAt: "2026-01-31T11:00:00Z", projectId: "desk", target: ada },
  n5: { actor: grace, occurredAt: "2026-02-01T00:00:00Z", metadata: { currency: ["USD", "EUR"] } },
})
const day = "from=2026-01-31T09:00:00Z&to=2026-02-01T00:00:00Z"

async function timeline(query: string, client: Client = acme.reader): Promise<Timeline> {
  const reply = await client.get(`${acme.path}/events/timeline?${query}`)
  assert.equal(reply.status, 200, reply.text)
  return reply.json<Timeline>()
}

async function values(query: string, client: Client = acme.reader): Promise<string> {
  const reply = await client.get(`${acme.path}/events/values?${query}`)
  assert.equal(reply.status, 200, reply.text)
  return reply
    .json<Values>()
    .values.map(({ value, count }) => `${value} ${count}`)
    .join(", ")
}

test("a timeline counts what occurred in each span, before its end", async () => {
  const { from, to, bucketSeconds, buckets } = await timeline(`${day}&buckets=15&by=project`)
  assert.deepEqual(
    [from, to, bucketSeconds],
    ["2026-01-31T09:00:00Z", "2026-02-01T00:00:00Z", 3600],
  )
  assert.equal(buckets.length, 15)
  const told = buckets.map(({ start, total, counts }) => ({ start, total, counts }))
  assert.deepEqual(told.slice(0, 4), [
    { start: "2026-01-31T09:00:00.000Z", total: 2, counts: { core: 2 } },
    { start: "2026-01-31T10:00:00.000Z", total: 1, counts: { core: 1 } },
    { start: "2026-01-31T11:00:00.000Z", total: 1, counts: { desk: 1 } },
    { start: "2026-01-31T12:00:00.000Z", total: 0, counts: {} },
  ])
  const page = await find(acme.reader, acme.path, {
    from: "2026-01-31T09:00:00Z",
    to: "2026-02-01T00:00:00Z",
  })
  assert.equal(
    told.reduce((sum, { total }) => sum + total, 0),
    page.total,
  )
})

test("a timeline may begin and end between two milliseconds", async () => {
  const span = (from: string, to: string) =>
    timeline(`from=2026-01-31T${from}Z&to=2026-01-31T${to}Z&buckets=10`)
  // Its end has nanoseconds, so what occurred at its last whole second is in it.
  const { bucketSeconds, buckets } = await span("09:29:50", "09:30:00.000000001")
  assert.deepEqual([bucketSeconds, buckets.length], [2, 6])
  assert.deepEqual(buckets.at(-1), {
    start: "2026-01-31T09:30:00.000Z",
    total: 1,
    counts: { security: 1 },
  })
  const short = await span("09:59:59.999999998", "10:00:00")
  assert.deepEqual([short.bucketSeconds, short.buckets.map(({ total }) => total)], [1, [1]])
  const shortest = await span("09:59:59.999999998", "09:59:59.999999999")
  assert.deepEqual([shortest.bucketSeconds, shortest.buckets.map(({ total }) => total)], [1, [0]])
})

test("a timeline counts by lane what the filters and the search match", async () => {
  const totals = async (query: string, client?: Client) =>
    (await timeline(`${day}&buckets=1&${query}`, client)).buckets.map(({ total, counts }) => ({
      total,
      counts,
    }))
  const [operations, security] = [1, 1]
  assert.deepEqual(await totals(""), [{ total: 4, counts: { operations: 3, security } }])
  assert.deepEqual(await totals("query=actor:usr_1"), [
    { total: 3, counts: { operations: 2, security } },
  ])
  assert.deepEqual(await totals("query=actor:usr_1%20-project:desk"), [
    { total: 2, counts: { operations, security } },
  ])
  assert.deepEqual(await totals("projectId=desk"), [{ total: 1, counts: { operations } }])
  assert.deepEqual(await totals("storage=archive"), [{ total: 0, counts: {} }])
  const desk = await makeKey(service, acme.id, { scopes: ["read"], projectIds: ["desk"] })
  assert.deepEqual(await totals("", desk), [{ total: 1, counts: { operations } }])
})

test("the commonest values come first, in lower case, each entry counted once", async () => {
  assert.equal(await values("field=actor"), "usr_1 3, usr_2 2")
  assert.equal(await values("field=actor&limit=1"), "usr_1 3")
  assert.equal(await values("field=email"), "ada@example.com 3, grace@example.com 2")
  assert.equal(await values("field=metadata.currency"), "eur 3, usd 1")
  assert.equal(await values("field=metadata.unheard-of"), "")
  assert.equal(await values("field=metadata.currency&query=actor:usr_1"), "eur 1")
  assert.equal(await values("field=project"), "core 4, desk 1")
  const desk = await makeKey(service, acme.id, { scopes: ["read"], projectIds: ["desk"] })
  assert.equal(await values("field=actor", desk), "usr_1 1")
})

test("an invalid count is refused with a sentence", async () => {
  for (const [path, detail] of [
    [`timeline?from=2026-01-31T09:00:00Z`, /to/],
    [`timeline?from=2026-01-31T09:00:00Z&to=2026-01-31T09:00:00Z`, /^to must be later than from/],
    [
      "timeline?from=2026-01-31T09:00:00.000000001Z&to=2026-01-31T09:00:00.000000001Z",
      /^to must be later than from/,
    ],
    [
      "timeline?from=2026-01-31T09:00:00.000000002Z&to=2026-01-31T09:00:00.000000001Z",
      /^to must not be before from/,
    ],
    ...[
      "from=0000-01-01T00:00:00%2B23:59&to=2026-01-31T09:00:00Z",
      "from=2026-01-31T09:00:00Z&to=9999-12-31T23:59:59-00:01",
    ].map(
      (times) =>
        [`timeline?${times}`, /^from and to must be in the years 0000 to 9999 of UTC/] as const,
    ),
    [`timeline?${day}&buckets=241`, /buckets/],
    [`timeline?${day}&by=actor`, /by/],
    ["values", /field/],
    ["values?field=id", /^field must be one of action, actor/],
    ["values?field=nobody", /^field must be one of/],
    ["values?field=metadata.", /^field must be one of/],
    ["values?field=actor&limit=51", /limit/],
  ] as const) {
    const reply = await acme.reader.get(`${acme.path}/events/${path}`)
    assert.equal(reply.status, 400, path)
    const { error, detail: said } = reply.json<{ error: string; detail: string }>()
    assert.equal(error, "invalid_field", path)
    assert.match(said, detail)
  }
})

test("the chain is intact", async () => {
  const { events } = await find(acme.reader, acme.path, { includeSystem: true, limit: 1 })
  const newest = events.map((entry) => ({ ...entry, eventHash: entry.hash }))
  await readChain(acme.reader, acme.id, newest)
})
