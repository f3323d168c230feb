import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { after, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import {
  createClient,
  verifyPack,
  verifyReceipt,
  type Client,
  type Receipt,
} from "@tallystick/client"
import { failure } from "../../packages/client/src/test-calls.ts"
import { expectChain } from "../chain.ts"
import { startProgram } from "../crash/programs.ts"
import { firstToken, goodPassword, setupToken } from "../people.ts"
import { eventFor, makeWorkspace, type Client as Asking } from "../service.ts"
import { startWatched } from "./watched.ts"
import { flipped } from "../flipped.ts"

// The client against the real program. The client's own tests have bad networks; a server that dies
// is here.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const root = clientOf(service.rootKey)

/** A client whose every answer is watched. */
function clientOf(
  key: string | undefined,
  options: { readonly trustedKeys?: readonly string[] } = {},
): Client {
  return createClient({
    baseUrl: service.url,
    ...(key === undefined ? {} : { key }),
    fetch: fetchBy(service.client()),
    ...options,
  })
}

function fetchBy(asking: Asking): typeof fetch {
  return async (url, { method = "", headers, body } = {}) => {
    const { pathname, search } = new URL(url instanceof Request ? url.url : url)
    const sent = typeof body === "string" ? { body: JSON.parse(body) as unknown } : {}
    const reply = await asking.ask(method, pathname + search, {
      ...sent,
      headers: Object.fromEntries(new Headers(headers)),
    })
    return new Response(reply.status === 204 ? null : new Uint8Array(reply.bytes), {
      status: reply.status,
      headers: [...reply.headers],
    })
  }
}

/** A workspace, and clients with a key for each scope. */
async function makeHouse(project = {}) {
  const id = `ws-${randomUUID().slice(0, 8)}`
  await root.workspaces.create({ id })
  await root.projects.update(id, "core", project)
  const keyOf = async (scope: "write" | "read" | "admin"): Promise<Client> =>
    clientOf((await root.apiKeys.create(id, { name: `to ${scope}`, scopes: [scope] })).key)
  return {
    id,
    writer: await keyOf("write"),
    reader: await keyOf("read"),
    admin: await keyOf("admin"),
  }
}

test("a context in any script is kept as it was given", async () => {
  const { id } = await makeHouse()
  const { key } = await root.apiKeys.create(id, { name: "app", scopes: ["write"] })
  const context = { environment: "produção", server: "веб-1 🙂", sessionId: "plain" }
  // With the real fetch, which takes a header as bytes.
  const client = createClient({ baseUrl: service.url, key, context })
  const { receipt } = await client.events.write(eventFor(id))
  assert.deepEqual(receipt.provenance, { ...context, keyId: receipt.provenance?.keyId })
  const [outcome] = await client.events.writeBatch([eventFor(id)])
  assert.ok(outcome !== undefined && "receipt" in outcome)
  assert.equal(outcome.receipt.provenance?.environment, context.environment)
})

test("an event is written, and its receipt verified without trusting the service", async () => {
  const { id, writer, reader } = await makeHouse()
  const written = await writer.events.write(eventFor(id, { metadata: { amount: 12.5 } }), {
    idempotencyKey: "invoice-9-approved",
  })
  assert.deepEqual(
    [written.receipt.queued, written.replayed, written.idempotencyKey],
    [true, false, "invoice-9-approved"],
  )
  const again = await writer.events.write(eventFor(id, { metadata: { amount: 12.5 } }), {
    idempotencyKey: "invoice-9-approved",
  })
  assert.deepEqual(again, { ...written, replayed: true })

  const { receipt } = written.receipt
  const trustedKeys = [await reader.log.vkey(id)]
  const verdict = await reader.receipts.verify(id, receipt, { trustedKeys })
  assert.equal(verdict.verdict, "genuine")
  assert.equal(verdict.eventHash, written.receipt.eventHash)
  const key = service.client(service.rootKey).bearer
  assert.equal(
    (await clientOf(key, { trustedKeys }).receipts.verify(id, receipt)).verdict,
    "genuine",
  )
  const unsure = await reader.receipts.verify(id, receipt)
  assert.equal(unsure.verdict === "unconfirmed" && unsure.because, "key_not_trusted")

  const answer = await reader.receipts.get(id, receipt)
  const misled = createClient({
    baseUrl: service.url,
    trustedKeys,
    fetch: async () => Response.json(answer),
  })
  assert.equal((await misled.receipts.verify(id, receipt)).verdict, "genuine")
  assert.equal((await misled.receipts.verify("another", receipt)).verdict, "refuted")

  const kept = JSON.stringify(answer)
  assert.equal(verifyReceipt(JSON.parse(kept), { trustedKeys }).verdict, "genuine")
  assert.equal(
    verifyReceipt(JSON.parse(kept.replaceAll("12.5", "12.6")), { trustedKeys }).verdict,
    "refuted",
  )
  assert.match(await reader.receipts.proof(id, receipt), /^c2sp\.org\/tlog-proof@v1\n/)
  const { keys } = await reader.log.keys(id)
  assert.deepEqual(
    [keys[0]?.vkey, (await reader.log.tile(id, "0/000.p/1")).length],
    [trustedKeys[0], 32],
  )
  assert.match(await reader.log.checkpoint(id), /\n— /)
})

test("a batch answers for each of its events", async () => {
  const { id, writer } = await makeHouse()
  const events = [
    eventFor(id),
    { ...eventFor(id, { action: "one" }), idempotencyKey: "a-bad-one-of-a-batch" },
    { ...eventFor(id), idempotencyKey: "a-good-one-of-a-batch" },
  ]
  const outcomes = await writer.events.writeBatch(events)
  assert.deepEqual(
    outcomes.map((outcome) => ("receipt" in outcome ? outcome.receipt.accepted : outcome.error)),
    [true, "invalid_field", true],
  )
  const keys = outcomes.map(({ idempotencyKey }) => idempotencyKey)
  assert.deepEqual(keys.slice(1), ["a-bad-one-of-a-batch", "a-good-one-of-a-batch"])
  const replayed = await writer.events.writeBatch([
    { ...eventFor(id), idempotencyKey: keys[0] ?? "" },
  ])
  assert.deepEqual(replayed[0], { ...outcomes[0], replayed: true })
})

test("a policy is published, read, and agreed to", async () => {
  const { id, writer, reader, admin } = await makeHouse()
  const sections = [{ id: "1", title: "Use", body: "We use it." }]
  const first = await admin.policies.publish(id, { sections })
  await admin.policies.publish(id, {
    sections: [...sections, { id: "2", title: "Retention", body: "A year." }],
    version: 2,
  })
  const taken = await failure(admin.policies.publish(id, { sections, version: 2 }))
  assert.deepEqual([taken.code, taken.status, taken.outcome], ["conflict", 409, "rejected"])
  assert.deepEqual(await reader.policies.get(id, 1), first)
  assert.equal((await reader.policies.get(id, "latest", { projectId: "core" })).sections.length, 2)
  assert.deepEqual(
    (await Array.fromAsync(reader.policies.each(id, { limit: 1 }))).map(({ version }) => version),
    [2, 1],
  )

  const subject = { id: "usr_1", email: "ada@example.com" }
  const { receipt } = await writer.consents.record({
    workspaceId: id,
    subject,
    mode: "explicit",
    policyVersion: 2,
    surface: "form",
  })
  assert.deepEqual(
    [receipt.lane, receipt.policyVersion, receipt.target.id],
    ["policy", 2, "core:2"],
  )

  const { token } = await reader.tokens.forPolicy(id, { version: 1 })
  assert.equal((await clientOf(token).policies.get(id, 1)).sectionHash, first.sectionHash)
  assert.equal((await failure(clientOf(token).policies.get(id, 2))).status, 403)
})

test("written events are found, and pages lead through all of them", async () => {
  const { id, writer, reader } = await makeHouse()
  const actors = Array.from({ length: 7 }, (_, at) => ({ id: `usr_${at}`, type: "user" }))
  for (const actor of actors) await writer.events.write(eventFor(id, { actor }))
  await writer.events.write(eventFor(id, { action: "auth.session.create" }))

  const page = await reader.events.list(id, { query: "action:billing.*", limit: 3 })
  assert.deepEqual([page.returned, page.total, page.hasMore, page.verified], [3, 7, true, true])
  const found = await Array.fromAsync(
    reader.events.each(id, { query: "action:billing.*", limit: 3 }),
  )
  assert.deepEqual(
    found.map(({ actor }) => actor.id),
    actors.map((actor) => actor.id).toReversed(),
  )
  assert.deepEqual(
    (await Array.fromAsync(reader.events.each(id, { lane: "security" }))).map(
      ({ action }) => action,
    ),
    ["auth.session.create"],
  )

  const trustedKeys = [await reader.log.vkey(id)]
  for await (const { proof, disclosures, ...entry } of reader.events.each(id, {
    include: "proof",
    limit: 5,
  })) {
    const verdict = verifyReceipt({ entry, proof, disclosures }, { trustedKeys })
    assert.ok(
      verdict.verdict === "genuine" ||
        (verdict.verdict === "unconfirmed" && verdict.because === "not_sealed"),
      verdict.verdict,
    )
  }
})

test("a person sees their own activity by a token, until it is revoked", async () => {
  const { id, writer, reader, admin } = await makeHouse({ activityLinks: true })
  for (const occurredAt of ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])
    await writer.events.write(eventFor(id, { occurredAt, userVisible: true }))
  await writer.events.write(eventFor(id))
  const minted = await reader.tokens.forActivity(id, {
    projectId: "core",
    subject: "usr_1",
    expiresInSeconds: 600,
  })
  const person = clientOf(minted.token)
  assert.equal((await person.activity.list(id)).subject, "usr_1")
  assert.deepEqual(
    (await Array.fromAsync(person.activity.each(id, { limit: 1 }))).map(
      ({ occurredAt }) => occurredAt,
    ),
    ["2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"],
  )
  assert.equal((await failure(person.events.list(id))).code, "insufficient_scope")

  const [listed] = await Array.fromAsync(admin.tokens.each(id))
  assert.deepEqual([listed?.tokenId, listed?.state], [minted.tokenId, "live"])
  await admin.tokens.revoke(id, minted.tokenId)
  assert.equal((await failure(person.activity.list(id))).code, "token_revoked")
})

test("an evidence pack is made, shared by a token, and verified offline", async () => {
  const { id, writer, reader } = await makeHouse()
  const { receipt } = (await writer.events.write(eventFor(id))).receipt
  const pack = await reader.packs.create(id, { title: "For the auditor", receiptIds: [receipt] })
  assert.deepEqual(await reader.packs.get(id, pack.packId), pack)
  assert.deepEqual(await Array.fromAsync(reader.packs.each(id)), [pack])
  const trustedKeys = [await reader.log.vkey(id)]
  const verdict = await reader.packs.verify(id, pack.packId, { trustedKeys })
  assert.deepEqual(
    [verdict.verdict, verdict.packHash, verdict.entries?.length],
    ["genuine", pack.packHash, 1],
  )
  const other = await reader.packs.create(id, { title: "Another", receiptIds: [receipt] })
  const misled = createClient({
    baseUrl: service.url,
    fetch: async () => new Response(new Uint8Array(await reader.packs.download(id, other.packId))),
  })
  assert.equal((await misled.packs.verify(id, pack.packId, { trustedKeys })).verdict, "refuted")

  const auditor = clientOf((await reader.tokens.forPack(id, pack.packId)).token)
  const bytes = await auditor.packs.download(id, pack.packId)
  assert.equal(verifyPack(bytes, { trustedKeys }).verdict, "genuine")
  assert.equal(verifyPack(bytes).verdict, "unconfirmed")
  assert.equal(verifyPack(flipped(bytes, bytes.length >> 1), { trustedKeys }).verdict, "refuted")
  assert.ok("manifest.json" in (await auditor.packs.downloadJson(id, pack.packId)).files)
  assert.equal((await auditor.receipts.get(id, receipt)).verified, true)
  const holder = clientOf((await reader.tokens.forReceipt(id, receipt)).token)
  assert.equal((await holder.receipts.verify(id, receipt, { trustedKeys })).verdict, "genuine")
})

test("an API key lives from its creation to its revocation", async () => {
  const { id, admin } = await makeHouse()
  const { key, keyId } = await admin.apiKeys.create(id, {
    name: "of a program",
    scopes: ["write"],
    projectIds: ["core"],
  })
  const program = clientOf(key)
  await program.events.write(eventFor(id))
  const elsewhere = await failure(program.events.write(eventFor(id, { projectId: "shop" })))
  assert.deepEqual([elsewhere.code, elsewhere.outcome], ["project_forbidden", "rejected"])
  const listed = (await Array.fromAsync(admin.apiKeys.each(id, { limit: 2 }))).find(
    (one) => one.keyId === keyId,
  )
  assert.deepEqual([listed?.name, listed !== undefined && "key" in listed], ["of a program", false])
  await admin.apiKeys.revoke(id, keyId)
  await admin.apiKeys.revoke(id, keyId)
  assert.equal((await failure(program.events.write(eventFor(id)))).status, 401)
})

test("workspaces and projects are made, listed and changed", async () => {
  const { id, admin } = await makeHouse()
  await admin.projects.create(id, { id: "shop", receipts: "public" })
  assert.equal((await admin.projects.get(id, "shop")).receipts, "public")
  assert.deepEqual(
    (await Array.fromAsync(admin.projects.each(id, { limit: 1 }))).map((project) => project.id),
    ["shop", "core"],
  )
  assert.equal((await admin.workspaces.update(id, { hotDays: 30 })).hotDays, 30)
  assert.equal((await admin.workspaces.get(id)).hotDays, 30)
  assert.ok(
    (await Array.fromAsync(root.workspaces.each({ limit: 2 }))).some(
      (workspace) => workspace.id === id,
    ),
  )
})

test("members sign in where cookies are kept, and are invited, changed and removed", async () => {
  const { id, admin } = await makeHouse()
  const browser = (): Client => {
    let cookie: string | undefined
    const send = fetchBy(service.client())
    return createClient({
      baseUrl: service.url,
      async fetch(url, init = {}) {
        const headers = new Headers(init.headers)
        headers.set("sec-fetch-site", "same-origin")
        if (cookie !== undefined) headers.set("cookie", cookie)
        const response = await send(url, { ...init, headers })
        cookie = response.headers.get("set-cookie")?.split(";", 1)[0] ?? cookie
        return response
      },
    })
  }
  const first = browser()
  const { member } = await first.session.setUp({
    token: await firstToken(service),
    email: "ada@example.com",
    password: goodPassword,
  })
  assert.deepEqual([member.instanceAdmin, (await first.session.get()).member], [true, member])

  const invited = await admin.members.invite(id, { email: "grace@example.com", role: "viewer" })
  const second = browser()
  const { workspaces } = await second.session.setUp({
    token: setupToken(invited.setupUrl),
    password: goodPassword,
  })
  assert.deepEqual(workspaces, [{ id, role: "viewer" }])
  assert.equal((await admin.members.update(id, invited.member.id, { role: "admin" })).role, "admin")
  assert.equal((await Array.fromAsync(admin.members.each(id)))[0]?.email, "grace@example.com")
  await second.session.changePassword({ old: goodPassword, new: `${goodPassword}s` })
  await second.session.signOut()
  assert.equal((await failure(second.session.get())).status, 401)
  await second.session.signIn({ email: "grace@example.com", password: `${goodPassword}s` })
  assert.equal((await second.projects.list(id)).projects.length, 1)
  const renewed = await root.members.inviteAgain(id, invited.member.id)
  assert.notEqual(setupToken(renewed.setupUrl), "")
  await admin.members.remove(id, invited.member.id)
  assert.equal(
    (await failure(second.projects.list(id))).status,
    401,
    "the account went with its only membership",
  )
})

test("the service describes itself without a key", async () => {
  const anyone = clientOf(undefined)
  assert.deepEqual(await anyone.service.health(), { status: "ok" })
  const { ready, checks = [] } = await anyone.service.readiness()
  assert.ok(ready && checks.length > 0)
  assert.equal((await anyone.service.limits()).batchEventsMax, 1000)
  assert.match(await anyone.service.metrics(), /^# HELP /)
  assert.ok("openapi" in (await anyone.service.description()))
})

test("an error says what happened, and whether anything was recorded", async () => {
  const { id, writer, reader } = await makeHouse()
  await writer.events.write(eventFor(id), { idempotencyKey: "used-for-one-event" })
  const other = (await makeHouse()).id
  const cases: readonly (readonly [() => Promise<unknown>, number, string])[] = [
    [() => writer.events.write(eventFor(id, { action: "one" })), 400, "invalid_field"],
    [
      () =>
        writer.events.write(eventFor(id, { action: "two.more" }), {
          idempotencyKey: "used-for-one-event",
        }),
      422,
      "idempotency_key_reused",
    ],
    [() => writer.events.list(id), 403, "insufficient_scope"],
    [() => reader.events.list(other), 403, "workspace_forbidden"],
    [() => reader.events.list(id, { limit: 101 }), 400, "invalid_field"],
    [() => reader.packs.get(id, "pack_none"), 404, "not_found"],
    [() => clientOf("tsk_none").workspaces.get(id), 401, "unauthorized"],
  ]
  for (const [call, status, code] of cases) {
    const error = await failure(call())
    assert.deepEqual([error.status, error.code, error.outcome], [status, code, "rejected"])
    assert.match(error.requestId ?? "", /./)
    assert.equal(error.message, `${code}: ${error.detail}`)
  }
})

test("the chains of all that the client wrote are intact", async () => {
  assert.ok(service.minted.size >= 15, `${service.minted.size} receipts`)
  await service.finish()
  const closed = createClient({ baseUrl: service.url, key: "tsk_none", retriesMax: 1, waitMs: 1 })
  const error = await failure(closed.events.write(eventFor("acme")))
  assert.deepEqual(
    [error.code, error.systemCode, error.status, error.outcome],
    ["network_error", "ECONNREFUSED", 0, "rejected"],
  )
})

test("the client repeats a write whose server was killed before it answered, and it has one entry", async () => {
  await using first = await startProgram()
  const { id, writer } = await makeWorkspace(first)
  let second: ReturnType<typeof startProgram> | undefined
  const attempts: string[] = []
  const client = createClient({
    baseUrl: first.url,
    key: writer.bearer ?? "",
    waitMs: 200,
    waitMaxMs: 400,
    retriesMax: 100,
    async fetch(url, init) {
      const key = new Headers(init?.headers).get("idempotency-key") ?? ""
      try {
        const response = await fetch(url, init)
        attempts.push(`${key} ${response.status}`)
        if (second !== undefined) return response
      } catch (error) {
        attempts.push(`${key} ${error instanceof TypeError ? "no answer" : String(error)}`)
        throw error
      }
      // It was recorded, and the answer was lost with the server.
      await first.end("SIGKILL")
      second = startProgram({ data: first.data })
      throw new TypeError("fetch failed")
    },
  })
  const { receipt, replayed, idempotencyKey } = await client.events.write(eventFor(id))
  assert.equal(replayed, true)
  assert.deepEqual(
    [attempts[0], attempts.at(-1)],
    [`${idempotencyKey} 202`, `${idempotencyKey} 202`],
  )
  assert.ok(
    attempts.length >= 3 &&
      attempts.slice(1, -1).every((one) => one === `${idempotencyKey} no answer`),
    attempts.join(", "),
  )

  assert.ok(second !== undefined)
  await using service = await second
  const reader = createClient({ baseUrl: service.url, key: service.rootKey })
  assert.deepEqual(
    (await Array.fromAsync(reader.events.each(id))).map((entry) => entry.receipt),
    [receipt.receipt],
  )
  await expectChain(service.root, id, [receipt])
})

test("writes continue across a kill, and each has one entry", async () => {
  await using first = await startProgram()
  const { id, writer } = await makeWorkspace(first)
  const client = createClient({
    baseUrl: first.url,
    key: writer.bearer ?? "",
    waitMs: 200,
    waitMaxMs: 400,
    retriesMax: 100,
  })
  const receipts: Receipt[] = []
  const writing = Array.from({ length: 8 }, async () => {
    for (let count = 0; count < 40; count++)
      receipts.push((await client.events.write(eventFor(id))).receipt)
  })
  while (receipts.length < 80) await sleep(1)
  await first.end("SIGKILL")
  assert.ok(receipts.length < 320, "all was written before the kill")
  await using second = await startProgram({ data: first.data })
  await Promise.all(writing)

  const reader = createClient({ baseUrl: second.url, key: second.rootKey })
  const found = await Array.fromAsync(reader.events.each(id, { limit: 100 }))
  assert.equal(found.length, 320)
  assert.deepEqual(
    new Set(found.map(({ receipt }) => receipt)),
    new Set(receipts.map(({ receipt }) => receipt)),
  )
  const ofTheService = await reader.events.list(id, { projectId: "system" })
  assert.equal((await expectChain(second.root, id, receipts)).size, 320 + ofTheService.total)
})
