import assert from "node:assert/strict"
import { join } from "node:path"
import { after, test } from "node:test"
import { verifyPack } from "@tallystick/proof"
import { expectChain } from "../chain.ts"
import { databaseOf } from "../engine.ts"
import { filesWith } from "../personal-files.ts"
import { tallystick } from "../program.ts"
import {
  eventFor,
  eventually,
  logKeyOf,
  make,
  makeKey,
  makeWorkspace,
  settingsOf,
  startService,
  writeEvent,
  writeMany,
  type Client,
} from "../service.ts"
import { startWatched } from "./watched.ts"
import { erase } from "../until.ts"

// Erasures: sealed content about a person is destroyed everywhere, and evidence that was given out
// before stays valid.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service

/** The person's personal values, which no file may have afterwards. */
const personal = {
  email: "zuleika.dobson@example.com",
  name: "Zuleika Dobson",
  phone: "+44 7700 900123",
  note: "asked for the yellow room",
  request: "req-of-zuleika-1911",
}
const zuleika = {
  id: "usr_1911",
  type: "user",
  email: personal.email,
  name: personal.name,
  phone: personal.phone,
}
const someone = { id: "usr_2", type: "user", email: "noaks@example.com", name: "Noaks" }

const request = { subject: { id: zuleika.id }, reason: "Article 17", reference: "DSR-7" }

/** Returns the receipt of the entry that records the export. */
async function exportMatches(client: Client, path: string, query: string): Promise<string> {
  const { status, headers, text } = await client.get(
    `${path}/events/export?query=${encodeURIComponent(query)}`,
  )
  assert.equal(status, 200, text)
  return String(headers.get("x-ledger-receipt"))
}

test("no file has what was erased, and evidence that was given out before is not refuted", async () => {
  // A watched service would verify each of these thousands of receipts twice.
  await using service = await startService()
  const { root } = service
  const workspace = await makeWorkspace(service, { personalKeys: ["note"] })
  const { id, path } = workspace
  const admin = await makeKey(service, id, { scopes: ["admin"] })
  await root.patch(`${path}/projects/core`, { activityLinks: true })
  const metadata = { note: personal.note, amount: 7 }
  const receipts = await writeMany(workspace, 4200, {
    atOnce: 700,
    changes: (at) => (at % 100 === 0 ? { actor: zuleika, metadata } : { actor: someone }),
  })
  const context = { "x-request-id": personal.request }
  const last = await writeEvent(workspace, { actor: zuleika, target: zuleika }, context)
  await writeEvent(workspace, { actor: someone, target: zuleika })
  const pack = await make(root, `${path}/evidence-packs`, {
    title: "Before",
    receiptIds: [receipts[0]?.receipt, receipts[1]?.receipt],
  })
  const before = await root.get(`${path}/evidence-packs/${pack.packId}/download`)
  const { tokenId } = await make(root, `${path}/activity/token`, {
    projectId: "core",
    subject: zuleika.id,
  })
  const exportReceipt = await exportMatches(root, path, `actor:${zuleika.id}`)
  const every = Object.values(personal)
  await eventually("a segment is made", async () => {
    const files = await filesWith(service.data, every)
    return files.some((name) => name.endsWith("unpacked")) ? files : undefined
  })
  const foundBy = async (query: string): Promise<number> =>
    (await root.get(`${path}/events?query=${encodeURIComponent(query)}`)).json().total
  assert.deepEqual([await foundBy(personal.email), await foundBy("dobson")], [44, 44])

  const preview = await admin.post(`${path}/erasures`, { ...request, dryRun: true })
  assert.equal(preview.status, 200, preview.text)
  const counts = { entries: 45, fields: 42 * 5 + 7 + 3 + 1 }
  assert.deepEqual(preview.json(), {
    ...counts,
    holds: [],
    handedOut: {
      packs: [pack.packId],
      tokens: [tokenId],
      exports: [exportReceipt],
      more: 0,
    },
  })
  assert.equal(await foundBy(personal.email), 44, "a preview erases nothing")

  const done = await erase(admin, workspace.path, request)
  assert.deepEqual({ entries: done.entries, fields: done.fields }, counts)
  assert.deepEqual(done.subject, { id: zuleika.id })
  assert.deepEqual(done.handedOut, preview.json().handedOut)
  assert.deepEqual(await filesWith(service.data, every), [])
  for (const query of [personal.email, "dobson", "yellow", `actor:${zuleika.id} dobson`])
    assert.equal(await foundBy(query), 0, query)
  assert.equal(await foundBy(`actor:${zuleika.id}`), 43, "the id is in the bodies")

  const shown = (await root.get(`${path}/receipts/${last.receipt}`)).json().entry
  assert.deepEqual(
    [shown.integrity, shown.actor, shown.target, shown.provenance],
    ["erased", { id: zuleika.id, type: "user" }, { id: zuleika.id, type: "user" }, undefined],
  )
  const again = await root.get(`${path}/evidence-packs/${pack.packId}/download`)
  const trustedKeys = [await logKeyOf(root, path)]
  for (const [bytes, withheld] of [
    [before.bytes, 0],
    [again.bytes, 5],
  ] as const) {
    const verdict = verifyPack(new Uint8Array(bytes), { trustedKeys })
    assert.equal(verdict.verdict, "genuine")
    assert.equal("packHash" in verdict && verdict.packHash, pack.packHash)
    assert.equal("withheld" in verdict && verdict.withheld, withheld)
  }

  const some = [...receipts.slice(0, 3), last]
  await expectChain(root, id, some)
  // A database is backed up by its own tools.
  if ((await databaseOf(service.data)) !== undefined) return
  const backup = join(service.data, "..", "backup")
  const made = await tallystick(["backup", backup], settingsOf(service))
  assert.equal(made.code, 0, made.errors)
  assert.equal(await service.end(), 0)
  const checked = await tallystick(["fsck"], settingsOf(service))
  assert.equal(checked.code, 0, checked.output + checked.errors)
  await using restarted = await startService({ data: service.data })
  assert.equal((await restarted.root.get(`${path}/erasures`)).json().erasures.length, 1)
  for (const folder of [backup, service.data])
    assert.deepEqual(await filesWith(folder, every), [], folder)
})

test("erasing whole entries removes their content, and no file has the person's id", async () => {
  const workspace = await makeWorkspace(service)
  const { id, path } = workspace
  const admin = await makeKey(service, id, { scopes: ["admin"] })
  await root.patch(`${path}/projects/core`, { activityLinks: true })
  const secret = { id: "usr_very_personal_id", type: "user" }
  const first = await writeEvent(workspace, { actor: secret })
  const other = await writeEvent(workspace)
  const consent = { policyVersion: 1, mode: "explicit", surface: "signup" }
  const given = await root.post(
    "/v1/consents",
    { workspaceId: id, subject: { id: secret.id, email: "x@example.com" }, ...consent },
    { "idempotency-key": "consent-of-the-person" },
  )
  assert.equal(given.status, 202, given.text)
  await make(root, `${path}/activity/token`, { projectId: "core", subject: secret.id })
  assert.ok((await filesWith(service.data, [secret.id])).length > 0)
  const subject = { id: secret.id }
  const done = await erase(admin, workspace.path, { ...request, subject, scope: "entries" })
  assert.deepEqual([done.entries, done.subject], [3, undefined])
  assert.deepEqual(await filesWith(service.data, [secret.id]), [])
  for (const { receipt } of [first, other]) await root.get(`${path}/receipts/${receipt}/proof`)
  const { entry } = (await root.get(`${path}/receipts/${first.receipt}`)).json()
  assert.equal(entry.integrity, "erased")
  assert.equal(
    (await root.get(`${path}/receipts/${other.receipt}`)).json().entry.integrity,
    "verified",
  )
  assert.deepEqual((await root.get(`${path}/tokens`)).json().tokens, [])
})

test("a recorded search for the person's id is erased in any case, as it found the person", async () => {
  const workspace = await makeWorkspace(service)
  const { path } = workspace
  await writeEvent(workspace, { actor: zuleika })
  for (const query of ["actor:USR_1911 invoice", "Usr_1911", "actor:USR_19110"])
    await exportMatches(root, path, query)
  // Consents are looked up by exactly this id, so this is somebody else.
  const other = { subject: "USR_1911", reason: "a request" }
  assert.equal((await root.post(`${path}/consents/lookup`, other)).status, 200)
  await erase(root, workspace.path, request)
  const targetsOf = async (action: string) =>
    (await root.get(`${path}/events?projectId=system&query=action:${action}`))
      .json()
      .events.map(({ target }: { target: object }) => target)
  const searches = (await targetsOf("workspace.events.export")).map(
    ({ filter }: { filter?: { query: string } }) => filter?.query,
  )
  assert.deepEqual(searches, ["actor:USR_19110", undefined, undefined])
  assert.partialDeepStrictEqual(await targetsOf("policy.consent.lookup"), [other])
})

test("a recorded search for the person's e-mail or name is erased as of a person with this id", async () => {
  const workspace = await makeWorkspace(service)
  const { path } = workspace
  await writeEvent(workspace, { actor: zuleika })
  for (const query of [`email:${personal.email}`, `name:"${personal.name}"`])
    await exportMatches(root, path, query)
  await erase(root, workspace.path, request)
  for (const id of [personal.email, personal.name])
    assert.equal(
      (await erase(root, workspace.path, { ...request, subject: { id }, scope: "entries" }))
        .entries,
      1,
    )
  const own = await root.get(`${path}/events?projectId=system`)
  assert.doesNotMatch(own.text, /dobson/i)
})

test("a repeated write is compared with what the erasure left", async () => {
  const workspace = await makeWorkspace(service, { personalKeys: ["note"] })
  const { id, writer } = workspace
  const metadata = { note: personal.note, amount: 7 }
  const event = eventFor(id, { actor: zuleika, target: someone, metadata })
  const key = "a-key-of-the-person"
  const first = (await writer.write(event, key)).json()
  assert.deepEqual(first.actor, zuleika)
  await erase(root, workspace.path, request)
  const left = { ...zuleika, email: undefined, name: undefined, phone: undefined }
  const others = [
    event,
    { ...event, actor: { id: zuleika.id, type: "user" }, metadata: { amount: 7 } },
    { ...event, actor: { ...zuleika, email: "other@example.com" } },
  ]
  for (const other of others) {
    const again = await writer.write(other, key)
    assert.equal(again.status, 202, again.text)
    const { actor, target, eventHash, provenance } = again.json()
    assert.deepEqual(actor, JSON.parse(JSON.stringify(left)))
    assert.deepEqual([target, eventHash], [someone, first.eventHash])
    assert.equal(provenance, undefined)
  }
  const different = [
    { ...event, target: { ...someone, name: "another" } },
    { ...event, metadata: { ...metadata, amount: 8 } },
    { ...event, actor: { ...zuleika, id: "usr_other" } },
  ]
  for (const other of different) {
    const refused = await writer.write(other, key)
    assert.equal(refused.status, 422, refused.text)
  }
  await erase(root, workspace.path, { ...request, scope: "entries" })
  assert.equal((await writer.write(event, key)).status, 410)
})

test("only administrators erase, and an invalid request says what is wrong", async () => {
  const workspace = await makeWorkspace(service)
  const { path, reader } = workspace
  assert.equal((await reader.post(`${path}/erasures`, request)).status, 403)
  assert.equal((await reader.get(`${path}/erasures`)).status, 403)
  for (const wrong of [{ reason: "" }, { subject: { id: "" } }, { scope: "all" }, { more: 1 }])
    assert.equal((await root.post(`${path}/erasures`, { ...request, ...wrong })).status, 400)
  const nobody = await erase(root, workspace.path, request)
  assert.deepEqual([nobody.entries, nobody.fields], [0, 0])
  const { erasures } = (await root.get(`${path}/erasures`)).json()
  assert.deepEqual(erasures, [nobody])
  const none = await root.get(`${path}/erasures/era_${"0".repeat(36)}`)
  assert.equal(none.status, 404)
})

test("a subject that can be erased can be held, and have a link, and no other can", async () => {
  const { path } = await makeWorkspace(service)
  await root.patch(`${path}/projects/core`, { activityLinks: true })
  for (const [subject, isGood] of [
    [{ id: "u".repeat(1500), types: ["t".repeat(1500)] }, true],
    [{ id: "" }, false],
    [{ id: "usr_1", types: [] }, false],
    [{ id: "usr_1", types: ["user", "user"] }, false],
  ] as const) {
    const replies = await Promise.all([
      root.post(`${path}/holds`, { name: "Case 7", reason: "Lawsuit", subject }),
      root.post(`${path}/erasures`, { subject, reason: "Article 17", dryRun: true }),
      root.post(`${path}/activity/token`, { projectId: "core", subject }),
    ])
    assert.deepEqual(
      replies.map(({ status }) => status),
      isGood ? [201, 200, 201] : [400, 400, 400],
      replies.map(({ text }) => text).join(),
    )
  }
})

test("an operator previews, requests and follows an erasure on the command line", async () => {
  const workspace = await makeWorkspace(service)
  const person = { id: "usr_shell", type: "user", email: "in.the.shell@example.com" }
  const receipts = [await writeEvent(workspace, { actor: person }), await writeEvent(workspace)]
  const run = async (...words: readonly string[]) => {
    const [command = "", ...more] = words
    const ended = await tallystick(
      ["erasures", command, workspace.id, ...more],
      settingsOf(service),
    )
    assert.equal(ended.code, 0, ended.errors)
    return ended
  }
  const asked = [person.id, "--reason", "Article 17", "--type", "user", "--entries"]
  const preview = await run("request", ...asked, "--dry-run")
  assert.equal(preview.output, "")
  assert.match(preview.errors, /3 sealed fields in 1 entry would be erased; nothing was/)
  assert.deepEqual(JSON.parse((await run("list", "--json")).output), [])
  const made = await run("request", ...asked)
  const erasureId = made.output.trim()
  assert.match(erasureId, /^era_/)
  await eventually("the erasure is done", async () => {
    const shown = JSON.parse((await run("show", erasureId)).output)
    return shown.state === "done" && shown.scope === "entries"
  })
  assert.match((await run("list")).output, new RegExp(`^${erasureId} +done +entries +1 +3 `, "m"))
  await expectChain(root, workspace.id, receipts)
  const { code, errors } = await tallystick(
    ["erasures", "show", workspace.id, "era_unknown"],
    settingsOf(service),
  )
  assert.equal(code, 1)
  assert.match(errors, /^tallystick: .*\n$/)
})

test("every receipt and every file of this run is intact", () => service.finish())
