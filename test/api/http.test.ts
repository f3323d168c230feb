import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { after, test } from "node:test"
import { eventFor, makeWorkspace, startService, writeEvent } from "../service.ts"
import { exchange, request, type RawExchange } from "./raw.ts"
import { expectAnswered, expectRows, type Row } from "./table.ts"
import { expectProblem, expectUsualHeaders, startWatched } from "./watched.ts"

// HTTP itself: any bytes get an answer of ours, and a proxy and the service must read a request
// alike.

const service = await startWatched({
  environment: {
    TALLYSTICK_LIMIT_HEADERS_TIMEOUT_MS: "1500",
    TALLYSTICK_LIMIT_BODY_TIMEOUT_MS: "2500",
  },
})
after(() => service[Symbol.asyncDispose]())
const { url } = service
const acme = await makeWorkspace(service)
await service.root.post(`${acme.path}/projects`, { id: "open", receipts: "public" })
const bearer = `Authorization: Bearer ${acme.writer.bearer}`
const open = await writeEvent(acme, { projectId: "open" })
const openPath: string = open.verificationUrl.slice(url.length)
const body = JSON.stringify(eventFor(acme.id))
const json = ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]
const post = (...headers: readonly string[]): string =>
  request(
    url,
    "POST /v1/events",
    [bearer, `Idempotency-Key: ${crypto.randomUUID()}`, ...headers],
    body,
  )

interface RawRow {
  readonly about: string
  readonly send: string | readonly (string | Buffer)[]
  /** One for each answer on the connection. */
  readonly gets: readonly (number | string)[]
  readonly hasNot?: readonly string[]
}

/**
 * Sends every row on a connection of its own, and checks every answer as the client does with those
 * that it reads.
 */
async function expectRaw(rows: readonly RawRow[]): Promise<readonly RawExchange[]> {
  assert.ok(rows.length > 0)
  const failures: string[] = []
  const exchanges = await Promise.all(
    rows.map(async ({ about, send, gets, hasNot = [] }) => {
      const { text, replies } = await exchange(url, send).catch((error: unknown) => ({
        text: String(error),
        replies: [],
      }))
      try {
        assert.equal(replies.length, gets.length, `${replies.length} answers: ${text}`)
        for (const [at, reply] of replies.entries()) {
          if (reply.status === 100) continue
          expectAnswered(reply.status, reply.body, gets[at] ?? "")
          expectUsualHeaders(about, reply.status, reply.headers)
          if (reply.status >= 400) expectProblem(reply.body, about)
        }
        for (const one of [...hasNot, service.rootKey, acme.writer.bearer ?? ""])
          assert.ok(!text.includes(one), `it has ${one}`)
      } catch (error) {
        failures.push(`${about}: ${error instanceof Error ? error.message : String(error)}`)
      }
      return { text, replies }
    }),
  )
  assert.equal(
    failures.length,
    0,
    `${failures.length} of ${rows.length} rows:\n\n${failures.join("\n\n")}\n`,
  )
  return exchanges
}

test("an Authorization without a bearer is refused, even where none is needed", async () => {
  const sent = (authorization: string): Row => ({
    about: authorization,
    as: service.client(),
    ask: `GET ${openPath}`,
    headers: { authorization },
    gets: "401 unauthorized",
  })
  await expectRows([
    { as: service.client(), ask: `GET ${openPath}`, gets: 200 },
    ...["Basic x", "Basic YTpi", "Bearer", "Bearer a b", acme.reader.bearer ?? "", "x"].map(sent),
  ])
})

test("input that is not HTTP is answered in JSON", async () => {
  const broken = (about: string, send: RawRow["send"]): RawRow => ({
    about,
    send,
    gets: ["400 bad_request"],
  })
  const get = "GET /healthz HTTP/1.1\r\nConnection: close\r\n"
  const host = `Host: ${new URL(url).host}\r\n`
  await expectRaw([
    broken("letters", "hello\r\n\r\n"),
    broken("nothing but line ends and letters", "\r\n\r\nhello\r\n\r\n"),
    broken("TLS", [Buffer.from("16030100a5010000a10303", "hex"), "\r\n\r\n"]),
    broken("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    broken("HTTP/3.7", `GET /healthz HTTP/3.7\r\n${host}\r\n`),
    broken("HTTP/2.0", `GET /healthz HTTP/2.0\r\n${host}Connection: close\r\n\r\n`),
    broken("HTTP/0.9", `GET /healthz HTTP/0.9\r\n${host}Connection: close\r\n\r\n`),
    broken(
      "chunks in HTTP/1.0",
      `POST /v1/events HTTP/1.0\r\n${host}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ),
    broken("no version", `GET /healthz\r\n${host}Connection: close\r\n\r\n`),
    broken("a method that there is not", `FROB /healthz HTTP/1.1\r\n${host}\r\n`),
    broken("a header without a colon", `${get}${host}Nonsense\r\n\r\n`),
    broken("a space before the colon", `${get}${host}Accept : */*\r\n\r\n`),
    broken("a folded header", `${get}${host}X-A: 1\r\n 2\r\n\r\n`),
    broken("NUL in a header", `${get}${host}X-A: 1\x002\r\n\r\n`),
    broken("a bare line end in a header", `${get}${host}X-A: 1\rX-B: 2\r\n\r\n`),
    broken("no Host", `${get}\r\n`),
    broken("an empty Host", `${get}Host: \r\n\r\n`),
    broken("two Hosts", `${get}${host}${host}\r\n`),
    broken("two Hosts that differ", `${get}${host}Host: localhost\r\n\r\n`),
    broken(
      "two lengths",
      request(url, "POST /v1/events", [bearer, "Content-Length: 2", "Content-Length: 3"], "{} "),
    ),
    broken(
      "a length and chunks",
      request(
        url,
        "POST /v1/events",
        [bearer, "Content-Length: 2", "Transfer-Encoding: chunked"],
        "2\r\n{}\r\n0\r\n\r\n",
      ),
    ),
    broken(
      "a length that is none",
      request(url, "POST /v1/events", [bearer, "Content-Length: two"], "{}"),
    ),
    broken(
      "a negative length",
      request(url, "POST /v1/events", [bearer, "Content-Length: -2"], "{}"),
    ),
    broken(
      "another coding",
      request(url, "POST /v1/events", [bearer, "Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"),
    ),
    broken(
      "a coding with a name like chunked",
      request(url, "POST /v1/events", [bearer, "Transfer-Encoding: xchunked"], "0\r\n\r\n"),
    ),
    broken(
      "the same coding twice",
      request(
        url,
        "POST /v1/events",
        [bearer, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        "0\r\n\r\n",
      ),
    ),
    broken("a space in the target", request(url, "GET /healthz x")),
    broken("a letter that must be escaped in the target", request(url, "GET /health\u00e9")),
    broken("a fragment in the target", request(url, "GET /healthz#x")),
    broken("half an escape", request(url, "GET /v1/workspaces/%4")),
    broken("an escape that is none", request(url, "GET /v1/workspaces/%zz")),
    broken("an escape that is not UTF-8", request(url, "GET /v1/workspaces/%ff")),
    broken("an overlong escape", request(url, "GET /v1/workspaces/%c0%af")),
    broken("an escape in the query that is not UTF-8", request(url, "GET /readyz?verbose=%ff")),
    broken("the address of another host", request(url, "GET http://example.com/healthz")),
    broken("no path in the target", request(url, "GET *")),
    broken("bare line ends", "GET / HTTP/1.1\nHost: localhost\n\n"),
    broken("a method in lower case", `get /healthz HTTP/1.1\r\n${host}\r\n`),
  ])
})

test("incomplete and malformed chunks are a bad request, and nothing is recorded", async () => {
  const chunked = (text: string): string =>
    request(
      url,
      "POST /v1/events",
      [
        bearer,
        "Idempotency-Key: a-key-for-broken-chunks",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
      ],
      text,
    )
  const sized = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`
  await expectRaw([
    {
      about: "a size that is none",
      send: chunked(`zz\r\n${body}\r\n0\r\n\r\n`),
      gets: ["400 bad_request"],
    },
    {
      about: "a size too small",
      send: chunked(`5\r\n${body}\r\n0\r\n\r\n`),
      gets: ["400 bad_request"],
    },
    {
      about: "no end of a chunk",
      send: chunked(`${sized.trimEnd()}0\r\n\r\n`),
      gets: ["400 bad_request"],
    },
    {
      about: "a negative size",
      send: chunked(`-5\r\n${body}\r\n0\r\n\r\n`),
      gets: ["400 bad_request"],
    },
    {
      about: "two good chunks",
      send: chunked(
        `1\r\n{\r\n${(Buffer.byteLength(body) - 1).toString(16)}\r\n${body.slice(1)}\r\n0\r\n\r\n`,
      ),
      gets: [202],
    },
  ])
})

test("a header with a single value may not be repeated", async () => {
  const twice = (name: string, value: string, gets = "400 bad_request"): RawRow => ({
    about: name,
    send: post(...json, `${name}: ${value}`, `${name}: ${value}`),
    gets: [gets],
  })
  await expectRaw([
    twice("Authorization", `Bearer ${acme.reader.bearer}`, "400 ambiguous_credentials"),
    {
      about: "Authorization, and the same again",
      send: post(...json, bearer),
      gets: ["400 ambiguous_credentials"],
    },
    {
      about: "Authorization, on what needs none",
      send: request(url, "GET /healthz", [bearer, bearer]),
      gets: ["400 ambiguous_credentials"],
    },
    {
      about: "Idempotency-Key",
      send: post(...json, "Idempotency-Key: another-good-key"),
      gets: ["400 invalid_field"],
    },
    {
      about: "Content-Type",
      send: post(...json, "Content-Type: application/json"),
      gets: ["400 bad_request"],
    },
    twice("Content-Encoding", "gzip"),
    twice("X-Request-Id", "r-1"),
    twice("X-Session-Id", "s-1"),
    twice("X-Trace-Id", "t-1"),
    twice("X-Service-Environment", "e"),
    twice("X-Service-Server", "s"),
    twice("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ...["Accept", "Cookie", "constructor", "__proto__"].map((name) => ({
      about: `${name} may be repeated`,
      send: request(url, "GET /healthz", [`${name}: a=b`, `${name}: c=d`]),
      gets: [200],
    })),
  ])
})

test("too long requests are refused with the limit's name", async () => {
  const get = (target: string, ...headers: string[]): string =>
    request(url, `GET ${target}`, headers)
  await expectRaw([
    { about: "a target of 8 KiB", send: get(`/${"a".repeat(8191)}`), gets: ["404 not_found"] },
    { about: "a target over 8 KiB", send: get(`/${"a".repeat(8192)}`), gets: ["414 uri_too_long"] },
    {
      about: "a query over 8 KiB",
      send: get(`/readyz?verbose=${"a".repeat(8192)}`),
      gets: ["414 uri_too_long"],
    },
    {
      about: "a target over all that is read",
      send: get(`/${"a".repeat(40_000)}`),
      gets: ["414 uri_too_long"],
    },
    {
      about: "headers of 15 KiB",
      send: get("/healthz", `X-Long: ${"a".repeat(15_000)}`),
      gets: [200],
    },
    {
      about: "headers over 16 KiB",
      send: get("/healthz", `X-Long: ${"a".repeat(16_384)}`),
      gets: ["431 headers_too_large"],
    },
    {
      about: "many headers",
      send: get("/healthz", ...Array.from({ length: 253 }, (_, n) => `X-${n}: a`)),
      gets: [200],
    },
    {
      about: "too many headers",
      send: get("/healthz", ...Array.from({ length: 254 }, (_, n) => `X-${n}: a`)),
      gets: ["431 headers_too_large"],
    },
    {
      about: "so many that Node refuses them",
      send: get("/healthz", ...Array.from({ length: 1500 }, (_, n) => `X-${n}: a`)),
      gets: ["431 headers_too_large"],
    },
    {
      about: "headers that are too many and too large",
      send: get("/healthz", ...Array.from({ length: 3000 }, (_, n) => `X-${n}: a`)),
      gets: ["431 headers_too_large"],
    },
    {
      about: "a long name of a header",
      send: get("/healthz", `${"X".repeat(20_000)}: a`),
      gets: ["431 headers_too_large"],
    },
  ])
})

test("a body over the limit is refused, whether it says its length or not, and the connection survives the rest", async () => {
  const long = `{"a":"${"a".repeat(300_000)}"}`
  const key = "Idempotency-Key: a-key-for-what-is-too-long"
  const type = "Content-Type: application/json"
  await expectRaw([
    {
      about: "by length",
      send: request(
        url,
        "POST /v1/events",
        [bearer, key, type, `Content-Length: ${long.length}`],
        long,
      ),
      gets: ["413 payload_too_large"],
    },
    {
      about: "in chunks",
      send: request(
        url,
        "POST /v1/events",
        [bearer, key, type, "Transfer-Encoding: chunked"],
        `${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`,
      ),
      gets: ["413 payload_too_large"],
    },
    {
      about: "by a length that is only said, with Expect",
      send: request(url, "POST /v1/events", [
        bearer,
        key,
        type,
        "Content-Length: 99999999",
        "Expect: 100-continue",
      ]),
      gets: ["413 payload_too_large"],
    },
  ])
})

test("Expect: 100-continue is answered once the request may continue, and other expectations are refused", async () => {
  const expecting = post(...json, "Expect: 100-continue")
  const stranger = request(
    url,
    "POST /v1/events",
    ["Expect: 100-continue", ...json, "Idempotency-Key: a-key-for-a-stranger"],
    body,
  )
  await expectRaw([
    { about: "a writer", send: expecting, gets: [100, 202] },
    { about: "a stranger", send: stranger, gets: ["401 unauthorized"] },
    {
      about: "a client of HTTP/1.0, which knows no interim answers",
      send: expecting.replace("HTTP/1.1", "HTTP/1.0"),
      gets: [202],
    },
    {
      about: "another expectation",
      send: post(...json, "Expect: a-miracle"),
      gets: ["417 expectation_failed"],
    },
  ])
})

test("a condition that nobody would check is refused", async () => {
  const condition = (name: string, value: string, ask: string, gets: Row["gets"]): Row => ({
    about: name,
    as: service.root,
    ask,
    headers: { [name]: value },
    ...(ask.startsWith("GET") ? {} : { send: { name: "Acme" } }),
    gets,
    ...(gets === 200 ? {} : { has: [new RegExp(`${name} is not supported`, "i")] }),
  })
  const change = `PATCH ${acme.path}`
  await expectRows([
    condition("if-match", '"a"', change, "400 bad_request"),
    condition("if-unmodified-since", "Sat, 31 Jan 2026 09:30:00 GMT", change, "400 bad_request"),
    condition("if-match", '"a"', `GET ${acme.path}`, 200),
  ])
})

test("this server is not a proxy, and nothing is upgraded", async () => {
  await expectRaw([
    {
      about: "CONNECT",
      send: "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
      gets: ["405 method_not_allowed"],
    },
    {
      about: "TRACE",
      send: request(url, "TRACE /healthz"),
      gets: ["405 method_not_allowed"],
      hasNot: ["TRACE /healthz"],
    },
    {
      about: "an upgrade",
      send: request(url, "GET /healthz", [
        "Connection: close, Upgrade",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
      ]),
      gets: [200],
    },
    {
      about: "a WebSocket",
      send: request(url, "GET /nothing", ["Connection: close, Upgrade", "Upgrade: websocket"]),
      gets: ["404 not_found"],
    },
  ])
})

test("only names of this machine and the public address are answered on loopback", async () => {
  const { port } = new URL(url)
  const named = (host: string, gets: number | string): RawRow => ({
    about: host,
    send: request(url, "GET /healthz", [`Host: ${host}`]),
    gets: [gets],
  })
  const refused = "400 bad_request"
  const [first] = await expectRaw([
    named("localhost", 200),
    named(`localhost:${port}`, 200),
    named(`LOCALHOST:${port}`, 200),
    named("127.0.0.1", 200),
    named(`127.0.0.1:${Number(port) + 1}`, 200),
    named("[::1]", 200),
    named("tally.localhost", 200),
    ...[
      "example.com",
      "localhost.example.com",
      "127.0.0.1.example.com",
      "notlocalhost",
      "user@localhost",
      "localhost@example.com",
      "localhost/x",
    ].map((host) => named(host, refused)),
    ...[
      "127.0.0.1:80:80",
      "10.0.0.1",
      "0.0.0.0",
      "[::]",
      "localhost, example.com",
      "localhost:port",
      "-",
      "\x7f",
    ].map((host) => named(host, refused)),
    { about: "HTTP/1.0 without a Host", send: "GET /healthz HTTP/1.0\r\n\r\n", gets: [200] },
    { about: "an address for a target", send: request(url, `GET ${url}/healthz`), gets: [200] },
    {
      about: "a letter that need not be escaped",
      send: request(url, "GET /%68ealthz"),
      gets: [200],
    },
    { about: "an empty line before it", send: `\r\n${request(url, "GET /healthz")}`, gets: [200] },
  ])
  assert.ok(first?.text.includes('{"status":"ok"}'))
})

test("addresses in answers are the service's, never taken from the Host header", async () => {
  const send = post(...json, "Host: tally.localhost:1")
  const [{ replies: [reply] } = { replies: [] }] = await expectRaw([
    { about: "another name", send, gets: [202] },
  ])
  assert.ok(JSON.parse(reply?.body ?? "").verificationUrl.startsWith(`${url}/v1/`))
})

test("several requests on one connection are answered in their order", async () => {
  const keep = "Connection: keep-alive"
  const good = request(url, "GET /healthz", [keep])
  const last = request(url, "GET /nothing")
  const refused = (body: string): string =>
    request(
      url,
      "POST /v1/events",
      [
        keep,
        bearer,
        "Idempotency-Key: a-key-for-refused-bodies",
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
      ],
      body,
    )
  await expectRaw([
    { about: "three", send: good + good + last, gets: [200, 200, "404 not_found"] },
    {
      about: "an error between",
      send: good + request(url, "GET /nothing", [keep]) + request(url, "GET /healthz"),
      gets: [200, "404 not_found", 200],
    },
    {
      about: "a body that nobody reads",
      send: request(url, "POST /nothing", [keep, ...json], body) + request(url, "GET /healthz"),
      gets: ["404 not_found", 200],
    },
    {
      about: "bodies that are refused",
      send: refused("{") + refused(" ".repeat(300_000)) + request(url, "GET /healthz"),
      gets: ["400 invalid_json", "413 payload_too_large", 200],
    },
    {
      about: "a body after a refused credential",
      send: request(url, "POST /v1/events", [keep, ...json], body) + request(url, "GET /healthz"),
      gets: ["401 unauthorized", 200],
    },
  ])
})

test("a client too slow with headers or body gets 408 and is disconnected", async () => {
  const slow = async (about: string, beginning: string): Promise<void> => {
    const started = performance.now()
    await expectRaw([{ about, send: beginning, gets: ["408 request_timeout"] }])
    assert.ok(performance.now() - started > 1000, "not before its time")
  }
  await Promise.all([
    slow("a request line without an end", "GET /heal"),
    slow("headers without an end", `GET /healthz HTTP/1.1\r\nHost: ${new URL(url).host}\r\nX-A: `),
    slow(
      "a body without an end",
      post("Content-Type: application/json", `Content-Length: ${body.length + 10}`),
    ),
    slow(
      "chunks without an end",
      request(
        url,
        "POST /v1/events",
        [
          bearer,
          "Idempotency-Key: a-key-for-slowness",
          "Content-Type: application/json",
          "Transfer-Encoding: chunked",
        ],
        "5\r\n{",
      ),
    ),
  ])
})

// Methods and paths -------------------------------------------------------------------------------

const anonymous = service.client()

test("an unknown path and a method that a path does not take are refused", async () => {
  const nothing = (ask: string): Row => ({ as: anonymous, ask, gets: "404 not_found" })
  const takes = (ask: string, allow: string): Row => ({
    as: anonymous,
    ask,
    gets: "405 method_not_allowed",
    answerHeaders: { allow },
  })
  await expectRows([
    ...[
      "GET /v1",
      "GET /v1/",
      "GET /v2/events",
      "GET /V1/limits",
      "GET /nothing",
      "POST /nothing",
      "GET /v1/events/",
      "GET //healthz",
    ].map(nothing),
    ...[
      "GET /healthz/",
      "GET /v1/limits/x",
      "GET /index.html",
      "GET /.env",
      `GET ${acme.path}/`,
      `GET ${acme.path}/nothing`,
    ].map(nothing),
    ...[
      "GET /..%2fhealthz",
      "GET /%68ealthz%00",
      "GET /healthz%20",
      "GET /metrics.json",
      `GET ${openPath}/`,
      `GET ${openPath}/proof/`,
    ].map(nothing),
    takes("GET /v1/events", "POST"),
    takes("DELETE /v1/events", "POST"),
    takes("PUT /v1/events/batch", "POST"),
    takes("GET /v1/consents", "POST"),
    takes("DELETE /v1/workspaces", "GET, HEAD, POST"),
    takes(`POST ${acme.path}`, "GET, HEAD, PATCH"),
    takes(`DELETE ${acme.path}`, "GET, HEAD, PATCH"),
    takes(`PUT ${acme.path}/projects`, "GET, HEAD, POST"),
    takes(`DELETE ${acme.path}/projects/core`, "GET, HEAD, PATCH"),
    takes(`GET ${acme.path}/api-keys/${"0".repeat(13)}`, "DELETE"),
    takes(`DELETE ${openPath}`, "GET, HEAD, OPTIONS"),
    takes(`POST ${openPath}/proof`, "GET, HEAD, OPTIONS"),
    takes(`POST ${acme.path}/tlog/checkpoint`, "GET, HEAD, OPTIONS"),
    takes("POST /healthz", "GET, HEAD"),
    takes("PATCH /openapi.json", "GET, HEAD"),
    takes("OPTIONS /v1/events", "POST"),
    takes(`OPTIONS ${acme.path}/api-keys`, "GET, HEAD, POST"),
  ])
})

test("HEAD is answered wherever GET is, the same but for the body", async () => {
  await acme.reader.get(`${openPath}/proof`)
  const paths = [
    "/healthz",
    "/readyz",
    "/v1/limits",
    "/openapi.json",
    acme.path,
    `${acme.path}/projects`,
    `${acme.path}/projects/core`,
    openPath,
  ]
  for (const path of [
    ...paths,
    `${openPath}/proof`,
    `${acme.path}/tlog/log.vkey`,
    `${acme.path}/tlog/checkpoint`,
    `${acme.path}/nothing`,
    "/v1/workspaces",
  ]) {
    const client = path === "/v1/workspaces" ? service.root : acme.reader
    const [head, get] = [await client.ask("HEAD", path), await client.get(path)]
    assert.deepEqual([head.status, head.text], [get.status, ""], path)
    for (const name of ["content-type", "content-length", "cache-control"])
      assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`)
  }
})

test("pages of any origin may ask for receipts and the log with a bearer, and for nothing else", async () => {
  const origin = { origin: "https://app.example.com" }
  const preflight = {
    ...origin,
    "access-control-request-method": "GET",
    "access-control-request-headers": "authorization",
  }
  const shared = [
    openPath,
    `${openPath}/proof`,
    ...["checkpoint", "log.vkey", "keys", "tile/0/000.p/1", "tile/entries/000"].map(
      (name) => `${acme.path}/tlog/${name}`,
    ),
  ]
  for (const path of shared) {
    const before = await anonymous.ask("OPTIONS", path, { headers: preflight })
    assert.deepEqual([before.status, before.text], [204, ""], path)
    assert.equal(before.headers.get("access-control-allow-origin"), "*")
    assert.match(before.headers.get("access-control-allow-headers") ?? "", /\bauthorization\b/i)
    assert.match(before.headers.get("access-control-allow-methods") ?? "", /\bGET\b/)
    assert.equal(before.headers.get("access-control-allow-credentials"), null)
    for (const client of [acme.reader, anonymous, service.client("a-wrong-one")]) {
      const { headers, status } = await client.get(path, origin)
      assert.equal(headers.get("access-control-allow-origin"), "*", `${path} ${status}`)
      assert.equal(headers.get("access-control-allow-credentials"), null)
    }
  }
  for (const path of [
    "/v1/events",
    "/v1/workspaces",
    acme.path,
    `${acme.path}/projects`,
    `${acme.path}/api-keys`,
    "/metrics",
    "/v1/limits",
  ]) {
    const before = await anonymous.ask("OPTIONS", path, { headers: preflight })
    assert.deepEqual(
      [before.status, before.headers.get("access-control-allow-origin")],
      [405, null],
      path,
    )
    assert.equal(
      (await service.root.get(path, origin)).headers.get("access-control-allow-origin"),
      null,
      path,
    )
  }
})

test("a valid request id is returned, and an invalid one is replaced", async () => {
  const ids = new Set<string | null>()
  for (const [given, back] of [
    ["abc-123", true],
    ["a".repeat(128), true],
    ["00-4bf92f_3577.b3:4/a+b=c@d", true],
    ["a".repeat(129), false],
    ["a b", false],
    ['"a"', false],
    ["<script>", false],
    ["", false],
  ] as const) {
    for (const path of ["/healthz", "/nothing", acme.path]) {
      const id = (await anonymous.get(path, { "x-request-id": given })).headers.get("x-request-id")
      if (back) assert.equal(id, given)
      else {
        assert.notEqual(id, given)
        ids.add(id)
      }
    }
  }
  assert.equal(ids.size, 15, "each of its own")
})

test(
  "where few files may be open, connections leave some to threads that start later",
  { skip: process.platform !== "linux" && "elsewhere the limit is not known" },
  async () => {
    await using few = await startService({
      prefix: ["sh", "-c", 'ulimit -n 300; exec "$0" "$@"'],
    })
    assert.match(few.log(), /only 300 files may be open, so at most 44 connections are/)
    const { path, id, writer, reader } = await makeWorkspace(few)
    await writeEvent({ id, writer })
    const { hostname, port } = new URL(few.url)
    const idle = Array.from({ length: 400 }, () => connect(Number(port), hostname).resume())
    const isOpen = ({ readyState }: (typeof idle)[number]): boolean => readyState === "open"
    await Promise.all(
      idle.map((socket) =>
        once(
          socket.on("error", () => {}),
          "connect",
        ),
      ),
    )
    for (const address of [`${path}/events?query=invoice`, `${path}/events/export?format=csv`]) {
      const reply = await reader.get(address)
      assert.equal(reply.status, 200, reply.text)
    }
    const open = idle.filter(isOpen).length
    assert.ok(open > 40 && open <= 44, `${open} are open`)
    for (const socket of idle) socket.destroy()
  },
)

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
