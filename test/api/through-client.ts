import assert from "node:assert/strict"
import { createClient, TallystickError, type Client, type Context } from "@tallystick/client"
import { overHttp, replyOf, sendBy, type Reply, type Sent } from "../service.ts"

// A scenario that imports this sends its requests with @tallystick/client; bytes, headers or
// addresses that no client would send go over plain HTTP. The scenario sees the raw answer. For
// each request this asserts that the client sent it unchanged and read the answer correctly.

type Draft = any // oxlint-disable-line typescript/no-explicit-any -- what a scenario sends, wrong on purpose or not; a service must judge it

type CallBy = (
  client: Client,
  asked: {
    readonly parts: readonly string[]
    readonly query: Draft
    readonly body: Draft
    readonly options: Draft
  },
) => Promise<unknown>

/** What a call returns for a success, if that is neither its JSON nor its text. */
type Made = (reply: Reply, sent: Sent) => unknown

const written: Made = (reply, sent) => ({
  receipt: sent.path.startsWith("/v1/consents") ? reply.json().receipt : reply.json(),
  replayed: reply.headers.get("idempotency-replayed") === "true",
  idempotencyKey: sent.headers?.["idempotency-key"],
})
const batched: Made = (reply, { body }) =>
  reply.json().results.map((result: object, at: number) => ({
    ...result,
    idempotencyKey: (body as Draft).events[at].idempotencyKey,
  }))

const inWorkspace = "/v1/workspaces/{}"
const calls: Readonly<Record<string, readonly [CallBy, Made?]>> = {
  "POST /v1/events": [({ events }, { body, options }) => events.write(body, options), written],
  "POST /v1/events/batch": [
    ({ events }, { body, options }) => events.writeBatch(body.events, options),
    batched,
  ],
  "POST /v1/consents": [
    ({ consents }, { body, options }) => consents.record(body, options),
    written,
  ],
  "POST /v1/consents/withdrawals": [
    ({ consents }, { body, options }) => consents.withdraw(body, options),
    written,
  ],
  [`GET ${inWorkspace}/consents`]: [
    ({ consents }, { parts: [id = ""], query }) => consents.state(id, query),
  ],
  [`GET ${inWorkspace}/consents/summary`]: [
    ({ consents }, { parts: [id = ""], query }) => consents.summary(id, query),
  ],
  [`GET ${inWorkspace}/events`]: [
    ({ events }, { parts: [id = ""], query }) => events.list(id, query),
  ],
  [`GET ${inWorkspace}/activity`]: [
    ({ activity }, { parts: [id = ""], query }) => activity.list(id, query),
  ],
  [`GET ${inWorkspace}/receipts/{}`]: [
    ({ receipts }, { parts: [id = "", receipt = ""] }) => receipts.get(id, receipt),
  ],
  [`GET ${inWorkspace}/receipts/{}/proof`]: [
    ({ receipts }, { parts: [id = "", receipt = ""] }) => receipts.proof(id, receipt),
  ],
  [`GET ${inWorkspace}/tlog/checkpoint`]: [({ log }, { parts: [id = ""] }) => log.checkpoint(id)],
  [`GET ${inWorkspace}/tlog/log.vkey`]: [
    ({ log }, { parts: [id = ""] }) => log.vkey(id),
    ({ text }) => text.trimEnd(),
  ],
  [`GET ${inWorkspace}/tlog/keys`]: [({ log }, { parts: [id = ""] }) => log.keys(id)],
  [`GET ${inWorkspace}/tlog/epochs`]: [({ log }, { parts: [id = ""] }) => log.epochs(id)],
  [`GET ${inWorkspace}/tlog/tile/{}/{}`]: [
    ({ log }, { parts: [id = "", ...tile] }) => log.tile(id, tile.join("/")),
  ],
  [`GET ${inWorkspace}/tlog/tile/{}/{}/{}`]: [
    ({ log }, { parts: [id = "", ...tile] }) => log.tile(id, tile.join("/")),
  ],
  "POST /v1/workspaces": [({ workspaces }, { body }) => workspaces.create(body)],
  "GET /v1/workspaces": [({ workspaces }, { query }) => workspaces.list(query)],
  [`GET ${inWorkspace}`]: [({ workspaces }, { parts: [id = ""] }) => workspaces.get(id)],
  [`PATCH ${inWorkspace}`]: [
    ({ workspaces }, { parts: [id = ""], body }) => workspaces.update(id, body),
  ],
  [`POST ${inWorkspace}/projects`]: [
    ({ projects }, { parts: [id = ""], body }) => projects.create(id, body),
  ],
  [`GET ${inWorkspace}/projects`]: [
    ({ projects }, { parts: [id = ""], query }) => projects.list(id, query),
  ],
  [`GET ${inWorkspace}/projects/{}`]: [
    ({ projects }, { parts: [id = "", project = ""] }) => projects.get(id, project),
  ],
  [`PATCH ${inWorkspace}/projects/{}`]: [
    ({ projects }, { parts: [id = "", project = ""], body }) => projects.update(id, project, body),
  ],
  [`POST ${inWorkspace}/api-keys`]: [
    ({ apiKeys }, { parts: [id = ""], body }) => apiKeys.create(id, body),
  ],
  [`GET ${inWorkspace}/api-keys`]: [
    ({ apiKeys }, { parts: [id = ""], query }) => apiKeys.list(id, query),
  ],
  [`DELETE ${inWorkspace}/api-keys/{}`]: [
    ({ apiKeys }, { parts: [id = "", key = ""] }) => apiKeys.revoke(id, key),
  ],
  "GET /healthz": [({ service }) => service.health()],
  "GET /metrics": [({ service }) => service.metrics()],
  "GET /v1/limits": [({ service }) => service.limits()],
}

/** What takes parameters. */
const listed = /^GET .*\/(workspaces|events|activity|projects|api-keys|consents|summary)$/

const contexts: Readonly<Record<string, keyof Context>> = {
  "x-service-environment": "environment",
  "x-service-server": "server",
  "x-request-id": "requestId",
  "x-session-id": "sessionId",
  "x-trace-id": "traceId",
  traceparent: "traceparent",
}

interface Asked {
  readonly call: CallBy
  readonly made: Made | undefined
  readonly asked: Parameters<CallBy>[1]
}

/** The client call that sends this request; undefined if there is none. */
function askedOf({ method, path, body, headers = {} }: Sent): Asked | undefined {
  const [address = "", query = ""] = path.split("?")
  const known = Object.entries(calls).find(([name]) => patternOf(name).test(`${method} ${address}`))
  const parts = known && patternOf(known[0]).exec(`${method} ${address}`)?.slice(1)
  const options = optionsOf(method, address, headers)
  const asked = [...new URLSearchParams(query)]
  if (
    known === undefined ||
    parts === undefined ||
    options === undefined ||
    !mayBeBody(method, address, body)
  )
    return undefined
  // One spelling of an address, and each parameter once.
  if (!parts.every(isPlain) || new Set(asked.map(([name]) => name)).size < asked.length)
    return undefined
  if (asked.length > 0 && !listed.test(`${method} ${address}`)) return undefined
  return {
    call: known[1][0],
    made: known[1][1],
    asked: { parts, query: Object.fromEntries(asked), body, options },
  }
}

function patternOf(name: string): RegExp {
  return new RegExp(`^${name.replaceAll(".", "\\.").replaceAll("{}", "([^/]+)")}$`)
}

function isPlain(part: string): boolean {
  return /^[\w.-]+$/.test(part) && !/^\.{1,2}$/.test(part)
}

/**
 * A write takes a key and a context; other requests take no headers. The client writes text as
 * UTF-8, where a scenario gives bytes.
 */
function optionsOf(
  method: string,
  address: string,
  headers: NonNullable<Sent["headers"]>,
): object | undefined {
  const { "idempotency-key": idempotencyKey, ...others } = headers
  const isWrite =
    method === "POST" &&
    /^\/v1\/(events|events\/batch|consents|consents\/withdrawals)$/.test(address)
  const takesKey = isWrite && address !== "/v1/events/batch"
  if (
    takesKey !== (idempotencyKey !== undefined) ||
    !Object.entries(others).every(
      ([name, value]) => isWrite && name in contexts && /^[\x20-\x7e]*$/.test(value),
    )
  )
    return undefined
  const context = Object.fromEntries(
    Object.entries(others).map(([name, value]) => [contexts[name], value]),
  )
  return {
    ...(takesKey && { idempotencyKey }),
    ...(Object.keys(context).length > 0 && { context }),
  }
}

/** Only a batch whose events all have keys: otherwise the client would make keys. */
function mayBeBody(method: string, address: string, body: unknown): boolean {
  if (method === "GET" || method === "DELETE") return body === undefined
  if (
    typeof body !== "object" ||
    body === null ||
    Array.isArray(body) ||
    body instanceof Uint8Array
  )
    return false
  if (address !== "/v1/events/batch") return true
  const { events, ...others } = body as { events?: unknown }
  return (
    Array.isArray(events) &&
    Object.keys(others).length === 0 &&
    events.every((event) => typeof event?.idempotencyKey === "string")
  )
}

// Sending -----------------------------------------------------------------------------------------

/**
 * The answer that the client reads. It is the service's, unless misled-client.ts changes it; the
 * scenario always sees the service's.
 */
let readAnswer: (response: Response) => Response | Promise<Response> = (response) => response

export function readAnswersBy(other: typeof readAnswer): void {
  readAnswer = other
}

const counts = { client: 0, refused: 0, raw: 0 }

async function throughClient(sent: Sent): Promise<Reply> {
  const found = askedOf(sent)
  if (found === undefined) {
    counts.raw += 1
    return overHttp(sent)
  }
  const seen: { reply?: Reply } = {}
  const client = createClient({
    baseUrl: sent.url,
    ...(sent.bearer !== undefined && { key: sent.bearer }),
    // The scenario judges the service's answer, so it gets it at once.
    retriesMax: 0,
    async fetch(url, init) {
      assert.equal(seen.reply, undefined, "one call is one request")
      expectSent(sent, new Request(url, init).url, init)
      const response = await fetch(url, init)
      seen.reply = await replyOf(response.clone())
      return readAnswer(response)
    },
  })
  const result = await found.call(client, found.asked).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  const { reply } = seen
  if (reply === undefined)
    throw new Error(`${sent.method} ${sent.path} was not answered`, {
      cause: "error" in result && result.error,
    })
  if ("error" in result) expectError(result.error, reply, sent)
  else expectMade(result.value, reply, found.made?.(reply, sent))
  counts.client += 1
  return reply
}

function expectSent(
  { url, method, path, body, bearer, headers = {} }: Sent,
  address: string,
  init: RequestInit = {},
): void {
  const [asked, made] = [new URL(url + path), new URL(address)]
  assert.deepEqual(
    [init.method, made.pathname, [...made.searchParams]],
    [method, asked.pathname, [...asked.searchParams]],
  )
  const given = new Headers(init.headers)
  assert.equal(given.get("authorization"), bearer === undefined ? null : `Bearer ${bearer}`)
  for (const [name, value] of Object.entries(headers))
    assert.equal(given.get(name), new Headers({ [name]: value }).get(name), name)
  assert.ok(init.body === undefined || typeof init.body === "string", "a body is text")
  assert.deepEqual(init.body && JSON.parse(init.body), body && JSON.parse(JSON.stringify(body)))
}

/** The error of a call has everything in the answer, and the key to repeat it with. */
function expectError(error: unknown, reply: Reply, { path, body, headers: sent = {} }: Sent): void {
  assert.ok(error instanceof TallystickError, String(error))
  const { status, headers } = reply
  assert.ok(status >= 400, `${status} is no error: ${reply.text}`)
  const problem = reply.json<{ error: string; detail: string }>()
  assert.deepEqual(
    [error.code, error.detail, error.status],
    [problem.error, problem.detail, status],
  )
  assert.equal(error.requestId, headers.get("x-request-id"))
  assert.equal(error.idempotencyKey, sent["idempotency-key"])
  const keys = path.startsWith("/v1/events/batch")
    ? (body as Draft).events.map((event: Draft) => event.idempotencyKey)
    : undefined
  assert.deepEqual(error.idempotencyKeys, keys)
  if (status < 500) assert.equal(error.outcome, "rejected")
  counts.refused += 1
}

function expectMade(value: unknown, reply: Reply, made: unknown): void {
  const { status, bytes, text } = reply
  assert.ok(status < 300, `${status} was taken for a success: ${text}`)
  if (made !== undefined) assert.deepEqual(value, made)
  else if (value instanceof Uint8Array) assert.deepEqual(Buffer.from(value), bytes)
  else if (typeof value === "string") assert.equal(value, text)
  else if (value === undefined) assert.equal(text, "")
  else assert.deepEqual(value, reply.json())
}

sendBy(throughClient)

/** The client has made at least so many requests, and so many of these were refused. */
export function expectThroughClient(least: { readonly made: number; readonly refused: number }) {
  assert.ok(
    counts.client >= least.made && counts.refused >= least.refused,
    `the client has made ${JSON.stringify(counts)}`,
  )
}
