import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { request, type IncomingMessage } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { verifyPack, type PackVerdict } from "@tallystick/proof"
import { expectChain, expectTlogProof, readChain } from "../chain.ts"
import { join as joinAs, setUpFirst } from "../people.ts"
import {
  eventFor,
  logKeyOf,
  make,
  makeKey,
  makeWorkspace,
  startService,
  writeEvent,
  writeMany,
  type Client,
  type Reply,
  type Workspace,
} from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"
import { createChance, seedOf } from "../chance.ts"

// Evidence packs: made of receipts, the same bytes for ever, and checked by programs that are not
// the service.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service

async function write(workspace: Workspace, changes: object = {}): Promise<string> {
  return (await writeEvent(workspace, changes)).receipt
}

interface Pack {
  readonly packId: string
  readonly packHash: string
  readonly projectIds: readonly string[]
  readonly receiptCount: number
  readonly createdAt: string
}

function makePack(by: Client, path: string, request: object): Promise<Pack> {
  return make<Pack>(by, `${path}/evidence-packs`, { title: "For the auditor", ...request })
}

async function download(client: Client, path: string, packId: string, query = ""): Promise<Reply> {
  const reply = await client.get(`${path}/evidence-packs/${packId}/download${query}`)
  assert.equal(reply.status, 200, reply.text)
  return reply
}

async function verdictOf(client: Client, path: string, bytes: Uint8Array): Promise<PackVerdict> {
  const trustedKeys = [await logKeyOf(client, path)]
  return verifyPack(new Uint8Array(bytes), { trustedKeys })
}

const entry = (reply: Reply, path: string): Buffer =>
  Buffer.from(reply.json().files[path], "base64")

test("a pack has the requested entries and is checked without the service", async () => {
  const acme = await makeWorkspace(service, { personalKeys: ["address"] })
  const { path, id, reader, writer } = acme
  await root.post(`${path}/published-policy`, {
    sections: [{ id: "1", title: "Use", body: "We use it." }],
  })
  const first = await write(acme, { metadata: { address: "1 Example Street", reason: "moved" } })
  await write(acme)
  const formula = await write(acme, {
    actor: { id: "=HYPERLINK(1)", type: "user", email: "grace@example.com", phone: "+1 555" },
    projectId: "shop",
  })
  const consent = await writer.post(
    "/v1/consents",
    {
      workspaceId: id,
      subject: { id: "usr_9", email: "nine@example.com" },
      mode: "explicit",
      policyVersion: 1,
      surface: "form",
    },
    { "idempotency-key": crypto.randomUUID() },
  )
  const agreed = consent.json().receipt.receipt
  const before = new Date().toISOString()
  const pack = await makePack(reader, path, { receiptIds: [agreed, formula, first] })
  assert.deepEqual(
    { ...pack, packId: "", packHash: "", createdAt: "", sequence: 0 },
    {
      packId: "",
      workspaceId: id,
      title: "For the auditor",
      receiptCount: 3,
      projectIds: ["core", "shop"],
      packHash: "",
      sequence: 0,
      createdAt: "",
    },
  )
  const meta = (await reader.get(`${path}/evidence-packs/${pack.packId}`)).json()
  assert.deepEqual(meta, pack)
  assert.ok(meta.createdAt >= before)

  const zip = await download(reader, path, pack.packId)
  assert.equal(zip.headers.get("content-type"), "application/zip")
  assert.equal(zip.headers.get("content-length"), String(zip.bytes.length))
  assert.equal(zip.headers.get("content-disposition"), `attachment; filename="${pack.packId}.zip"`)
  assert.equal(zip.headers.get("cache-control"), "no-store")
  const verdict = await verdictOf(reader, path, zip.bytes)
  assert.deepEqual(
    [verdict.verdict, verdict.packId, verdict.packHash, verdict.withheld],
    ["genuine", pack.packId, pack.packHash, 0],
  )
  assert.deepEqual(
    verdict.entries?.map(({ body }) => body["receipt"]),
    [first, formula, agreed],
  )

  const files = await download(reader, path, pack.packId, "?format=json")
  assert.match(files.headers.get("content-type") ?? "", /^application\/json/)
  const names = Object.keys(files.json().files)
  const proofs = [agreed, first, formula]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((receipt) => `proofs/${receipt}.tlog-proof`)
  assert.deepEqual(names, [
    ..."README.txt bodies/000.jsonl checkpoint disclosures/000.jsonl entries.csv genesis.json log.vkey manifest.json".split(
      " ",
    ),
    ..."policies/core/1.json policy.txt".split(" "),
    ...proofs,
    ..."receipts.jsonl seal.json seal.tlog-proof verify.html".split(" "),
  ])
  const asFiles = new Map(names.map((name) => [name, new Uint8Array(entry(files, name))]))
  const trustedKeys = [await logKeyOf(reader, path)]
  assert.equal(verifyPack(asFiles, { trustedKeys }).verdict, "genuine")
  assert.equal(
    createHash("sha256").update(entry(files, "manifest.json")).digest("hex"),
    pack.packHash,
  )
  assert.deepEqual(JSON.parse(entry(files, "manifest.json").toString()), files.json().manifest)
  for (const [name, hash] of Object.entries(files.json().manifest))
    assert.equal(createHash("sha256").update(entry(files, name)).digest("hex"), hash, name)

  const verifier = await (await fetch(`${service.url}/verify.html`)).text()
  assert.equal(entry(files, "verify.html").toString(), verifier)

  // By the verifier that shares no code with the product.
  const chain = await readChain(reader, id)
  for (const proof of [...proofs, "seal.tlog-proof"])
    expectTlogProof(chain, entry(files, proof).toString())
  const said = JSON.parse(JSON.parse(entry(files, "seal.json").toString()).body)
  assert.deepEqual(
    [said.action, said.projectId, said.source],
    ["evidence.pack.create", "system", "system"],
  )
  const projects = createHash("sha256")
    .update(`tallystick commitment\n${JSON.stringify(pack.projectIds)}`)
    .digest("hex")
  const { packId, packHash } = pack
  assert.deepEqual(said.metadata, {
    packId,
    title: "For the auditor",
    receiptCount: 3,
    packHash,
    projects,
    form: 2,
    verifier: createHash("sha256").update(verifier).digest("hex"),
  })
  const policy = JSON.parse(entry(files, "policies/core/1.json").toString())
  assert.deepEqual(
    [policy.projectId, policy.version, policy.sections],
    ["core", 1, [{ id: "1", title: "Use", body: "We use it." }]],
  )
})

test("nothing sealed is in the table or the receipts, and no cell is a formula", async () => {
  const acme = await makeWorkspace(service, { personalKeys: ["address"] })
  const secrets = ["ada@example.com", "Invoice 9", "1 Example Street", "+1 555", "the-session"]
  const { receipt } = (
    await acme.writer.write(
      eventFor(acme.id, {
        actor: { id: "=1+1", type: "@user", email: "ada@example.com", phone: "+1 555" },
        target: { id: "-2", type: "+3", name: "Invoice 9" },
        metadata: { address: "1 Example Street", reason: '=cmd|"/c calc"!A1' },
      }),
      undefined,
      { "x-session-id": "the-session" },
    )
  ).json()
  const { packId } = await makePack(acme.reader, acme.path, { receiptIds: [receipt] })
  const files = await download(acme.reader, acme.path, packId, "?format=json")
  for (const name of [
    "entries.csv",
    "receipts.jsonl",
    "bodies/000.jsonl",
    "README.txt",
    "seal.json",
  ])
    for (const secret of secrets)
      assert.ok(!entry(files, name).toString().includes(secret), `${name} has ${secret}`)
  const disclosed = JSON.parse(entry(files, "disclosures/000.jsonl").toString()).d.map(
    (one: string) => Buffer.from(one, "base64url").toString(),
  )
  for (const secret of secrets)
    assert.ok(disclosed.join("\n").includes(secret), `no disclosure has ${secret}`)

  const [header = "", row = "", end] = entry(files, "entries.csv").toString().split("\r\n")
  assert.equal(end, "")
  const cells = Object.fromEntries(header.split(",").map((name, at) => [name, cellsOf(row)[at]]))
  assert.deepEqual(
    [
      cells['"actor.id"'],
      cells['"actor.type"'],
      cells['"target.id"'],
      cells['"target.type"'],
      cells['"target.name"'],
      cells['"receipt"'],
    ],
    ["'=1+1", "'@user", "'-2", "'+3", "", receipt],
  )
  assert.equal(cells['"metadata"'], '{"reason":"=cmd|\\"/c calc\\"!A1"}')
})

/** The cells of a line without a line break in it. */
function cellsOf(row: string): readonly string[] {
  return [...row.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, cell = ""]) =>
    cell.replaceAll('""', '"'),
  )
}

test("downloads have the same bytes, also later and after a restart at another address", async () => {
  await using before = await startService()
  const acme = await makeWorkspace(before)
  const receiptIds = [await write(acme), await write(acme), await write(acme)]
  const { packId } = await makePack(acme.reader, acme.path, { receiptIds: receiptIds.slice(1) })
  const first = await download(acme.reader, acme.path, packId)
  await write(acme)
  await before.root.post(`${acme.path}/published-policy`, {
    sections: [{ id: "1", title: "Use", body: "Later." }],
  })
  await before.root.patch(acme.path, { hotDays: 0, personalKeys: ["*"] })
  assert.ok((await download(acme.reader, acme.path, packId)).bytes.equals(first.bytes))
  assert.equal(await before.end(), 0)

  await using now = await startService({
    data: before.data,
    environment: { TALLYSTICK_PUBLIC_URL: "https://ledger.example.com" },
  })
  const again = await download(now.root, acme.path, packId)
  assert.ok(again.bytes.equals(first.bytes))
  assert.equal((await verdictOf(now.root, acme.path, again.bytes)).verdict, "genuine")
  await expectChain(now.root, acme.id)
})

test("other programs unpack it", async (context) => {
  const acme = await makeWorkspace(service)
  const receiptIds = await Promise.all(Array.from({ length: 20 }, () => write(acme)))
  const { packId } = await makePack(acme.reader, acme.path, { receiptIds })
  const { bytes } = await download(acme.reader, acme.path, packId)
  const folder = await mkdtemp(join(tmpdir(), "tallystick-pack-"))
  context.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, "pack.zip"), bytes)
  const script =
    "import sys, zipfile; bad = zipfile.ZipFile(sys.argv[1]).testzip(); sys.exit(bad is not None)"
  let tried = 0
  for (const [program, ...args] of [
    ["unzip", "-tq"],
    ["python3", "-c", script],
  ] as const) {
    const { error, status, stdout, stderr } = spawnSync(
      program,
      [...args, join(folder, "pack.zip")],
      { encoding: "utf8" },
    )
    if (error === undefined) tried += 1
    else context.diagnostic(`${program} is not here, and was not asked`)
    if (error === undefined) assert.equal(status, 0, `${program}: ${stdout}${stderr}`)
  }
  if (tried === 0) context.skip("neither unzip nor python3 is here")
})

test("one changed byte of a downloaded pack is found", async (context) => {
  const acme = await makeWorkspace(service)
  const receiptIds = await Promise.all(Array.from({ length: 5 }, () => write(acme)))
  const { packId } = await makePack(acme.reader, acme.path, { receiptIds })
  const { bytes } = await download(acme.reader, acme.path, packId)
  const { below } = createChance(seedOf(context))
  for (let round = 0; round < 200; round++) {
    const changed = Buffer.from(bytes)
    const at = below(changed.length)
    changed[at] = (changed[at] ?? 0) ^ (1 + below(255))
    const { verdict, checks } = verifyPack(new Uint8Array(changed))
    assert.deepEqual(
      [verdict, checks.at(-1)],
      ["refuted", { name: "archive", ok: false }],
      `byte ${at}`,
    )
  }
})

/** How many entries there are, with one more that is written to have them signed. */
async function signedSize(workspace: Workspace): Promise<number> {
  const receipt = await write(workspace)
  assert.equal(
    (await workspace.reader.get(`${workspace.path}/receipts/${receipt}/proof`)).status,
    200,
  )
  return (await readChain(workspace.reader, workspace.id)).size
}

test("invalid requests are refused with the field's name, and record nothing", async () => {
  const acme = await makeWorkspace(service)
  const receipt = await write(acme)
  const elsewhere = await write(await makeWorkspace(service))
  const before = await signedSize(acme)
  const ask = `POST ${acme.path}/evidence-packs`
  const none = `rcp_${"0".repeat(36)}`
  const refused = (send: object, says: RegExp, gets = "400 invalid_field") => ({
    as: acme.reader,
    ask,
    send,
    gets,
    has: [says],
  })
  await expectRows([
    refused({ receiptIds: [receipt] }, /title is required/),
    refused({ title: "", receiptIds: [receipt] }, /title/),
    refused({ title: "x".repeat(201), receiptIds: [receipt] }, /title/),
    refused({ title: "T", receiptIds: [] }, /receiptIds must be an array of 1 to 10000 items/),
    refused({ title: "T", receiptIds: receipt }, /receiptIds/),
    refused({ title: "T", receiptIds: [receipt, "rcp_1"] }, /receiptIds\[1\]/),
    refused(
      { title: "T", receiptIds: [receipt, receipt] },
      /receiptIds must not name anything twice/,
    ),
    refused(
      { title: "T", receiptIds: Array.from({ length: 10_001 }, () => receipt) },
      /receiptIds/,
    ),
    refused({ title: "T", receiptIds: [receipt], projectId: "all" }, /projectId/),
    refused({ title: "T", receiptIds: [receipt], projectId: "shop" }, /receiptIds\[0\].*projectId/),
    refused({ title: "T", receiptIds: [receipt], receipts: [] }, /receipts is not a known field/),
    refused({ title: "T", receiptIds: [receipt, none] }, /receiptIds\[1\]/, "404 not_found"),
    refused({ title: "T", receiptIds: [elsewhere] }, /receiptIds\[0\]/, "404 not_found"),
    {
      as: acme.reader,
      ask: `GET ${acme.path}/evidence-packs/pack_${"0".repeat(36)}`,
      gets: "404 not_found",
    },
    { as: acme.reader, ask: `GET ${acme.path}/evidence-packs/pack_1`, gets: "404 not_found" },
    {
      as: acme.reader,
      ask: `GET ${acme.path}/evidence-packs/pack_${"0".repeat(36)}/download`,
      gets: "404 not_found",
    },
  ])
  const { packId } = await makePack(acme.reader, acme.path, { receiptIds: [receipt] })
  await expectRows([
    {
      as: acme.reader,
      ask: `GET ${acme.path}/evidence-packs/${packId}/download?format=tar`,
      gets: "400 invalid_field",
      has: [/format/],
    },
    {
      as: acme.reader,
      ask: `GET ${acme.path}/evidence-packs/${packId}/download?as=zip`,
      gets: "400 invalid_field",
      has: [/as is not/],
    },
  ])
  assert.equal(
    await signedSize(acme),
    before + 2 + 1,
    "the pack, its seal, an event, and nothing of what was refused",
  )
})

test("a filter selects the same entries as the query with the same parameters, over all its pages", async () => {
  const acme = await makeWorkspace(service)
  const { path, id, reader } = acme
  const changes = (at: number): object => ({
    projectId: at % 2 === 0 ? "core" : "shop",
    metadata: { order: `o-${at % 10}` },
    userVisible: at % 4 === 0,
  })
  const receipts = (await writeMany(acme, 260, { changes })).map(({ receipt }) => receipt)
  const where = (keep: (at: number) => boolean) => receipts.filter((_, at) => keep(at))
  const shop = await makeKey(service, id, { scopes: ["read"], projectIds: ["shop"] })
  const cases: readonly (readonly [Client, object, readonly string[]])[] = [
    [reader, { filter: {} }, receipts],
    [reader, { filter: { projectId: "shop" } }, where((at) => at % 2 === 1)],
    [reader, { filter: { userVisible: true }, projectId: "core" }, where((at) => at % 4 === 0)],
    [
      reader,
      { filter: { query: "metadata.order:o-3", lane: "operations", storage: "all" } },
      where((at) => at % 10 === 3),
    ],
    [
      reader,
      { filter: { from: "2026-01-31T09:30:00Z", to: "2026-01-31T09:30:00.000000001Z" } },
      receipts,
    ],
    [shop, { filter: { projectId: "all" } }, where((at) => at % 2 === 1)],
  ]
  for (const [client, request, expected] of cases) {
    const pack = await makePack(client, path, request)
    const { bytes } = await download(client, path, pack.packId)
    const { verdict, entries = [] } = await verdictOf(reader, path, bytes)
    assert.equal(verdict, "genuine")
    assert.deepEqual(
      entries.map(({ body }) => body["receipt"]),
      expected,
      JSON.stringify(request),
    )
  }
  const system = await makePack(reader, path, {
    filter: { projectId: "system", query: "action:evidence.pack.create" },
  })
  assert.equal(system.receiptCount, cases.length)

  const ask = `POST ${path}/evidence-packs`
  const refused = (send: object, says: RegExp) => ({
    as: reader,
    ask,
    send: { title: "T", ...send },
    gets: "400 invalid_field",
    has: [says],
  })
  await expectRows([
    refused({ filter: { query: "nothing-has-this-word" } }, /filter must match one entry/),
    refused({ filter: {}, receiptIds: [receipts[0]] }, /either receiptIds or filter/),
    refused({}, /either receiptIds or filter/),
    refused({ filter: { cursor: 3 } }, /filter\.cursor is not a known field/),
    refused({ filter: { lane: "x" } }, /filter\.lane/),
    refused({ filter: { from: "yesterday" } }, /filter\.from/),
    refused({ filter: { projectId: "shop" }, projectId: "core" }, /filter\.projectId/),
    {
      as: shop,
      ask,
      send: { title: "T", filter: { projectId: "core" } },
      gets: "403 project_forbidden",
    },
    {
      as: shop,
      ask,
      send: { title: "T", filter: { includeSystem: true } },
      gets: "403 project_forbidden",
    },
  ])
})

test("a pack has a maximum number of entries", async () => {
  const verifier = await (await fetch(`${service.url}/verify.html`)).text()
  await using small = await startService({
    environment: {
      TALLYSTICK_LIMIT_PACK_RECEIPTS_MAX: "3",
      TALLYSTICK_LIMIT_PACK_BYTES_MAX: String(verifier.length + 20_000),
    },
  })
  const acme = await makeWorkspace(small)
  const large = await write(acme, { metadata: { text: "x".repeat(20_000) } })
  const others = [await write(acme), await write(acme), await write(acme)]
  const ask = `POST ${acme.path}/evidence-packs`
  await expectRows([
    {
      as: acme.reader,
      ask,
      send: { title: "T", receiptIds: [large, ...others] },
      gets: "400 invalid_field",
      has: ["receiptIds", "1 to 3"],
    },
    {
      as: acme.reader,
      ask,
      send: { title: "T", filter: {} },
      gets: "400 invalid_field",
      has: ["3 entries at most, and matches 4"],
    },
    {
      as: acme.reader,
      ask,
      send: { title: "T", receiptIds: [large] },
      gets: "413 payload_too_large",
      has: [String(verifier.length + 20_000)],
    },
    { as: acme.reader, ask, send: { title: "T", receiptIds: others }, gets: 201 },
  ])
})

test("a key of some projects makes and sees packs of these projects only", async () => {
  const acme = await makeWorkspace(service)
  const { path, id, reader } = acme
  const ofCore = await write(acme)
  const ofShop = await write(acme, { projectId: "shop" })
  const shop = await makeKey(service, id, { scopes: ["read"], projectIds: ["shop"] })
  const both = await makePack(reader, path, { receiptIds: [ofCore, ofShop] })
  const own = await makePack(shop, path, { receiptIds: [ofShop], projectId: "shop" })
  const at = (packId: string) => `GET ${path}/evidence-packs/${packId}`
  await expectRows([
    {
      as: shop,
      ask: `POST ${path}/evidence-packs`,
      send: { title: "T", receiptIds: [ofCore] },
      gets: "404 not_found",
    },
    {
      as: shop,
      ask: `POST ${path}/evidence-packs`,
      send: { title: "T", receiptIds: [ofShop], projectId: "core" },
      gets: "403 project_forbidden",
    },
    { as: shop, ask: at(both.packId), gets: "404 not_found" },
    { as: shop, ask: `${at(both.packId)}/download`, gets: "404 not_found" },
    { as: shop, ask: at(own.packId), gets: 200 },
    { as: shop, ask: `${at(own.packId)}/download`, gets: 200 },
  ])
  const idsFor = async (client: Client): Promise<readonly string[]> =>
    (await client.get(`${path}/evidence-packs`))
      .json()
      .packs.map((pack: { packId: string }) => pack.packId)
  assert.deepEqual(
    [await idsFor(reader), await idsFor(shop)],
    [[own.packId, both.packId], [own.packId]],
  )
  const page = (await reader.get(`${path}/evidence-packs?limit=1`)).json()
  const next = (await reader.get(`${path}/evidence-packs?limit=1&cursor=${page.nextCursor}`)).json()
  assert.deepEqual(
    [page.packs[0].packId, next.packs[0].packId, next.nextCursor],
    [own.packId, both.packId, null],
  )
})

test("an evidence token downloads its pack and verifies the receipts in it, and no others", async () => {
  const acme = await makeWorkspace(service)
  const { path, reader } = acme
  const [inside, outside] = [await write(acme), await write(acme)]
  const pack = await makePack(reader, path, { receiptIds: [inside] })
  const other = await makePack(reader, path, { receiptIds: [outside] })
  const minted = await make(reader, `${path}/evidence-packs/${pack.packId}/token`, {})
  const holder = service.client(minted.token)
  const at = (packId: string) => `GET ${path}/evidence-packs/${packId}`
  await expectRows([
    { as: holder, ask: `${at(pack.packId)}/download`, gets: 200 },
    { as: holder, ask: `${at(other.packId)}/download`, gets: "403 insufficient_scope" },
    { as: holder, ask: `${at(`pack_${"0".repeat(36)}`)}/download`, gets: "403 insufficient_scope" },
    { as: holder, ask: at(pack.packId), gets: "403 insufficient_scope" },
    { as: holder, ask: `GET ${path}/evidence-packs`, gets: "403 insufficient_scope" },
    { as: holder, ask: `GET ${path}/receipts/${inside}`, gets: 200, shows: { verified: true } },
    { as: holder, ask: `GET ${path}/receipts/${outside}`, gets: "403 insufficient_scope" },
    {
      as: service.client(),
      ask: `${at(pack.packId)}/download?token=${holder.bearer}`,
      gets: "401 unauthorized",
    },
  ])
})

test("making a pack and each download are entries, committed with what they record", async () => {
  const acme = await makeWorkspace(service)
  const receipt = await write(acme)
  const before = await signedSize(acme)
  const { packId } = await makePack(acme.reader, acme.path, { receiptIds: [receipt] })
  await download(acme.reader, acme.path, packId)
  await download(acme.reader, acme.path, packId, "?format=json")
  await signedSize(acme)
  const chain = await readChain(acme.reader, acme.id)
  assert.deepEqual(
    chain.records.slice(before).map((record) => record[4]),
    [8, 8, 8, 8, 1],
  )
})

test("a page of another site cannot cause a recorded download", async () => {
  const acme = await makeWorkspace(service)
  const { packId } = await makePack(acme.reader, acme.path, { receiptIds: [await write(acme)] })
  await setUpFirst(service)
  const viewer = await joinAs(service, acme.path, "viewer", "viewer@example.com")
  const ask = (site: string, gets: number | string): Row => ({
    as: viewer,
    ask: `GET ${acme.path}/evidence-packs/${packId}/download`,
    headers: { "sec-fetch-site": site },
    gets,
  })
  await expectRows([
    ask("cross-site", "403 csrf_failed"),
    ask("same-site", "403 csrf_failed"),
    ask("same-origin", 200),
    ask("none", 200),
  ])
})

test("a download is cut off when its token is revoked", async () => {
  const acme = await makeWorkspace(service)
  // More than sockets hold that nobody reads.
  const long = "x".repeat(60_000)
  const metadata = { a: long, b: long, c: long }
  const receipts = await writeMany(acme, 100, { changes: () => ({ metadata }), atOnce: 20 })
  const receiptIds = receipts.map(({ receipt }) => receipt)
  const { packId } = await makePack(acme.reader, acme.path, { receiptIds })
  const { token, tokenId } = await make<{ token: string; tokenId: string }>(
    service.root,
    `${acme.path}/evidence-packs/${packId}/token`,
    {},
  )
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const url = `${service.url}${acme.path}/evidence-packs/${packId}/download?format=json`
    request(url, { headers, agent: false }, resolve).once("error", reject).end()
  })
  assert.equal(answer.statusCode, 200)
  await new Promise((resolve) => answer.once("readable", resolve))
  assert.equal((await service.root.delete(`${acme.path}/tokens/${tokenId}`)).status, 204)
  await assert.rejects(answer.resume().toArray(), { code: "ECONNRESET" })
})

test("a pack's entries and tokens are listed page by page", async () => {
  const acme = await makeWorkspace(service)
  const receiptIds: string[] = []
  for (let at = 0; at < 7; at++) receiptIds.push(await write(acme))
  const packed = receiptIds.filter((_, at) => at % 2 === 0).toReversed()
  const made = await makePack(acme.reader, acme.path, { receiptIds: packed })
  const pack = `${acme.path}/evidence-packs/${made.packId}`
  const found: string[] = []
  for (let cursor = 0, pages = 0; ; pages++) {
    const page = (
      await acme.reader.get(`${pack}/entries?limit=3&include=proof&cursor=${cursor}`)
    ).json()
    assert.ok(pages < 4)
    assert.equal(page.total, 4)
    assert.equal(page.verified, true)
    assert.ok(page.events.every(({ proof }: { proof?: object }) => proof !== undefined))
    found.push(...page.events.map(({ receipt }: { receipt: string }) => receipt))
    cursor = page.nextCursor
    if (!page.hasMore) break
  }
  assert.deepEqual(found, packed)

  const { sequence } = (await acme.reader.get(pack)).json()
  const [record] = (
    await acme.reader.get(
      `${acme.path}/events?projectId=system&query=action:evidence.pack.create%20metadata.packHash:${made.packHash}`,
    )
  ).json().events
  assert.equal(record.sequence, sequence)

  const other = await makePack(acme.reader, acme.path, { receiptIds: packed })
  const tokenIds: string[] = []
  for (const { packId } of [made, other, made]) {
    const { tokenId } = await make(acme.reader, `${acme.path}/evidence-packs/${packId}/token`, {})
    tokenIds.push(tokenId)
  }
  const tokensOf = async (query: string) =>
    (await root.get(`${acme.path}/tokens?${query}`)).json().tokens as { tokenId: string }[]
  assert.deepEqual(
    (await tokensOf(`packId=${made.packId}`)).map(({ tokenId }) => tokenId),
    [tokenIds[2], tokenIds[0]],
  )
  assert.equal((await tokensOf("limit=100")).length, 3)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
