import assert from "node:assert/strict"
import { after, test } from "node:test"
import { readChain, type Chain } from "../chain.ts"
import { eventFor, makeKey, makeWorkspace, writeEvent, type Workspace } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"

// Workspaces and projects: settings, lists, and the entry of each administrative act.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const { root } = service
const unique = (): string => `x-${crypto.randomUUID().slice(0, 8)}`

test("a new workspace has a ledger, default settings, and a project `core`", async () => {
  const id = unique()
  const settings = {
    policyVisibility: "private",
    projects: "open",
    transparency: "private",
    hotDays: 90,
    requirePublishedPolicy: false,
    personalKeys: [],
    laneRules: [],
    projectsMax: 1000,
  }
  const [made] = await expectRows([
    { as: root, ask: "POST /v1/workspaces", send: { id }, gets: 201, shows: { id, ...settings } },
    { as: root, ask: `GET /v1/workspaces/${id}`, gets: 200, shows: { id, ...settings } },
    {
      as: root,
      ask: `GET /v1/workspaces/${id}/projects/core`,
      gets: 200,
      shows: { id: "core", workspaceId: id, receipts: "private", activityLinks: false },
    },
    { as: root, ask: "POST /v1/workspaces", send: { id }, gets: "409 conflict" },
    { as: root, ask: "POST /v1/workspaces", send: { id: id.toUpperCase() }, gets: 201 },
  ])
  assert.match(made?.json().ledgerId, /^[0-9a-f]{64}$/)
})

test("every setting can be set at creation and changed later, and absent ones stay", async () => {
  const id = unique()
  const all = {
    name: "Große Firma",
    policyVisibility: "public",
    projects: "closed",
    transparency: "public",
    hotDays: 7,
    requirePublishedPolicy: true,
    personalKeys: ["phone", "*"],
    laneRules: [{ prefix: "billing.refund", lane: "security" }],
    projectsMax: 20,
  }
  await expectRows([
    {
      as: root,
      ask: "POST /v1/workspaces",
      send: { id, ...all },
      gets: 201,
      shows: { id, ...all },
    },
    { as: root, ask: `PATCH /v1/workspaces/${id}`, send: {}, gets: 200, shows: all },
    {
      as: root,
      ask: `PATCH /v1/workspaces/${id}`,
      send: { hotDays: 0 },
      gets: 200,
      shows: { ...all, hotDays: 0 },
    },
    {
      as: root,
      ask: `PATCH /v1/workspaces/${id}`,
      send: { name: "A", laneRules: [] },
      gets: 200,
      shows: { ...all, hotDays: 0, name: "A", laneRules: [] },
    },
    {
      as: root,
      ask: `GET /v1/workspaces/${id}`,
      gets: 200,
      shows: { ...all, hotDays: 0, name: "A", laneRules: [] },
    },
  ])
})

test("an unknown or invalid setting is refused by name", async () => {
  const bad = (settings: object, says: RegExp): readonly Row[] => [
    {
      about: JSON.stringify(settings),
      as: root,
      ask: "POST /v1/workspaces",
      send: { id: unique(), ...settings },
      gets: "400 invalid_field",
      has: [says],
    },
    {
      about: JSON.stringify(settings),
      as: root,
      ask: `PATCH ${acme.path}`,
      send: settings,
      gets: "400 invalid_field",
      has: [says],
    },
  ]
  const named = (id: unknown): Row => ({
    about: String(id),
    as: root,
    ask: "POST /v1/workspaces",
    send: { id },
    gets: "400 invalid_field",
    has: ["id"],
  })
  await expectRows([
    ...bad({ name: "" }, /name/),
    ...bad({ name: null }, /name/),
    ...bad({ name: "x".repeat(201) }, /name/),
    ...bad({ policyVisibility: "secret" }, /policyVisibility must be one of public, private/),
    ...bad({ projects: "auto" }, /projects must be one of open, closed/),
    ...bad({ transparency: true }, /transparency/),
    ...bad({ hotDays: -1 }, /hotDays/),
    ...bad({ hotDays: 1.5 }, /hotDays/),
    ...bad({ hotDays: "90" }, /hotDays/),
    ...bad({ requirePublishedPolicy: "yes" }, /requirePublishedPolicy/),
    ...bad({ personalKeys: "phone" }, /personalKeys/),
    ...bad({ personalKeys: [1] }, /personalKeys\[0\]/),
    ...bad({ personalKeys: ["a", "a"] }, /personalKeys/),
    ...bad({ laneRules: [{ prefix: "billing" }] }, /laneRules\[0\]\.lane/),
    ...bad({ laneRules: [{ prefix: "billing.", lane: "data" }] }, /laneRules\[0\]\.prefix/),
    ...bad({ laneRules: [{ prefix: "", lane: "data" }] }, /laneRules\[0\]\.prefix/),
    ...bad(
      {
        laneRules: [
          { prefix: "billing", lane: "data" },
          { prefix: "Billing", lane: "policy" },
        ],
      },
      /laneRules must name each prefix once, in any case/,
    ),
    ...bad({ laneRules: [{ prefix: "a", lane: "finance" }] }, /laneRules\[0\]\.lane/),
    ...bad({ laneRules: [{ prefix: "a", lane: "data", x: 1 }] }, /laneRules\[0\]\.x/),
    ...bad({ retention: 90 }, /retention must be an array/),
    ...bad({ retention: [{ days: 0 }] }, /retention\[0\]\.days must be/),
    ...bad({ retention: [{ days: 1, action: "a..b" }] }, /retention\[0\]\.action must be/),
    {
      as: root,
      ask: `PATCH ${acme.path}`,
      send: { id: "other" },
      gets: "400 invalid_field",
      has: ["id is not a known field"],
    },
    {
      as: root,
      ask: "POST /v1/workspaces",
      send: {},
      gets: "400 invalid_field",
      has: ["id is required"],
    },
    ...["", "a b", "-a", ".a", "_a", "a/b", "ä", "a".repeat(65), 5, null, "a\n"].map(named),
  ])
})

test("projects are made, changed, and are not made twice", async () => {
  const id = unique()
  const path = `${acme.path}/projects`
  await expectRows([
    {
      as: root,
      ask: `POST ${path}`,
      send: { id },
      gets: 201,
      shows: { id, workspaceId: acme.id, receipts: "private", activityLinks: false },
    },
    { as: root, ask: `POST ${path}`, send: { id }, gets: "409 conflict" },
    {
      as: root,
      ask: `PATCH ${path}/${id}`,
      send: { receipts: "public", name: "Shop" },
      gets: 200,
      shows: { receipts: "public", name: "Shop", activityLinks: false },
    },
    {
      as: root,
      ask: `PATCH ${path}/${id}`,
      send: { activityLinks: true },
      gets: 200,
      shows: { receipts: "public", name: "Shop", activityLinks: true },
    },
    {
      as: acme.reader,
      ask: `GET ${path}/${id}`,
      gets: 200,
      shows: { receipts: "public", name: "Shop", activityLinks: true },
    },
    {
      as: root,
      ask: `PATCH ${path}/${id}`,
      send: { phrases: [{ action: "order.paid", text: "Paid for an order" }] },
      gets: 200,
      shows: { name: "Shop", phrases: [{ action: "order.paid", text: "Paid for an order" }] },
    },
    {
      as: root,
      ask: `PATCH ${path}/${id}`,
      send: { name: "Shops" },
      gets: 200,
      shows: { phrases: [{ action: "order.paid", text: "Paid for an order" }] },
    },
    {
      as: root,
      ask: `PATCH ${path}/${id}`,
      send: { phrases: [] },
      gets: 200,
      shows: { phrases: [] },
    },
    ...(
      [
        [[{ action: "order", text: "Ordered" }], "phrases[0].action must be a dotted name"],
        [[{ action: "order.paid", text: "" }], "phrases[0].text must be a non-empty string"],
        [[{ action: "order.paid", text: "x".repeat(201) }], "phrases[0].text must be"],
        [[{ action: "order.paid", text: "x", lang: "en" }], "phrases[0].lang is not a known field"],
        [
          ["Paid", "Paid twice"].map((text) => ({ action: "order.paid", text })),
          "phrases must name each action once",
        ],
        [
          Array.from({ length: 201 }, (_, at) => ({ action: `order.${at}`, text: "x" })),
          "phrases must be an array of 0 to 200 items",
        ],
      ] as const
    ).map(([phrases, says]): Row => ({
      as: root,
      ask: `PATCH ${path}/${id}`,
      send: { phrases },
      gets: "400 invalid_field",
      has: [says],
    })),
    ...["all", "system"].map((reserved): Row => ({
      as: root,
      ask: `POST ${path}`,
      send: { id: reserved },
      gets: "400 invalid_field",
      has: [/reserved/],
    })),
    ...["all", "system", "nowhere", "a%20b", "-", "%2e%2e", "x".repeat(65)].flatMap(
      (name): readonly Row[] => [
        { as: root, ask: `GET ${path}/${name}`, gets: "404 not_found" },
        { as: root, ask: `PATCH ${path}/${name}`, send: {}, gets: "404 not_found" },
      ],
    ),
    {
      as: root,
      ask: `POST ${path}`,
      send: { id: "y", receipts: "open" },
      gets: "400 invalid_field",
      has: ["receipts must be one of"],
    },
    {
      as: root,
      ask: `POST ${path}`,
      send: { id: "y", activityLinks: 1 },
      gets: "400 invalid_field",
      has: ["activityLinks"],
    },
    {
      as: root,
      ask: `POST ${path}`,
      send: { id: "y", public: true },
      gets: "400 invalid_field",
      has: ["public is not a known field"],
    },
    {
      as: root,
      ask: `PATCH ${path}/${id}`,
      send: { id: "z" },
      gets: "400 invalid_field",
      has: ["id is not a known field"],
    },
    {
      as: root,
      ask: `POST /v1/workspaces/nowhere/projects`,
      send: { id: "y" },
      gets: "404 not_found",
    },
  ])
})

test("lists are newest first, in pages that new items do not shift", async () => {
  const many = await makeWorkspace(service)
  const names = Array.from({ length: 7 }, (_, n) => `p${n}`)
  for (const id of names) await root.post(`${many.path}/projects`, { id })
  const seen: string[] = []
  let cursor: string | null = ""
  for (let page = 0; cursor !== null && page < 10; page++) {
    const reply = await many.reader.get(
      `${many.path}/projects?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`,
    )
    assert.equal(reply.status, 200, reply.text)
    seen.push(...reply.json().projects.map(({ id }: { id: string }) => id))
    cursor = reply.json().nextCursor
    await root.post(`${many.path}/projects`, { id: unique() })
  }
  assert.deepEqual(seen, [...names.toReversed(), "core"])

  const list = `${many.path}/projects`
  const refused = (query: string): Row => ({
    as: many.reader,
    ask: `GET ${list}?${query}`,
    gets: "400 invalid_field",
    has: [query.split("=")[0] ?? ""],
  })
  await expectRows([
    ...[
      "limit=0",
      "limit=101",
      "limit=-1",
      "limit=1.0",
      "limit=1e1",
      "limit=0x10",
      "limit=+5",
      "limit=05",
      "limit=",
      "limit=%201",
      "limit=ten",
    ].map(refused),
    ...[
      "limit=1&limit=2",
      "cursor=",
      "cursor=1",
      "cursor=bm9uc2Vuc2U",
      "cursor=%00",
      `cursor=${"a".repeat(600)}`,
      "before=3",
      "Limit=3",
    ].map(refused),
    { as: many.reader, ask: `GET ${list}?limit=100`, gets: 200, shows: { nextCursor: null } },
    { as: many.reader, ask: `GET ${list}?limit=1`, gets: 200 },
  ])
})

test("a reader of some projects is shown these only", async () => {
  const path = `${acme.path}/projects`
  for (const id of ["seen", "unseen"]) await root.post(path, { id })
  const bound = await makeKey(service, acme.id, {
    scopes: ["read"],
    projectIds: ["seen", "not-yet"],
  })
  const { projects } = (await bound.get(path)).json()
  assert.deepEqual(
    projects.map(({ id }: { id: string }) => id),
    ["seen"],
  )
  await expectRows([
    { as: bound, ask: `GET ${path}/seen`, gets: 200 },
    ...["all", "%00", "a%20b"].map((id): Row => ({
      as: root,
      ask: `GET ${path}/${id}`,
      gets: "404 not_found",
    })),
    ...["unseen", "core", "nowhere", "not-yet"].map((id): Row => ({
      as: bound,
      ask: `GET ${path}/${id}`,
      gets: "404 not_found",
      hasNot: [id],
    })),
  ])
})

test("the instance lists every workspace once", async () => {
  const ids = new Set<string>()
  let cursor: string | null = ""
  let count = 0
  while (cursor !== null) {
    const page: { workspaces: { id: string }[]; nextCursor: string | null } = (
      await root.get(`/v1/workspaces?limit=4${cursor === "" ? "" : `&cursor=${cursor}`}`)
    ).json()
    for (const { id } of page.workspaces) ids.add(id)
    count += page.workspaces.length
    cursor = page.nextCursor
  }
  assert.ok(ids.has(acme.id) && count > 4)
  assert.equal(ids.size, count)
})

// Self-audit --------------------------------------------------------------------------------------

const event = 1
const consent = 2
const admin = 8
const kindsFrom = ({ records }: Chain, from: number): readonly (number | undefined)[] =>
  records.slice(from).map((record) => record[4])

test("every administrative act is one entry, committed with its change; a refused or empty one has no entry", async () => {
  const audited = await makeWorkspace(service)
  const { id, path, writer } = audited
  const length = await lengthOf(audited)
  assert.equal(length, 5, "the workspace, `core`, two keys, and the event that found it out")
  const key = (await root.post(`${path}/api-keys`, { name: "k", scopes: ["read"] })).json()
  const acts: readonly (readonly [
    about: string,
    act: () => Promise<{ status: number }>,
    status: number,
    ...kinds: number[],
  ])[] = [
    ["a project", () => root.post(`${path}/projects`, { id: "one" }), 201, admin],
    ["the same again", () => root.post(`${path}/projects`, { id: "one" }), 409],
    ["its setting", () => root.patch(`${path}/projects/one`, { receipts: "public" }), 200, admin],
    ["a setting", () => root.patch(path, { hotDays: 30 }), 200, admin],
    ["a wrong setting", () => root.patch(path, { hotDays: -1 }), 400],
    ["a setting by who may not", () => writer.patch(path, { hotDays: 3 }), 403],
    ["an event", () => writer.write(eventFor(id)), 202, event],
    [
      "an event that makes its project",
      () => writer.write(eventFor(id, { projectId: "two" })),
      202,
      admin,
      event,
    ],
    ["a consent that makes its project", () => agree(audited, "three"), 202, admin, consent],
    ["an end of a key", () => root.delete(`${path}/api-keys/${key.keyId}`), 204, admin],
    ["the same end again", () => root.delete(`${path}/api-keys/${key.keyId}`), 204],
    [
      "the end of a key that never was",
      () => root.delete(`${path}/api-keys/${"0".repeat(13)}`),
      204,
    ],
    [
      "an event that imitates one",
      () => writer.write(eventFor(id, { source: "system", action: "security.key.create" })),
      202,
      event,
    ],
    ["reads", () => root.get(`${path}/api-keys`), 200],
  ]
  let from = length + 1
  for (const [about, act, status, ...kinds] of acts) {
    assert.equal((await act()).status, status, about)
    const marker = (await writer.write(eventFor(id))).json()
    const chain = await readChain(audited.reader, id, [marker])
    assert.deepEqual(kindsFrom(chain, from), [...kinds, event], about)
    from = chain.size
  }
})

/** Known after writing one more. */
async function lengthOf({ id, writer, reader }: Workspace): Promise<number> {
  return (await readChain(reader, id, [(await writer.write(eventFor(id))).json()])).size
}

function agree({ id, writer }: Workspace, projectId: string) {
  const said = {
    workspaceId: id,
    projectId,
    subject: { id: "usr_1", email: "ada@example.com" },
    mode: "explicit",
    policyVersion: 1,
    surface: "form",
  }
  return writer.post("/v1/consents", said, { "idempotency-key": crypto.randomUUID() })
}

test("changes that are made at once are all made, each with its entry", async () => {
  const busy = await makeWorkspace(service)
  const replies = await Promise.all([
    ...["policyVisibility", "transparency"].map((name) =>
      root.patch(busy.path, { [name]: "public" }),
    ),
    ...Array.from({ length: 12 }, () => root.patch(busy.path, { hotDays: 11 })),
    root.patch(`${busy.path}/projects/core`, { receipts: "public" }),
    root.patch(`${busy.path}/projects/core`, { activityLinks: true }),
  ])
  assert.deepEqual(
    replies.map(({ status }) => status),
    replies.map(() => 200),
  )
  assert.partialDeepStrictEqual((await root.get(busy.path)).json(), {
    policyVisibility: "public",
    transparency: "public",
    hotDays: 11,
  })
  assert.partialDeepStrictEqual((await root.get(`${busy.path}/projects/core`)).json(), {
    receipts: "public",
    activityLinks: true,
  })
  const marker = await writeEvent(busy)
  assert.deepEqual(kindsFrom(await readChain(busy.reader, busy.id, [marker]), 4), [
    ...replies.map(() => admin),
    event,
  ])
})

test("of concurrent requests to make the same thing, one succeeds", async () => {
  const id = unique()
  for (const [path, body] of [
    ["/v1/workspaces", { id }],
    [`/v1/workspaces/${id}/projects`, { id: "p" }],
  ] as const) {
    const statuses = (
      await Promise.all(Array.from({ length: 12 }, () => root.post(path, body)))
    ).map(({ status }) => status)
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [201, ...Array.from({ length: 11 }, () => 409)],
      path,
    )
  }
})

test("a workspace has as many projects as its setting allows: an event that names one more is refused, others are recorded", async () => {
  const small = await makeWorkspace(service, { projectsMax: 3 })
  const event = (projectId: string) => eventFor(small.id, { projectId })
  // Ten at once, of which two become projects beside `core`.
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, at) => small.writer.write(event(`p${at}`))),
  )
  const made = replies.flatMap(({ status }, at) => (status === 202 ? [`p${at}`] : []))
  assert.equal(made.length, 2)
  const says = [/projectId names one project too many: .* 3, .* projectsMax/]
  const consent = {
    projectId: "one-more",
    subject: { id: "u", email: "u@example.com" },
    mode: "explicit",
    policyVersion: 1,
    surface: "s",
  }
  const keyed = () => ({ "idempotency-key": crypto.randomUUID() })
  const write = { as: small.writer, ask: "POST /v1/events", headers: keyed() }
  const refused: Row = { ...write, send: event("one-more"), gets: "400 invalid_field", has: says }
  const batch = {
    events: [
      { idempotencyKey: crypto.randomUUID(), ...event("one-more") },
      { idempotencyKey: crypto.randomUUID(), ...event("core") },
    ],
  }
  await expectRows([
    refused,
    {
      ...refused,
      ask: "POST /v1/consents",
      send: { workspaceId: small.id, ...consent },
      headers: keyed(),
    },
    {
      as: small.writer,
      ask: "POST /v1/events/batch",
      send: batch,
      gets: 202,
      has: [/^.{12}{"error":"invalid_field",.*{"receipt"/],
    },
    {
      as: root,
      ask: `POST ${small.path}/projects`,
      send: { id: "one-more" },
      gets: "400 invalid_field",
      has: [/^.*"id names one project too many: /],
    },
    ...made.map((projectId): Row => ({
      ...write,
      send: event(projectId),
      headers: keyed(),
      gets: 202,
    })),
    {
      as: root,
      ask: `PATCH ${small.path}`,
      send: { projectsMax: 0 },
      gets: "400 invalid_field",
      has: [/projectsMax must be/],
    },
    {
      as: root,
      ask: `PATCH ${small.path}`,
      send: { projectsMax: 4 },
      gets: 200,
      shows: { projectsMax: 4 },
    },
    { ...refused, gets: 202, has: [] },
    { ...refused, headers: keyed(), send: event("two-more"), has: [/ 4, /] },
    { as: root, ask: `PATCH ${small.path}`, send: { projectsMax: 1 }, gets: 200 },
    { ...write, send: event("one-more"), headers: keyed(), gets: 202 },
    { ...refused, headers: keyed(), send: event("two-more"), has: [/ 1, /] },
  ])
  const { projects } = (await small.reader.get(`${small.path}/projects`)).json()
  assert.deepEqual(
    projects.map(({ id }: { id: string }) => id).toSorted(),
    ["core", "one-more", ...made].toSorted(),
  )
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 250, refused: 80 }))
