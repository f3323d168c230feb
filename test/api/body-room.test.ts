import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { after, test } from "node:test"
import { expectChain } from "../chain.ts"
import { join } from "../people.ts"
import { eventFor, eventually, makeKey, makeWorkspace, type Client } from "../service.ts"
import { exchange, request } from "./raw.ts"
import { expectRows } from "./table.ts"
import { startWatched } from "./watched.ts"

// How much memory arriving bodies may use, and the share of each client.

const service = await startWatched({
  environment: {
    TALLYSTICK_LIMIT_BODY_BYTES_AT_ONCE_MAX: "400000",
    TALLYSTICK_LIMIT_ANONYMOUS_BODY_BYTES_AT_ONCE_MAX: "16000",
  },
})
after(() => service[Symbol.asyncDispose]())
const [acme, other] = [await makeWorkspace(service), await makeWorkspace(service)]

function headOf(
  by: Client | undefined,
  path: string,
  length: number,
  headers: readonly string[] = [],
): string {
  const bearer =
    by === undefined
      ? []
      : [`Authorization: Bearer ${by.bearer}`, `Idempotency-Key: ${crypto.randomUUID()}`]
  return request(service.url, `POST ${path}`, [
    ...bearer,
    ...headers,
    "Content-Type: application/json",
    `Content-Length: ${length}`,
  ])
}

/** The answer to a request whose body has not been sent. */
async function answerToHead(by: Client | undefined, path: string, length: number): Promise<string> {
  const { replies } = await exchange(service.url, headOf(by, path, length))
  const { status, body, headers } = replies[0] ?? assert.fail("no answer")
  if (status === 503) assert.ok(Number(headers.get("retry-after")) >= 1)
  return `${status} ${JSON.parse(body).error}`
}

/** A request whose body is on its way, and has reserved its memory. */
async function arriving(
  by: Client | undefined,
  path: string,
  length: number,
  headers?: readonly string[],
): Promise<Socket> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.write(
    headOf(by, path, length, headers).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"),
  )
  const [said] = (await once(socket, "data")) as [Buffer]
  assert.match(said.toString(), /^HTTP\/1.1 100 /)
  return socket
}

test("a body that holds a password may have 4 KiB", async () => {
  const large = { email: "x".repeat(5000), password: "x", old: "x", new: "x", token: "x" }
  const member = await service.root.post(`${acme.path}/members`, {
    email: "ada@example.com",
    role: "viewer",
  })
  assert.equal(member.status, 201)
  await expectRows(
    ["/v1/session", "/v1/setup"].map((path) => ({
      as: service.client(),
      ask: `POST ${path}`,
      send: large,
      gets: "413 payload_too_large",
      has: ["4096"],
    })),
  )
})

for (const [about, by, path, length, stranger] of [
  ["a key's workspace", acme.writer, "/v1/events", 100_000, other.writer],
  ["an address without a credential", undefined, "/v1/session", 4000, acme.writer],
] as const) {
  test(`${about} may fill a quarter of the memory for bodies; its next body is refused unread, and others are accepted`, async () => {
    const socket = await arriving(by, path, length)
    assert.equal(await answerToHead(by, path, length), "503 overloaded")
    const elsewhere = await stranger.write(eventFor(stranger === other.writer ? other.id : acme.id))
    assert.equal(elsewhere.status, 202)
    socket.destroy()
    const again = await eventually("the room is given back when the client is gone", async () => {
      const reply = await service.client(by?.bearer).ask("POST", path, {
        body: "x".repeat(length),
        headers: by === undefined ? {} : { "idempotency-key": crypto.randomUUID() },
      })
      return reply.status === 503 ? undefined : reply
    })
    assert.equal(again.json().error, "invalid_json")
  })
}

test("a signed-in person who sends passwords fills the memory of their address, not that of the instance key", async () => {
  const { cookie } = await join(service, acme.path, "viewer", "eve@example.com")
  const browser = [`Cookie: ${cookie}`, "Sec-Fetch-Site: same-origin"]
  const asked = await Promise.allSettled(
    Array.from({ length: 25 }, () => arriving(undefined, "/v1/session/password", 4000, browser)),
  )
  assert.equal((await service.root.write(eventFor(acme.id))).status, 202)
  const sockets = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
  assert.equal(sockets.length, 1, "the others are refused unread")
  sockets[0]?.destroy()
})

test("a key that is revoked while its request is on its way writes nothing", async () => {
  const key = await makeKey(service, acme.id, { scopes: ["write"] })
  const event = JSON.stringify(eventFor(acme.id))
  const socket = await arriving(key, "/v1/events", event.length)
  const [, id] = key.bearer?.split("_") ?? []
  assert.equal((await service.root.delete(`${acme.path}/api-keys/${id}`)).status, 204)
  socket.write(event)
  const [said] = (await once(socket, "data")) as [Buffer]
  assert.match(said.toString(), /^HTTP\/1.1 401 [^]*"token_revoked"/)
  socket.destroy()
})

test("every accepted event is recorded", async () => {
  for (const { id } of [acme, other]) await expectChain(service.root, id)
  await service.finish()
})
