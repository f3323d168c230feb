import assert from "node:assert/strict"
import dns, { lookup } from "node:dns/promises"
import { once } from "node:events"
import { METHODS, type OutgoingHttpHeaders } from "node:http"
import { syncBuiltinESMExports } from "node:module"
import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import { networkInterfaces } from "node:os"
import { Readable } from "node:stream"
import { setTimeout as delay } from "node:timers/promises"
import { test } from "node:test"
import { Type } from "./shapes/type.ts"
import { systemClock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { routesOf, type Call, type Endpoint } from "./endpoint.ts"
import type { Incoming } from "./incoming.ts"
import type { Limits } from "../limits.ts"
import { HttpServer } from "./server.ts"
import { testLimits } from "./test-limits.ts"

// These tests write bytes to a socket, because no HTTP client would send such requests.
// test/api/http.test.ts has those that a whole service can be asked.

test("if the end of a request is unclear, its answer says that, whatever else is wrong, and ends the connection", async () => {
  await using house = await openServer()
  const get = (target: string, ...headers: string[]): string =>
    [`GET ${target} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n")
  const identity = "Transfer-Encoding: identity"
  const unknownCoding = "Transfer-Encoding must be chunked"
  for (const [request, detail] of [
    [get("/ok", "Transfer-Encoding: gzip, chunked"), unknownCoding],
    [get("/ok%", identity), unknownCoding],
    [get("/ok", "Content-Type: a/b", "Content-Type: a/b", identity), unknownCoding],
    [get("/ok", "Expect: a-miracle", identity), unknownCoding],
    ["GET /ok% HTTP/2.0\r\nHost: localhost\r\n\r\n", "the request is not HTTP/1.1"],
  ] as const) {
    const { status, json, headers } = await house.send(request)
    assert.deepEqual([status, json], [400, { error: "bad_request", detail }], request)
    assert.equal(headers["connection"], "close", request)
  }
  assert.deepEqual(house.logged, [])
})

test("too many and too large headers get one sentence, whoever refuses them", async () => {
  await using house = await openServer()
  const ask = async (headers: readonly string[]) => {
    const { status, json } = await house.send(
      ["GET /ok HTTP/1.1", "Host: localhost", ...headers, "", ""].join("\r\n"),
    )
    return [status, json] as const
  }
  const many = (count: number) => Array.from({ length: count }, (_, at) => `X-${at}: a`)
  const detail = "the headers have more than 16384 bytes, or are 256 or more"
  for (const headers of [many(255), many(256), many(1500), [`X: ${"a".repeat(17_000)}`]])
    assert.deepEqual(await ask(headers), [431, { error: "headers_too_large", detail }])
  assert.equal((await ask(many(254)))[0], 200)
  assert.deepEqual(house.logged, [])
})

test("on an address that is not loopback, any host name is answered", async () => {
  await using house = await openServer({ listenHost: "0.0.0.0" })
  assert.equal((await house.send("GET /ok HTTP/1.1\r\nHost: anything.example\r\n\r\n")).status, 200)
})

test("every HTTP method is answered on every kind of path, with and without a body, and nothing is logged", async () => {
  await using house = await openServer()
  const bodies = [
    "",
    "Content-Type: application/json\r\nContent-Length: 2\r\n",
    "Content-Type: ;\r\nTransfer-Encoding: chunked\r\n",
  ]
  for (const method of METHODS.filter((known) => known !== "CONNECT")) {
    for (const [at, type] of bodies.entries()) {
      const of = (path: string): Promise<RawAnswer> =>
        house.send(
          `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${type}\r\n${["", "{}", "2\r\n{}\r\n0\r\n\r\n"][at]}`,
        )
      const shown = `${method} with body ${at}`
      const [fixed, param, nothing, unreadable] = await Promise.all(
        ["/echo", "/things/a", "/nothing", "/%"].map(of),
      )
      if (method !== "POST")
        assert.deepEqual([fixed?.status, fixed?.headers["allow"]], [405, "POST"], shown)
      if (method !== "GET" && method !== "HEAD")
        assert.deepEqual([param?.status, param?.headers["allow"]], [405, "GET, HEAD"], shown)
      assert.equal(nothing?.status, 404, shown)
      assert.equal(unreadable?.status, 400, shown)
      for (const answer of [fixed, param, nothing]) assert.ok((answer?.status ?? 500) < 500, shown)
    }
  }
  assert.deepEqual(house.logged, [])
})

test("pipelined answers are computed one by one, as the client reads them, and not after it has left", async () => {
  await using house = await openServer({ limits: { unreadBytesMax: 1_000_000_000 } })
  const ask = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const socket = await house.dial()
  socket.pause()
  socket.write(ask("/large").repeat(3))
  while (house.echoed.length === 0) await house.send(ask("/ok"))
  for (let round = 0; round < 20; round++) await house.send(ask("/ok"))
  assert.equal(house.echoed.length, 1)
  let bytes = 0
  socket.on("data", (chunk) => (bytes += chunk.length)).resume()
  while (bytes < 3 * 64_000_000) await house.send(ask("/ok"))
  assert.equal(house.echoed.length, 3)
  socket.pause()
  socket.write(ask("/large").repeat(3))
  while (house.echoed.length < 4) await house.send(ask("/ok"))
  socket.destroy()
  for (let round = 0; round < 20; round++) await house.send(ask("/ok"))
  assert.equal(house.echoed.length, 4)
})

test("headers have a shorter time limit than bodies", async () => {
  await using house = await openServer({ limits: { headersTimeoutMs: 200, bodyTimeoutMs: 20_000 } })
  const start = performance.now()
  assert.equal((await house.send("GET /ok HTTP/1.1\r\nHost:", { end: false })).status, 408)
  assert.ok(performance.now() - start < 10_000, "as long as a body may take")
})

test("a connection beyond the limit is closed, and the open ones continue", async () => {
  await using house = await openServer({ limits: { connectionsMax: 2 } })
  const [first, second] = [await house.dial(), await house.dial()]
  const third = collect(await house.dial())
  await third.closed
  assert.equal(third.text, "")
  for (const socket of [first, second]) {
    const received = collect(socket)
    socket.end("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await received.closed
    assert.match(received.text, /^HTTP\/1.1 200 /)
  }
  assert.equal(
    (await house.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")).status,
    200,
    "there is room again",
  )
})

const secondLoopback =
  process.platform === "linux" ? {} : { skip: "only Linux answers at 127.0.0.2 unasked" }

test(
  "at the limit, a new connection displaces an idle one of the network that has most",
  secondLoopback,
  async () => {
    await using house = await openServer({ limits: { connectionsMax: 3 } })
    const busy = await house.dial()
    busy.write("GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await until(() => house.held.length === 1)
    const [idle, other] = [collect(await house.dial()), await house.dial()]
    const newcomer = await house.dial("127.0.0.2")
    await idle.closed
    const [held, answer] = [collect(busy), collect(newcomer)]
    for (const release of house.held) release()
    newcomer.end("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await answer.closed
    await until(() => held.text !== "")
    for (const received of [held, answer]) assert.match(received.text, /^HTTP\/1.1 200 /)
    for (const socket of [busy, other]) socket.destroy()
  },
)

test("a client that does not read its answer is disconnected", async () => {
  await using house = await openServer({ limits: { stillTimeoutMs: 300 } })
  const socket = await house.dial()
  socket.write("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
  for (const count of [1, 0]) await until(async () => (await house.connections()) === count)
  socket.destroy()
})

test("a client that waits for its answer is not disconnected, however long that takes", async () => {
  await using house = await openServer({ limits: { stillTimeoutMs: 100 } })
  const socket = await house.dial()
  const received = collect(socket)
  socket.write("GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
  await until(() => house.held.length === 1)
  await delay(400)
  house.held[0]?.()
  await until(() => received.text.startsWith("HTTP/1.1 200 "))
  socket.destroy()
})

test("answers that wait behind one that is not read count as unread", async () => {
  await using house = await openServer()
  const ask =
    "POST /megabyte HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
  const socket = await house.dial()
  socket.pause()
  socket.write(ask.repeat(20))
  for (const count of [1, 0]) await until(async () => (await house.connections()) === count)
  assert.equal(house.echoed.length, 20)
  socket.destroy()
})

test("a stream is sent as it is produced, HEAD sends none of it, and a disconnect ends it", async () => {
  await using house = await openServer()
  const ask = (method: string) =>
    house.send(`${method} /stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`, {
      end: false,
    })
  const got = await ask("GET")
  assert.deepEqual([got.status, got.headers["transfer-encoding"]], [200, "chunked"])
  assert.equal(got.body.match(/x/g)?.length, 5_000_000)
  const head = await ask("HEAD")
  assert.deepEqual([head.status, head.body], [200, ""])
  for (const name of ["content-type", "content-disposition"])
    assert.equal(head.headers[name], got.headers[name])
  const socket = await house.dial()
  socket.pause()
  socket.write("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
  await until(() => house.streams.length === 3)
  socket.destroy()
  await until(() => house.streams.every((stream) => stream.destroyed))
  assert.deepEqual(house.logged, [])
})

test("a stream that fails at once becomes a refusal, one that fails later is cut off, and both are reported", async () => {
  await using house = await openServer()
  const ask = (failsAfter: number) =>
    house.send(
      `GET /stream?failsAfter=${failsAfter} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      { end: false },
    )
  const refused = await ask(0)
  assert.deepEqual([refused.status, refused.json["error"]], [500, "internal_error"])
  assert.equal(refused.headers["content-disposition"], undefined)
  assert.equal(house.logged.length, 1)
  const cut = await ask(2)
  assert.equal(cut.status, 200)
  assert.ok(!cut.text.endsWith("0\r\n\r\n"), "its end was not sent")
  assert.equal(house.logged.length, 2)
})

test("on localhost, the server listens on every address of that name", async () => {
  await using house = await openServer({ bindTo: "localhost" })
  const addresses = await lookup("localhost", { all: true })
  const answered: string[] = []
  for (const { address } of addresses) {
    const socket = connect(house.port, address)
    const received = collect(socket)
    socket.end("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await received.closed
    if (received.text.startsWith("HTTP/1.1 200 ")) answered.push(address)
  }
  // The name of a machine may resolve to an address that it does not have.
  const there = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  const expected = addresses.filter(({ address }) => there.some((own) => own.address === address))
  assert.deepEqual(
    answered,
    expected.map(({ address }) => address),
  )
})

test(
  "on localhost, an address that another program has is not passed over",
  secondLoopback,
  async (t) => {
    const notThere = "198.51.100.1"
    const addresses = ["127.0.0.1", notThere, "127.0.0.2"].map((address) => ({ address }))
    const { mock } = t.mock.method(dns, "lookup", async () => addresses)
    syncBuiltinESMExports()
    t.after(() => {
      mock.restore()
      syncBuiltinESMExports()
    })
    const other = createServer().listen(0, "127.0.0.2")
    await once(other, "listening")
    const { port } = other.address() as AddressInfo // it listens on no pipe
    const opened = openServer({ bindTo: "localhost", port })
    // A client that asks the second address would send its key to that program.
    await assert.rejects(opened, { code: "EADDRINUSE", address: "127.0.0.2" })
    other.close()
    await once(other, "close")
    await using house = await openServer({ bindTo: "localhost", port })
    assert.equal(house.port, port, "nothing is left of the first attempt")
  },
)

test("a client that disconnects within its body leaves nothing behind", async () => {
  await using house = await openServer()
  for (const length of ["Content-Length: 99", "Transfer-Encoding: chunked"]) {
    const socket = await house.dial()
    const arrived = once(house.server.server, "request")
    socket.write(
      `POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
    )
    await arrived
    socket.resetAndDestroy()
  }
  await until(async () => (await house.connections()) === 0)
  assert.equal((await house.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")).status, 200)
  assert.deepEqual([house.echoed, house.logged], [[], []])
})

test("a client that disconnects during a refusal does no harm", async () => {
  await using house = await openServer()
  for (const request of [
    "CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "garbage\r\n\r\n",
    `GET /ok HTTP/1.1\r\nX: ${"x".repeat(99_999)}`,
  ]) {
    const socket = await house.dial()
    const received = collect(socket)
    socket.write(request)
    await until(() => received.text !== "" || socket.closed)
    socket.write("more")
    socket.resetAndDestroy()
  }
  await until(async () => (await house.connections()) === 0)
  assert.equal((await house.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")).status, 200)
})

test("a refusal of garbage after a complete request never looks like that request's answer", async () => {
  await using house = await openServer()
  const whole =
    'POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"ms":80}'
  for (const garbage of [
    "garbage\r\n\r\n",
    "GET /ok HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
  ]) {
    const { text } = await house.send(whole + garbage, { end: false })
    assert.match(text, /^HTTP\/1.1 202 /)
    assert.equal(text.match(/HTTP\/1.1 /g)?.length, 1, text)
  }
  // With another complete request in between: its answer is lost, and again no answer denies what
  // was recorded.
  const { text } = await house.send(`${whole}${whole}garbage\r\n\r\n`, { end: false })
  assert.doesNotMatch(text, /HTTP\/1.1 400/)
})

test("a CONNECT after a complete request is not refused in the place of that request's answer", async () => {
  await using house = await openServer()
  const slow =
    'POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"ms":80}'
  const proxied = "CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n"
  for (const before of [slow, slow + slow]) {
    const { text } = await house.send(before + proxied, { end: false })
    assert.match(text, /^HTTP\/1.1 202 /)
    assert.doesNotMatch(text, /HTTP\/1.1 405/)
  }
})

test("after a request whose end is unclear, nothing of its connection is taken for a request", async () => {
  await using house = await openServer()
  const hidden =
    'POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n"hidden"'
  const slow =
    'POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"ms":80}'
  for (const unclear of [
    "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "POST /echo HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET /ok HTTP/2.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n",
  ])
    for (const before of ["", slow]) {
      const { text } = await house.send(before + unclear + hidden, { end: false })
      const statuses = text.match(/HTTP\/1.1 \d+/g)
      assert.deepEqual(statuses?.at(-1), "HTTP/1.1 400", text)
      assert.equal(statuses.length, before === "" ? 1 : 2, text)
    }
  assert.deepEqual(house.echoed, [])
})

test("a pipelined read whose turn comes after the answer before it was sent is answered", async () => {
  await using house = await openServer({ limits: { requestsPerTurn: 1 } })
  const socket = await house.dial()
  const received = collect(socket)
  socket.write("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3))
  await until(() => received.text.split('{"ok":true}').length === 4)
  socket.destroy()
})

test("a pipelined request beyond the limit is refused in order, nothing after it is read, and there is room again", async () => {
  await using house = await openServer({ limits: { pipelinedOfNetworkMax: 30 } })
  const slow =
    'POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"ms":300}'
  const statusesOf = (text: string): readonly string[] => text.match(/HTTP\/1.1 \d+/g) ?? []
  let arrived = 0
  house.server.server.on("request", () => arrived++)
  for (let round = 0; round < 2; round++) {
    const replies = [house.send(slow.repeat(500), { end: false })]
    await until(() => arrived === 22)
    const other = await house.dial("127.0.0.2")
    const others = collect(other)
    replies.push(house.send(slow.repeat(500), { end: false }))
    await until(() => arrived === 22 + 11)
    other.write(slow.repeat(2))
    const [own, ofAll] = (await Promise.all(replies)).map(({ text }) => text)
    await until(() => statusesOf(others.text).length === 2)
    assert.deepEqual(statusesOf(others.text), accepted(2), "another network has its own limit")
    other.destroy()
    assert.match(own ?? "", /"error":"overloaded"/)
    assert.deepEqual(statusesOf(own ?? ""), [...accepted(21), "HTTP/1.1 503"])
    assert.deepEqual(statusesOf(ofAll ?? ""), [...accepted(10), "HTTP/1.1 503"])
    assert.equal(arrived, 22 + 11 + 2)
    arrived = 0
  }
  const left = await house.dial()
  left.write(slow.repeat(500))
  await until(() => arrived === 22)
  left.destroy()
  await once(left, "close")
  const { text } = await house.send(slow.repeat(30), { end: false })
  assert.deepEqual(statusesOf(text), [...accepted(21), "HTTP/1.1 503"])
})

function accepted(count: number): readonly string[] {
  return Array.from({ length: count }, () => "HTTP/1.1 202")
}

test("refusals of pipelined requests wait for their turn", async () => {
  await using house = await openServer({ limits: { requestsPerTurn: 2 } })
  const known = await house.dial()
  known.write("GET /ok HTTP/1.1\r\nHost: localhost\r\nAuthorization: a-workspace\r\n\r\n")
  await until(() => house.answered.length === 1)
  const made: number[] = []
  house.server.server.prependListener("request", (_request, answer) => {
    const writeHead = answer.writeHead.bind(answer)
    const noted = (status: number, fields: OutgoingHttpHeaders) => {
      made.push(status)
      return writeHead(status, fields)
    }
    Object.assign(answer, { writeHead: noted })
  })
  const strangers: Socket[] = []
  for (let count = 0; count < 5; count++) strangers.push(await house.dial())
  for (const socket of strangers)
    socket.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100))
  known.write("GET /ok HTTP/1.1\r\nHost: localhost\r\nAuthorization: a-workspace\r\n\r\n")
  await until(() => made.length === 111)
  assert.equal(made.filter((status) => status === 503).length, 5)
  const before = made.indexOf(200)
  assert.ok(before <= 20, `${before} answers of strangers were made before`)
  for (const socket of [known, ...strangers]) socket.destroy()
})

test("of a connection that goes on after a request of unclear end, nothing is read, also while an answer is under way", async () => {
  await using house = await openServer()
  const socket = await house.dial()
  const received = collect(socket)
  let arrived = 0
  house.server.server.on("request", ({ url }) => (arrived += url === "/more" ? 1 : 0))
  const more = "GET /more HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100)
  socket.write(
    `GET /held HTTP/1.1\r\nHost: localhost\r\n\r\nGET /ok HTTP/2.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n${more}`,
  )
  await until(() => house.held.length === 1)
  for (let sent = 0; sent < 10; sent++) {
    socket.write(more)
    await house.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
  }
  for (const release of house.held) release()
  await received.closed
  assert.deepEqual(received.text.match(/HTTP\/1.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 400"])
  assert.equal(arrived, 0)
})

test("closing finishes running requests, refuses new ones, and does not wait for idle connections", async () => {
  const house = await openServer()
  const idle = collect(await house.dial())
  const busy = await house.dial()
  const received = collect(busy)
  busy.write("GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
  await until(() => house.held.length === 1)
  const closing = house.server.close()
  const arrived = once(house.server.server, "request")
  busy.write("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
  await arrived
  await idle.closed
  assert.equal(received.text, "", "the request that was at work is not answered yet")
  for (const release of house.held) release()
  await closing
  await received.closed
  const [first = "", second = ""] = received.text.split(/(?=HTTP\/1.1 )/)
  assert.match(first, /^HTTP\/1.1 200 /)
  assert.match(second, /^HTTP\/1.1 503 [^]*"error":"shutting_down"/)
  assert.match(second, /retry-after: \d/i)
  assert.match(second, /\r\nconnection: close\r\n/i)
})

test("requests that do not finish in time are cut off when the server closes", async () => {
  const house = await openServer({ limits: { drainTimeoutMs: 200 } })
  const socket = await house.dial()
  const received = collect(socket)
  socket.write("GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
  await until(() => house.held.length === 1)
  await house.server.close()
  await received.closed
  assert.equal(received.text, "")
})

// With a limit that is not reached, the workspace comes last, so the test can detect a difference.
for (const requestsPerTurn of [2, 1000])
  for (const refused of ["Host: localhost\r\nAuthorization: none", "Host: evil.example"])
    test(`a known workspace does not wait for all requests of unknown clients: ${requestsPerTurn} a turn, ${refused.slice(0, 10)}`, async () => {
      await using house = await openServer({ limits: { requestsPerTurn } })
      const ask = (socket: Socket, headers: string): void =>
        void socket.write(`GET /ok HTTP/1.1\r\n${headers}\r\n\r\n`)
      const ofWorkspace = "Host: localhost\r\nAuthorization: a-workspace"
      const known = await house.dial()
      ask(known, ofWorkspace)
      await until(() => house.answered.length === 1)
      const strangers: Socket[] = []
      for (let count = 0; count < 40; count++) strangers.push(await house.dial())
      for (const socket of strangers) ask(socket, refused)
      ask(known, ofWorkspace)
      await until(() => house.answered.length === 42)
      const before = house.answered.lastIndexOf(200) - 1
      if (requestsPerTurn === 2)
        assert.ok(before <= 8, `${before} requests of strangers came before`)
      else assert.ok(before >= 30, `only ${before} came before`)
      for (const socket of [known, ...strangers]) socket.destroy()
    })

test("an internal error goes to the log and not to the client", async () => {
  await using house = await openServer()
  const answer = await house.send(
    "GET /broken HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: seven\r\n\r\n",
  )
  assert.deepEqual([answer.status, answer.json["error"]], [500, "internal_error"])
  assert.doesNotMatch(answer.text, /hunter2/)
  assert.equal(house.logged.length, 1)
  assert.match(String((house.logged[0] as { err: Error }).err), /hunter2/)
  assert.equal((house.logged[0] as { requestId: string }).requestId, "seven")
})

// The server under test ---------------------------------------------------------------------------

interface House extends AsyncDisposable {
  readonly server: HttpServer
  readonly logged: object[]
  readonly echoed: unknown[]
  readonly streams: readonly Readable[]
  /** The statuses of answers in the order in which they are sent. */
  readonly answered: readonly number[]
  /** Requests for /held that have begun: each is answered when it is called. */
  readonly held: readonly (() => void)[]
  readonly port: number
  /** The number of open connections. */
  connections(): Promise<number>
  dial(from?: string): Promise<Socket>
  /**
   * Sends bytes and returns what came back when the connection closed. `end: false` leaves closing
   * to the server.
   */
  send(bytes: string, options?: { end: boolean }): Promise<RawAnswer>
}

async function openServer(
  options: {
    limits?: Partial<Limits>
    listenHost?: string
    bindTo?: string
    port?: number
  } = {},
): Promise<House> {
  const limits = { ...testLimits, ...options.limits }
  const logged: object[] = []
  const echoed: unknown[] = []
  const streams: Readable[] = []
  const answered: number[] = []
  const held: (() => void)[] = []
  const log = { error: (fields: object) => void logged.push(fields) }
  const rest = { access: undefined, answers: {} }
  const endpoints: Endpoint<undefined, undefined>[] = [
    { ...rest, method: "GET", path: "/ok", handle: () => ({ status: 200, body: '{"ok":true}' }) },
    {
      ...rest,
      method: "GET",
      path: "/things/{id}",
      params: Type.Object({ id: Type.String({ pattern: "^[a-z]{1,9}$" }) }),
      handle: () => ({ status: 200 }),
    },
    {
      ...rest,
      method: "GET",
      path: "/large",
      handle() {
        echoed.push("large")
        return { status: 200, body: `"${"x".repeat(64_000_000)}"` }
      },
    },
    {
      ...rest,
      method: "GET",
      path: "/stream",
      query: Type.Object({ failsAfter: Type.Optional(Type.Integer()) }),
      answerType: "text/plain",
      handle({ query }: Call<undefined, unknown, { readonly failsAfter?: number }>) {
        const body = Readable.from(parts(query.failsAfter))
        streams.push(body)
        return { status: 200, body, headers: { "content-disposition": "attachment" } }
      },
    },
    {
      ...rest,
      method: "GET",
      path: "/broken",
      handle() {
        throw new Error("password hunter2 refused by database")
      },
    },
    {
      ...rest,
      method: "POST",
      path: "/echo",
      body: Type.Unknown(),
      handle({ body }) {
        echoed.push(body)
        return { status: 202, body: {} }
      },
    },
    {
      ...rest,
      method: "POST",
      path: "/megabyte",
      body: Type.Unknown(),
      handle({ body }) {
        echoed.push(body)
        return { status: 202, body: `"${"x".repeat(900_000)}"` }
      },
    },
    {
      ...rest,
      method: "POST",
      path: "/slow",
      body: Type.Object({ ms: Type.Integer() }),
      async handle({ body }: Call<undefined, unknown, unknown, unknown, { readonly ms: number }>) {
        await delay(body.ms, undefined, { ref: false })
        return { status: 202, body: {} }
      },
    },
    {
      ...rest,
      method: "GET",
      path: "/held",
      async handle() {
        await new Promise<void>((resolve) => held.push(resolve))
        return { status: 200, body: {} }
      },
    },
  ]
  const guard = (incoming: Incoming): undefined => {
    const { authorization } = incoming.headers
    if (authorization === "none") throw new LedgerError("unauthorized", "who is it?")
    if (authorization !== undefined) incoming.recognised(authorization)
  }
  const server = new HttpServer(
    {
      limits,
      clock: systemClock,
      log,
      listenHost: options.listenHost ?? "127.0.0.1",
      publicUrl: "https://ledger.example",
      report: (_route, _method, status) => void answered.push(status),
    },
    routesOf(endpoints, { guard, limits }),
  )
  const port = await server.listen(options.bindTo ?? "127.0.0.1", options.port ?? 0)
  const dial = async (from = "127.0.0.1"): Promise<Socket> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: from })
    await new Promise((resolve) => socket.once("connect", resolve))
    return socket
  }
  const send = async (bytes: string, { end } = { end: true }): Promise<RawAnswer> => {
    const socket = await dial()
    const received = collect(socket)
    // Half closed, so that the server closes once it has answered.
    if (end) socket.end(bytes, "latin1")
    else socket.write(bytes, "latin1")
    await received.closed
    return parseAnswer(received.text)
  }
  return {
    server,
    logged,
    echoed,
    streams,
    answered,
    held,
    port,
    connections: () =>
      new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count))),
    dial,
    send,
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** No timeout here, because the machine may be busy. The test runner has one. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(5)
}

async function* parts(failsAfter = Infinity): AsyncGenerator<string> {
  for (let at = 0; at < 50; at++) {
    if (at === failsAfter) throw new Error("the disk does not answer")
    yield "x".repeat(100_000)
  }
}

function collect(socket: Socket): { text: string; closed: Promise<void> } {
  const received = {
    text: "",
    closed: new Promise<void>((resolve) => socket.once("close", () => resolve())),
  }
  socket.setEncoding("utf8")
  socket.on("data", (chunk: string) => (received.text += chunk))
  // The server may reset a connection after its answer if the client still sends.
  socket.on("error", () => {})
  return received
}

interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly json: Readonly<Record<string, unknown>>
  /** All of it. */
  readonly text: string
}

function parseAnswer(text: string): RawAnswer {
  const [head = "", ...rest] = text.split("\r\n\r\n")
  const [line = "", ...lines] = head.split("\r\n")
  const body = rest.join("\r\n\r\n")
  const headers = Object.fromEntries(
    lines.map((header) => [
      header.slice(0, header.indexOf(":")).toLowerCase(),
      header.slice(header.indexOf(":") + 2),
    ]),
  )
  const json = body.startsWith("{")
    ? (JSON.parse(body.slice(0, Number(headers["content-length"]))) as Record<string, unknown>)
    : {}
  return { status: Number(line.split(" ")[1]), headers, body, json, text }
}
