import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeKey, makeWorkspace, writeEvent } from "../service.ts"
import { exchange, request } from "./raw.ts"
import { startWatched } from "./watched.ts"

// Paths, queries and headers that an access check and a handler could read differently. Sent as
// bytes, because a client would normalize them.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const ours = await makeWorkspace(service)
const theirs = await makeWorkspace(service)
const { receipt } = await writeEvent(theirs)
const reader = await makeKey(service, ours.id, { scopes: ["read"], projectIds: ["core"] })
const { token } = (await ours.reader.post(`${ours.path}/published-policy/token`, {})).json()
const secrets = ["ada@example.com", "usr_1", "inv_9", "evt_", receipt]

const [O, T] = [ours.id, theirs.id]
const paths = [
  `/v1/workspaces/${O}/../${T}/events`,
  `/v1/workspaces/${O}/%2e%2e/${T}/events`,
  `/v1/workspaces/${O}%2f..%2f${T}/events`,
  `/v1/workspaces/${O}/..%2f${T}/events`,
  `/v1/workspaces/${O};/../${T}/events`,
  `/v1/workspaces/./${T}/events`,
  `/v1/workspaces//${T}/events`,
  `//v1/workspaces/${T}/events`,
  `/v1/workspaces/${T}%00/events`,
  `/v1/workspaces/${T}%20/events`,
  `/v1/workspaces/${T.toUpperCase()}/events`,
  `/v1/workspaces/%77${T.slice(1)}/events`,
  `/v1/workspaces/${O}/events?workspaceId=${T}`,
  `/v1/workspaces/${O}/events?projectId=core&projectId=all`,
  `/v1/workspaces/${O}/events?projectId=core%00all`,
  `/v1/workspaces/${O}/events?projectId[]=all`,
  `/v1/workspaces/${O}/events?projectId=core&includeSystem=true`,
  `/v1/workspaces/${O}/events?projectId=system`,
  `/v1/workspaces/${O}/events?token=${token}`,
  `/v1/workspaces/${O}/receipts/${receipt}`,
  `/v1/workspaces/${O}/receipts/..%2f..%2f${T}%2freceipts%2f${receipt}`,
  `/v1/workspaces/${O}/tlog/tile/../../../${T}/tlog/checkpoint`,
  `/v1/workspaces/${O}/tlog/tile/..%2f..%2f..%2f${T}%2ftlog%2fcheckpoint`,
  `/v1/workspaces/${O}/tlog/epochs/1%2f..%2f..%2f..%2f${T}/checkpoint`,
]

test("no way of writing a path or a query leads into another workspace, or out of a key's projects", async () => {
  for (const path of paths) {
    const text = request(service.url, `GET ${path}`, [`Authorization: Bearer ${reader.bearer}`])
    const [reply] = (await exchange(service.url, text)).replies
    assert.ok(
      reply !== undefined && [400, 401, 403, 404].includes(reply.status),
      `${path}: ${reply?.status} ${reply?.body}`,
    )
    for (const secret of secrets) assert.ok(!reply.body.includes(secret), `${path} shows ${secret}`)
  }
})

test("no header says which workspace, method, address or host a request is for", async () => {
  const spoofs = [
    "X-Original-URL: /v1/workspaces",
    "X-Rewrite-URL: /v1/workspaces",
    "X-HTTP-Method-Override: DELETE",
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Prefix: /evil",
    "Forwarded: host=evil.example;proto=https;for=127.0.0.1",
    "X-Host: evil.example",
    "X-Real-IP: 127.0.0.1",
    `X-Workspace-Id: ${T}`,
  ]
  const event = JSON.stringify(eventFor(O))
  for (const spoof of spoofs) {
    const headers = [
      `Authorization: Bearer ${ours.writer.bearer}`,
      "Content-Type: application/json",
      `Content-Length: ${event.length}`,
    ]
    const keyed = [...headers, `Idempotency-Key: ${crypto.randomUUID()}`, spoof]
    const [reply] = (
      await exchange(service.url, request(service.url, "POST /v1/events", keyed, event))
    ).replies
    assert.equal(reply?.status, 202, `${spoof}: ${reply?.body}`)
    const { verificationUrl } = JSON.parse(reply?.body ?? "")
    assert.ok(
      verificationUrl.startsWith(`${service.url}${ours.path}/receipts/`),
      `${spoof}: ${verificationUrl}`,
    )
  }
  const asked = [`Authorization: Bearer ${ours.reader.bearer}`, "Host: evil.example"]
  const [reply] = (await exchange(service.url, request(service.url, `GET ${ours.path}`, asked)))
    .replies
  assert.equal(reply?.status, 400)
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
