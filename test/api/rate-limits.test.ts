import assert from "node:assert/strict"
import { after, test } from "node:test"
import { goodPassword, join, setUpFirst, setupToken } from "../people.ts"
import { eventFor, makeWorkspace, type Client } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// How often an address may guess credentials, and how much it may read without one.

const service = await startWatched({
  environment: {
    TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "4",
    TALLYSTICK_LIMIT_ANONYMOUS_READS_PER_MINUTE: "20",
    TALLYSTICK_TRUST_PROXY: "127.0.0.1",
  },
})
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
await service.root.patch(`${acme.path}/projects/core`, { receipts: "public" })
const { receipt } = (await service.root.write(eventFor(acme.id))).json()
const path = `${acme.path}/receipts/${receipt}`
await setUpFirst(service)

/** A client whose address a proxy reports. */
const from = (
  address: string,
  client: Client = service.client(),
): ((method: string, path: string, body?: unknown) => Promise<number>) => {
  return async (method, asked, body) => {
    const reply = await client.ask(method, asked, {
      ...(body === undefined ? {} : { body }),
      headers: { "x-forwarded-for": address },
    })
    if (reply.status === 429) {
      assert.equal(reply.json().error, "rate_limited")
      const seconds = Number(reply.headers.get("retry-after"))
      assert.ok(seconds >= 1 && seconds <= 60, `${seconds}`)
    }
    return reply.status
  }
}
const times = async (count: number, act: () => Promise<number>): Promise<readonly number[]> => {
  const statuses: number[] = []
  for (let at = 0; at < count; at++) statuses.push(await act())
  return statuses
}
const of = (status: number, statuses: readonly number[]): number =>
  statuses.filter((one) => one === status).length

test("both rates are shown", async () => {
  await expectRows([
    {
      as: service.root,
      ask: "GET /v1/limits",
      gets: 200,
      shows: { failedLoginsPerMinute: 4, anonymousReadsPerMinute: 20 },
    },
  ])
})

test("an address that guesses any credential is stopped, and a right password does not count", async () => {
  const guesser = from("192.0.2.1")
  const right = { email: "first@example.com", password: goodPassword }
  assert.equal(of(200, await times(6, () => guesser("POST", "/v1/session", right))), 6)
  const guesses = [
    await guesser("POST", "/v1/session", { ...right, password: "wrong horse battery" }),
    await guesser("POST", "/v1/session", { ...right, email: "nobody@example.com" }),
    await guesser("POST", "/v1/setup", { token: "tsx_guess", password: goodPassword }),
    await guesser("POST", "/v1/setup", {
      token: `tsx_${"7".repeat(13)}_${"7".repeat(49)}`,
      password: goodPassword,
    }),
  ]
  assert.deepEqual(guesses, [401, 401, 401, 401])
  assert.equal(
    await guesser("POST", "/v1/session", { ...right, password: "wrong horse battery" }),
    429,
  )
  assert.equal(
    await guesser("POST", "/v1/session", right),
    429,
    "the right one is not told apart any more",
  )
  assert.equal(
    await guesser("POST", "/v1/setup", { token: "tsx_guess", password: goodPassword }),
    429,
  )
  assert.equal(
    await from("192.0.2.2")("POST", "/v1/session", right),
    200,
    "another address is not meant",
  )
})

test("many guesses at once are no more than one after the other", async () => {
  const guesser = from("192.0.2.3")
  const statuses = await Promise.all(
    Array.from({ length: 30 }, () =>
      guesser("POST", "/v1/session", {
        email: "first@example.com",
        password: "wrong horse battery",
      }),
    ),
  )
  assert.deepEqual([of(401, statuses), of(429, statuses)], [4, 26])
})

test("guesses at the old password in a session count too; malformed requests do not", async () => {
  const member = await join(service, acme.path, "viewer", "ada@example.com")
  const own = from("192.0.2.4", member)
  assert.deepEqual(
    await times(3, () => own("POST", "/v1/session/password", { old: "x" })),
    [400, 400, 400],
  )
  const statuses = await times(6, () =>
    own("POST", "/v1/session/password", { old: "wrong horse battery", new: goodPassword }),
  )
  assert.deepEqual(statuses, [401, 401, 401, 401, 429, 429])
})

test("reads without a credential are counted by address, and no others", async () => {
  const reader = from("192.0.2.10")
  const statuses = await times(25, () => reader("GET", path))
  // A token comes back every three seconds, so one more may pass.
  assert.ok(of(200, statuses) >= 20 && of(200, statuses) <= 22, statuses.join(" "))
  assert.ok(of(429, statuses.slice(-3)) >= 2)
  for (const asked of ["/healthz", "/readyz", "/metrics"])
    assert.equal(of(200, await times(30, () => reader("GET", asked))), 30, asked)
  assert.equal(
    of(200, await times(30, () => from("192.0.2.10", acme.reader)("GET", path))),
    30,
    "a key is not counted",
  )
  const member = await join(service, acme.path, "viewer", "reader@example.com")
  assert.equal(
    of(200, await times(30, () => from("192.0.2.10", member)("GET", path))),
    30,
    "nor is a session",
  )
  assert.equal(await from("192.0.2.11")("GET", path), 200)
  assert.equal(
    of(401, await times(30, () => from("192.0.2.12")("GET", acme.path))),
    30,
    "what is refused anyway is not counted",
  )
})

test("a session of another workspace counts as no credential", async () => {
  const others = await makeWorkspace(service)
  const member = await join(service, others.path, "viewer", "other@example.com")
  const statuses = await times(25, () => from("192.0.2.13", member)("GET", path))
  assert.ok(of(200, statuses) >= 20 && of(429, statuses) >= 2, statuses.join(" "))
  const headers = { "x-forwarded-for": "192.0.2.13", cookie: member.cookie }
  const page = async (name: string) => (await fetch(`${service.url}/${name}`, { headers })).status
  assert.equal(await page(`r/${acme.id}/${receipt}`), 429)
  assert.equal(of(200, await times(30, () => page(`a/${acme.id}`))), 30, "it has no content yet")
  assert.equal(
    of(200, await times(30, () => from("192.0.2.13", member)("GET", others.path))),
    30,
    "in its own workspace it is a credential",
  )
})

test("an invalid session counts as no credential, and HEAD as GET", async () => {
  const headers = { "x-forwarded-for": "192.0.2.20", cookie: "__Host-ts=nonsense" }
  const statuses = await times(
    25,
    async () => (await service.client().ask("HEAD", path, { headers })).status,
  )
  assert.ok(of(429, statuses) >= 3, statuses.join(" "))
})

test("an IPv6 network of 64 bits counts as one address, and an IPv4 address as one in every notation", async () => {
  const reads = (addresses: readonly string[]) =>
    Promise.all(addresses.map((address) => from(address)("GET", path)))
  const near = await reads(
    Array.from({ length: 40 }, (_, at) => `2001:db8:1:1:${at.toString(16)}::${at}`),
  )
  assert.ok(of(429, near) >= 18, near.join(" "))
  const far = await reads(
    Array.from({ length: 40 }, (_, at) => `2001:db8:1:${(at + 2).toString(16)}::1`),
  )
  assert.equal(of(200, far), 40)
  const mapped = await reads(
    Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? "192.0.2.30" : "::ffff:192.0.2.30")),
  )
  assert.ok(of(429, mapped) >= 18, mapped.join(" "))
})

test("without a trusted proxy, X-Forwarded-For is ignored", async () => {
  await using direct = await startWatched({
    environment: { TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "4" },
  })
  const rows = Array.from({ length: 6 }, (_, at): Row => ({
    as: direct.client(),
    ask: "POST /v1/setup",
    send: { token: setupToken(""), password: goodPassword },
    headers: { "x-forwarded-for": `198.51.100.${at}` },
    gets: "400 invalid_field",
  }))
  await expectRows(rows)
  const guess = (at: number): Row => ({
    as: direct.client(),
    ask: "POST /v1/setup",
    send: { token: "tsx_guess", password: goodPassword },
    headers: { "x-forwarded-for": `198.51.100.${at}` },
    gets: at < 4 ? "401 unauthorized" : "429 rate_limited",
  })
  await expectRows([0, 1, 2, 3, 4, 5].map(guess))
  await direct.finish()
})

test("each key has its own quota for all its requests; the operator and probes have none", async () => {
  await using metered = await startWatched({
    environment: { TALLYSTICK_KEY_REQUESTS_PER_MINUTE: "10" },
  })
  const { id, path: its, writer, reader } = await makeWorkspace(metered)
  const write = async (): Promise<number> => (await writer.write(eventFor(id))).status
  assert.equal(of(202, await times(10, write)), 10)
  const refused = await writer.write(eventFor(id))
  assert.equal(`${refused.status} ${refused.json().error}`, "429 rate_limited")
  const seconds = Number(refused.headers.get("retry-after"))
  assert.ok(seconds >= 1 && seconds <= 6, `${seconds}`)
  assert.equal((await reader.get(its)).status, 200, "another key of the workspace has its own")
  assert.equal(of(200, await times(30, async () => (await metered.root.get(its)).status)), 30)
  assert.equal(
    of(200, await times(30, async () => (await metered.client().get("/healthz")).status)),
    30,
  )
  assert.equal(
    (await metered.root.get(`${its}/events?limit=100`)).json().total,
    10,
    "what was refused is not recorded",
  )
  await metered.finish()
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
