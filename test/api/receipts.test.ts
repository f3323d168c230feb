import assert from "node:assert/strict"
import { after, test } from "node:test"
import { verifyReceipt } from "@tallystick/proof"
import { expectAnswer, expectTlogProof, readChain } from "../chain.ts"
import { eventFor, make, makeKey, makeWorkspace, writeEvent, type Client } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { expectThroughClient } from "./through-client.ts"
import { startWatched } from "./watched.ts"

// GET …/receipts/{receiptId} and …/proof: who sees what, and that anybody can verify it.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const other = await makeWorkspace(service)
await make(service.root, `${acme.path}/projects`, { id: "open", receipts: "public" })
await make(service.root, `${acme.path}/projects`, { id: "mine", receipts: "private" })
const anonymous = service.client()
const unknownReceipt = `rcp_${"0".repeat(36)}`

/** Every value in it that is sealed. */
const personal = [
  "ada@example.com",
  "Invoice 9",
  "Compilers",
  "web-3",
  "sess-1",
  "trace-1",
  "production",
]
const write = (projectId: string, changes: object = {}) => {
  const actor = { id: "usr_1", type: "user", email: "ada@example.com", department: "Compilers" }
  const headers = {
    "x-service-environment": "production",
    "x-service-server": "web-3",
    "x-session-id": "sess-1",
    "x-trace-id": "trace-1",
  }
  return writeEvent(acme, { projectId, actor, ...changes }, headers)
}
const addressOf = ({ verificationUrl }: { verificationUrl: string }): string =>
  verificationUrl.slice(service.url.length)

const kinds = {
  nobody: anonymous,
  writer: acme.writer,
  reader: acme.reader,
  admin: await makeKey(service, acme.id, { scopes: ["admin"] }),
  readerOfMine: await makeKey(service, acme.id, { scopes: ["read"], projectIds: ["mine"] }),
  writerAndReader: await makeKey(service, acme.id, { scopes: ["write", "read"] }),
  strangeReader: other.reader,
  strangeWriter: other.writer,
  instance: service.root,
  invalid: service.client(`tsk_${"0".repeat(13)}_${"0".repeat(49)}`),
}

const says: Readonly<Record<string, string>> = {
  masked: "200",
  clear: "200",
  anon: "401 unauthorized",
  scope: "403 insufficient_scope",
  ws: "403 workspace_forbidden",
  none: "404 not_found",
}

const visibility = `
                        nobody writer reader admin  of-mine both   strange strange-w instance invalid
/OURS/OPEN              masked masked clear  clear  masked  clear  masked  masked    clear    anon
/OURS/CORE              anon   scope  clear  clear  none    clear  ws      ws        clear    anon
/OURS/MINE              anon   scope  clear  clear  clear   clear  ws      ws        clear    anon
/OURS/unknown           anon   none   none   none   none    none   ws      ws        none     anon
/OURS/NONE              anon   scope  none   none   none    none   ws      ws        none     anon
/OURS/EVENT             anon   none   none   none   none    none   ws      ws        none     anon
/OURS/rcp_1             anon   none   none   none   none    none   ws      ws        none     anon
/OURS/THEIR             anon   scope  none   none   none    none   ws      ws        none     anon
/THEIRS/THEIR           anon   ws     ws     ws     ws      ws     clear   scope     clear    anon
/THEIRS/OPEN            anon   ws     ws     ws     ws      ws     none    scope     none     anon
/nowhere/OPEN           anon   ws     ws     ws     ws      ws     ws      ws        none     anon
/-bad-/OPEN             anon   ws     ws     ws     ws      ws     ws      ws        none     anon`

test("each credential sees its receipts only", async () => {
  const [open, core, mine] = [await write("open"), await write("core"), await write("mine")]
  const their = await writeEvent(other)
  const names: Readonly<Record<string, string>> = {
    OURS: acme.id,
    THEIRS: other.id,
    OPEN: open.receipt,
    CORE: core.receipt,
    MINE: mine.receipt,
    EVENT: open.eventId,
    THEIR: their.receipt,
    NONE: unknownReceipt,
  }
  const [, , ...lines] = visibility.split("\n")
  const rows = lines.flatMap((line) => {
    const [place = "", ...cells] = line.split(/\s+/)
    const [, workspace = "", receipt = ""] = place.split("/").map((name) => names[name] ?? name)
    assert.equal(cells.length, Object.keys(kinds).length)
    return Object.entries(kinds).flatMap(([about, as], at): readonly Row[] => {
      const cell = cells[at] ?? ""
      const ask = `GET /v1/workspaces/${workspace}/receipts/${receipt}`
      const gets = says[cell] ?? cell
      return [
        {
          about,
          as,
          ask,
          gets,
          hasNot: cell === "clear" ? [] : personal,
          ...(gets === "200" ? { shows: { verified: true } } : {}),
        },
        { about, as, ask: `${ask}/proof`, gets, hasNot: personal },
      ]
    })
  })
  assert.equal(rows.length, 240)
  await expectRows(rows)
})

test("an invalid or foreign credential gets the same answer for existing and unknown receipts", async () => {
  const { receipt } = await write("core")
  for (const client of [anonymous, acme.writer, kinds.readerOfMine, other.reader, kinds.invalid]) {
    const texts = await Promise.all(
      [receipt, unknownReceipt].map(
        async (id) => (await client.get(`${acme.path}/receipts/${id}`)).text,
      ),
    )
    assert.equal(texts[0], texts[1])
  }
})

test("to a stranger a public receipt is masked, and still verifies", async () => {
  const minted = await write("open", {
    target: { id: "inv_9", type: "invoice", name: "Invoice 9", email: "x" },
  })
  await anonymous.get(`${addressOf(minted)}/proof`)
  const reply = await anonymous.get(addressOf(minted))
  const chain = await readChain(acme.reader, acme.id, [minted])
  const answer = reply.json()
  for (const value of personal) assert.ok(!reply.text.includes(value), value)
  assert.deepEqual(answer.entry.actor, { id: "usr_1", type: "user", email: "a•••@example.com" })
  assert.deepEqual(answer.receipt.target, { id: "inv_9", type: "invoice", email: "x•••" })
  assert.deepEqual(
    [answer.entry.provenance, answer.receipt.provenance, answer.disclosures],
    [undefined, undefined, []],
  )
  assert.equal(expectAnswer(chain, answer, false).eventHash, minted.eventHash)
  assert.equal(
    verifyReceipt(answer, { trustedKeys: [chain.vkey], receiptId: minted.receipt }).verdict,
    "genuine",
  )
})

test("in clear, every sealed field is shown with its disclosure, and verifies", async () => {
  const minted = await write("open")
  const answer = (await acme.reader.get(addressOf(minted))).json()
  const chain = await readChain(acme.reader, acme.id, [minted])
  assert.deepEqual(expectAnswer(chain, answer).body["actor"], minted.actor)
  assert.equal(
    answer.disclosures.length,
    4,
    "an e-mail, a name, what is the writer's own, and the context",
  )
  for (const value of personal)
    assert.ok(!answer.proof.body.includes(value), `the body, which proofs show, has ${value}`)
  assert.deepEqual({ ...answer.receipt, queued: true }, minted)
})

test("a receipt is pending until a checkpoint covers it, and verified from then on", async () => {
  const fresh = await makeWorkspace(service)
  const { receipt } = await writeEvent(fresh)
  const before = (await fresh.reader.get(`${fresh.path}/receipts/${receipt}`)).json()
  assert.equal(before.verified, true)
  if (before.entry.integrity === "pending") assert.equal(before.proof.tlogProof, null)
  await fresh.reader.get(`${fresh.path}/receipts/${receipt}/proof`)
  const signed = (await fresh.reader.get(`${fresh.path}/receipts/${receipt}`)).json()
  assert.deepEqual([signed.verified, signed.entry.integrity], [true, "verified"])
  assert.equal(typeof signed.proof.tlogProof, "string")
})

test("the proof is a text for any C2SP reader, made on demand", async () => {
  const quick = await makeWorkspace(service)
  for (let count = 0; count < 5; count++) {
    const minted = await writeEvent(quick)
    const reply = await quick.reader.get(`${quick.path}/receipts/${minted.receipt}/proof`)
    assert.equal(reply.status, 200, reply.text)
    assert.equal(reply.headers.get("content-type"), "text/plain; charset=utf-8")
    const chain = await readChain(quick.reader, quick.id, [minted])
    assert.equal(chain.hashes[expectTlogProof(chain, reply.text)], minted.eventHash)
  }
})

test("a receipt says when its entry is searchable, and a write always says that it is not yet", async () => {
  const minted = await write("core")
  assert.equal(minted.queued, true)
  for (;;) {
    const { receipt, entry } = (await acme.reader.get(addressOf(minted))).json()
    assert.deepEqual([receipt.storageClass, entry.storageTier], ["hot", "hot"])
    if (receipt.queued === false) break
  }
})

test("an entry that is older than the workspace's hot days is in the archive; a replay of its write still says hot", async () => {
  const short = await makeWorkspace(service)
  const key = crypto.randomUUID()
  const first = await short.writer.write(eventFor(short.id), key)
  await service.root.patch(short.path, { hotDays: 0 })
  const { receipt, entry, verified } = (
    await short.reader.get(`${short.path}/receipts/${first.json().receipt}`)
  ).json()
  assert.deepEqual(
    [receipt.storageClass, entry.storageTier, verified],
    ["archive", "archive", true],
  )
  assert.equal((await short.writer.write(eventFor(short.id), key)).text, first.text)
})

test("a project that becomes private closes its receipts at once, and opens them again", async () => {
  const minted = await write("open")
  const ask = `GET ${addressOf(minted)}`
  const set = (receipts: string): Row => ({
    as: service.root,
    ask: `PATCH ${acme.path}/projects/open`,
    send: { receipts },
    gets: 200,
  })
  await expectRows([
    { as: anonymous, ask, gets: 200 },
    set("private"),
    { as: anonymous, ask, gets: "401 unauthorized" },
    { as: acme.writer, ask, gets: "403 insufficient_scope" },
    { as: acme.reader, ask, gets: 200, has: ["ada@example.com"] },
    set("public"),
    { as: anonymous, ask, gets: 200 },
  ])
})

test("personal metadata is sealed as soon as the setting names it", async () => {
  const clinic = await makeWorkspace(service, { personalKeys: ["phone", "address"] })
  await make(service.root, `${clinic.path}/projects`, { id: "open", receipts: "public" })
  const metadata = {
    phone: "+49 30 1234",
    address: { city: "Köln" },
    plan: "pro",
    inner: { phone: "not at the top" },
  }
  const seen = async (client: Client, receipt: string) =>
    (await client.get(`${clinic.path}/receipts/${receipt}`)).json()
  const written = async () => (await writeEvent(clinic, { projectId: "open", metadata })).receipt

  const first = await written()
  const { entry, proof } = await seen(anonymous, first)
  assert.deepEqual(entry.metadata, { plan: "pro", inner: { phone: "not at the top" } })
  for (const value of ["+49 30 1234", "Köln"]) assert.ok(!proof.body.includes(value))
  const clear = await seen(clinic.reader, first)
  assert.deepEqual([clear.entry.metadata, clear.disclosures.length], [metadata, 5])
  const key = clinic.writer.bearer?.split("_")[1] ?? ""
  assert.deepEqual(
    [clear.entry.provenance, proof.body.includes(key), entry.provenance],
    [{ keyId: key }, false, undefined],
  )

  await service.root.patch(clinic.path, { personalKeys: ["*"] })
  const second = await written()
  assert.deepEqual((await seen(anonymous, second)).entry.metadata, {})
  assert.deepEqual((await seen(clinic.reader, second)).entry.metadata, metadata)
  assert.ok(!(await seen(anonymous, second)).proof.body.includes("plan"))

  await service.root.patch(clinic.path, { personalKeys: [] })
  assert.deepEqual((await seen(anonymous, await written())).entry.metadata, metadata)
  assert.deepEqual(
    (await seen(anonymous, first)).entry.metadata,
    { plan: "pro", inner: { phone: "not at the top" } },
    "what was sealed stays so",
  )
})

test("a masked e-mail shows its first character and its domain", async () => {
  const emails = [
    ["ada@example.com", "a•••@example.com"],
    ["\u{1f642}x@example.com", "\u{1f642}•••@example.com"],
    ["a@b@c.example", "a•••@c.example"],
    ["no-domain", "n•••"],
    ["@example.com", "@•••@example.com"],
    ["", "•••"],
  ] as const
  for (const [email, mask] of emails) {
    const minted = await write("open", { actor: { id: "usr_1", type: "user", email } })
    const { entry, verified } = (await anonymous.get(addressOf(minted))).json()
    assert.deepEqual([entry.actor.email, verified], [mask, true], email)
    assert.equal((await acme.reader.get(addressOf(minted))).json().entry.actor.email, email)
  }
})

test("only public answers may be cached, with revalidation", async () => {
  const [open, core] = [await write("open"), await write("core")]
  const kept = (value: string) => ({
    answerHeaders: { "cache-control": value, "access-control-allow-origin": "*" },
  })
  await expectRows([
    { as: anonymous, ask: `GET ${addressOf(open)}`, gets: 200, ...kept("no-cache") },
    { as: anonymous, ask: `GET ${addressOf(open)}/proof`, gets: 200, ...kept("no-cache") },
    { as: acme.writer, ask: `GET ${addressOf(open)}`, gets: 200, ...kept("no-store") },
    { as: acme.reader, ask: `GET ${addressOf(open)}`, gets: 200, ...kept("no-store") },
    { as: acme.reader, ask: `GET ${addressOf(core)}/proof`, gets: 200, ...kept("no-store") },
    { as: anonymous, ask: `GET ${addressOf(core)}`, gets: 401, ...kept("no-store") },
    { as: anonymous, ask: `HEAD ${addressOf(open)}`, gets: 200, ...kept("no-cache") },
    { as: anonymous, ask: `HEAD ${addressOf(core)}`, gets: 401 },
  ])
})

test("a browser is led to the receipt's page, as the description says", async () => {
  const ask = `GET ${addressOf(await write("open"))}`
  await expectRows([{ as: anonymous, ask, headers: { accept: "text/html" }, gets: 302 }])
})

test("an unknown query parameter is refused, for callers who may see the receipt", async () => {
  const open = await write("open")
  await expectRows([
    {
      as: anonymous,
      ask: `GET ${addressOf(open)}?include=proof`,
      gets: "400 invalid_field",
      has: ["include"],
    },
    {
      as: acme.reader,
      ask: `GET ${addressOf(open)}?a=1&a=2`,
      gets: "400 invalid_field",
      has: ["only once"],
    },
    { as: acme.reader, ask: `GET ${addressOf(open)}?`, gets: 200 },
  ])
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())

test("most of these requests were sent by the client, which misread no answer", () =>
  expectThroughClient({ made: 300, refused: 150 }))
