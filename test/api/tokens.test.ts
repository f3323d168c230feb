import assert from "node:assert/strict"
import { after, test } from "node:test"
import { readChain } from "../chain.ts"
import { join } from "../people.ts"
import {
  eventFor,
  make,
  makeKey,
  makeWorkspace,
  startService,
  writeEvent,
  type Client,
  type Reply,
  clockAhead,
} from "../service.ts"
import { withCheckDigits } from "./check-digits.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// Scoped tokens: each opens one thing, for a while, and nothing widens it. Who may make which is in
// permissions.test.ts.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service
const acme = await makeWorkspace(service)
const other = await makeWorkspace(service)
await root.patch(`${acme.path}/projects/core`, { activityLinks: true })
for (const project of [
  { id: "open", receipts: "public", activityLinks: true },
  { id: "mine", activityLinks: true },
  { id: "off" },
])
  await make(root, `${acme.path}/projects`, project)
const sections = [{ id: "a", title: "A", body: "Text" }]
for (const policy of [{ sections }, { sections, projectId: "mine" }])
  await make(root, `${acme.path}/published-policy`, policy)
const admin = await makeKey(service, acme.id, { scopes: ["admin"] })

const write = async (projectId: string): Promise<string> =>
  (await writeEvent(acme, { projectId })).receipt
const mint = (by: Client, path: string, request: object = {}) =>
  make(by, `${acme.path}/${path}/token`, request)
const secondsOf = ({ createdAt, expiresAt }: { createdAt: string; expiresAt: string }): number =>
  (Date.parse(expiresAt) - Date.parse(createdAt)) / 1000

const core = await write("core")
const open = await write("open")
const mine = await write("mine")
const pack = await make(root, `${acme.path}/evidence-packs`, {
  title: "for an auditor",
  receiptIds: [core, mine, open],
})
const personTypes = ["user", "subject", "person", "member", "customer", "account"]

const day = 86_400
const page = (path: string, letter: string): RegExp =>
  new RegExp(`^${RegExp.escape(service.url + path)}#t=ts${letter}_[0-9A-Za-z]{13}_[0-9A-Za-z]{49}$`)

/**
 * For each type: its request, its binding, the URL for programs, its page, and its default and
 * longest lifetime.
 */
const types = [
  {
    type: "receipt",
    path: `receipts/${core}`,
    asks: {},
    bound: { receipt: core },
    api: `receipts/${core}`,
    url: "verificationUrl",
    page: page(`/r/${acme.id}/${core}`, "r"),
    usual: 7 * day,
    longest: 90 * day,
  },
  {
    type: "policy",
    path: "published-policy",
    asks: {},
    bound: { projectId: "core" },
    api: "published-policy/latest",
    url: "policyUrl",
    page: page(`/p/${acme.id}/latest`, "p"),
    usual: 30 * day,
    longest: 365 * day,
  },
  {
    type: "policy",
    path: "published-policy",
    asks: { projectId: "mine", version: 1 },
    bound: { projectId: "mine", version: 1 },
    api: "published-policy/1?projectId=mine",
    url: "policyUrl",
    page: page(`/p/${acme.id}/1?projectId=mine`, "p"),
    usual: 30 * day,
    longest: 365 * day,
  },
  {
    type: "evidence",
    path: `evidence-packs/${pack.packId}`,
    asks: {},
    bound: { packId: pack.packId, receiptCount: 3 },
    api: `evidence-packs/${pack.packId}/download`,
    url: "pageUrl",
    page: page(`/e/${acme.id}/${pack.packId}`, "e"),
    usual: 7 * day,
    longest: 90 * day,
  },
  {
    type: "activity",
    path: "activity",
    asks: { projectId: "core", subject: "usr_1" },
    bound: { projectId: "core", subject: { id: "usr_1", types: personTypes } },
    api: "activity",
    url: "activityUrl",
    page: page(`/a/${acme.id}`, "a"),
    usual: day,
    longest: 30 * day,
  },
  {
    type: "activity",
    path: "activity",
    asks: { projectId: "mine", subject: { id: "cus_1", types: ["shopper"] } },
    bound: { projectId: "mine", subject: { id: "cus_1", types: ["shopper"] } },
    api: "activity",
    url: "activityUrl",
    page: page(`/a/${acme.id}`, "a"),
    usual: day,
    longest: 30 * day,
  },
] as const

// Making ------------------------------------------------------------------------------------------

test("a new token is shown once, with all its fields, and its page has it in the fragment", async () => {
  for (const { type, path, asks, bound, api, url, page: expected, usual } of types) {
    const made = await mint(acme.reader, path, { ...asks, note: "for the auditor" })
    const {
      token,
      tokenId,
      createdAt,
      expiresAt,
      apiUrl,
      [url]: address,
      downloadUrl = apiUrl,
      ...rest
    } = made
    assert.equal(apiUrl, `${service.url}${acme.path}/${api}`)
    assert.equal(downloadUrl, apiUrl)
    assert.equal("downloadUrl" in made, type === "evidence")
    const opened = await service.client(token).get(apiUrl.slice(service.url.length))
    assert.equal(opened.status, 200, opened.text)
    assert.deepEqual(rest, { type, workspaceId: acme.id, ...bound, note: "for the auditor" })
    assert.equal(token.split("_")[1], tokenId)
    assert.match(address, expected)
    assert.ok(address.endsWith(`#t=${token}`))
    assert.equal(secondsOf({ createdAt, expiresAt }), usual)

    const { apiKeys, tokens } = {
      apiKeys: [],
      ...(await root.get(`${acme.path}/tokens?limit=1`)).json(),
    }
    assert.deepEqual(apiKeys, [])
    const { receiptCount: _, ...listed } = { receiptCount: 0, ...rest }
    const mintedBy = {
      type: "api_key",
      id: acme.reader.bearer?.split("_")[1],
      name: "a test's",
    }
    const [{ lastUsedAt, ...shown }, more] = tokens
    assert.ok(lastUsedAt === undefined || lastUsedAt >= createdAt)
    assert.deepEqual(shown, { ...listed, tokenId, createdAt, expiresAt, state: "live", mintedBy })
    assert.equal(more, undefined)
  }
})

test("the check at the end of a token is the CRC-32 of the text before it", async () => {
  for (const { path, asks } of types) {
    const { token } = await mint(acme.reader, path, asks)
    assert.equal(token, withCheckDigits(token.slice(0, -6)))
  }
})

test("a body may be absent where no field is required", async () => {
  for (const path of [`receipts/${core}`, "published-policy", `evidence-packs/${pack.packId}`]) {
    const reply = await acme.reader.ask("POST", `${acme.path}/${path}/token`)
    assert.equal(reply.status, 201, reply.text)
    assert.equal("note" in reply.json(), false)
  }
  const reply = await acme.reader.ask("POST", `${acme.path}/activity/token`)
  assert.deepEqual([reply.status, reply.json().error], [400, "invalid_field"])
  assert.match(reply.json().detail, /^projectId is required/)
})

test("how long a token may live: from a minute to the maximum of its type, and no longer than the key that makes it", async () => {
  const short = await makeKey(service, acme.id, { scopes: ["read"], expiresInSeconds: 3600 })
  for (const { path, asks, longest } of types) {
    const ask = (expiresInSeconds: unknown, gets: Row["gets"]): Row => ({
      about: JSON.stringify(expiresInSeconds),
      as: acme.reader,
      ask: `POST ${acme.path}/${path}/token`,
      send: { ...asks, expiresInSeconds },
      gets,
      ...(gets === 201 ? {} : { has: [/expiresInSeconds must be an integer from 60 to [0-9]+"/] }),
    })
    const wrong = [59, 0, -60, longest + 1, 60.5, "60", null, 1e300, [60]]
    const replies = await expectRows([
      ask(60, 201),
      ask(longest, 201),
      ...wrong.map((value) => ask(value, "400 invalid_field")),
    ])
    assert.deepEqual(
      replies.slice(0, 2).map((reply) => secondsOf(reply.json())),
      [60, longest],
    )
    assert.match(replies[5]?.text ?? "", new RegExp(`from 60 to ${longest}"`))

    const ofShort = [
      await mint(short, path, asks),
      await mint(short, path, { ...asks, expiresInSeconds: longest }),
    ]
    for (const made of ofShort)
      assert.ok(secondsOf(made) <= 3600 && secondsOf(made) > 3500, made.expiresAt)
    assert.equal(secondsOf(await mint(short, path, { ...asks, expiresInSeconds: 60 })), 60)
  }
})

test("invalid bindings of a token are refused", async () => {
  const bad = (path: string, request: object, gets: string, says: RegExp): Row => ({
    about: `${path} ${JSON.stringify(request)}`,
    as: acme.reader,
    ask: `POST ${acme.path}/${path}/token`,
    send: request,
    gets,
    has: [says],
  })
  const subject = "usr_1"
  await expectRows([
    bad(`receipts/${core}`, { note: "" }, "400 invalid_field", /note/),
    bad(`receipts/${core}`, { note: "x".repeat(201) }, "400 invalid_field", /note/),
    bad(`receipts/${core}`, { receipt: mine }, "400 invalid_field", /receipt is not a known field/),
    bad(
      `receipts/${core}`,
      { expiresAt: "2030-01-01T00:00:00Z" },
      "400 invalid_field",
      /expiresAt is not a known field/,
    ),
    bad("receipts/rcp_1", {}, "404 not_found", /./),
    bad(`receipts/rcp_${"0".repeat(36)}`, {}, "404 not_found", /./),
    bad(
      `evidence-packs/${pack.packId}`,
      { receiptIds: [core] },
      "400 invalid_field",
      /receiptIds is not a known field/,
    ),
    bad("evidence-packs/pack_1", {}, "404 not_found", /./),
    bad("published-policy", { projectId: "all" }, "400 invalid_field", /projectId.*reserved/),
    bad("published-policy", { version: 0 }, "400 invalid_field", /version/),
    bad("published-policy", { version: "1" }, "400 invalid_field", /version/),
    bad("published-policy", { version: 2 }, "404 not_found", /version/),
    bad("published-policy", { projectId: "gone" }, "404 not_found", /project/),
    bad("activity", { subject }, "400 invalid_field", /projectId is required/),
    bad("activity", { projectId: "core" }, "400 invalid_field", /subject is required/),
    bad("activity", { projectId: "all", subject }, "400 invalid_field", /projectId.*reserved/),
    bad("activity", { projectId: "gone", subject }, "404 not_found", /project/),
    bad("activity", { projectId: "off", subject }, "403 activity_disabled", /activity links/),
    bad(
      "activity",
      { projectId: "core", subject, types: ["user"] },
      "400 invalid_field",
      /types is not a known field/,
    ),
    ...[
      "",
      null,
      7,
      [],
      {},
      { id: "" },
      { id: 7 },
      { id: "a", types: [] },
      { id: "a", types: [""] },
      { id: "a", types: ["b", "b"] },
    ].map((one) =>
      bad(
        "activity",
        { projectId: "core", subject: one },
        "400 invalid_field",
        /subject must be a non-empty string, or an object/,
      ),
    ),
    bad(
      "activity",
      { projectId: "core", subject: { id: "a", name: "b" } },
      "400 invalid_field",
      /subject must be/,
    ),
    bad(
      "activity",
      { projectId: "core", subject: { id: "a", types: Array.from({ length: 21 }, String) } },
      "400 invalid_field",
      /subject/,
    ),
  ])
  const reply = await acme.reader.get(`${acme.path}/published-policy/token`)
  assert.equal(reply.status, 404, "what is at this path takes POST, and is no version of a policy")
})

// Opening -----------------------------------------------------------------------------------------

const personal = ["ada@example.com", "Invoice 9"]
const receiptAt = (id: string): string => `GET ${acme.path}/receipts/${id}`

test("a receipt token opens its own receipt in clear, private or not, and sees others as a stranger does", async () => {
  const [ofCore, ofOpen] = await Promise.all(
    [core, open].map(async (id) =>
      service.client((await mint(acme.reader, `receipts/${id}`)).token),
    ),
  )
  const second = await write("open")
  assert.ok(ofCore && ofOpen)
  await expectRows([
    { as: ofCore, ask: receiptAt(core), gets: 200, has: personal, shows: { verified: true } },
    { as: ofCore, ask: `${receiptAt(core)}/proof`, gets: 200 },
    { as: ofCore, ask: receiptAt(open), gets: 200, hasNot: personal, shows: { verified: true } },
    { as: ofCore, ask: receiptAt(mine), gets: "403 insufficient_scope" },
    { as: ofCore, ask: `${receiptAt(mine)}/proof`, gets: "403 insufficient_scope" },
    { as: ofOpen, ask: receiptAt(open), gets: 200, has: personal },
    { as: ofOpen, ask: receiptAt(second), gets: 200, hasNot: personal },
    { as: ofOpen, ask: receiptAt(core), gets: "403 insufficient_scope" },
  ])
})

test("an evidence token opens the receipts of its pack in clear, and no other", async () => {
  const ofPack = service.client((await mint(acme.reader, `evidence-packs/${pack.packId}`)).token)
  const [later, laterOpen] = [await write("core"), await write("open")]
  await expectRows([
    ...[core, mine, open].flatMap((id): readonly Row[] => [
      { as: ofPack, ask: receiptAt(id), gets: 200, has: personal, shows: { verified: true } },
      { as: ofPack, ask: `${receiptAt(id)}/proof`, gets: 200 },
    ]),
    { as: ofPack, ask: receiptAt(later), gets: "403 insufficient_scope" },
    { as: ofPack, ask: receiptAt(laterOpen), gets: 200, hasNot: personal },
  ])
})

test("an evidence token opens no entry of another workspace that has the sequence of one of its pack", async () => {
  const written = async () => {
    const workspace = await makeWorkspace(service)
    const ask = `${workspace.path}/receipts/${(await writeEvent(workspace)).receipt}`
    const { entry, receipt } = (await workspace.reader.get(ask)).json()
    return { ...workspace, ask, receipt: receipt.receipt, sequence: entry.sequence }
  }
  const [packed, foreign] = [await written(), await written()]
  assert.equal(packed.sequence, foreign.sequence)
  const path = `${packed.path}/evidence-packs`
  const { packId } = await make(root, path, { title: "for them", receiptIds: [packed.receipt] })
  const { token } = await make(packed.reader, `${path}/${packId}/token`, {})
  const as = service.client(token)
  await expectRows([
    { as, ask: `GET ${packed.ask}`, gets: 200, has: personal },
    { as, ask: `GET ${foreign.ask}`, gets: "403 workspace_forbidden", hasNot: personal },
  ])
})

test("policy and activity tokens open no receipt that is not public", async () => {
  const tokens = [
    await mint(acme.reader, "published-policy"),
    await mint(acme.reader, "activity", { projectId: "core", subject: "usr_1" }),
  ]
  await expectRows(
    tokens.flatMap(({ token }): readonly Row[] => [
      { as: service.client(token), ask: receiptAt(core), gets: "403 insufficient_scope" },
      { as: service.client(token), ask: receiptAt(open), gets: 200, hasNot: personal },
    ]),
  )
})

test("a token gets the same answer for private and unknown resources", async () => {
  for (const { path, asks } of types) {
    const client = service.client((await mint(root, path, asks)).token)
    const hidden = await write("mine")
    const replies = await Promise.all(
      [hidden, `rcp_${"0".repeat(36)}`].map((id) => client.get(`${acme.path}/receipts/${id}`)),
    )
    assert.deepEqual(replies[0]?.text, replies[1]?.text)
    assert.equal(replies[0]?.status, 403)
  }
})

test("a policy token opens the versions that it is bound to, of its project", async () => {
  await root.post(`${acme.path}/published-policy`, {
    sections: [{ id: "a", title: "A", body: "Newer" }],
  })
  const all = service.client((await mint(acme.reader, "published-policy")).token)
  const first = service.client((await mint(acme.reader, "published-policy", { version: 1 })).token)
  const policy = (version: string): string => `GET ${acme.path}/published-policy/${version}`
  await expectRows([
    { as: all, ask: policy("1"), gets: 200, shows: { policy: { version: 1 } } },
    { as: all, ask: policy("2"), gets: 200, shows: { policy: { version: 2 } } },
    { as: all, ask: policy("latest"), gets: 200, shows: { policy: { version: 2 } } },
    { as: all, ask: policy("1?projectId=mine"), gets: "403 insufficient_scope" },
    { as: first, ask: policy("1"), gets: 200 },
    { as: first, ask: policy("2"), gets: "403 insufficient_scope" },
    { as: first, ask: policy("latest"), gets: "403 insufficient_scope" },
  ])
})

test("no request widens what a token opens", async () => {
  const { token } = await mint(acme.reader, `receipts/${core}`)
  const holder = service.client(token)
  const tries: readonly (readonly [ask: string, gets: Row["gets"], send?: object])[] = [
    [`GET ${acme.path}/receipts/${mine}?receipt=${core}`, "400 invalid_field"],
    [`GET ${acme.path}/receipts/${core}?workspaceId=${other.id}`, "400 invalid_field"],
    [`GET ${acme.path}/receipts/${mine}?token=${token}`, "400 invalid_field"],
    [`GET ${acme.path}/receipts/${core}?token=${token}`, "400 invalid_field"],
    [`GET ${acme.path}`, "403 insufficient_scope"],
    [`GET ${acme.path}/tokens`, "403 insufficient_scope"],
    [`GET ${other.path}/receipts/${core}`, "403 workspace_forbidden"],
    [`POST ${acme.path}/receipts/${core}/token`, "403 insufficient_scope", {}],
    [
      `POST ${acme.path}/receipts/${core}/token`,
      "403 insufficient_scope",
      { expiresInSeconds: 60 * day },
    ],
    [`POST ${acme.path}/api-keys`, "403 insufficient_scope", { name: "k", scopes: ["read"] }],
    [`DELETE ${acme.path}/tokens/${token.split("_")[1]}`, "403 insufficient_scope"],
    ["GET /v1/workspaces", "403 insufficient_scope"],
    ["GET /v1/limits", 200],
  ]
  await expectRows(
    tries.map(([ask, gets, send]) => ({ as: holder, ask, gets, ...(send && { send }) })),
  )
  const secret = token.split("_")[2] ?? ""
  const id = token.split("_")[1] ?? ""
  const forged = ["k", "p", "a", "e", "s", "x"].map(
    (kind) => `ts${kind}_${id}_${secret.slice(0, 43)}`,
  )
  await expectRows(
    forged.flatMap((text): readonly Row[] => {
      const as = service.client(withCheckDigits(text))
      return [
        { about: text, as, ask: receiptAt(core), gets: "401 unauthorized" },
        { about: text, as, ask: `GET ${acme.path}`, gets: "401 unauthorized" },
      ]
    }),
  )
})

// In the query ------------------------------------------------------------------------------------

test("an address may hold an activity token for activity and a policy token for a policy, and no other credential", async () => {
  const anonymous = service.client()
  const made = new Map<string, string>()
  for (const { type, path, asks } of types)
    if (!made.has(type)) made.set(type, (await mint(acme.reader, path, asks)).token)
  const token = (type: string): string => made.get(type) ?? ""
  const routes = {
    activity: `${acme.path}/activity`,
    policy: `${acme.path}/published-policy/latest`,
  } as const
  const rows: Row[] = []
  for (const [type, path] of Object.entries(routes)) {
    const wrong = [
      ...[...made].filter(([kind]) => kind !== type).map(([, text]) => text),
      acme.reader.bearer,
      service.rootKey,
      "",
      "x",
      `${token(type).slice(0, -1)}${token(type).endsWith("0") ? "1" : "0"}`,
    ]
    rows.push({
      as: anonymous,
      ask: `GET ${path}?token=${token(type)}`,
      gets: 200,
      answerHeaders: { "cache-control": "no-store" },
    })
    rows.push({ as: anonymous, ask: `HEAD ${path}?token=${token(type)}`, gets: 200 })
    for (const text of wrong)
      rows.push({
        about: `${type} ${text}`,
        as: anonymous,
        ask: `GET ${path}?token=${text}`,
        gets: "401 unauthorized",
      })
    for (const as of [acme.reader, service.client(token(type)), root]) {
      rows.push({ as, ask: `GET ${path}?token=${token(type)}`, gets: "400 ambiguous_credentials" })
      rows.push({ as, ask: `GET ${path}?token=x`, gets: "400 ambiguous_credentials" })
    }
    rows.push({
      as: anonymous,
      ask: `GET ${path}?token=${token(type)}&token=${token(type)}`,
      gets: "400 invalid_field",
    })
  }
  // Elsewhere the parameter means nothing.
  const elsewhere = {
    "": 401,
    "/tokens": 401,
    "/published-policy": 401,
    "/projects": 401,
    [`/receipts/${core}`]: 400,
    [`/receipts/${open}`]: 400,
  }
  for (const [path, status] of Object.entries(elsewhere)) {
    const at = `${acme.path}${path}`
    rows.push({
      as: anonymous,
      ask: `GET ${at}?token=${token("receipt")}`,
      gets: status === 401 ? "401 unauthorized" : "400 invalid_field",
    })
    rows.push({
      as: root,
      ask: `GET ${at}?token=${token("receipt")}`,
      gets: "400 invalid_field",
      has: ["token is not a known query parameter"],
    })
  }
  await expectRows(rows)
})

// Ending ------------------------------------------------------------------------------------------

test("a token that was revoked is refused from the next request on, everywhere", async () => {
  const policyAt = `${acme.path}/published-policy/latest`
  for (const { type, path, asks } of types) {
    const { token, tokenId } = await mint(acme.reader, path, asks)
    const holder = service.client(token)
    await expectRows([
      { as: holder, ask: "GET /v1/limits", gets: 200 },
      { as: admin, ask: `DELETE ${acme.path}/tokens/${tokenId}`, gets: 204 },
      { as: holder, ask: "GET /v1/limits", gets: "401 token_revoked" },
      { as: holder, ask: receiptAt(core), gets: "401 token_revoked" },
      { as: holder, ask: receiptAt(open), gets: "401 token_revoked" },
      { as: holder, ask: `GET ${policyAt}`, gets: "401 token_revoked" },
      {
        as: holder,
        ask: "POST /v1/events",
        send: eventFor(acme.id),
        headers: { "idempotency-key": crypto.randomUUID() },
        gets: "401 token_revoked",
      },
      ...(type === "policy"
        ? [
            {
              as: service.client(),
              ask: `GET ${policyAt}?token=${token}`,
              gets: "401 token_revoked",
            },
          ]
        : []),
      { as: admin, ask: `DELETE ${acme.path}/tokens/${tokenId}`, gets: 204 },
    ])
    const [listed] = (await admin.get(`${acme.path}/tokens?limit=1`)).json().tokens
    assert.deepEqual([listed.tokenId, listed.state], [tokenId, "revoked"])
    assert.ok(listed.revokedAt >= listed.createdAt)
  }
})

test("revoking a token is 204 each time, also for an unknown token, and only in its own workspace", async () => {
  const { token, tokenId } = await mint(acme.reader, `receipts/${core}`)
  const holder = service.client(token)
  await expectRows([
    { as: root, ask: `DELETE ${other.path}/tokens/${tokenId}`, gets: 204 },
    { as: root, ask: `DELETE ${acme.path}/api-keys/${tokenId}`, gets: 204 },
    { as: holder, ask: receiptAt(core), gets: 200 },
    { as: root, ask: `DELETE ${acme.path}/tokens/${"A".repeat(13)}`, gets: 204 },
    { as: root, ask: `DELETE ${acme.path}/tokens/short`, gets: "404 not_found" },
    { as: root, ask: `DELETE ${acme.path}/tokens/${token}`, gets: "404 not_found" },
    { as: root, ask: `DELETE /v1/workspaces/nowhere/tokens/${tokenId}`, gets: "404 not_found" },
    { as: root, ask: `DELETE ${acme.path}/tokens/${acme.reader.bearer?.split("_")[1]}`, gets: 204 },
    { as: acme.reader, ask: `GET ${acme.path}`, gets: 200 },
    { as: root, ask: `DELETE ${acme.path}/tokens/${tokenId}`, gets: 204 },
    { as: holder, ask: receiptAt(core), gets: "401 token_revoked" },
  ])
})

test("tokens die with the key that made them, and with no other", async () => {
  const [one, two] = [
    await makeKey(service, acme.id, { scopes: ["read"] }),
    await makeKey(service, acme.id, { scopes: ["read"] }),
  ]
  const made: [Client, Reply][] = []
  for (const by of [one, two, root])
    for (const { path, asks } of types)
      made.push([by, await by.post(`${acme.path}/${path}/token`, asks)])
  const holders = made.map(([by, reply]) => [by, service.client(reply.json().token)] as const)
  await expectRows(holders.map(([, as]): Row => ({ as, ask: "GET /v1/limits", gets: 200 })))
  assert.equal(
    (await admin.delete(`${acme.path}/api-keys/${one.bearer?.split("_")[1]}`)).status,
    204,
  )
  await expectRows(
    holders.map(([by, as]): Row => ({
      as,
      ask: "GET /v1/limits",
      gets: by === one ? "401 token_revoked" : 200,
    })),
  )
  const states = (await admin.get(`${acme.path}/tokens?limit=${made.length}`))
    .json()
    .tokens.map(({ state }: { state: string }) => state)
  assert.deepEqual(
    states.toReversed(),
    made.map(([by]) => (by === one ? "revoked" : "live")),
  )
})

test("tokens that were made in a session die when their member leaves, and not when the session ends", async () => {
  const ada = await join(service, acme.path, "viewer", "ada@example.com")
  const grace = await join(service, acme.path, "viewer", "grace@example.com")
  const holderBy = async (by: Client): Promise<Client> =>
    service.client((await mint(by, `receipts/${core}`)).token)
  const [ofAda, ofGrace] = [await holderBy(ada), await holderBy(grace)]
  const ask = receiptAt(core)
  await expectRows([
    { as: ofAda, ask, gets: 200, has: personal },
    { as: ada, ask: "DELETE /v1/session", gets: 204 },
    { as: ofAda, ask, gets: 200 },
    {
      as: root,
      ask: `GET ${acme.path}/tokens?limit=2`,
      gets: 200,
      shows: {
        tokens: [{ mintedBy: { id: grace.id } }, { mintedBy: { type: "member", id: ada.id } }],
      },
    },
    { as: admin, ask: `DELETE ${acme.path}/members/${ada.id}`, gets: 204 },
    { as: ofAda, ask, gets: "401 token_revoked" },
    { as: ofGrace, ask, gets: 200 },
  ])
  await join(service, acme.path, "admin", "ada@example.com")
  await expectRows([{ as: ofAda, ask, gets: "401 token_revoked" }])
})

test("a token expires, and the answer to the right token says so", async () => {
  await using today = await startService()
  const { id, path, writer, reader } = await makeWorkspace(today)
  const { receipt } = (await writer.write(eventFor(id))).json()
  const mintFor = async (request: object) =>
    (await reader.post(`${path}/receipts/${receipt}/token`, request)).json().token
  const [short, long] = [await mintFor({ expiresInSeconds: 3600 }), await mintFor({})]
  await readChain(reader, id)
  await today.end()

  const environment = clockAhead(1.5 / 24)
  await using afterwards = await startService({ data: today.data, environment })
  const ask = `GET ${path}/receipts/${receipt}`
  await expectRows([
    { as: afterwards.client(short), ask, gets: "401 token_expired" },
    { as: afterwards.client(short), ask: "GET /v1/limits", gets: "401 token_expired" },
    { as: afterwards.client(`${short.slice(0, -6)}000000`), ask, gets: "401 unauthorized" },
    { as: afterwards.client(long), ask, gets: 200 },
    {
      as: afterwards.root,
      ask: `GET ${path}/tokens`,
      gets: 200,
      shows: { tokens: [{ state: "live" }, { state: "expired" }] },
    },
  ])
})

// Lists and the record ----------------------------------------------------------------------------

test("the list has every token, newest first, by pages, and no secret", async () => {
  const made: { token: string; tokenId: string }[] = []
  for (let count = 0; count < 7; count++)
    made.push(await mint(acme.reader, `receipts/${core}`, { note: `number ${count}` }))
  const seen: string[] = []
  let cursor: string | null = ""
  while (cursor !== null && seen.length < 1000) {
    const reply: Reply = await admin.get(
      `${acme.path}/tokens?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`,
    )
    assert.equal(reply.status, 200, reply.text)
    for (const text of [
      '"mac"',
      ...made.flatMap(({ token }) => [token, token.split("_")[2] ?? ""]),
    ])
      assert.ok(!reply.text.includes(text))
    const answer: { tokens: { tokenId: string }[]; nextCursor: string | null } = reply.json()
    seen.push(...answer.tokens.map(({ tokenId }) => tokenId))
    cursor = answer.nextCursor
  }
  assert.deepEqual(seen.slice(0, 7), made.map(({ tokenId }) => tokenId).toReversed())
  assert.equal(new Set(seen).size, seen.length)
  assert.deepEqual((await root.get(`${other.path}/tokens`)).json(), {
    tokens: [],
    nextCursor: null,
  })
})

test("making and revoking a token are entries of the ledger", async () => {
  const quiet = await makeWorkspace(service)
  const { receipt } = await writeEvent(quiet)
  /** The sequence of an event that is written now. */
  const place = async (): Promise<number> => {
    const written = await writeEvent(quiet)
    return (await quiet.reader.get(`${quiet.path}/receipts/${written.receipt}`)).json().entry
      .sequence
  }
  const before = await place()
  const made = (await quiet.reader.post(`${quiet.path}/receipts/${receipt}/token`, {})).json()
  assert.equal(await place(), before + 2)
  for (let count = 0; count < 3; count++) await root.delete(`${quiet.path}/tokens/${made.tokenId}`)
  assert.equal(await place(), before + 4, "what ends once is recorded once")
  await quiet.reader.post(`${quiet.path}/receipts/${receipt}/token`, { expiresInSeconds: 1 })
  assert.equal(await place(), before + 5, "what is refused is not recorded")
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
