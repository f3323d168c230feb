import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { after, test } from "node:test"
import canonicalize from "canonicalize"
import { expectChain } from "../chain.ts"
import { eventFor, make, makeKey, makeWorkspace, startService, type Client } from "../service.ts"
import { expectRows } from "./table.ts"
import { startWatched } from "./watched.ts"

// Published policies: versions that count up and never change, who may read them, and which one an
// event is recorded under.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service

const section = (body: string, further: object = {}) => ({
  id: "use",
  title: "How we use data",
  body,
  ...further,
})
const hashOf = (sections: object): string =>
  createHash("sha256")
    .update(canonicalize(sections) ?? assert.fail())
    .digest("hex")

async function publish(path: string, body: string, projectId?: string): Promise<number> {
  const asked = { sections: [section(body)], ...(projectId && { projectId }) }
  return (await make(root, `${path}/published-policy`, asked)).policy.version
}

test("versions count 1, 2, 3 for each project, and a published version never changes", async () => {
  const { path, id, reader } = await makeWorkspace(service)
  await root.post(`${path}/projects`, { id: "shop" })
  const sections = [
    section("first", { zeta: [1, { b: 2, a: 1.5 }], alpha: "é" }),
    { body: "", title: "T", id: "2" },
  ]
  const before = new Date().toISOString()
  const made = await root.post(`${path}/published-policy`, { sections })
  assert.equal(made.status, 201)
  const { policy } = made.json()
  assert.deepEqual(policy, {
    id: policy.id,
    workspaceId: id,
    projectId: "core",
    version: 1,
    publishedAt: policy.publishedAt,
    sectionHash: hashOf(sections),
    sections,
  })
  assert.match(policy.id, /^pol_[0-9A-HJKMNP-TV-Z]{36}$/)
  assert.ok(policy.publishedAt >= before && policy.publishedAt <= new Date().toISOString())

  assert.deepEqual(
    [await publish(path, "second"), await publish(path, "of the shop", "shop")],
    [2, 1],
  )
  const read = async (at: string) =>
    (await reader.get(`${path}/published-policy/${at}`)).json().policy
  assert.deepEqual(await read("1"), policy)
  assert.equal((await read("latest")).version, 2)
  assert.deepEqual(await read("latest"), await read("2"))
  assert.equal((await read("latest?projectId=shop")).sections[0].body, "of the shop")
  assert.equal((await read("1?projectId=core")).sectionHash, policy.sectionHash)
})

test("a requested version must be the next one; concurrent publications each get their own", async () => {
  const { path, id, reader } = await makeWorkspace(service)
  const ask = `POST ${path}/published-policy`
  const send = (version: unknown) => ({ sections: [section("text")], version })
  await expectRows([
    { as: root, ask, send: send(2), gets: "409 conflict", has: ["version must be 1"] },
    { as: root, ask, send: send(1), gets: 201, shows: { policy: { version: 1 } } },
    { as: root, ask, send: send(1), gets: "409 conflict", has: ["version must be 2"] },
  ])
  const versions = await Promise.all(
    Array.from({ length: 12 }, (_, at) => publish(path, `text ${at}`)),
  )
  assert.deepEqual(
    versions.toSorted((a, b) => a - b),
    Array.from({ length: 12 }, (_, at) => at + 2),
  )
  // A concurrent change of the project loses no version.
  await Promise.all([
    publish(path, "more"),
    root.patch(`${path}/projects/core`, { name: "Core" }),
    publish(path, "and more"),
  ])
  const latest = (await reader.get(`${path}/published-policy/latest`)).json().policy
  assert.deepEqual(
    [latest.version, (await reader.get(`${path}/projects/core`)).json().name],
    [15, "Core"],
  )
  await expectChain(reader, id)
})

test("lists show versions without their text, newest first, a page at a time", async () => {
  const { path, reader } = await makeWorkspace(service)
  await root.post(`${path}/projects`, { id: "shop" })
  for (const body of ["one", "two", "three", "four", "five"]) await publish(path, body)
  await publish(path, "other", "shop")
  const seen: number[] = []
  for (let cursor: string | null = ""; cursor !== null;) {
    const after = cursor === "" ? "" : `&cursor=${cursor}`
    const answer = await reader.get(`${path}/published-policy?limit=2${after}`)
    const page: any = answer.json() // oxlint-disable-line typescript/no-explicit-any
    for (const policy of page.policies) {
      assert.deepEqual(Object.keys(policy), [
        "id",
        "workspaceId",
        "projectId",
        "version",
        "publishedAt",
        "sectionHash",
      ])
      assert.equal(policy.projectId, "core")
      seen.push(policy.version)
    }
    cursor = page.nextCursor
  }
  assert.deepEqual(seen, [5, 4, 3, 2, 1])
  const empty = { policies: [], nextCursor: null }
  assert.deepEqual(
    (await reader.get(`${path}/published-policy?projectId=unheard-of`)).json(),
    empty,
  )
  assert.equal(
    (await reader.get(`${path}/published-policy?projectId=shop`)).json().policies.length,
    1,
  )
})

test("invalid policies are refused with the field's name, and leave nothing behind", async () => {
  const { path, reader } = await makeWorkspace(service)
  const ask = `POST ${path}/published-policy`
  const refused = (send: object, says: RegExp) => ({
    as: root,
    ask,
    send,
    gets: "400 invalid_field",
    has: [says],
  })
  await expectRows([
    refused({}, /sections is required/),
    refused({ sections: [] }, /sections must be an array of 1 to 1000 items/),
    refused({ sections: {} }, /sections/),
    refused({ sections: ["text"] }, /sections\[0\] must be an object/),
    refused({ sections: [{ title: "T", body: "b" }] }, /sections\[0\]\.id is required/),
    refused({ sections: [{ id: "", title: "T", body: "b" }] }, /sections\[0\]\.id.*non-empty/),
    refused({ sections: [{ id: "a", body: "b" }] }, /sections\[0\]\.title is required/),
    refused({ sections: [{ id: "a", title: "T", body: 4 }] }, /sections\[0\]\.body/),
    refused(
      { sections: [section("x"), { id: "b", title: "T", body: "b" }, section("y")] },
      /sections\[2\]\.id is the one of sections\[0\]/,
    ),
    refused({ sections: [section("x")], version: 0 }, /version/),
    refused({ sections: [section("x")], version: "1" }, /version/),
    refused({ sections: [section("x")], projectId: "system" }, /projectId/),
    refused({ sections: [section("x")], projectid: "core" }, /projectid is not a known field/),
    { as: root, ask, send: { sections: [{ ...section("x"), _sd: [] }] }, gets: "400 invalid_json" },
    {
      as: root,
      ask,
      send: { sections: [section("x")], projectId: "unheard-of" },
      gets: "404 not_found",
    },
    { as: reader, ask: `GET ${path}/published-policy/latest`, gets: "404 not_found" },
    {
      as: reader,
      ask: `GET ${path}/published-policy/1?projectId=all`,
      gets: "400 invalid_field",
      has: [/projectId/],
    },
    {
      as: reader,
      ask: `GET ${path}/published-policy/1?version=2`,
      gets: "400 invalid_field",
      has: [/version is not a known/],
    },
    ...["0", "01", "-1", "1.0", "v1", "newest", "99999999999", "%31%20"].map((version) => ({
      as: reader,
      ask: `GET ${path}/published-policy/${version}`,
      gets: "404 not_found",
    })),
  ])
})

test("publication is an entry of the service, with the hash of the published text", async () => {
  const { path, id, reader } = await makeWorkspace(service)
  const { policy } = (
    await root.post(`${path}/published-policy`, { sections: [section("text")] })
  ).json()
  const [entry] = (await reader.get(`${path}/events?projectId=system&query=kind:policy`)).json()
    .events
  assert.partialDeepStrictEqual(entry, {
    kind: "policy",
    action: "policy.version.publish",
    lane: "policy",
    source: "system",
    userVisible: false,
    actor: { id: "instance", type: "instance" },
    target: { id: "core:1", type: "policy", name: "Policy version 1" },
  })
  assert.deepEqual(entry.metadata, {
    policyId: policy.id,
    projectId: "core",
    version: 1,
    sectionHash: policy.sectionHash,
  })
  // The newest checkpoint may not cover it until a proof is requested.
  assert.equal((await reader.get(`${path}/receipts/${entry.receipt}/proof`)).status, 200)
  const chain = await expectChain(reader, id)
  assert.equal(chain.records[entry.sequence - 1]?.[4], 3, "the kind stands in the record")
})

test("anyone reads a public policy, readers a private one; others cannot tell a private policy from an unknown one", async () => {
  const { path, id, reader, writer } = await makeWorkspace(service)
  await publish(path, "for whom it concerns")
  const nobody = service.client()
  const shopKey = await makeKey(service, id, { scopes: ["read"], projectIds: ["shop"] })
  const other = await makeWorkspace(service)
  const one = `GET ${path}/published-policy/1`
  const none = `GET ${path}/published-policy/2`
  const text = ["for whom it concerns"]
  await expectRows([
    { as: nobody, ask: one, gets: "401 unauthorized", hasNot: text },
    { as: nobody, ask: none, gets: "401 unauthorized" },
    { as: nobody, ask: `GET ${path}/published-policy/x`, gets: "401 unauthorized" },
    { as: nobody, ask: "GET /v1/workspaces/nowhere/published-policy/1", gets: "401 unauthorized" },
    { as: writer, ask: one, gets: "403 insufficient_scope", hasNot: text },
    { as: shopKey, ask: one, gets: "403 project_forbidden", hasNot: text },
    { as: shopKey, ask: `${one}?projectId=shop`, gets: "404 not_found" },
    { as: reader, ask: one, gets: 200, has: text, answerHeaders: { "cache-control": "no-store" } },
    { as: reader, ask: none, gets: "404 not_found" },
  ])
  await root.patch(path, { policyVisibility: "public" })
  const cors = { "access-control-allow-origin": "*" }
  await expectRows([
    {
      as: nobody,
      ask: one,
      gets: 200,
      has: text,
      answerHeaders: { "cache-control": "no-cache", ...cors },
    },
    { as: nobody, ask: `GET ${path}/published-policy/latest`, gets: 200, has: text },
    { as: nobody, ask: none, gets: "401 unauthorized", answerHeaders: { ...cors } },
    { as: writer, ask: one, gets: 200, has: text, answerHeaders: { "cache-control": "no-store" } },
    { as: writer, ask: none, gets: "403 insufficient_scope" },
    { as: shopKey, ask: one, gets: 200, has: text },
    { as: other.reader, ask: one, gets: 200, has: text },
    { as: other.reader, ask: none, gets: "403 workspace_forbidden" },
    { as: service.client("tsk_wrong"), ask: one, gets: "401 unauthorized" },
    { as: nobody, ask: `GET ${path}/published-policy`, gets: "401 unauthorized" },
  ])
  const preflight = await nobody.ask("OPTIONS", `${path}/published-policy/1`, {
    headers: { origin: "https://example.com" },
  })
  assert.deepEqual(
    [preflight.status, preflight.headers.get("access-control-allow-methods")],
    [204, "GET"],
  )
})

test("a policy token reads its own policy only, as a bearer or in the address", async () => {
  const { path } = await makeWorkspace(service)
  await root.post(`${path}/projects`, { id: "shop" })
  for (const [body, project] of [["one"], ["two"], ["shop's", "shop"]] as const)
    await publish(path, body, project)
  const mint = async (request: object): Promise<Client> =>
    service.client((await make(root, `${path}/published-policy/token`, request)).token)
  const [all, second, shop] = [
    await mint({}),
    await mint({ version: 2 }),
    await mint({ projectId: "shop" }),
  ]
  const at = (version: string) => `GET ${path}/published-policy/${version}`
  await expectRows([
    { as: all, ask: at("1"), gets: 200, has: ["one"] },
    { as: all, ask: at("latest"), gets: 200, has: ["two"] },
    { as: all, ask: at("3"), gets: "404 not_found" },
    { as: all, ask: at("1?projectId=shop"), gets: "403 insufficient_scope" },
    { as: all, ask: `GET ${path}/published-policy`, gets: "403 insufficient_scope" },
    { as: second, ask: at("2"), gets: 200, has: ["two"] },
    { as: second, ask: at("latest"), gets: 200, has: ["two"] },
    { as: second, ask: at("1"), gets: "403 insufficient_scope" },
    { as: second, ask: at("3"), gets: "403 insufficient_scope" },
    { as: shop, ask: at("1?projectId=shop"), gets: 200, has: ["shop's"] },
    { as: shop, ask: at("1"), gets: "403 insufficient_scope" },
    {
      as: service.client(),
      ask: at(`2?token=${second.bearer}`),
      gets: 200,
      has: ["two"],
      answerHeaders: { "cache-control": "no-store" },
    },
    { as: service.client(), ask: at(`1?token=${second.bearer}`), gets: "403 insufficient_scope" },
    { as: service.client(), ask: at(`1?token=${root.bearer}`), gets: "401 unauthorized" },
    { as: all, ask: at(`1?token=${all.bearer}`), gets: "400 ambiguous_credentials" },
  ])
})

test("an event gets the newest policy version at its arrival, unless it names one", async () => {
  const { path, id, writer, reader } = await makeWorkspace(service)
  const write = async (changes: object = {}) => (await writer.write(eventFor(id, changes))).json()
  assert.equal((await write()).policyVersion, undefined)
  await publish(path, "one")
  await publish(path, "two")
  assert.equal((await write()).policyVersion, 2)
  assert.equal((await write({ metadata: { policyVersion: 7 } })).policyVersion, 7)
  for (const policyVersion of [0, -1, 1.5, "1", null])
    assert.equal((await write({ metadata: { policyVersion } })).policyVersion, 2)
  assert.equal(
    (await write({ projectId: "shop" })).policyVersion,
    undefined,
    "another project has policies of its own",
  )
  const { entry, receipt } = (
    await reader.get(`${path}/receipts/${(await write()).receipt}`)
  ).json()
  assert.deepEqual([entry.policyVersion, receipt.policyVersion, entry.metadata], [2, 2, {}])

  const batch = await writer.post("/v1/events/batch", {
    events: [{}, { projectId: "shop" }, { metadata: { policyVersion: 1 } }, {}].map((changes) => ({
      idempotencyKey: crypto.randomUUID(),
      ...eventFor(id, changes),
    })),
  })
  const versions = batch
    .json()
    .results.map((result: { receipt: { policyVersion?: number } }) => result.receipt.policyVersion)
  assert.deepEqual(versions, [2, undefined, 1, 2])
})

test("a write that is repeated after the next publication is a replay of the first, byte for byte", async () => {
  const { path, id, writer } = await makeWorkspace(service)
  const item = (key: string) => ({ events: [{ idempotencyKey: key, ...eventFor(id) }] })
  const first = await writer.write(eventFor(id), "written-before-one")
  const inBatch = (await writer.post("/v1/events/batch", item("batched-before-one"))).json()
  for (const text of ["one", "two"]) {
    await publish(path, text)
    const again = await writer.write(eventFor(id), "written-before-one")
    assert.deepEqual(
      [again.status, again.text, again.headers.get("idempotency-replayed")],
      [202, first.text, "true"],
    )
    const batched = (await writer.post("/v1/events/batch", item("batched-before-one"))).json()
    assert.deepEqual(batched.results[0], { ...inBatch.results[0], replayed: true })
    // What was recorded alone is the same in a batch, and the other way round.
    assert.equal(
      (await writer.write(eventFor(id), "batched-before-one")).headers.get("idempotency-replayed"),
      "true",
    )
  }
  assert.equal(
    (await writer.write(eventFor(id, { userVisible: true }), "written-before-one")).status,
    422,
  )
})

test("a workspace may take consents to published versions only", async () => {
  const { path, id, writer, reader } = await makeWorkspace(service, {
    requirePublishedPolicy: true,
  })
  const ask = "POST /v1/consents"
  const consent = (policyVersion: number, projectId?: string) => ({
    as: writer,
    ask,
    send: {
      workspaceId: id,
      ...(projectId && { projectId }),
      subject: { id: "usr_1", email: "ada@example.com" },
      mode: "explicit",
      policyVersion,
      surface: "sign-up form",
    },
    headers: { "idempotency-key": crypto.randomUUID() },
  })
  await expectRows([
    {
      ...consent(1),
      gets: "400 invalid_field",
      has: ["policyVersion must be a published version", "none is published"],
    },
    { ...consent(1, "unheard-of"), gets: "400 invalid_field", has: ["policyVersion"] },
    { as: reader, ask: `GET ${path}/projects/unheard-of`, gets: "404 not_found" },
  ])
  await publish(path, "one")
  await expectRows([
    { ...consent(1), gets: 202 },
    { ...consent(2), gets: "400 invalid_field", has: ["the newest is 1"] },
  ])
  await root.patch(path, { requirePublishedPolicy: false })
  const second = consent(2)
  await expectRows([{ ...second, gets: 202 }])
  await root.patch(path, { requirePublishedPolicy: true })
  await expectRows([
    { ...second, about: "what was recorded is sent again", gets: 202 },
    {
      ...second,
      about: "another under its key",
      send: { ...second.send, mode: "implicit" },
      gets: "422 idempotency_key_reused",
    },
    { ...consent(2), about: "a new one", gets: "400 invalid_field", has: ["the newest is 1"] },
  ])
})

test("policies and the version of events outlive a restart", async () => {
  await using before = await startService()
  const { path, id, writer, reader } = await makeWorkspace(before)
  const { policy } = (
    await before.root.post(`${path}/published-policy`, { sections: [section("text")] })
  ).json()
  assert.equal(await before.end(), 0)
  await using now = await startService({ data: before.data })
  assert.deepEqual(
    (await now.client(reader.bearer).get(`${path}/published-policy/latest`)).json().policy,
    policy,
  )
  const written = (await now.client(writer.bearer).write(eventFor(id))).json()
  assert.equal(written.policyVersion, 1)
  assert.equal(
    (await now.root.post(`${path}/published-policy`, { sections: [section("text")] })).json().policy
      .version,
    2,
  )
  await expectChain(now.root, id, [written])
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
