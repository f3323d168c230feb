import assert from "node:assert/strict"
import { createServer as createTlsServer } from "node:https"
import { createServer, type AddressInfo, type Server, type Socket } from "node:net"
import { test } from "node:test"
import { createClient, type ClientOptions, type TallystickError } from "./index.ts"
import { event, failure } from "./test-calls.ts"

// Failing connections with real sockets: the error says whether anything can have been recorded.

async function failureAt(
  baseUrl: string,
  options: Partial<ClientOptions> = {},
): Promise<TallystickError> {
  const client = createClient({ baseUrl, retriesMax: 0, ...options })
  const thrown = await failure(client.events.write(event, { idempotencyKey: "invoice-9-approved" }))
  assert.deepEqual(
    [thrown.code, thrown.status, thrown.idempotencyKey],
    ["network_error", 0, "invoice-9-approved"],
  )
  return thrown
}

async function listen(
  connected: (socket: Socket) => void,
  port = 0,
  host?: string,
): Promise<AsyncDisposable & { readonly port: number }> {
  const server: Server = createServer((socket) => {
    socket.on("error", () => socket.destroy())
    connected(socket)
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const { port: taken } = server.address() as AddressInfo // it listens on a port
  return {
    port: taken,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** A port on which nobody listens any more. */
async function closedPort(): Promise<number> {
  await using server = await listen(() => {})
  return server.port
}

const created = `HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{"keyId":"one"}`

test("without a limit of time, a call waits for its answer", async () => {
  await using server = await listen((socket) => {
    socket.once("data", () => setTimeout(() => socket.end(created), 50))
  })
  const client = createClient({
    baseUrl: `http://127.0.0.1:${server.port}`,
    timeoutMs: Infinity,
    attemptTimeoutMs: Infinity,
  })
  const answer = await client.apiKeys.create("acme", { name: "one", scopes: ["read"] })
  assert.equal(answer.keyId, "one")
})

const begun = "HTTP/1.1 200 OK\r\nX-Ledger-Sequence: 9\r\nContent-Length: 900\r\n\r\n{}\n"

test("an export that its caller gives up ends as aborted", async () => {
  await using server = await listen((socket) => {
    socket.once("data", () => socket.write(begun))
  })
  const client = createClient({ baseUrl: `http://127.0.0.1:${server.port}` })
  const giveUp = new AbortController()
  const { bytes } = await client.events.export("acme", {}, { signal: giveUp.signal })
  await bytes.next()
  giveUp.abort()
  await assert.rejects(bytes.next(), { code: "aborted", outcome: "unknown" })
})

test("a connection that is refused is rejected, with the system's code", async () => {
  const port = await closedPort()
  // A name may have several addresses, each of which is tried.
  for (const host of ["127.0.0.1", "localhost"]) {
    const { outcome, systemCode, detail } = await failureAt(`http://${host}:${port}`)
    assert.deepEqual([outcome, systemCode], ["rejected", "ECONNREFUSED"], host)
    assert.equal(detail, "no connection could be made (ECONNREFUSED)")
  }
})

test("a name without an address is rejected too", async () => {
  const { outcome, systemCode = "" } = await failureAt("http://ledger.invalid")
  assert.equal(outcome, "rejected")
  assert.match(systemCode, /^(ENOTFOUND|EAI_AGAIN)$/)
})

test("an https address of a server that speaks http, and a port that fetch refuses, fail at once", async () => {
  let attempts = 0
  const tried = (baseUrl: string) => {
    const client = createClient({
      baseUrl,
      waitMs: 1,
      fetch: (...request) => {
        attempts += 1
        return fetch(...request)
      },
    })
    return failure(client.events.write(event))
  }
  await using server = await listen((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
  })
  for (const [baseUrl, said] of [
    [`https://127.0.0.1:${server.port}`, /^baseUrl begins with https, and the server does not/],
    ["http://127.0.0.1:6000", /^baseUrl has a port that fetch refuses/],
  ] as const) {
    attempts = 0
    const { code, status, outcome, detail } = await tried(baseUrl)
    assert.deepEqual([code, status, outcome, attempts], ["invalid_field", 0, "rejected", 1])
    assert.match(detail, said)
  }
})

test("a server that speaks another protocol leaves it unknown, with what Node says", async () => {
  await using server = await listen((socket) => {
    socket.once("data", () => socket.end("SSH-2.0-OpenSSH\r\n"))
  })
  const { outcome, detail } = await failureAt(`http://127.0.0.1:${server.port}`)
  assert.equal(outcome, "unknown")
  assert.match(detail, /^the connection failed before the whole answer had arrived \(.*HTTP.*\)$/)
})

test("a connection that is cut, before or within the answer, leaves it unknown", async () => {
  const cuts: Readonly<Record<string, (socket: Socket) => void>> = {
    "as soon as it is there": (socket) => void socket.destroy(),
    "by a reset behind the request": (socket) =>
      void socket.once("data", () => socket.resetAndDestroy()),
    "by an end behind the request": (socket) => void socket.once("data", () => socket.end()),
    "within the headers": (socket) =>
      void socket.once("data", () => socket.end("HTTP/1.1 202 Acc")),
    "within the body": (socket) => void socket.once("data", () => socket.end(created.slice(0, -5))),
  }
  for (const [when, cut] of Object.entries(cuts)) {
    await using server = await listen(cut)
    const { outcome, systemCode, detail } = await failureAt(`http://127.0.0.1:${server.port}`)
    assert.equal(outcome, "unknown", when)
    assert.match(systemCode ?? "", /^(ECONNRESET|EPIPE|UND_ERR_\w+)$/, when)
    assert.equal(
      detail,
      `the connection failed before the whole answer had arrived (${systemCode})`,
    )
  }
})

test("after a cut attempt, a refused connection leaves the outcome unknown", async () => {
  const server = await listen((socket) => void socket.once("data", () => socket.destroy()))
  const { outcome, systemCode } = await failureAt(`http://127.0.0.1:${server.port}`, {
    retriesMax: 1,
    sleep: async (ms, signal) =>
      ms < 1000 && !signal.aborted
        ? await server[Symbol.asyncDispose]()
        : await new Promise(() => {}),
  })
  assert.deepEqual([outcome, systemCode], ["unknown", "ECONNREFUSED"])
})

test("a call that must not run twice is retried if nothing was sent, and runs once", async () => {
  const port = await closedPort()
  const requests: string[] = []
  let server: AsyncDisposable | undefined
  const answer = (socket: Socket) =>
    void socket.once("data", (bytes) => {
      requests.push(bytes.toString().split("\r\n", 1)[0] ?? "")
      socket.end(created)
    })
  const client = createClient({
    baseUrl: `http://127.0.0.1:${port}`,
    retriesMax: 1,
    sleep: async (ms) => {
      if (ms >= 1000) await new Promise(() => {})
      server = await listen(answer, port, "127.0.0.1")
    },
  })
  const { keyId } = await client.apiKeys.create("acme", { name: "one", scopes: ["read"] })
  assert.deepEqual([keyId, requests], ["one", ["POST /v1/workspaces/acme/api-keys HTTP/1.1"]])
  await server?.[Symbol.asyncDispose]()
})

// Of these tests alone: a key, and two certificates for localhost that it signed itself. The second
// was valid on one day of 2020.
const tlsKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgoiWQcs8JZB7AoFiB
jHdvefdU29gzGYJgXUZWenUF7PChRANCAAQn2GS52tBQq4QLZVruJCn1FRwwfvP1
6RiJ8pzhLIQUAWtM0uaf3slE4hnkR6QvigkKFc6gVi0aRSxw42rij8B7
-----END PRIVATE KEY-----`
const unknownAuthority = `-----BEGIN CERTIFICATE-----
MIIBTzCB9qADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWxvY2FsaG9z
dDAgFw0yNjAxMDEwMDAwMDBaGA85OTk5MTIzMTIzNTk1OVowFDESMBAGA1UEAwwJ
bG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJ9hkudrQUKuEC2Va
7iQp9RUcMH7z9ekYifKc4SyEFAFrTNLmn97JROIZ5EekL4oJChXOoFYtGkUscONq
4o/Ae6M3MDUwFAYDVR0RBA0wC4IJbG9jYWxob3N0MB0GA1UdDgQWBBQZ1bY4JBvO
9OWc54DABw+eRdkjNzAKBggqhkjOPQQDAgNIADBFAiEAvwC5lPSimmHzAMpRunIC
kZSPFv5u9XstXtMJWYRwoUMCIAeYcJhCGYS8vwt9Np/fHSXi6xHRRXfMNn7HygYf
21sc
-----END CERTIFICATE-----`
const expired = `-----BEGIN CERTIFICATE-----
MIIBTDCB9KADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWxvY2FsaG9z
dDAeFw0yMDAxMDEwMDAwMDBaFw0yMDAxMDIwMDAwMDBaMBQxEjAQBgNVBAMMCWxv
Y2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCfYZLna0FCrhAtlWu4k
KfUVHDB+8/XpGInynOEshBQBa0zS5p/eyUTiGeRHpC+KCQoVzqBWLRpFLHDjauKP
wHujNzA1MBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAdBgNVHQ4EFgQUGdW2OCQbzvTl
nOeAwAcPnkXZIzcwCgYIKoZIzj0EAwIDRwAwRAIgJ6qtjg3bozVhQSIS6ELLn9IY
1xWL4N8Y1DxcxwAEEXICIDyfvFbK/qVa28q13b2gDP9Fz0nr2g6hpPscav27R2Tf
-----END CERTIFICATE-----`

test("a certificate that is not trusted fails at once, and nothing was recorded", async () => {
  for (const [cert, expectedCode] of [
    [unknownAuthority, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    [expired, "CERT_HAS_EXPIRED"],
  ] as const) {
    let requests = 0
    const server = createTlsServer({ key: tlsKey, cert }, (_, response) => {
      requests += 1
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo // it listens on a port
    let attempts = 0
    const client = createClient({
      baseUrl: `https://127.0.0.1:${port}`,
      waitMs: 1,
      fetch: (...request) => {
        attempts += 1
        return fetch(...request)
      },
    })
    const { code, systemCode, outcome, detail } = await failure(client.events.write(event))
    server.close()
    assert.deepEqual(
      [code, systemCode, outcome, attempts, requests],
      ["untrusted_certificate", expectedCode, "rejected", 1, 0],
    )
    assert.match(
      detail,
      new RegExp(`^the server's certificate is not trusted \\(${expectedCode}: .+\\)$`),
    )
  }
})
