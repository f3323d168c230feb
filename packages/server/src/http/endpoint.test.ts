import assert from "node:assert/strict"
import { test } from "node:test"
import { Type } from "./shapes/type.ts"
import { systemClock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { pacedBytesMin, type Pace } from "../runtime/pace.ts"
import type { TSchema } from "typebox"
import { routesOf, type Call, type Endpoint } from "./endpoint.ts"
import type { Incoming } from "./incoming.ts"
import { HttpServer } from "./server.ts"
import { checkOf, type Shape } from "./shapes/check.ts"
import { Event, WriteHeaders } from "./shapes/event.ts"
import { ListQuery } from "./shapes/list.ts"
import { testLimits } from "./test-limits.ts"
import { openRequests, type Asked } from "./test-requests.ts"

type Caller = { readonly name: string } | undefined

/** Takes the types of params, query, headers and body from their shapes. */
function endpoint<
  P extends TSchema = Shape<undefined>,
  Q extends TSchema = Shape<undefined>,
  H extends TSchema = Shape<undefined>,
  B extends TSchema = Shape<undefined>,
>(value: Endpoint<"anyone" | "known", Caller, P, Q, H, B>): Endpoint<"anyone" | "known", Caller> {
  return value
}

const event = {
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  actor: { id: "usr_1", type: "user" },
  target: { id: "inv_9", type: "invoice" },
  occurredAt: "2026-01-31T09:30:00Z",
  source: "api",
}

test("a handler gets the parsed request, with the types of the shapes", async () => {
  const calls: Call[] = []
  const house = openHouse([
    endpoint({
      method: "POST",
      path: "/v1/workspaces/{workspaceId}/events",
      access: "known",
      params: Type.Object({ workspaceId: Type.String() }),
      query: ListQuery,
      headers: WriteHeaders,
      body: Event,
      answers: {},
      handle(call) {
        calls.push(call)
        const { caller, params, query, headers, body } = call
        const texts: (string | undefined)[] = [
          caller?.name,
          params.workspaceId,
          headers["idempotency-key"],
          body.actor.email,
          query.cursor,
        ]
        const limit: number = query.limit
        // @ts-expect-error: the request is readonly
        body.action = ""
        // @ts-expect-error: no such member
        assert.equal(body.nothing, undefined)
        return { status: 202, body: { texts, limit } }
      },
    }),
  ])
  const headers = {
    authorization: "Bearer ada",
    "idempotency-key": "order-4711-created",
    "x-session-id": "s1",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "x-service-server": "",
  }
  const answer = await house.ask({
    method: "POST",
    url: "/v1/workspaces/a%20b/events?cursor=c+d%2B&limit=7",
    headers,
    payload: event,
  })
  assert.deepEqual(
    [answer.status, answer.json()],
    [202, { texts: ["ada", "a b", "order-4711-created", null, "c d+"], limit: 7 }],
  )
  assert.deepEqual(calls[0]?.body, { ...event, action: "" })
  assert.equal(calls[0]?.bodyBytes, JSON.stringify(event).length)
  assert.deepEqual(calls[0]?.context, { sessionId: "s1", traceparent: headers.traceparent })
  assert.ok(Math.abs(Date.now() - (calls[0]?.receivedAtMs ?? 0)) < 10_000)
  assert.equal(answer.headers["x-request-id"], calls[0]?.requestId)
})

test("the caller is checked before the request's parameters and body", async () => {
  const seen: Pick<Incoming, "method" | "params" | "query" | "address" | "requestId">[] = []
  const refuse = async (incoming: Incoming): Promise<Caller> => {
    const { method, params, query, address, requestId } = incoming
    seen.push({ method, params, query, address, requestId })
    throw new LedgerError("insufficient_scope", "not with this key")
  }
  const house = openHouse(
    [
      endpoint({
        method: "POST",
        path: "/write/{id}",
        access: "known",
        headers: WriteHeaders,
        body: Event,
        answers: {},
        handle: unreachable,
      }),
    ],
    refuse,
  )
  const sent: Omit<Asked, "url">[] = [
    { payload: event },
    { payload: "{" },
    { headers: { "content-type": "text/plain" }, payload: "x" },
    { payload: "x".repeat(5000) },
    { headers: { "content-length": "99999999" } },
    {},
  ]
  for (const { headers = {}, ...rest } of sent) {
    const answer = await house.ask({
      method: "POST",
      url: "/write/7?x=1&y=%C3%BC",
      headers: { "content-type": "application/json", ...headers },
      ...rest,
    })
    assert.deepEqual([answer.status, answer.json().error], [403, "insufficient_scope"])
  }
  const { method, params, query, address, requestId } = seen[0] ?? assert.fail()
  assert.deepEqual(
    [method, { ...params }, { ...query }, address],
    ["POST", { id: "7" }, { x: "1", y: "ü" }, "127.0.0.1"],
  )
  assert.ok(requestId.length > 0)
})

test("a body must be JSON in UTF-8, without a Content-Encoding", async () => {
  const house = openHouse([
    endpoint({
      method: "POST",
      path: "/must",
      access: "anyone",
      body: Type.Object({}),
      answers: {},
      handle: ({ body }) => ({ status: 200, body }),
    }),
    endpoint({
      method: "POST",
      path: "/may",
      access: "anyone",
      body: Type.Object({}),
      bodyMayBeAbsent: true,
      answers: {},
      handle: ({ body }) => ({ status: 200, body }),
    }),
    endpoint({
      method: "DELETE",
      path: "/none",
      access: "anyone",
      answers: {},
      handle: ({ body }) => ({ status: 200, body: { absent: body === undefined } }),
    }),
  ])
  const post = async (
    type: string | undefined,
    payload: string,
    more: Record<string, string> = {},
  ) => {
    const headers: Record<string, string> =
      type === undefined ? more : { "content-type": type, ...more }
    const answer = await house.ask({ method: "POST", url: "/must", payload, headers })
    return [answer.status, answer.json<{ error?: string }>().error]
  }
  for (const type of [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
    "application/json ; profile=x",
  ]) {
    assert.deepEqual(await post(type, "{}"), [200, undefined], type)
  }
  for (const type of [
    undefined,
    "text/json",
    "application/jsonx",
    "application/vnd.api+json",
    "application/json; charset=latin1",
    "application/json; charset=utf8",
    "multipart/form-data; boundary=x",
    "json",
    "application/json, text/plain",
  ]) {
    assert.deepEqual(await post(type, "{}"), [415, "unsupported_media_type"], String(type))
  }
  for (const coding of ["gzip", "identity", "br"])
    assert.deepEqual(await post("application/json", "{}", { "content-encoding": coding }), [
      415,
      "unsupported_media_type",
    ])
  assert.deepEqual(await post("application/json", ""), [400, "invalid_json"])
  assert.deepEqual(await post(undefined, ""), [400, "invalid_json"])
  assert.deepEqual(await post("application/json", "[]"), [400, "invalid_field"])
  assert.deepEqual(await post("application/json", '{"a":1,"a":1}'), [400, "invalid_json"])
  assert.deepEqual(await post("application/json", `{"a":"${"x".repeat(2000)}"}`), [
    413,
    "payload_too_large",
  ])

  assert.deepEqual((await house.ask({ method: "POST", url: "/may" })).json(), {})
  assert.deepEqual(
    (
      await house.ask({
        method: "POST",
        url: "/may",
        headers: { "content-type": "application/json" },
      })
    ).json(),
    {},
  )
  assert.deepEqual((await house.ask({ method: "POST", url: "/may", payload: { a: 1 } })).json(), {
    a: 1,
  })
  assert.equal(
    (
      await house.ask({
        method: "POST",
        url: "/may",
        payload: "x",
        headers: { "content-type": "text/plain" },
      })
    ).status,
    415,
  )
  assert.deepEqual(
    (
      await house.ask({
        method: "DELETE",
        url: "/none",
        payload: "x",
        headers: { "content-type": "text/plain" },
      })
    ).json(),
    { absent: true },
  )
})

test("other requests run before a large body is parsed and handled, and when the handler yields; a small body is not sliced", async () => {
  const said: string[] = []
  const pace: Pace = { isUp: () => true, next: async () => void said.push("others") }
  const administer = endpoint({
    method: "POST",
    path: "/administer",
    access: "known",
    body: Type.Object({}),
    bodyBytesMax: 2 * pacedBytesMin,
    answers: {},
    async handle(call) {
      said.push("worked with")
      if (call.pace.isUp()) await call.pace.next()
      return { status: 204 }
    },
  })
  const inPieces = {
    ...administer,
    path: "/pieces" as const,
    readInPieces: async () => void said.push("read"),
  }
  const house = openHouse([administer, inPieces], undefined, undefined, pace)
  const saidOf = async (url: string, bytes: number): Promise<readonly string[]> => {
    said.length = 0
    const payload = { names: ["x".repeat(bytes - '{"names":[""]}'.length)] }
    assert.equal((await house.ask({ method: "POST", url, payload })).status, 204)
    return [...said]
  }
  assert.deepEqual(await saidOf("/administer", 1000), ["worked with"])
  for (const bytes of [1001, pacedBytesMin]) {
    assert.deepEqual(await saidOf("/administer", bytes), [
      "others",
      "others",
      "worked with",
      "others",
    ])
    assert.deepEqual(await saidOf("/pieces", bytes), [
      "others",
      "read",
      "others",
      "worked with",
      "others",
    ])
  }
})

test("a query accepts one spelling for each value, and no unknown parameters", async () => {
  const query = Type.Object({
    cursor: Type.Optional(Type.Integer({ minimum: 0 })),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
    all: Type.Boolean({ default: false }),
    lane: Type.Optional(Type.Enum(["data", "policy"])),
    query: Type.Optional(Type.String()),
  })
  const house = openHouse([
    endpoint({
      method: "GET",
      path: "/list",
      access: "anyone",
      query,
      answers: {},
      handle: (call) => ({ status: 200, body: call.query }),
    }),
    endpoint({
      method: "GET",
      path: "/bare",
      access: "anyone",
      answers: {},
      handle: () => ({ status: 200, body: {} }),
    }),
  ])
  const get = async (url: string) => (await house.ask(url)).json<{ detail?: string }>()
  const usual = { limit: 50, all: false }
  const read: [string, object][] = [
    ["", usual],
    ["?", usual],
    ["?&&", usual],
    ["?limit=1&all=true&cursor=0", { limit: 1, all: true, cursor: 0 }],
    ["?cursor=9007199254740991", { ...usual, cursor: 2 ** 53 - 1 }],
    ["?lane=data&query=", { ...usual, lane: "data", query: "" }],
    ["?query", { ...usual, query: "" }],
    ["?query=a=b%26c+d%2B%F0%9F%99%82", { ...usual, query: "a=b&c d+🙂" }],
    ["?query=a%00b", { ...usual, query: "a\0b" }],
    ["?%6cimit=2", { ...usual, limit: 2 }],
  ]
  for (const [search, expected] of read)
    assert.deepEqual(await get(`/list${search}`), expected, search)

  const limit = "limit must be an integer from 1 to 100"
  for (const text of [
    "0",
    "101",
    "-1",
    "+1",
    "1.0",
    "1e1",
    "0x10",
    "%201",
    "1%20",
    "",
    "٣",
    "01",
    "9999999999999999999",
    "null",
  ])
    assert.equal((await get(`/list?limit=${text}`)).detail, limit, text)
  for (const text of [
    "9007199254740992",
    "9007199254740993",
    "123456789012345680000",
    "9".repeat(400),
    "-1",
    "007",
    "1.5",
  ])
    assert.equal(
      (await get(`/list?cursor=${text}`)).detail,
      "cursor must be an integer from 0 to 9007199254740991",
      text,
    )
  for (const text of ["1", "TRUE", "yes", "", "on"])
    assert.equal((await get(`/list?all=${text}`)).detail, "all must be true or false", text)
  assert.equal((await get("/list?lane=all")).detail, "lane must be one of data, policy")
  assert.equal((await get("/list?limt=1")).detail, "limt is not a known query parameter")
  assert.equal((await get("/list?__proto__=1")).detail, "__proto__ is not a known query parameter")
  assert.equal((await get("/list?lane=a%00b")).detail, "lane contains the character U+0000")
  assert.equal((await get("/list?limit=1&limit=1")).detail, "limit must be given only once")
  const many = Array.from({ length: 101 }, (_, at) => `p${at}`).join("&")
  assert.equal((await get(`/list?${many}`)).detail, "the query has more than 100 parameters")
  assert.equal((await get("/list?query=a&q%75ery=b")).detail, "query must be given only once")
  assert.equal((await get("/bare?x=1")).detail, "x is not a known query parameter")
})

test("a malformed id gets the same answer as an unknown one", async () => {
  const params = Type.Object({ id: Type.String({ pattern: "^[a-z]+$" }) })
  const house = openHouse(
    [
      endpoint({
        method: "GET",
        path: "/things/{id}",
        access: "anyone",
        params,
        answers: {},
        handle: ({ params: { id } }) => ({ status: 200, body: { id } }),
      }),
    ],
    ({ headers }) => (headers.authorization === undefined ? undefined : { name: "ada" }),
    (caller) => new LedgerError(caller === undefined ? "unauthorized" : "not_found", "no"),
  )
  assert.deepEqual((await house.ask("/things/abc")).json(), { id: "abc" })
  for (const id of ["7", "a%2Fb", "a%00", "%C3%BC", "a".repeat(3000).toUpperCase()]) {
    assert.equal((await house.ask(`/things/${id}`)).status, 401, id)
    assert.equal(
      (await house.ask({ url: `/things/${id}`, headers: { authorization: "x" } })).status,
      404,
      id,
    )
  }
})

test("a parameter may match the rest of a path", async () => {
  const params = Type.Object({ workspaceId: Type.String(), tile: Type.String() })
  const house = openHouse([
    endpoint({
      method: "GET",
      path: "/{workspaceId}/tile/{tile*}",
      access: "anyone",
      params,
      answers: {},
      handle: (call) => ({ status: 200, body: call.params }),
    }),
  ])
  assert.deepEqual((await house.ask("/acme/tile/0/x001/234.p/5")).json(), {
    workspaceId: "acme",
    tile: "0/x001/234.p/5",
  })
})

test("an answer may be an object, a text, bytes, or empty", async () => {
  const answers = {
    "/object": { status: 201, body: { a: 1 } },
    "/text": { status: 202, body: '{"b" : 2}' },
    "/none": { status: 204 },
    "/public": { status: 200, body: {}, headers: { "cache-control": "no-cache", "x-more": "1" } },
  }
  const bytes = endpoint({
    method: "GET",
    path: "/bytes",
    access: "anyone",
    answers: {},
    answerType: "application/octet-stream",
    handle: () => ({ status: 200, body: Buffer.from([0, 255]) }),
  })
  const others = Object.entries(answers).map(([path, answer]) =>
    endpoint({
      method: "GET",
      path: path as `/${string}`,
      access: "anyone",
      answers: {},
      handle: async () => answer,
    }),
  )
  const house = openHouse([bytes, ...others])
  const get = async (url: string) => {
    const { status, headers, body } = await house.ask(url)
    assert.deepEqual(
      [headers["referrer-policy"], headers["x-content-type-options"]],
      ["no-referrer", "nosniff"],
    )
    return [status, headers["content-type"], headers["cache-control"], body]
  }
  const json = "application/json; charset=utf-8"
  assert.deepEqual(await get("/object"), [201, json, "no-store", '{"a":1}'])
  assert.deepEqual(await get("/text"), [202, json, "no-store", '{"b" : 2}'])
  assert.deepEqual(await get("/none"), [204, undefined, "no-store", ""])
  assert.deepEqual(await get("/public"), [200, json, "no-cache", "{}"])
  assert.deepEqual((await house.ask("/bytes")).bytes, Buffer.from([0, 255]))
  assert.equal((await house.ask("/bytes")).headers["content-type"], "application/octet-stream")
})

test("the context headers of a write must be UTF-8 and not too long", async () => {
  const house = openHouse([
    endpoint({
      method: "GET",
      path: "/",
      access: "anyone",
      answers: {},
      handle: ({ context }) => ({ status: 200, body: context }),
    }),
  ])
  const context = async (headers: Record<string, string>) =>
    (await house.ask({ url: "/", headers })).json<Record<string, string>>()
  const all = {
    "x-service-environment": "prod",
    "x-service-server": "Zürich".replace("ü", "\u00c3\u00bc"),
    "x-request-id": "r 1",
    "x-session-id": "s",
    "x-trace-id": "t",
    traceparent: `00-${"0".repeat(31)}1-${"0".repeat(15)}1-00`,
  }
  assert.deepEqual(await context(all), {
    environment: "prod",
    server: "Zürich",
    requestId: "r 1",
    sessionId: "s",
    traceId: "t",
    traceparent: all.traceparent,
  })
  assert.deepEqual(await context({}), {})
  for (const value of ["x".repeat(101), "\u00ff", "\u00c3", "\u00c2\u0085"]) {
    assert.equal(
      (await context({ "x-trace-id": value }))["detail"],
      "X-Trace-Id must be text in UTF-8, of 100 characters at most and without control characters",
    )
  }
})

test("any unexpected error of a handler is an internal error", async () => {
  const faults: (() => never | Promise<never>)[] = [
    () => {
      throw new Error("sync")
    },
    async () => {
      throw new Error("async")
    },
    () => Promise.reject(new TypeError("rejected")),
  ]
  const endpoints = faults.map((handle, at) =>
    endpoint({ method: "GET", path: `/${at}`, access: "anyone", answers: {}, handle }),
  )
  const cyclic: { self?: object } = {}
  cyclic.self = cyclic
  const house = openHouse([
    ...endpoints,
    endpoint({
      method: "GET",
      path: "/3",
      access: "anyone",
      answers: {},
      handle: () => ({ status: 200, body: cyclic }),
    }),
  ])
  for (const at of [0, 1, 2, 3]) {
    const answer = await house.ask(`/${at}`)
    assert.deepEqual([answer.status, answer.json().error], [500, "internal_error"])
    assert.equal(house.logged.length, at + 1)
  }
})

test("a batch uses the same check for its events", () => {
  assert.throws(() => checkOf(Event)({ ...event, source: "x" }, ["events", 3]), {
    detail: "events[3].source must be one of api, automation, dashboard, system",
  })
})

// The server under test ---------------------------------------------------------------------------

function openHouse(
  endpoints: readonly Endpoint<"anyone" | "known", Caller>[],
  guard: (incoming: Incoming) => Caller | Promise<Caller> = ({ headers }) => ({
    name: headers.authorization?.slice(7) ?? "",
  }),
  unknownResource?: (caller: Caller) => LedgerError,
  pace?: Pace,
): { ask: ReturnType<typeof openRequests>; logged: object[] } {
  const logged: object[] = []
  const log = { error: (fields: object) => void logged.push(fields) }
  const routes = routesOf(endpoints, {
    guard,
    limits: testLimits,
    ...(unknownResource && { unknownResource }),
    ...(pace && { pace: { ...pace, of: () => pace } }),
  })
  const server = new HttpServer(
    {
      limits: testLimits,
      clock: systemClock,
      log,
      listenHost: "127.0.0.1",
      publicUrl: "http://localhost:8080",
    },
    routes,
  )
  return { ask: openRequests(server), logged }
}

function unreachable(): never {
  return assert.fail("the handler was called")
}
