import assert from "node:assert/strict"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { expectProblem, expectUsualHeaders, startWatched, type Watched } from "../api/watched.ts"
import { expectChain } from "../chain.ts"
import type { Fault } from "../crash/faults.ts"
import { faultyProgram } from "../program.ts"
import { join as invite, setUpFirst } from "../people.ts"
import { eventFor, headersOf, make, makeWorkspace, type Reply, type Workspace } from "../service.ts"
import { createAskers, torn, type Asked, type Credentials, type Existing } from "./bad-requests.ts"
import { createOddities, type Known } from "./bad-values.ts"
import type { Chance } from "../chance.ts"

// Invalid requests to every endpoint, many at once. Each is answered soon, as the description says,
// and every accepted event is found as it was sent, in an intact chain.

export interface BadInputOptions {
  readonly requests: number
  /** 16, if absent. */
  readonly atOnce?: number
  readonly chance: Chance
  /** The seed of the odd values, which are drawn first. */
  readonly seed: number
  readonly fault?: Fault
}

export interface Counts {
  readonly requests: number
  readonly operations: number
  /** Answered with a status below 300. */
  readonly accepted: number
  /** Of each code, how often it was answered. */
  readonly refused: Readonly<Record<string, number>>
  /**
   * Requests with bytes changed on the wire; how many of these could not be answered, because they
   * had no end.
   */
  readonly torn: number
  readonly unanswered: number
  /** Endpoint with the fewest requests, and how many it had. */
  readonly fewest: readonly [operation: string, count: number]
  readonly slowestMs: number
  /** Accepted events that were compared with the sent ones. */
  readonly entries: number
}

/** Longer than any wait of the service: 20 s for a search, several passwords in turn. */
const withinMs = 60_000

export async function sendBadInput({
  requests,
  atOnce = 16,
  chance,
  seed,
  fault,
}: BadInputOptions): Promise<Counts> {
  const unlimited = {
    TALLYSTICK_LIMIT_ANONYMOUS_READS_PER_MINUTE: "1000000",
    TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "1000000",
  }
  const planted = fault === undefined ? {} : { program: faultyProgram, arguments: [fault] }
  await using service = await startWatched({ environment: unlimited, ...planted })
  const [home, other] = [await makeWorkspace(service), await makeWorkspace(service)]
  const existing = await makeExisting(service, [home, other], seed, chance)
  const askers = createAskers(existing, chance)
  const run = createRun(service, chance)
  let sent = 0
  const ask = async (): Promise<void> => {
    while (sent++ < requests) await run.send(askers.next())
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, ask))
  } catch (cause) {
    // Its last lines say why: a canary must find its own fault.
    await service.end()
    throw new Error(`${String(cause)}\n${service.log().split("\n").slice(-100).join("\n")}`, {
      cause,
    })
  } finally {
    run.close()
  }
  const entries = await expectAccepted(service, home.id, run.events)
  await service.finish()
  const times = askers.operations.map((name) => [name, run.times.get(name) ?? 0] as const)
  const [fewest = ["", 0] as const] = times.toSorted(([, a], [, b]) => a - b)
  const { accepted, torn: changed, unanswered, slowestMs } = run.counts
  return {
    requests: sent - atOnce,
    operations: times.length,
    accepted,
    refused: run.refused,
    torn: changed,
    unanswered,
    fewest,
    slowestMs,
    entries,
  }
}

// What there is -----------------------------------------------------------------------------------

/** Existing things and credentials to make requests of. */
export async function makeExisting(
  service: Watched,
  [home, other]: readonly [Workspace, Workspace],
  seed: number,
  chance: Chance,
): Promise<Existing> {
  const there = [await thingsIn(service, home), await thingsIn(service, other)] as const
  return {
    document: service.described.document,
    known: (isChange) => there[isChange ? 1 : 0],
    credentials: await credentialsOf(service, home),
    odd: createOddities(seed, chance),
  }
}

async function thingsIn(service: Watched, { id, path, writer }: Workspace): Promise<Known> {
  const made = (where: string, body: object) => make(service.root, `${path}/${where}`, body)
  const { receipt } = (await writer.write(eventFor(id))).json<{ receipt: string }>()
  const { packId } = await made("evidence-packs", { title: "Audit", receiptIds: [receipt] })
  await made("published-policy", { sections: [{ id: "purpose", title: "Purpose", body: "Why" }] })
  const { keyId } = await made("api-keys", { name: "spare", scopes: ["read"] })
  const { tokenId } = await made(`receipts/${receipt}/token`, {})
  const { member } = await made("members", { email: "grace@example.com", role: "viewer" })
  const { holdId } = await made("holds", {
    name: "Case 7",
    reason: "a lawsuit",
    receiptIds: [receipt],
  })
  const erasure = { subject: { id: "usr_of_nobody" }, reason: "a request" }
  const erased = await service.root.post(`${path}/erasures`, erasure)
  assert.equal(erased.status, 202, erased.text)
  const ids = {
    receiptId: receipt,
    receiptIds: receipt,
    relatedReceiptIds: receipt,
    packId,
    keyId,
    tokenId,
    memberId: member.id,
    holdId,
    erasureId: erased.json<{ erasureId: string }>().erasureId,
  }
  const known = {
    workspaceId: id,
    projectId: "core",
    projectIds: "core",
    version: "1",
    tile: "entries/000.p/1",
    ...ids,
  }
  let count = 0
  return {
    ...Object.fromEntries(Object.entries(known).map(([name, value]) => [name, () => value])),
    id: () => `made-${id}-${++count}`,
    idempotencyKey: () => `bad-input-${id}-${++count}`,
  }
}

/** By the names that the description's `security` gives them. */
async function credentialsOf(service: Watched, home: Workspace): Promise<Credentials> {
  const bearer = (token: string | undefined): readonly string[] => [
    "Authorization",
    `Bearer ${token}`,
  ]
  const cookie = (value: string): readonly string[] => [
    "Cookie",
    value,
    "Sec-Fetch-Site",
    "same-origin",
  ]
  const token = async (of: string, body: object): Promise<readonly string[]> =>
    bearer(
      (await home.reader.post(`${home.path}/${of}/token`, body)).json<{ token: string }>().token,
    )
  await service.root.patch(`${home.path}/projects/core`, { activityLinks: true })
  const first = await setUpFirst(service)
  const viewer = await invite(service, home.path, "viewer", "ada@example.com")
  const root = bearer(service.root.bearer)
  return {
    "apiKey write": bearer(home.writer.bearer),
    "apiKey read": root,
    "apiKey admin": root,
    "apiKey instance": root,
    session: cookie(first.cookie),
    "session instance": cookie(first.cookie),
    "session admin": cookie(first.cookie),
    "session viewer": cookie(viewer.cookie),
    "scopedToken policy": await token("published-policy", {}),
    "scopedToken activity": await token("activity", { projectId: "core", subject: "usr_1" }),
  }
}

// Sending -----------------------------------------------------------------------------------------

interface Sent {
  readonly receipt: string
  readonly eventHash: string
  readonly previousHash: string
  readonly event: Readonly<Record<string, unknown>>
}

interface Run {
  send(asked: Asked): Promise<void>
  close(): void
  readonly events: readonly Sent[]
  readonly times: ReadonlyMap<string, number>
  readonly refused: Readonly<Record<string, number>>
  readonly counts: {
    readonly accepted: number
    readonly torn: number
    readonly unanswered: number
    readonly slowestMs: number
  }
}

function createRun(service: Watched, chance: Chance): Run {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const counts = { accepted: 0, torn: 0, unanswered: 0, slowestMs: 0 }
  const refused: Record<string, number> = {}
  const times = new Map<string, number>()
  const events: Sent[] = []
  const note = (asked: Asked, reply: Reply): void => {
    if (reply.status < 300) counts.accepted += 1
    else if (reply.status >= 400 && reply.text !== "") {
      const { error } = reply.json<{ error: string }>()
      refused[error] = (refused[error] ?? 0) + 1
    }
    if (reply.status === 202) events.push(...eventsOf(asked, reply))
  }
  return {
    events,
    times,
    refused,
    counts,
    close: () => agent.destroy(),
    async send(asked) {
      times.set(asked.operation, (times.get(asked.operation) ?? 0) + 1)
      const begun = performance.now()
      const reply = asked.isTorn
        ? await exchangeTorn(service.url, asked, chance)
        : await exchange(service.url, agent, asked)
      counts.slowestMs = Math.max(counts.slowestMs, Math.round(performance.now() - begun))
      if (asked.isTorn) counts.torn += 1
      if (reply === undefined) counts.unanswered += 1
      else {
        expectSane(service, asked, reply)
        note(asked, reply)
      }
    },
  }
}

function exchange(
  url: string,
  agent: Agent,
  { method, target, headers, body }: Asked,
): Promise<Reply> {
  const { hostname, port, host } = new URL(url)
  const fields = headers.includes("Host") ? headers : ["Host", host, ...headers]
  return new Promise((resolve, reject) => {
    const what = `${method} ${target.slice(0, 200)} (${headers.join(" ").slice(0, 300)})`
    const asking = request({
      hostname,
      port,
      agent,
      method,
      path: target,
      headers: fields,
      timeout: withinMs,
    })
    let answered = false
    asking.once("timeout", () =>
      asking.destroy(new Error(`${what} was not answered in ${withinMs} ms`)),
    )
    // A request that is refused at its head may still be being sent.
    asking.on(
      "error",
      (cause) => answered || reject(new Error(`${what} was not answered, but cut off`, { cause })),
    )
    asking.once("response", (response) => {
      answered = true
      const chunks: Buffer[] = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("error", (cause) =>
        reject(new Error(`${what} was answered, but cut off`, { cause })),
      )
      response.once("end", () =>
        resolve(replyOf(response.statusCode ?? 0, response.rawHeaders, Buffer.concat(chunks))),
      )
    })
    asking.end(body)
  })
}

/** A damaged request may get no answer, but its connection must end. */
function exchangeTorn(
  url: string,
  { method, target, headers, body }: Asked,
  chance: Chance,
): Promise<Reply | undefined> {
  const { hostname, port, host } = new URL(url)
  const lines = ["Host", host, "Connection", "close", ...headers].flatMap((part, at, all) =>
    at % 2 === 0 ? [`${part}: ${all[at + 1]}`] : [],
  )
  const head = Buffer.from(
    `${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`,
    "latin1",
  )
  const bytes = torn(Buffer.concat([head, body ?? Buffer.alloc(0)]), chance)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.end(bytes))
    const chunks: Buffer[] = []
    const shown = JSON.stringify(bytes.toString("latin1", 0, 2000))
    const late = setTimeout(
      () => socket.destroy(new Error(`the connection stayed open: ${shown}`)),
      withinMs,
    )
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    // A client that is refused while it sends may find the connection closed.
    socket.on("error", (error) =>
      error.message.startsWith("the connection") ? reject(error) : undefined,
    )
    socket.on("close", () => {
      clearTimeout(late)
      const answer = Buffer.concat(chunks)
      const end = answer.indexOf("\r\n\r\n")
      if (end < 0) return resolve(undefined)
      const [line = "", ...fields] = answer.toString("latin1", 0, end).split("\r\n")
      const pairs = fields.flatMap((field) => [
        field.slice(0, field.indexOf(":")),
        field.slice(field.indexOf(":") + 1).trim(),
      ])
      const length = Number(
        new Map(fields.map((field) => field.toLowerCase().split(": ", 2) as [string, string])).get(
          "content-length",
        ) ?? 0,
      )
      resolve(
        replyOf(Number(line.split(" ")[1]), pairs, answer.subarray(end + 4, end + 4 + length)),
      )
    })
  })
}

function replyOf(status: number, rawHeaders: readonly string[], bytes: Buffer): Reply {
  const text = bytes.toString("utf8")
  return { status, headers: headersOf(rawHeaders), bytes, text, json: () => JSON.parse(text) }
}

// Looking -----------------------------------------------------------------------------------------

/** Answers that tell the client that nothing was recorded. */
const definite = new Set(["overloaded", "storage_full", "read_only", "shutting_down"])

function expectSane({ described }: Watched, asked: Asked, reply: Reply): void {
  const { method, target, isAddressKnown, isTorn, body } = asked
  const what = `${method} ${target.slice(0, 500)}`
  const shown = `${what}: ${reply.status} ${reply.text.slice(0, 500)} to ${asked.headers.join(" ").slice(0, 300)} ${body?.toString().slice(0, 2000) ?? ""}`
  const isHead = isTorn && reply.text === ""
  const error = reply.status >= 400 && !isHead ? expectProblem(reply.text, what).error : undefined
  assert.ok(reply.status < 500 || (error !== undefined && definite.has(error)), shown)
  if (isTorn) return
  expectUsualHeaders(`${method} ${target.split("?", 1)[0]}`, reply.status, reply.headers)
  if (!isAddressKnown) return
  assert.deepEqual(
    described.faultsOf(
      method,
      target,
      reply.status,
      reply.headers.get("content-type") ?? "",
      reply.text,
    ),
    [],
    shown,
  )
  if (
    reply.status >= 300 ||
    method === "GET" ||
    method === "DELETE" ||
    body === undefined ||
    body.length === 0 ||
    reply.text.includes('"error":')
  )
    return
  assert.deepEqual(described.requestFaults(method, target, JSON.parse(body.toString())), [], shown)
}

/** These also answer 202, but do not record the event as sent. */
const acceptsOther = new Set([
  "POST /v1/consents",
  "POST /v1/consents/withdrawals",
  "POST /v1/workspaces/{workspaceId}/erasures",
  "POST /v1/workspaces/{workspaceId}/retention/preview",
  "POST /v1/workspaces/{workspaceId}/retention/run",
])

function eventsOf({ body, operation, isTorn }: Asked, reply: Reply): readonly Sent[] {
  // How much of a torn request arrived is unknown.
  if (isTorn || body === undefined || acceptsOther.has(operation)) return []
  // An event that is too large is not read, so the text may not be JSON there.
  if (reply.text.includes('"payload_too_large"')) return []
  const sent = JSON.parse(body.toString())
  if (operation === "POST /v1/events")
    return [{ ...reply.json<Omit<Sent, "event">>(), event: sent }]
  assert.equal(operation, "POST /v1/events/batch", `what 202 means is not known: ${reply.text}`)
  const { results } = reply.json<{
    results: readonly { error?: string; receipt?: Omit<Sent, "event"> }[]
  }>()
  // A key that was used for another request is refused with the receipt of that one.
  return results.flatMap(({ error, receipt }, at) =>
    error !== undefined || receipt === undefined ? [] : [{ ...receipt, event: sent.events[at] }],
  )
}

/**
 * Every event is there as it was sent, and the chain of each workspace that there is now holds.
 * Returns how many events were looked at.
 */
async function expectAccepted(
  service: Watched,
  workspaceId: string,
  events: readonly Sent[],
): Promise<number> {
  const sent = new Map(events.map(({ receipt, event }) => [receipt, event]))
  await expectChain(service.root, workspaceId, events, ({ entry }, _, id) => {
    const {
      metadata = {},
      userVisible = false,
      idempotencyKey: _key,
      ...event
    } = sent.get(id) ?? assert.fail(id)
    const { action, actor, target, occurredAt, source, projectId } = entry
    const found = {
      workspaceId: entry.workspaceId,
      projectId,
      action,
      actor,
      target,
      occurredAt,
      source,
    }
    // A number has one form: -0 is 0.
    assert.deepEqual(
      { ...found, metadata: entry.metadata, userVisible: entry.userVisible },
      JSON.parse(JSON.stringify({ ...event, metadata, userVisible })),
    )
  })
  for (let cursor = ""; ;) {
    const page = (await service.root.get(`/v1/workspaces?limit=100${cursor}`)).json<{
      workspaces: { id: string }[]
      nextCursor: string | null
    }>()
    for (const { id } of page.workspaces)
      if (id !== workspaceId) await expectChain(service.root, id)
    if (page.nextCursor === null) return events.length
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
  }
}
