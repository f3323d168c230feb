import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { after, test } from "node:test"
import { disclose, expectTlogProof, readChain } from "../chain.ts"
import { make, makeKey, makeWorkspace, writeEvent, type Client } from "../service.ts"
import { expectRows } from "./table.ts"
import { startWatched } from "./watched.ts"

// GET …/activity: a person sees entries that concern them, and nothing of others.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service
const acme = await makeWorkspace(service, { personalKeys: ["phone"] })
const other = await makeWorkspace(service)
await root.patch(`${acme.path}/projects/core`, { activityLinks: true })
await make(root, `${acme.path}/projects`, { id: "billing", activityLinks: true })
await make(root, `${acme.path}/projects`, { id: "core2", activityLinks: true })
await root.patch(`${other.path}/projects/core`, { activityLinks: true })

type Parameters = Readonly<Record<string, string | number>>

interface Page {
  readonly events: readonly Entry[]
  readonly returned: number
  readonly total: number
  readonly nextCursor: number
  readonly hasMore: boolean
  readonly verified: boolean
  readonly workspaceId: string
  readonly projectId: string
  readonly subject: string
  readonly query: string | null
  readonly policyVersion: number
}

interface Entry {
  readonly id: string
  readonly receipt: string
  readonly sequence: number
  readonly hash: string
  readonly previousHash: string
  readonly kind: string
  readonly storageTier: string
  readonly actor: Readonly<Record<string, unknown>>
  readonly target: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
  readonly provenance?: object
  readonly proof?: {
    readonly record: string
    readonly body: string
    readonly bodySalt: string
    readonly tlogProof: string | null
  }
  readonly disclosures?: readonly string[]
}

async function activityOf(
  client: Client,
  parameters: Parameters = {},
  path = acme.path,
): Promise<Page> {
  const query = Object.entries(parameters).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  )
  const reply = await client.get(
    `${path}/activity${query.length === 0 ? "" : `?${query.join("&")}`}`,
  )
  assert.equal(reply.status, 200, reply.text)
  const page = reply.json<Page>()
  assert.deepEqual(
    [page.returned, page.nextCursor, page.verified],
    [page.events.length, page.events.at(-1)?.sequence ?? 0, true],
  )
  return page
}

const labels = ({ events }: Page): string =>
  events.map(({ metadata }) => String(metadata["label"])).join(" ")

async function tokenFor(subject: unknown, projectId = "core", path = acme.path): Promise<Client> {
  const made = await make(root, `${path}/activity/token`, { projectId, subject })
  return service.client(made.token)
}

async function write(
  label: string,
  changes: object,
  headers: Readonly<Record<string, string>> = {},
  workspace = acme,
): Promise<string> {
  const { metadata, ...rest } = changes as { metadata?: object }
  const event = { userVisible: true, ...rest, metadata: { label, ...metadata } }
  return (await writeEvent(workspace, event, headers)).receipt
}

const circumstances = (who: string): Readonly<Record<string, string>> => ({
  "x-service-environment": `env-${who}`,
  "x-service-server": `web-${who}`,
  "x-session-id": `sess-${who}`,
  "x-trace-id": `Trace-${who}`,
})

const ada = {
  id: "usr_1",
  type: "user",
  email: "adamail@example.com",
  name: "Ada Lovelace",
  department: "Engines",
}
const grace = {
  id: "usr_2",
  type: "user",
  email: "gracemail@example.org",
  name: "Grace Hopper",
  department: "Navy",
}
const thing = { id: "doc_1", type: "document", name: "Plans of May" }

await write(
  "asActor",
  { actor: ada, target: grace, metadata: { phone: "+49 30 1111" } },
  circumstances("ada"),
)
await write(
  "asTarget",
  { actor: grace, target: ada, metadata: { phone: "+1 202-555-0122" } },
  circumstances("grace"),
)
await write(
  "both",
  { actor: ada, target: { ...ada, name: "The Countess" }, metadata: { phone: "+49 30 3333" } },
  circumstances("ada"),
)
await write("ofThing", { actor: ada, target: thing })
await write("hidden", { actor: ada, userVisible: false })
await write("elsewhere", { actor: ada, projectId: "billing" })
await write("longerProject", { actor: ada, target: ada, projectId: "core2" })
await write("others", { actor: grace, target: { ...grace, id: "usr_3" } }, circumstances("grace"))
await write("robots", {
  actor: { ...ada, type: "robot" },
  target: { id: "usr_1", type: "invoice" },
})
await write("theirs", { actor: ada }, {}, other)
for (const [id, email] of [
  ["usr_1", ada.email],
  ["usr_2", grace.email],
] as const) {
  const body = {
    workspaceId: acme.id,
    subject: { id, email },
    mode: "explicit",
    policyVersion: 3,
    surface: "sign-up",
    metadata: { label: `consent-${id}` },
  }
  assert.equal(
    (await acme.writer.post("/v1/consents", body, { "idempotency-key": `consent-of-${id}` }))
      .status,
    202,
  )
}

const holder = await tokenFor("usr_1")

// What is shown -----------------------------------------------------------------------------------

test("a person sees visible entries about them, in the token's project", async () => {
  const page = await activityOf(holder)
  assert.equal(labels(page), "consent-usr_1 ofThing both asTarget asActor")
  const { events: _, ...about } = page
  assert.deepEqual(about, {
    returned: 5,
    total: 5,
    nextCursor: page.events[4]?.sequence,
    hasMore: false,
    verified: true,
    workspaceId: acme.id,
    projectId: "core",
    subject: "usr_1",
    query: null,
    policyVersion: 0,
  })
  const shown: readonly (readonly [subject: unknown, projectId: string, labels: string])[] = [
    ["usr_1", "billing", "elsewhere"],
    ["usr_1", "core2", "longerProject"],
    ["usr_2", "core", "consent-usr_2 others asTarget asActor"],
    ["usr_3", "core", "others"],
    [{ id: "usr_1", types: ["robot"] }, "core", "robots"],
    [{ id: "usr_1", types: ["invoice", "subject"] }, "core", "consent-usr_1 robots"],
    [{ id: "usr_1", types: ["User"] }, "core", ""],
    [{ id: "doc_1", types: ["document"] }, "core", "ofThing"],
    ["USR_1", "core", ""],
    ["usr_", "core", ""],
    ["usr_*", "core", ""],
    ["usr", "core", ""],
    ['usr_1" OR "usr_2', "core", ""],
    ["nobody", "core", ""],
  ]
  for (const [subject, projectId, expected] of shown) {
    const own = await activityOf(await tokenFor(subject, projectId))
    assert.deepEqual(
      [labels(own), own.total, own.projectId],
      [expected, expected === "" ? 0 : expected.split(" ").length, projectId],
    )
  }
})

test("the person's own sealed fields are in clear; those of others, and their context, are withheld", async () => {
  const { events } = await activityOf(holder)
  const [consent, ofThing, both, asTarget, asActor] = events
  const masked = { id: "usr_2", type: "user", email: "g•••@example.org" }
  assert.deepEqual([asActor?.actor, asActor?.target], [ada, masked])
  assert.deepEqual([asTarget?.actor, asTarget?.target], [masked, ada])
  assert.deepEqual([both?.actor, both?.target], [ada, { ...ada, name: "The Countess" }])
  assert.deepEqual([ofThing?.actor, ofThing?.target], [ada, { id: "doc_1", type: "document" }])
  assert.deepEqual(
    [consent?.actor, consent?.kind],
    [{ id: "usr_1", type: "subject", email: ada.email }, "consent"],
  )
  assert.deepEqual(consent?.target, { id: "core:3", type: "policy", name: "Policy version 3" })
  assert.deepEqual(
    [asActor?.metadata["phone"], asTarget?.metadata["phone"], both?.metadata["phone"]],
    ["+49 30 1111", undefined, "+49 30 3333"],
  )
  assert.partialDeepStrictEqual(asActor?.provenance, {
    environment: "env-ada",
    sessionId: "sess-ada",
    traceId: "Trace-ada",
  })
  assert.equal(asTarget?.provenance, undefined)
})

/** Values that belong to Grace alone. */
const secrets = [
  "gracemail",
  "Grace",
  "Hopper",
  "Navy",
  "555-0122",
  "env-grace",
  "web-grace",
  "sess-grace",
  "Trace-grace",
]
const secretsOfThing = ["Plans", "of May"]

test("no answer, proof or disclosure has sealed fields of others", async () => {
  const asked: readonly Parameters[] = [
    {},
    { include: "proof" },
    { limit: 1 },
    { query: "usr_2" },
    { query: "kind:event", include: "proof" },
  ]
  for (const parameters of asked) {
    const query = Object.entries(parameters).map(([name, value]) => `${name}=${value}`)
    const { text } = await holder.get(`${acme.path}/activity?${query.join("&")}`)
    const told = [text, ...disclosuresIn(JSON.parse(text))].join("\n")
    for (const secret of [...secrets, ...secretsOfThing])
      assert.ok(!told.includes(secret), `${JSON.stringify(parameters)} shows ${secret}`)
    assert.ok(told.includes("adamail"))
  }
  // For a reader of the whole workspace the same entries have the secrets.
  const { text } = await acme.reader.get(`${acme.path}/events?include=proof`)
  const told = [text, ...disclosuresIn(JSON.parse(text))].join("\n")
  for (const secret of [...secrets, ...secretsOfThing]) assert.ok(told.includes(secret), secret)
})

function disclosuresIn({ events }: Page): readonly string[] {
  return events.flatMap(({ disclosures = [] }) =>
    disclosures.map((one) => Buffer.from(one, "base64url").toString("utf8")),
  )
}

// What is found -----------------------------------------------------------------------------------

/** Queries for a value. Each finds it for a reader who may see it. */
const asksAsActor = (
  of: "grace" | "ada",
  { email, name, department }: typeof ada,
  phone: string,
): readonly string[] => [
  email,
  `"${email}"`,
  email.slice(0, 4),
  `${email.slice(0, 4)}*`,
  `email:${email}`,
  `email:${email.toUpperCase()}`,
  `email:${email.slice(0, 3)}*`,
  `actor:${email}`,
  name,
  `"${name}"`,
  `"${name.slice(0, -2)}"*`,
  `name:"${name}"`,
  `name:${name.slice(0, 2)}*`,
  `actor:"${name}"`,
  department,
  phone,
  `"${phone}"`,
  `metadata.phone:"${phone}"`,
  `metadata.phone:"${phone.slice(0, 3)}"*`,
  "metadata.phone:*",
  `trace:Trace-${of}`,
  `trace:trace-${of.slice(0, 1)}*`,
]

const asksAsTarget = ({ email, name, department }: typeof ada): readonly string[] => [
  email,
  `"${email}"`,
  `${email.slice(0, 4)}*`,
  `email:${email}`,
  `email:${email.slice(0, 3)}*`,
  `target:${email}`,
  name,
  `"${name}"`,
  `name:"${name}"`,
  `target:"${name}"`,
  `target:"${name.slice(0, 4)}"*`,
  department,
]

/**
 * Whether a search reveals that an entry has one of these secrets: by finding the entry, or by
 * leaving it out when the secret is excluded.
 */
async function tells(client: Client, path: string, label: string, ask: string): Promise<boolean> {
  const count = async (query: string): Promise<number> => {
    const reply = await client.get(
      `${path}?query=${encodeURIComponent(`metadata.label:${label} ${query}`)}`,
    )
    assert.equal(reply.status, 200, reply.text)
    const { total, returned } = reply.json<Page>()
    assert.equal(total, returned)
    return total
  }
  const found = await count(ask)
  // To exclude several words is another question.
  const excluded = ask.includes(" ") && !ask.includes('"') ? 1 - found : await count(`-${ask}`)
  assert.equal(
    found + excluded,
    1,
    `${label} ${ask}: found by ${found}, and by ${excluded} without it`,
  )
  return found === 1
}

test("no search reveals sealed fields of others: no word, prefix, phrase, field, nor exclusion", async () => {
  const [mine, all] = [`${acme.path}/activity`, `${acme.path}/events`]
  const expectTold = async (
    label: string,
    asks: readonly string[],
    isTold: boolean,
  ): Promise<void> => {
    for (const ask of asks) {
      assert.equal(
        await tells(acme.reader, all, label, ask),
        true,
        `a reader of all finds ${label} by ${ask}`,
      )
      assert.equal(await tells(holder, mine, label, ask), isTold, `${label} by ${ask}`)
    }
  }
  await expectTold("asTarget", asksAsActor("grace", grace, "+1 202-555-0122"), false)
  await expectTold("asTarget", asksAsTarget(ada), true)
  await expectTold("asActor", asksAsActor("ada", ada, "+49 30 1111"), true)
  await expectTold("asActor", asksAsTarget(grace), false)
  await expectTold(
    "both",
    [...asksAsActor("ada", ada, "+49 30 3333"), 'target:"the countess"', "countess"],
    true,
  )
  await expectTold(
    "ofThing",
    ["plans", '"plans of may"', 'name:"plans of may"', "target:plans*"],
    false,
  )
  // Values in clear are found.
  await expectTold(
    "asTarget",
    [
      "usr_2",
      "actor:usr_2",
      "actor:usr_*",
      "type:user",
      "billing.invoice",
      "project:core",
      "source:api",
      "lane:operations",
    ],
    true,
  )
})

test("no total counts entries that do not concern the person", async () => {
  for (const query of [
    "metadata.label:others",
    "others",
    "usr_3",
    "metadata.label:hidden",
    "hidden",
    "metadata.label:elsewhere",
    "project:billing",
    "metadata.label:longerProject",
    "project:core2",
    "robots",
    "type:robot",
    "kind:admin",
    "project:system",
    "theirs",
  ]) {
    const page = await activityOf(holder, { query })
    assert.deepEqual([page.total, page.returned, page.query], [0, 0, query])
    const without = await activityOf(holder, { query: `-${query}` })
    assert.equal(without.total, 5, `-${query}`)
  }
  // Of two values of one field, the visible one is found.
  const either = await activityOf(holder, { query: `email:${grace.email} email:${ada.email}` })
  assert.equal(labels(either), "consent-usr_1 ofThing both asTarget asActor")
  assert.equal(
    (await activityOf(holder, { query: `email:${grace.email} email:third@example.com` })).total,
    0,
  )
})

test("metadata that is sealed as a whole is the actor's", async () => {
  const clinic = await makeWorkspace(service, { personalKeys: ["*"] })
  await root.patch(`${clinic.path}/projects/core`, { activityLinks: true })
  await write(
    "sealed",
    { actor: grace, target: ada, metadata: { diagnosis: "Melancholia" } },
    {},
    clinic,
  )
  const [as, by] = [
    await tokenFor("usr_1", "core", clinic.path),
    await tokenFor("usr_2", "core", clinic.path),
  ]
  for (const query of ["", "-melancholia", "-metadata.diagnosis:*", "-metadata.label:sealed"]) {
    const page = await activityOf(as, { query, include: "proof" }, clinic.path)
    assert.deepEqual([page.total, page.events[0]?.metadata], [1, {}], query)
    for (const told of [JSON.stringify(page), ...disclosuresIn(page)])
      assert.ok(query.includes("melancholia") || !/melancholia|diagnosis"/i.test(told), told)
  }
  for (const query of [
    "melancholia",
    "mel*",
    "metadata.diagnosis:melancholia",
    "metadata.diagnosis:*",
    '"melancholia"',
    "metadata.label:sealed",
  ]) {
    assert.equal((await activityOf(as, { query }, clinic.path)).total, 0, query)
    assert.equal((await activityOf(by, { query }, clinic.path)).total, 1, query)
  }
  assert.deepEqual((await activityOf(by, {}, clinic.path)).events[0]?.metadata, {
    label: "sealed",
    diagnosis: "Melancholia",
  })
})

// Proofs ------------------------------------------------------------------------------------------

test("with include=proof a person can recompute every row, from their own disclosures alone", async () => {
  const chain = await readChain(
    acme.reader,
    acme.id,
    (await activityOf(holder)).events.map((entry) => ({ ...entry, eventHash: entry.hash })),
  )
  const { events } = await activityOf(holder, { include: "proof" })
  const names = new Map<string, string>()
  for (const { proof, disclosures = [], metadata, actor, target, hash, sequence } of events) {
    assert.ok(proof !== undefined)
    const record = Buffer.from(proof.record, "base64")
    assert.deepEqual(record, chain.records[sequence - 1])
    assert.equal(hash, chain.hashes[sequence - 1])
    const sealed = createHash("sha256")
      .update("ALB1")
      .update(Buffer.from(proof.bodySalt, "hex"))
      .update(proof.body)
      .digest()
    assert.deepEqual(sealed, record.subarray(86, 118), "the body is what the record says")
    assert.equal(expectTlogProof(chain, proof.tlogProof ?? ""), sequence - 1)
    const { body } = disclose(JSON.parse(proof.body), disclosures)
    const bare = ({ email, ...party }: Readonly<Record<string, unknown>>) =>
      email === undefined || (typeof email === "string" && email.includes("•••"))
        ? party
        : { email, ...party }
    assert.deepEqual(
      [body["actor"], body["target"], body["metadata"]],
      [bare(actor), bare(target), metadata],
    )
    const claims = disclosures.map((one) =>
      String(JSON.parse(Buffer.from(one, "base64url").toString())[1]),
    )
    names.set(String(metadata["label"]), claims.toSorted().join(" "))
  }
  assert.deepEqual(Object.fromEntries(names), {
    "consent-usr_1": "context email",
    ofThing: "context email name other",
    both: "context email email name name other other phone",
    asTarget: "email name other",
    asActor: "context email name other phone",
  })
})

// Pages and parameters ----------------------------------------------------------------------------

test("activity is read page by page, and new entries shift no page", async () => {
  const person = await tokenFor("usr_9")
  const all = Array.from({ length: 7 }, (_, number) => `m${number}`)
  for (const label of all) await write(label, { actor: { id: "usr_9", type: "customer" } })
  const read: string[] = []
  for (let cursor = 0, pages = 0; ; pages++) {
    const page = await activityOf(person, { limit: 3, cursor })
    read.push(labels(page))
    assert.equal(page.total, 7 + pages)
    cursor = page.nextCursor
    if (cursor === 0) break
    await write("late", { target: { id: "usr_9", type: "person" } })
  }
  assert.deepEqual(read, ["m6 m5 m4", "m3 m2 m1", "m0", ""])
})

test("no parameter widens what a token shows", async () => {
  const wider = [
    "projectId=billing",
    "projectId=all",
    "subject=usr_2",
    "userVisible=false",
    "includeSystem=true",
    "includeArchive=true",
    "storage=hot",
  ]
  const more = [
    "lane=all",
    "from=2026-01-31T09:30:00Z",
    "types=robot",
    "workspaceId=x",
    "include=all",
    "limit=101",
    "limit=0",
    "cursor=-1",
    "query=a&query=b",
  ]
  await expectRows(
    [...wider, ...more].map((query) => ({
      as: holder,
      ask: `GET ${acme.path}/activity?${query}`,
      gets: "400 invalid_field",
      has: [query.split("=")[0] ?? ""],
      hasNot: ["usr_1", "usr_2"],
    })),
  )
  await expectRows([
    {
      as: holder,
      ask: `GET ${acme.path}/activity?query=${"x".repeat(513)}`,
      gets: "400 invalid_field",
      has: ["query", "512"],
    },
    { as: holder, ask: `GET ${acme.path}/events`, gets: "403 insufficient_scope" },
    {
      as: holder,
      ask: `GET ${acme.path}/activity`,
      gets: 200,
      answerHeaders: { "cache-control": "no-store", "access-control-allow-origin": "*" },
    },
    { as: holder, ask: `HEAD ${acme.path}/activity`, gets: 200 },
  ])
})

test("archived entries are shown as well", async () => {
  const old = await makeWorkspace(service)
  await root.patch(`${old.path}/projects/core`, { activityLinks: true })
  await write("old", { actor: ada }, {}, old)
  const person = await tokenFor("usr_1", "core", old.path)
  await root.patch(old.path, { hotDays: 0 })
  const page = await activityOf(person, {}, old.path)
  assert.deepEqual([labels(page), page.events[0]?.storageTier, page.total], ["old", "archive", 1])
})

test("the answer has the policy's newest version and the search as sent", async () => {
  const person = await tokenFor("usr_1", "billing")
  for (const version of [1, 2]) {
    const sections = [{ id: "a", title: "A", body: `Version ${version}` }]
    assert.equal(
      (await root.post(`${acme.path}/published-policy`, { projectId: "billing", sections })).status,
      201,
    )
    const { policyVersion, query } = await activityOf(person, { query: '  -"nothing  ' })
    assert.deepEqual([policyVersion, query], [version, '  -"nothing  '])
  }
  assert.equal((await activityOf(person, { query: "" })).query, "")
  assert.equal((await activityOf(holder)).policyVersion, 0, "of the token's project")
})

// Credentials -------------------------------------------------------------------------------------

test("an address may hold the token, as its only credential and for activity only", async () => {
  const { bearer = "" } = holder
  const [nobody, path] = [service.client(), `GET ${acme.path}/activity`]
  const { receipt } = (await activityOf(holder)).events[0] ?? { receipt: "" }
  const ofReceipt = (await root.post(`${acme.path}/receipts/${receipt}/token`, {})).json().token
  const inAddress = await nobody.get(`${acme.path}/activity?token=${bearer}&limit=2`)
  assert.deepEqual(inAddress.json(), (await holder.get(`${acme.path}/activity?limit=2`)).json())
  await expectRows([
    { as: nobody, ask: path, gets: "401 unauthorized" },
    { as: holder, ask: `${path}?token=${bearer}`, gets: "400 ambiguous_credentials" },
    { as: nobody, ask: `${path}?token=`, gets: "401 unauthorized" },
    { as: nobody, ask: `${path}?token=${acme.reader.bearer}`, gets: "401 unauthorized" },
    { as: nobody, ask: `${path}?token=${service.rootKey}`, gets: "401 unauthorized" },
    { as: nobody, ask: `${path}?token=${ofReceipt}`, gets: "401 unauthorized" },
    { as: nobody, ask: `GET ${acme.path}/events?token=${bearer}`, gets: "401 unauthorized" },
    {
      as: nobody,
      ask: `GET ${acme.path}/receipts/${receipt}?token=${bearer}`,
      gets: "400 invalid_field",
      has: ["token"],
    },
    { as: service.client(ofReceipt), ask: path, gets: "403 insufficient_scope" },
    { as: acme.reader, ask: path, gets: "403 insufficient_scope" },
    { as: root, ask: path, gets: "403 insufficient_scope" },
  ])
})

test("a token works in its own workspace only", async () => {
  const theirs = await tokenFor("usr_1", "core", other.path)
  assert.equal(labels(await activityOf(theirs, {}, other.path)), "theirs")
  await expectRows([
    { as: theirs, ask: `GET ${acme.path}/activity`, gets: "403 workspace_forbidden" },
    { as: holder, ask: `GET ${other.path}/activity`, gets: "403 workspace_forbidden" },
    { as: holder, ask: "GET /v1/workspaces/nowhere/activity", gets: "403 workspace_forbidden" },
    {
      as: service.client(),
      ask: `GET ${other.path}/activity?token=${holder.bearer}`,
      gets: "403 workspace_forbidden",
    },
  ])
})

test("a link fails while its project has links off, and after it or its maker is revoked", async () => {
  const maker = await makeKey(service, acme.id, { scopes: ["read"], projectIds: ["billing"] })
  const made = (
    await maker.post(`${acme.path}/activity/token`, { projectId: "billing", subject: "usr_1" })
  ).json()
  const [person, second] = [service.client(made.token), await tokenFor("usr_1", "billing")]
  const set = (activityLinks: boolean) => ({
    as: root,
    ask: `PATCH ${acme.path}/projects/billing`,
    send: { activityLinks },
    gets: 200,
  })
  const ask = `GET ${acme.path}/activity`
  await expectRows([
    { as: person, ask, gets: 200 },
    set(false),
    { as: person, ask, gets: "403 activity_disabled" },
    { as: service.client(), ask: `${ask}?token=${made.token}`, gets: "403 activity_disabled" },
    { as: holder, ask, gets: 200 },
    set(true),
    { as: person, ask, gets: 200 },
    { as: root, ask: `DELETE ${acme.path}/tokens/${second.bearer?.split("_")[1]}`, gets: 204 },
    { as: second, ask, gets: "401 token_revoked" },
    { as: root, ask: `DELETE ${acme.path}/api-keys/${maker.bearer?.split("_")[1]}`, gets: 204 },
    { as: person, ask, gets: "401 token_revoked" },
    { as: service.client(), ask: `${ask}?token=${made.token}`, gets: "401 token_revoked" },
  ])
})

test("a page has the phrases of its own project for actions, and of no other", async () => {
  const phrases = [{ action: "order.paid", text: "Paid <b>for</b> an order" }]
  const project = await make(root, `${acme.path}/projects`, { id: "shop", activityLinks: true })
  assert.deepEqual(project["phrases"], [])
  const person = await tokenFor("usr_1", "shop")
  assert.equal("phrases" in (await activityOf(person)), false)
  await root.patch(`${acme.path}/projects/shop`, { phrases })
  assert.deepEqual((await person.get(`${acme.path}/activity`)).json()["phrases"], phrases)
  assert.equal("phrases" in (await activityOf(holder)), false)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
