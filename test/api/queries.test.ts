import assert from "node:assert/strict"
import { after, test } from "node:test"
import { verifyReceipt } from "@tallystick/proof"
import { expectAnswer, readChain } from "../chain.ts"
import { makeKey, makeWorkspace, type Client, writeMany } from "../service.ts"
import { find, labels, writeAll, type Page, type Parameters } from "./pages.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// GET …/events: which entries each reader finds, in which order, with proofs that verify.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service
const acme = await makeWorkspace(service)

// Filters and searches ----------------------------------------------------------------------------

const ada = { id: "usr_1", type: "user", email: "ada@example.com", name: "Ada Lovelace" }
await writeAll(acme, {
  n1: {
    actor: ada,
    occurredAt: "2026-01-31T09:30:00Z",
    metadata: { order: { id: "A-7", open: true, sum: 12.5 }, note: "First of May, paid twice" },
  },
  n2: {
    action: "auth.login",
    actor: { id: "usr_2", type: "member", email: "Grace@Example.com" },
    target: { id: "usr_2", type: "member" },
    occurredAt: "2026-01-31T09:30:00.000000001Z",
    source: "dashboard",
    userVisible: true,
  },
  n3: {
    projectId: "billing",
    action: "document.share",
    actor: { id: "usr_2", type: "user", department: "Compilers" },
    target: { id: "doc_1", type: "document", name: "Été à Paris" },
    occurredAt: "2026-01-31t11:30:00.000000002+02:00",
    source: "automation",
    metadata: { tags: ["red", "Blue Sky", 7], "with space": "x", note: "May 1" },
  },
  n4: {
    projectId: "billing",
    action: "stock.item.move",
    actor: { id: "Robot-1", type: "robot" },
    target: { id: "inv_9", type: "invoice", name: "Invoice 10", email: "billing@example.com" },
    occurredAt: "2026-01-31T09:29:59.999999999z",
    source: "system",
    userVisible: true,
    metadata: { note: '50% "off" -- paid', user_id: "usr_1" },
  },
})
const consent = await acme.writer.post(
  "/v1/consents",
  {
    workspaceId: acme.id,
    subject: { id: "usr_3", email: "third@example.com" },
    mode: "explicit",
    policyVersion: 3,
    surface: "sign-up",
    metadata: { label: "n5" },
  },
  { "idempotency-key": "the-third-agrees" },
)
assert.equal(consent.status, 202, consent.text)

const filtered: readonly (readonly [parameters: Parameters, found: string])[] = [
  [{}, "n5 n4 n3 n2 n1"],
  [{ projectId: "all" }, "n5 n4 n3 n2 n1"],
  [{ projectId: "billing" }, "n4 n3"],
  [{ projectId: "Billing" }, ""],
  [{ projectId: "unheard-of" }, ""],
  [{ lane: "all" }, "n5 n4 n3 n2 n1"],
  [{ lane: "security" }, "n2"],
  [{ lane: "data" }, "n3"],
  [{ lane: "policy" }, "n5"],
  [{ lane: "operations" }, "n4 n1"],
  [{ lane: "operations", projectId: "core" }, "n1"],
  [{ userVisible: true }, "n5 n4 n2"],
  [{ userVisible: false }, "n3 n1"],
  [{ storage: "all" }, "n5 n4 n3 n2 n1"],
  [{ storage: "archive" }, ""],
  [{ storage: "archive", includeArchive: true }, ""],
  [{ includeArchive: true }, "n5 n4 n3 n2 n1"],
  // A consent occurred when it was received, which is later than all of these.
  [{ from: "2026-01-31T09:30:00Z" }, "n5 n3 n2 n1"],
  [{ from: "2026-01-31T09:30:00.000000001Z" }, "n5 n3 n2"],
  [{ from: "2026-01-31T04:00:00.000000002-05:30" }, "n5 n3"],
  [{ from: "2026-01-31T09:30:00.000000003Z", to: "2026-02-01T00:00:00Z" }, ""],
  [{ to: "2026-01-31T09:30:00Z" }, "n4"],
  [{ to: "2026-01-31T09:30:00.000000000Z" }, "n4"],
  [{ to: "2026-01-31T10:30:00.00000001+01:00" }, "n4 n3 n2 n1"],
  [{ to: "2026-01-31T09:30:00.000000002Z" }, "n4 n2 n1"],
  [{ to: "2026-01-31T09:29:59.999999999Z" }, ""],
  [{ from: "2026-01-31T09:29:59.999999999Z", to: "2026-01-31T09:30:00.000000001Z" }, "n4 n1"],
  [{ from: "2026-01-31T09:30:00Z", to: "2026-01-31T09:30:00Z" }, ""],
  [
    { from: "0000-01-01T00:00:00+23:59", to: "9999-12-31T23:59:59.999999999-23:59" },
    "n5 n4 n3 n2 n1",
  ],
  [{ from: "2026-01-31T09:30:00Z", query: "paid", projectId: "core" }, "n1"],
]

const searches: readonly (readonly [query: string, found: string])[] = [
  ["", "n5 n4 n3 n2 n1"],
  ["   ", "n5 n4 n3 n2 n1"],
  ['* - ?! ""', "n5 n4 n3 n2 n1"],
  // A word is the start of a word, of anything that is text.
  ["paid", "n4 n1"],
  ["PAI", "n4 n1"],
  ["pai*", "n4 n1"],
  ["aid", ""],
  ["paid twice", "n1"],
  ["lovelace", "n1"],
  ["ada", "n1"],
  ["ada@example.com", "n1"],
  ["example", "n5 n4 n2 n1"],
  ["grace@example", "n2"],
  ["inv_9", "n4 n1"],
  ["robot", "n4"],
  ["12.5", "n1"],
  ["true", "n1"],
  ["compil", "n3"],
  ["billing.invoice", "n1"],
  ["billing", "n4 n1"],
  ["ÉTÉ", "n3"],
  ["ete", ""],
  ["à", "n3"],
  ["sky", "n3"],
  ["7", "n3 n1"],
  ["user_id", ""],
  // Fields that are not text: the type of a party, a project, a lane, a kind, a trace.
  ["member", ""],
  ["operations", ""],
  ["consent", "n5"],
  ["Trace-n1", ""],
  // A phrase matches within one value.
  ['"first of may"', "n1"],
  ['"First, of -- MAY"', "n1"],
  ['"first of ma"', ""],
  ['"first of ma"*', "n1"],
  ['"of first"', ""],
  ['"may paid"', "n1"],
  ['"invoice 1"', ""],
  ['"invoice 1"*', "n4"],
  ['"blue sky"', "n3"],
  ['"red blue"', ""],
  ['"paris', "n3"],
  ["first-of-m", "n1"],
  // Exclusions.
  ["-paid", "n5 n3 n2"],
  ["paid -twice", "n4"],
  ['-"first of may" example', "n5 n4 n2"],
  ["-example -red", ""],
  ["-paid -red -auth", "n5"],
  // Fields: the whole value, or its start.
  ["action:auth.login", "n2"],
  ["action:AUTH.LOGIN", "n2"],
  ["action:auth", ""],
  ["action:auth*", "n2"],
  ["actor:usr_1", "n1"],
  ["actor:usr_", ""],
  ["actor:usr_*", "n5 n3 n2 n1"],
  ['actor:"ada lovelace"', "n1"],
  ["actor:ada@example.com", "n1"],
  ['actor:"Ada L"*', "n1"],
  ["target:usr_2", "n2"],
  ["target:billing@example.com", "n4"],
  ['target:"Invoice 9"', "n1"],
  ["target:invoice*", "n4 n1"],
  ["email:grace@example.com", "n2"],
  ["email:*", "n5 n4 n2 n1"],
  ["-email:*", "n3"],
  ['name:"été à paris"', "n3"],
  ['name:"ete a paris"', ""],
  ['name:"Policy version 3"', "n5"],
  ["type:invoice", "n4 n1"],
  ["type:member", "n2"],
  ["type:sub*", "n5"],
  ["lane:security", "n2"],
  ["project:billing", "n4 n3"],
  ["source:system", "n4"],
  ["kind:consent", "n5"],
  ["kind:event", "n4 n3 n2 n1"],
  ["kind:admin", ""],
  ["trace:Trace-n3", "n3"],
  ["trace:trace-*", "n4 n3 n2 n1"],
  ["metadata.note:*", "n4 n3 n1"],
  ["metadata.note:may", ""],
  ["metadata.note:may*", "n3"],
  ["metadata.order.id:a-7", "n1"],
  ["metadata.order.sum:12.5", "n1"],
  ["metadata.order.open:true", "n1"],
  ["metadata.order:A-7", ""],
  ["metadata.tags:red", "n3"],
  ['metadata.tags:"blue sky"', "n3"],
  ["metadata.tags:7", "n3"],
  ["metadata.user_id:usr_1", "n4"],
  ["metadata.Order.id:A-7", ""],
  ["metadata.policyVersion:3", "n5"],
  ["metadata.mode:explicit", "n5"],
  // One field twice means either; with a minus, neither; different fields, both.
  ["type:invoice type:document", "n4 n3 n1"],
  ["actor:usr_1 actor:usr_3", "n5 n1"],
  ["-type:invoice -type:document", "n5 n2"],
  ["type:invoice -type:robot", "n1"],
  ["type:invoice source:system", "n4"],
  ["type:invoice type:document paid -twice", "n4"],
  // A name that is no field is text.
  ["colour:red", ""],
  ["label:n1", ""],
  ["first:of", "n1"],
  ["Actor:usr_1", ""],
  ["actor:", ""],
  ['say"paid', ""],
]

test("every filter finds its entries, newest first, with an exact total", async () => {
  await expectFound(filtered)
})

test("every form of a search finds its entries", async () => {
  await expectFound(searches.map(([query, found]) => [{ query }, found]))
})

async function expectFound(asked: readonly (readonly [Parameters, string])[]): Promise<void> {
  const wrong: string[] = []
  for (const [parameters, found] of asked) {
    const page = await find(acme.reader, acme.path, parameters)
    const said = `${labels(page)} of ${page.total}`
    const expected = `${found} of ${found === "" ? 0 : found.split(" ").length}`
    if (said !== expected || page.hasMore || !page.verified)
      wrong.push(`${JSON.stringify(parameters)}: ${said}, not ${expected}`)
  }
  assert.deepEqual(wrong, [])
}

test("an entry is found by its ids, and by the start of them", async () => {
  const [{ id, receipt }] = (await find(acme.reader, acme.path, { query: "actor:usr_1" }))
    .events as unknown as [{ id: string; receipt: string }] // one
  for (const query of [
    `id:${id}`,
    `receipt:${receipt}`,
    id,
    receipt,
    `"${id}"`,
    `receipt:${receipt.toLowerCase()}`,
    `id:${id.slice(0, -1)}*`,
  ]) {
    const page = await find(acme.reader, acme.path, { query })
    assert.deepEqual([labels(page), page.total], ["n1", 1], query)
  }
  for (const query of [
    `id:${receipt}`,
    `receipt:${receipt.slice(0, -1)}`,
    `"${id.slice(0, -1)}"`,
    `-id:${id} -receipt:rcp*`,
  ])
    assert.equal((await find(acme.reader, acme.path, { query })).total, 0, query)
})

test("an entry is found by the key that wrote it, and each key's are counted", async () => {
  const shop = await makeWorkspace(service)
  const other = await makeKey(service, shop.id, { scopes: ["write"] })
  await writeAll(shop, { a: {}, b: {} })
  await writeAll({ id: shop.id, writer: other }, { c: {} })
  const { events } = await find(shop.reader, shop.path)
  const keys = events.map(({ provenance }) => provenance?.keyId ?? "none")
  const [ofOther = "", , ofFirst = ""] = keys
  for (const [query, found] of [
    [`key:${ofFirst}`, "b a"],
    [`key:${ofOther}`, "c"],
    [`-key:${ofOther}`, "b a"],
    [`key:${ofFirst} key:${ofOther.toUpperCase()}`, "c b a"],
    ["key:*", "c b a"],
  ] as const)
    assert.equal(labels(await find(shop.reader, shop.path, { query })), found, query)
  const counted = await shop.reader.get(`${shop.path}/events/values?field=key`)
  assert.deepEqual(counted.json(), {
    values: [
      { value: ofFirst.toLowerCase(), count: 2 },
      { value: ofOther.toLowerCase(), count: 1 },
    ],
  })
})

test("a search has at most 512 bytes and 16 terms; every other text is a search", async () => {
  const within = [
    "é".repeat(256),
    "x ".repeat(16),
    "x - ** ".repeat(16),
    "-a b* actor:c* ".repeat(5),
    `"${"y".repeat(511)}`,
    ") OR (",
    "NEAR(a b)",
    "^a",
    "a AND NOT b",
    "\\",
    "😀",
    "%",
    "_",
    "';--",
    "\u{0001}",
  ]
  for (const query of within) await find(acme.reader, acme.path, { query })
  const ask = (query: string, has: string): Row => ({
    as: acme.reader,
    ask: `GET ${acme.path}/events?query=${encodeURIComponent(query)}`,
    gets: "400 invalid_field",
    has: ["query", has],
  })
  await expectRows([
    ask("é".repeat(256) + "a", "512"),
    ask("x ".repeat(17), "16"),
    ask("-y:1 ".repeat(17), "16"),
  ])
})

test("invalid parameters are refused with their names", async () => {
  const bad: readonly (readonly [string, string])[] = [
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=1.5", "limit"],
    ["limit=1e1", "limit"],
    ["limit=", "limit"],
    ["limit=%2010", "limit"],
    ["cursor=-1", "cursor"],
    ["cursor=x", "cursor"],
    ["cursor=007", "cursor"],
    ["cursor=9007199254740992", "cursor"],
    ["lane=Security", "lane"],
    ["lane=", "lane"],
    ["storage=cold", "storage"],
    ["includeArchive=1", "includeArchive"],
    ["includeArchive=TRUE", "includeArchive"],
    ["userVisible=yes", "userVisible"],
    ["includeSystem=", "includeSystem"],
    ["include=proofs", "include"],
    ["from=2026-01-31", "from"],
    ["from=2026-02-30T00:00:00Z", "from"],
    ["to=2026-01-31T09:30:00", "to"],
    ["to=2026-01-31T09:30:00.0000000001Z", "to"],
    ["from=1769850000", "from"],
    ["projectId=", "projectId"],
    ["projectId=a%20b", "projectId"],
    ["projectid=core", "projectid"],
    ["q=paid", "q"],
    ["subject=usr_1", "subject"],
    ["limit=5&limit=5", "limit"],
    ["query=a&query=b", "query"],
  ]
  await expectRows(
    bad.map(([query, name]) => ({
      as: acme.reader,
      ask: `GET ${acme.path}/events?${query}`,
      gets: "400 invalid_field",
      has: [name],
    })),
  )
  // Every parameter refuses a number that is too large with the range.
  const large = [2 ** 53, 10 ** 20, "9".repeat(400)].map((number) => BigInt(number))
  const most = { cursor: "from 0 to 9007199254740991", limit: "from 1 to 100" }
  await expectRows([
    ...large.flatMap((number) =>
      Object.entries(most).map(([name, range]) => ({
        as: acme.reader,
        ask: `GET ${acme.path}/events?${name}=${number}`,
        gets: "400 invalid_field",
        has: [`${name} must be an integer ${range}"`],
      })),
    ),
    {
      as: acme.reader,
      ask: `GET ${acme.path}/events?cursor=9007199254740991`,
      gets: 200,
      shows: { hasMore: false },
    },
    { as: acme.reader, ask: `GET ${acme.path}/events?cursor=4294967297`, gets: 200 },
    {
      as: acme.reader,
      ask: `GET ${acme.path}/published-policy/99999999999`,
      gets: "404 not_found",
    },
    { as: acme.reader, ask: `GET ${acme.path}/published-policy/2147483648`, gets: "404 not_found" },
  ])
  await expectRows([
    { as: acme.reader, ask: `GET ${acme.path}/events?query=%ff`, gets: "400 bad_request" },
    { as: service.client(), ask: `GET ${acme.path}/events?token=x`, gets: "401 unauthorized" },
    {
      as: acme.reader,
      ask: `GET ${acme.path}/events?limit=1`,
      gets: 200,
      answerHeaders: { "cache-control": "no-store", "access-control-allow-origin": null },
    },
    { as: acme.reader, ask: `HEAD ${acme.path}/events?limit=1`, gets: 200 },
    { as: acme.reader, ask: `POST ${acme.path}/events`, send: {}, gets: "405 method_not_allowed" },
  ])
})

test("times that exclude each other are refused, before a hold by them holds nothing", async () => {
  const times = {
    from: "2026-01-31T09:30:00.000000002Z",
    to: "2026-01-31T10:30:00.000000001+01:00",
  }
  const query = new URLSearchParams(times).toString()
  const refused = { gets: "400 invalid_field", has: ["to must not be before"] } as const
  const reads = ["events", "events/values", "events/feed", "events/export", "consents/summary"]
  await expectRows([
    ...reads.map((path) => ({
      as: acme.reader,
      ask: `GET ${acme.path}/${path}?${path.endsWith("values") ? "field=actor&" : ""}${query}`,
      ...refused,
    })),
    {
      as: acme.reader,
      ask: `POST ${acme.path}/evidence-packs`,
      send: { title: "None", filter: times },
      ...refused,
    },
    {
      as: root,
      ask: `POST ${acme.path}/holds`,
      send: { name: "Case 7", reason: "Lawsuit", filter: times },
      ...refused,
    },
  ])
})

// Pages -------------------------------------------------------------------------------------------

/** The usual loops, by which people read a list to its end. */
async function readAll(
  client: Client,
  path: string,
  limit: number,
  by: "nextCursor" | "hasMore",
  between?: () => Promise<unknown>,
): Promise<Page[]> {
  const pages: Page[] = []
  for (let cursor = 0; ;) {
    const page = await find(client, path, { limit, cursor })
    pages.push(page)
    cursor = page.nextCursor
    if (by === "hasMore" ? !page.hasMore : cursor === 0) return pages
    assert.ok(pages.length < 100, "the loop does not end")
    await between?.()
  }
}

test("the usual loops read every entry once and end", async () => {
  const shop = await makeWorkspace(service)
  const all = Array.from({ length: 13 }, (_, number) => `m${number}`)
  await writeAll(shop, Object.fromEntries(all.map((label) => [label, {}])))
  const expected = all.toReversed().join(" ")
  for (const limit of [1, 2, 5, 12, 13, 14, 100]) {
    for (const by of ["nextCursor", "hasMore"] as const) {
      const pages = await readAll(shop.reader, shop.path, limit, by)
      assert.equal(
        pages
          .map(labels)
          .filter((text) => text !== "")
          .join(" "),
        expected,
        `${limit} by ${by}`,
      )
      for (const page of pages) assert.deepEqual([page.total, page.verified], [13, true])
      assert.deepEqual(
        pages.map(({ returned, hasMore }) => [returned, hasMore]),
        [
          ...Array.from({ length: Math.ceil(13 / limit) - 1 }, () => [limit, true]),
          [13 % limit || Math.min(limit, 13), false],
          ...(by === "nextCursor" ? [[0, false]] : []),
        ],
        `${limit} by ${by}`,
      )
    }
  }
  const { nextCursor: last } = await find(shop.reader, shop.path, { limit: 100 })
  const { returned, total, nextCursor, hasMore, verified } = await find(shop.reader, shop.path, {
    cursor: last,
  })
  assert.deepEqual([returned, total, nextCursor, hasMore, verified], [0, 13, 0, false, true])
  const [far, one] = [
    await find(shop.reader, shop.path, { cursor: Number.MAX_SAFE_INTEGER }),
    await find(shop.reader, shop.path, { cursor: 1 }),
  ]
  assert.deepEqual([far.returned, far.total, one.returned, one.total], [13, 13, 0, 13])
})

test("new entries shift no page; only the total grows", async () => {
  const shop = await makeWorkspace(service)
  const all = Array.from({ length: 9 }, (_, number) => `m${number}`)
  await writeAll(shop, Object.fromEntries(all.map((label) => [label, {}])))
  let appended = 0
  const pages = await readAll(shop.reader, shop.path, 2, "hasMore", () =>
    writeAll(shop, { [`late${++appended}`]: {} }),
  )
  assert.equal(pages.map(labels).join(" "), all.toReversed().join(" "))
  assert.deepEqual(
    pages.map(({ total }) => total),
    [9, 10, 11, 12, 13],
  )
})

test("the very next request finds an acknowledged event or batch, by every kind of search", async () => {
  const shop = await makeWorkspace(service)
  const nobody = await find(shop.reader, shop.path)
  assert.deepEqual(nobody, {
    events: [],
    returned: 0,
    total: 0,
    nextCursor: 0,
    hasMore: false,
    verified: true,
  })
  for (let count = 1; count <= 20; count++) {
    await writeAll(shop, { [`w${count}`]: {} })
    const page = await find(
      shop.reader,
      shop.path,
      count % 2 === 0 ? { query: `metadata.label:w${count}` } : { limit: 1 },
    )
    assert.deepEqual([labels(page), page.total], [`w${count}`, count % 2 === 0 ? 1 : count])
  }
  await writeMany(shop, 1000, {
    changes: (place) => ({ metadata: { label: `b${place}` } }),
    atOnce: 1000,
  })
  const page = await find(shop.reader, shop.path, { limit: 100 })
  assert.deepEqual(
    [page.total, page.returned, page.hasMore, page.events[0]?.metadata["label"]],
    [1020, 100, true, "b999"],
  )
  assert.equal((await find(shop.reader, shop.path, { query: "metadata.label:b*" })).total, 1000)
})

// Who sees what -----------------------------------------------------------------------------------

test("to a key with projects, all means its projects; others it may not name, whether they exist or not", async () => {
  const mine = await makeKey(service, acme.id, {
    scopes: ["read"],
    projectIds: ["billing", "later"],
  })
  const page = await find(mine, acme.path)
  assert.deepEqual([labels(page), page.total], ["n4 n3", 2])
  for (const [parameters, found] of [
    [{ projectId: "all" }, "n4 n3"],
    [{ projectId: "billing" }, "n4 n3"],
    [{ projectId: "later" }, ""],
    [{ query: "project:core" }, ""],
    [{ query: "-project:billing" }, ""],
    [{ query: "lovelace" }, ""],
    [{ query: "-lovelace" }, "n4 n3"],
    [{ query: "type:member type:robot" }, "n4"],
    [{ storage: "all", query: "kind:admin" }, ""],
  ] as const) {
    const narrow = await find(mine, acme.path, parameters)
    assert.deepEqual(
      [labels(narrow), narrow.total],
      [found, found === "" ? 0 : found.split(" ").length],
      JSON.stringify(parameters),
    )
  }
  const refused = [
    "projectId=core",
    "projectId=unheard-of",
    "projectId=system",
    "includeSystem=true",
    "projectId=billing&includeSystem=true",
  ]
  const replies = await expectRows(
    refused.map((query) => ({
      as: mine,
      ask: `GET ${acme.path}/events?${query}`,
      gets: "403 project_forbidden",
      hasNot: ["core", "unheard-of"],
    })),
  )
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1, "one wording for all")
})

test("the service's own entries are separate, and nobody else can write them", async () => {
  const shop = await makeWorkspace(service)
  await writeAll(shop, { own: { source: "system", action: "security.key.create" }, ours: {} })
  const system = await find(shop.reader, shop.path, { projectId: "system" })
  // The workspace, its project and its two keys.
  assert.equal(system.total, 4)
  for (const { kind, projectId } of system.events)
    assert.deepEqual([kind, projectId], ["admin", "system"])
  const together = await find(shop.reader, shop.path, { includeSystem: true })
  assert.deepEqual([together.total, together.returned], [6, 6])
  assert.deepEqual(
    together.events.map(({ sequence }) => sequence),
    [6, 5, 4, 3, 2, 1],
  )
  const asked: readonly (readonly [Parameters, number])[] = [
    [{}, 2],
    [{ includeSystem: false }, 2],
    [{ projectId: "core" }, 2],
    [{ projectId: "core", includeSystem: true }, 6],
    [{ projectId: "system", includeSystem: true }, 4],
    [{ query: "action:security.key.create" }, 1],
    [{ query: "action:security.key.create", includeSystem: true }, 3],
    [{ query: "kind:admin", includeSystem: true }, 4],
    [{ query: "project:system" }, 0],
    [{ query: "kind:admin" }, 0],
    [{ query: "-kind:event" }, 0],
    [{ query: "-kind:event", includeSystem: true }, 4],
    [{ userVisible: true, includeSystem: true }, 0],
    [{ lane: "security", projectId: "system" }, 2],
  ]
  for (const [parameters, total] of asked)
    assert.equal(
      (await find(shop.reader, shop.path, parameters)).total,
      total,
      JSON.stringify(parameters),
    )
})

test("administrative entries lie between: two rows need not be linked, and includeSystem=true shows the whole chain", async () => {
  const shop = await makeWorkspace(service)
  await writeAll(shop, { one: {} })
  await makeKey(service, shop.id, { scopes: ["read"] })
  await writeAll(shop, { two: {} })
  const [later, earlier] = (await find(shop.reader, shop.path, {})).events
  assert.ok(later !== undefined && earlier !== undefined && later.sequence === earlier.sequence + 2)
  assert.notEqual(later.previousHash, earlier.hash)
  const { events } = await find(shop.reader, shop.path, {
    projectId: "all",
    includeSystem: true,
    storage: "all",
  })
  assert.equal(events.length, later.sequence)
  const { ledgerId } = (await shop.reader.get(shop.path)).json<{ ledgerId: string }>()
  assert.deepEqual(
    events.map(({ previousHash }) => previousHash),
    [...events.slice(1).map(({ hash }) => hash), ledgerId],
  )
})

test("one workspace never finds entries of another", async () => {
  const shop = await makeWorkspace(service)
  await writeAll(shop, { theirs: { actor: ada, metadata: { note: "zebra crossing" } } })
  // The random ids of its own keys may begin with fewer letters of it.
  for (const query of ["zebra", "zebr*", "metadata.note:zebra*", "metadata.label:theirs"]) {
    const page = await find(acme.reader, acme.path, { query, includeSystem: true, storage: "all" })
    assert.deepEqual([page.total, page.returned], [0, 0], query)
  }
  assert.equal((await find(shop.reader, shop.path, { query: "zebra" })).total, 1)
})

test("a caller who reads personal metadata in clear can search it", async () => {
  const clinic = await makeWorkspace(service, { personalKeys: ["phone"] })
  await writeAll(clinic, {
    p1: { metadata: { phone: "+49 30 1234", plan: "pro" } },
    p2: { metadata: { plan: "pro" } },
  })
  for (const [query, found] of [
    ["1234", "p1"],
    ["metadata.phone:+49*", "p1"],
    ['"49 30"', "p1"],
    ["pro -metadata.phone:*", "p2"],
  ] as const)
    assert.equal(labels(await find(clinic.reader, clinic.path, { query })), found, query)
  await root.patch(clinic.path, { personalKeys: ["*"] })
  await writeAll(clinic, { p3: { metadata: { phone: { home: "+49 30 1234" } } } })
  assert.equal(
    labels(await find(clinic.reader, clinic.path, { query: "metadata.phone.home:*" })),
    "p3",
  )
  assert.equal(
    labels(await find(clinic.reader, clinic.path, { query: "metadata.label:p3 1234" })),
    "p3",
  )
})

// Proofs ------------------------------------------------------------------------------------------

test("with include=proof anybody can recompute every row", async () => {
  const newest = (await find(acme.reader, acme.path, { includeSystem: true, limit: 1 })).events.map(
    (entry) => ({
      ...entry,
      eventHash: entry.hash,
    }),
  )
  const chain = await readChain(acme.reader, acme.id, newest)
  const page = await find(acme.reader, acme.path, { include: "proof", includeSystem: true })
  assert.deepEqual(
    [page.returned, page.verified, page.total],
    [page.events.at(0)?.sequence, true, page.returned],
  )
  let seen = 0
  for (const { proof, disclosures, ...entry } of page.events) {
    const { receipt } = (await acme.reader.get(`${acme.path}/receipts/${entry.receipt}`)).json()
    const answer = { receipt, entry, proof, disclosures, verified: true }
    assert.equal(chain.hashes[expectAnswer(chain, answer).index], entry.hash)
    const { verdict } = verifyReceipt(answer, {
      trustedKeys: [chain.vkey],
      receiptId: entry.receipt,
    })
    assert.equal(verdict, "genuine")
    seen += 1
  }
  assert.ok(seen >= 10)
  const bare = await find(acme.reader, acme.path, { includeSystem: true })
  for (const entry of bare.events) assert.ok(!("proof" in entry) && !("disclosures" in entry))
})

test("an entry that no checkpoint covers yet is pending, has no path, and counts as verified", async () => {
  const shop = await makeWorkspace(service)
  await writeAll(shop, { p1: {} })
  const page = await find(shop.reader, shop.path, { include: "proof" })
  const [{ integrity, proof }] = page.events as unknown as [
    { integrity: string; proof: { tlogProof: string | null } },
  ] // one was written
  assert.equal(page.verified, true)
  assert.equal(integrity, proof.tlogProof === null ? "pending" : "verified")
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
