import assert from "node:assert/strict"
import { after, test } from "node:test"
import type { ApiKeyList } from "@tallystick/client/wire"
import { expectChain } from "../chain.ts"
import { browserOf, cookieOf, goodPassword, join, setupToken } from "../people.ts"
import {
  eventFor,
  make,
  makeKey,
  makeWorkspace,
  startService,
  type Client,
  clockAhead,
} from "../service.ts"
import { withCheckDigits } from "./check-digits.ts"
import { expectRows, type Row } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"

// API keys: shown once, bound to their purpose, revoked at once; and texts that only look like
// credentials.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const other = await makeWorkspace(service)
const { root } = service
const keysPath = `${acme.path}/api-keys`
const grammar = /^tsk_([0-9A-Za-z]{13})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

test("a key is shown once, and never again", async () => {
  const made = (
    await root.post(keysPath, {
      name: "shown once",
      scopes: ["read", "write"],
      projectIds: ["core"],
      expiresInSeconds: 3600,
    })
  ).json()
  const [, id, secret = ""] = grammar.exec(made.key) ?? []
  assert.equal(made.keyId, id)
  assert.partialDeepStrictEqual(made, {
    workspaceId: acme.id,
    name: "shown once",
    scopes: ["read", "write"],
    projectIds: ["core"],
  })
  assert.equal(Date.parse(made.expiresAt) - Date.parse(made.createdAt), 3_600_000)

  const list = await root.get(keysPath)
  const { key, ...rest } = made
  assert.deepEqual(list.json().apiKeys[0], rest, "the newest comes first")
  for (const text of [key, secret, "mac"]) assert.ok(!list.text.includes(text))
})

test("lists say who made each key, member and token", async () => {
  const { id, path } = await makeWorkspace(service)
  const made = (as: Client, at: string, body: object) => make(as, `${path}/${at}`, body)
  const ada = await join(service, path, "admin", "ada@maker.example")
  const adas = await made(ada, "api-keys", { name: "of ada", scopes: ["admin", "write"] })
  const ofAda = service.client(adas.key)
  const keys = await made(ofAda, "api-keys", { name: "of a key", scopes: ["read"] })
  const grace = await made(ofAda, "members", { email: "grace@maker.example", role: "viewer" })
  const { receipt } = (await ofAda.write(eventFor(id))).json()
  await made(ada, `receipts/${receipt}/token`, {})

  const list = async (things: string) => (await root.get(`${path}/${things}`)).json()[things]
  const adaHerself = { type: "member", id: ada.id, email: "ada@maker.example" }
  const herKey = { type: "api_key", id: adas.keyId, name: "of ada" }
  assert.deepEqual(adas.createdBy, adaHerself)
  assert.deepEqual(grace.member.createdBy, herKey)
  const { apiKeys } = (await root.get(`${path}/api-keys`)).json<ApiKeyList>()
  assert.deepEqual(apiKeys.map(({ keyId, createdBy }) => [keyId, createdBy]).slice(0, 2), [
    [keys.keyId, herKey],
    [adas.keyId, adaHerself],
  ])
  assert.deepEqual(apiKeys.at(-1)?.createdBy, { type: "instance" })
  const makers = (await list("members")).map(({ createdBy }: { createdBy: object }) => createdBy)
  assert.deepEqual(makers, [herKey, { type: "instance" }])
  assert.deepEqual((await list("tokens"))[0].mintedBy, adaHerself)

  await root.delete(`${path}/members/${ada.id}`)
  const [token] = await list("tokens")
  assert.deepEqual(token.mintedBy, { type: "member", id: ada.id }, "the account is gone")
  assert.equal(token.state, "revoked")
})

test("a list ends where its items are large, and paging shows each once", async () => {
  const { path } = await makeWorkspace(service)
  const projectIds = Array.from({ length: 1000 }, (_, at) => `${at}`.padStart(64, "p"))
  const made: string[] = []
  for (let at = 0; at < 20; at++) {
    const reply = await root.post(`${path}/api-keys`, {
      name: `key ${at}`,
      scopes: ["read"],
      projectIds,
    })
    assert.equal(reply.status, 201, reply.text)
    made.push(reply.json().keyId)
  }
  const seen: string[] = []
  const pages: number[] = []
  for (let cursor: string | null = ""; cursor !== null;) {
    const page = await root.get(`${path}/api-keys?limit=100${cursor && `&cursor=${cursor}`}`)
    assert.ok(page.bytes.length < 1.1 * 1024 * 1024, `${page.bytes.length} bytes`)
    const { apiKeys, nextCursor }: ApiKeyList = page.json()
    seen.push(...apiKeys.map(({ keyId }) => keyId))
    pages.push(apiKeys.length)
    cursor = nextCursor
  }
  assert.deepEqual(seen.filter((id) => made.includes(id)).toReversed(), made)
  assert.ok(
    pages.length === 2 && seen.length === new Set(seen).size,
    `pages of ${pages.join(", ")} keys`,
  )
})

test("the check at the end of a key is the CRC-32 of the text before it", async () => {
  const { bearer = "" } = await makeKey(service, acme.id, { scopes: ["read"] })
  assert.equal(bearer, withCheckDigits(bearer.slice(0, -6)))
})

test("invalid API keys are refused", async () => {
  const bad = (request: object, says: RegExp): Row => ({
    about: JSON.stringify(request),
    as: root,
    ask: `POST ${keysPath}`,
    send: request,
    gets: "400 invalid_field",
    has: [says],
  })
  await expectRows([
    bad({ scopes: ["read"] }, /name is required/),
    bad({ name: "", scopes: ["read"] }, /name/),
    bad({ name: "k" }, /scopes is required/),
    bad({ name: "k", scopes: [] }, /scopes/),
    bad({ name: "k", scopes: "read" }, /scopes/),
    bad({ name: "k", scopes: ["root"] }, /scopes\[0\] must be one of write, read, admin/),
    bad({ name: "k", scopes: ["read", "read"] }, /scopes/),
    bad({ name: "k", scopes: ["admin"], projectIds: ["core"] }, /admin.*projectIds/),
    bad({ name: "k", scopes: ["read", "admin"], projectIds: ["core"] }, /admin.*projectIds/),
    bad({ name: "k", scopes: ["read"], projectIds: [] }, /projectIds/),
    bad({ name: "k", scopes: ["read"], projectIds: ["all"] }, /projectIds\[0\].*reserved/),
    bad({ name: "k", scopes: ["read"], projectIds: ["system"] }, /projectIds\[0\].*reserved/),
    bad({ name: "k", scopes: ["read"], projectIds: ["a", "a"] }, /projectIds/),
    bad({ name: "k", scopes: ["read"], projectIds: null }, /projectIds/),
    bad({ name: "k", scopes: ["read"], expiresInSeconds: 59 }, /expiresInSeconds/),
    bad({ name: "k", scopes: ["read"], expiresInSeconds: 60.5 }, /expiresInSeconds/),
    bad({ name: "k", scopes: ["read"], expiresInSeconds: "60" }, /expiresInSeconds/),
    bad({ name: "k", scopes: ["read"], expiresInSeconds: 1e300 }, /expiresInSeconds/),
    bad(
      { name: "k", scopes: ["read"], expiresAt: "2030-01-01T00:00:00Z" },
      /expiresAt is not a known field/,
    ),
    bad({ name: "k", scopes: ["read"], key: "tsk_mine" }, /key is not a known field/),
    {
      as: root,
      ask: `POST ${keysPath}`,
      send: { name: "k", scopes: ["read"], expiresInSeconds: 60 },
      gets: 201,
    },
    {
      as: root,
      ask: "POST /v1/workspaces/nowhere/api-keys",
      send: { name: "k", scopes: ["read"] },
      gets: "404 not_found",
    },
  ])
})

test("a key that was ended is refused from the next request on", async () => {
  const ended = 100
  const rounds = Array.from({ length: 10 }, async () => {
    for (let count = 0; count < ended / 10; count++) {
      const key = await makeKey(service, acme.id, { scopes: ["read", "write"] })
      assert.equal((await key.get(acme.path)).status, 200)
      const id = key.bearer?.split("_")[1] ?? ""
      assert.equal((await root.delete(`${keysPath}/${id}`)).status, 204)
      await expectRows([
        { as: key, ask: `GET ${acme.path}`, gets: "401 token_revoked" },
        {
          as: key,
          ask: "POST /v1/events",
          send: eventFor(acme.id),
          headers: { "idempotency-key": crypto.randomUUID() },
          gets: "401 token_revoked",
        },
        { as: key, ask: "GET /healthz", gets: "401 token_revoked" },
      ])
    }
  })
  await Promise.all(rounds)
  const newest = (await root.get(`${keysPath}?limit=100`)).json().apiKeys
  assert.ok(
    newest.every(
      ({ revokedAt, createdAt }: Record<string, string>) => (revokedAt ?? "") >= (createdAt ?? "x"),
    ),
  )
})

test("of concurrent revocations of a key, none is answered before the key has ended", async () => {
  for (let round = 0; round < 10; round++) {
    const key = await makeKey(service, acme.id, { scopes: ["read"] })
    const address = `${keysPath}/${key.bearer?.split("_")[1]}`
    const looks = await Promise.all(
      Array.from({ length: 6 }, async () => {
        assert.equal((await root.delete(address)).status, 204)
        return (await key.get(acme.path)).status
      }),
    )
    assert.deepEqual(
      looks,
      looks.map(() => 401),
    )
  }
})

test("an ended key's keys and members are listed, and one call ends them and all that they made", async () => {
  const house = await makeWorkspace(service)
  const keys = `${house.path}/api-keys`
  const idOf = (client: Client) => client.bearer?.split("_")[1] ?? ""
  const madeBy = async (by: Client, scopes: readonly string[]): Promise<Client> =>
    service.client((await by.post(keys, { name: "made", scopes })).json().key)
  const lost = await makeKey(service, house.id, { scopes: ["admin"] })
  const spared = await makeKey(service, house.id, { scopes: ["read"] })
  const [child, ended] = [await madeBy(lost, ["admin"]), await madeBy(lost, ["admin"])]
  const [grandchild, ofEnded] = [await madeBy(child, ["read"]), await madeBy(ended, ["write"])]
  const invited = (
    await child.post(`${house.path}/members`, { email: "invited@example.com", role: "viewer" })
  ).json()
  const token = setupToken(invited.setupUrl)
  const joined = (
    await lost.post(`${house.path}/members`, { email: "joined@example.com", role: "admin" })
  ).json()
  const set = await service
    .client()
    .post("/v1/setup", { token: setupToken(joined.setupUrl), password: goodPassword })
  const person = browserOf(service.client(), cookieOf(set))
  const ofPerson = await madeBy(person, ["read"])
  // The key is revoked. The keys that it made still work, and are listed under it.
  assert.equal((await service.root.delete(`${keys}/${idOf(ended)}`)).status, 200)

  const plain = await service.root.delete(`${keys}/${idOf(lost)}`)
  assert.equal(plain.status, 200)
  const told = ({
    apiKeys,
    members,
  }: {
    apiKeys: { keyId: string }[]
    members: { id: string }[]
  }) => [...apiKeys.map(({ keyId }) => keyId), ...members.map(({ id }) => id)].toSorted()
  const all = [child, grandchild, ofEnded, ofPerson]
    .map(idOf)
    .concat(String(invited.member.id), String(joined.member.id))
    .toSorted()
  assert.deepEqual([plain.json().revoked, told(plain.json())], [false, all])
  await expectRows([
    { as: lost, ask: `GET ${house.path}`, gets: "401 token_revoked" },
    { as: child, ask: `GET ${house.path}`, gets: 200 },
    {
      as: service.root,
      ask: `DELETE ${keys}/${idOf(lost)}?cascade=yes`,
      gets: "400 invalid_field",
    },
  ])
  const cascaded = await service.root.delete(`${keys}/${idOf(lost)}?cascade=true`)
  assert.deepEqual(
    [cascaded.status, cascaded.json().revoked, told(cascaded.json())],
    [200, true, all],
  )
  await expectRows([
    ...[child, grandchild, ofPerson].map((as): Row => ({
      as,
      ask: `GET ${house.path}`,
      gets: "401 token_revoked",
    })),
    { as: person, ask: "GET /v1/session", gets: "401 unauthorized" },
    {
      as: service.client(),
      ask: "POST /v1/setup",
      send: { token, password: goodPassword },
      gets: "401 unauthorized",
    },
    { as: spared, ask: `GET ${house.path}`, gets: 200 },
    { as: service.root, ask: `DELETE ${keys}/${idOf(lost)}?cascade=true`, gets: 204 },
    { as: service.root, ask: `DELETE ${keys}/${idOf(lost)}`, gets: 204 },
    { as: service.root, ask: `DELETE ${keys}/${idOf(spared)}?cascade=true`, gets: 204 },
  ])
  await expectChain(service.root, house.id)
})

test("revoking a key is 204 each time, also for an unknown key, and only in its own workspace", async () => {
  const key = await makeKey(service, acme.id, { scopes: ["read"] })
  const id = key.bearer?.split("_")[1] ?? ""
  await expectRows([
    { as: root, ask: `DELETE ${other.path}/api-keys/${id}`, gets: 204 },
    { as: key, ask: `GET ${acme.path}`, gets: 200 },
    { as: root, ask: `DELETE ${keysPath}/${id}`, gets: 204 },
    { as: root, ask: `DELETE ${keysPath}/${id}`, gets: 204 },
    { as: root, ask: `DELETE ${keysPath}/${"A".repeat(13)}`, gets: 204 },
    { as: root, ask: `DELETE ${keysPath}/short`, gets: "404 not_found" },
    { as: root, ask: `DELETE ${keysPath}/${key.bearer}`, gets: "404 not_found" },
    { as: root, ask: `DELETE /v1/workspaces/nowhere/api-keys/${id}`, gets: "404 not_found" },
    { as: key, ask: `GET ${acme.path}`, gets: "401 token_revoked" },
  ])
})

test("an admin key governs its workspace: it may end itself, and makes writers though it does not write", async () => {
  const admin = await makeKey(service, acme.id, { scopes: ["admin"] })
  const made = await admin.post(keysPath, { name: "a writer", scopes: ["write"] })
  assert.equal(made.status, 201)
  const headers = { "idempotency-key": crypto.randomUUID() }
  await expectRows([
    {
      as: admin,
      ask: "POST /v1/events",
      send: eventFor(acme.id),
      headers,
      gets: "403 insufficient_scope",
    },
    {
      as: service.client(made.json().key),
      ask: "POST /v1/events",
      send: eventFor(acme.id),
      headers,
      gets: 202,
    },
    {
      as: admin,
      ask: `POST ${other.path}/api-keys`,
      send: { name: "k", scopes: ["read"] },
      gets: "403 workspace_forbidden",
    },
    {
      as: admin,
      ask: "POST /v1/workspaces",
      send: { id: "another" },
      gets: "403 insufficient_scope",
    },
    // Its keys live on and are listed.
    {
      as: admin,
      ask: `DELETE ${keysPath}/${admin.bearer?.split("_")[1]}`,
      gets: 200,
      shows: { revoked: false, members: [] },
    },
    { as: admin, ask: `GET ${acme.path}`, gets: "401 token_revoked" },
  ])
})

// What is no credential ---------------------------------------------------------------------------

test("every malformed credential is refused, with the same words", async () => {
  const { bearer = "" } = acme.reader
  const [, id = "", secret = ""] = grammar.exec(bearer) ?? []
  const another = grammar.exec(other.reader.bearer ?? "") ?? []
  const swapped = (text: string, at: number): string =>
    text.slice(0, at) + (text[at] === "x" ? "y" : "x") + text.slice(at + 1)
  const wrong = [
    swapped(bearer, bearer.length - 1),
    swapped(bearer, 20),
    swapped(bearer, 5),
    bearer.slice(0, -1),
    `${bearer}x`,
    bearer.toLowerCase(),
    bearer.toUpperCase(),
    bearer.replaceAll("_", "-"),
    withCheckDigits(`tsk_${id}_${"0".repeat(43)}`),
    withCheckDigits(`tsk_${id}_${swapped(secret, 0)}`),
    withCheckDigits(`tsk_${id}_${another[2]}`),
    withCheckDigits(`tsk_${another[1]}_${secret}`),
    withCheckDigits(`tsk_${"0".repeat(13)}_${secret}`),
    ...["r", "p", "a", "e", "s", "x", "K", "q"].map((kind) =>
      withCheckDigits(`ts${kind}_${id}_${secret}`),
    ),
    `tsk_${id}_`,
    id,
    secret,
    "x",
    service.rootKey.slice(0, -1),
    `${service.rootKey}x`,
    service.rootKey.toUpperCase(),
    "null",
    "undefined",
    "[object",
    "a".repeat(4000),
    "'OR'1'='1",
    "__proto__",
  ]
  const replies = await expectRows(
    wrong.flatMap((text): readonly Row[] => [
      { about: text, as: service.client(text), ask: `GET ${acme.path}`, gets: "401 unauthorized" },
      { about: text, as: service.client(text), ask: "GET /healthz", gets: "401 unauthorized" },
    ]),
  )
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
})

test("a credential is read from the Authorization header only, and there only as a bearer", async () => {
  const { bearer = "" } = acme.reader
  const anonymous = service.client()
  const sent = (authorization: string, gets: Row["gets"]): Row => ({
    about: authorization,
    as: anonymous,
    ask: `GET ${acme.path}`,
    headers: { authorization },
    gets,
  })
  const elsewhere = (headers: Record<string, string>, query = ""): Row => ({
    about: JSON.stringify(headers) + query,
    as: anonymous,
    ask: `GET ${acme.path}${query}`,
    headers,
    gets: "401 unauthorized",
  })
  await expectRows([
    sent(`Bearer ${bearer}`, 200),
    sent(`bearer ${bearer}`, 200),
    sent(`BEARER  ${bearer}`, 200),
    sent(`Bearer ${service.rootKey}`, 200),
    sent(bearer, "401 unauthorized"),
    sent("Bearer", "401 unauthorized"),
    sent("Bearer ", "401 unauthorized"),
    sent(`Bearer${bearer}`, "401 unauthorized"),
    sent(`Bearer ${bearer} x`, "401 unauthorized"),
    sent(`Bearer "${bearer}"`, "401 unauthorized"),
    sent(`Bearer ${bearer},Bearer ${bearer}`, "401 unauthorized"),
    sent(`Token ${bearer}`, "401 unauthorized"),
    sent(`Basic ${Buffer.from(`${bearer}:`).toString("base64")}`, "401 unauthorized"),
    sent(`Bearer bearer ${bearer}`, "401 unauthorized"),
    elsewhere({ "x-api-key": bearer }),
    elsewhere({ cookie: `ts=${bearer}; __Host-ts=${bearer}` }),
    elsewhere({ "proxy-authorization": `Bearer ${bearer}` }),
    elsewhere({}, `?token=${bearer}`),
    elsewhere({}, `?access_token=${bearer}`),
  ])
})

// Time --------------------------------------------------------------------------------------------

test("a key of some projects is not told of retention in others", async () => {
  const rules = [
    { projectId: "payroll", days: 400 },
    { projectId: "core", lane: "data", days: 500 },
    { lane: "data", days: 600 },
  ]
  const { path, id, reader } = await makeWorkspace(service, { retention: rules })
  const limited = await makeKey(service, id, { scopes: ["read"], projectIds: ["core"] })
  await expectRows([
    { as: reader, ask: `GET ${path}`, gets: 200, shows: { retention: rules } },
    {
      as: limited,
      ask: `GET ${path}`,
      gets: 200,
      shows: { retention: rules.slice(1) },
      hasNot: ["payroll"],
    },
  ])
})

test("a key works until it expires, and an expired key is answered differently from a wrong one", async () => {
  await using today = await startService()
  const { id, path } = await makeWorkspace(today)
  const short = (await makeKey(today, id, { scopes: ["read"], expiresInSeconds: 3600 })).bearer
  const long = (await makeKey(today, id, { scopes: ["read"], expiresInSeconds: 7200 })).bearer
  const endless = (await makeKey(today, id, { scopes: ["read"] })).bearer
  await today.end()

  const environment = clockAhead(1.5 / 24)
  await using afterwards = await startService({ data: today.data, environment })
  await expectRows([
    { as: afterwards.client(short), ask: `GET ${path}`, gets: "401 token_expired" },
    { as: afterwards.client(short), ask: "GET /v1/limits", gets: "401 token_expired" },
    { as: afterwards.client(long), ask: `GET ${path}`, gets: 200 },
    { as: afterwards.client(endless), ask: `GET ${path}`, gets: 200 },
    { as: afterwards.root, ask: `DELETE ${path}/api-keys/${short?.split("_")[1]}`, gets: 204 },
    { as: afterwards.client(short), ask: `GET ${path}`, gets: "401 token_revoked" },
  ])
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 500, refused: 300 }))
