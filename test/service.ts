import { spawn, type ChildProcess } from "node:child_process"
import { randomBytes, randomUUID } from "node:crypto"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import type { AuditEvent, Receipt } from "@tallystick/client"
import { engineSettings } from "./engine.ts"
import { compileCache, program } from "./program.ts"

// An `import` of it reads every name, and for one of them node loads a whole HTTP client.
const { Agent, request } = process.getBuiltinModule("node:http")

// The real program, run as an operator would run it: a process of its own, on a free port, with a
// data folder of its own. Tests talk to it over HTTP and signals only. `await using` ends it and
// removes its folder.

export interface ServiceOptions {
  /**
   * Settings in addition to the data folder, the port and the instance key, or in their place;
   * undefined removes one.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Continues with the data of a service that was ended. Only the first owner removes the data. */
  readonly data?: string
  /** Another program than the product's, such as one with a planted fault. */
  readonly program?: string
  readonly arguments?: readonly string[]
  /** Words before node on the command line: a tracer, a wrapper. */
  readonly prefix?: readonly string[]
  /** Sees every answer to the clients of this service; if it throws, the request fails. */
  readonly see?: See
}

export interface Service extends AsyncDisposable {
  readonly url: string
  readonly data: string
  readonly rootKey: string
  /** A client with the instance key. */
  readonly root: Client
  readonly process: ChildProcess
  /**
   * Everything that it has printed. The greeting on standard output holds secrets on purpose; the
   * log on standard error never may.
   */
  output(): string
  log(): string
  /**
   * Sends a signal; resolves when the process has ended, to its exit code, or to null when the
   * signal ended it.
   */
  end(signal?: NodeJS.Signals): Promise<number | null>
  client(bearer?: string): Client
}

/**
 * The product. A module that is loaded before a scenario may replace it by one with a planted
 * fault.
 */
const usual = {
  program,
  arguments: ["serve"],
}

export function serveBy(other: string, ...args: readonly string[]): void {
  Object.assign(usual, { program: other, arguments: args })
}

const startsWithinMs = 60_000

/** Resolves when the service listens; rejects with its output if it ends before. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const folder =
    options.data === undefined ? await mkdtemp(join(tmpdir(), "tallystick-")) : undefined
  const data = options.data ?? join(folder ?? "", "data")
  const environment = {
    PATH: process.env["PATH"],
    // Halves the time of a start, of which the suites have hundreds.
    NODE_COMPILE_CACHE: compileCache,
    TALLYSTICK_DATA: data,
    TALLYSTICK_PORT: "0",
    // The suites are refused thousands of times, so refusals do not wait; a test of their own does.
    TALLYSTICK_LIMIT_REFUSAL_MS: "1",
    // On a busy machine a search may take longer than a user waits, yet less than its connection.
    TALLYSTICK_LIMIT_SEARCH_TIMEOUT_MS: "20000",
    TALLYSTICK_LIMIT_READ_WAIT_MS: "20000",
    TALLYSTICK_ROOT_KEY: rootKeyOf(data),
    ...(await engineSettings(data)),
    ...options.environment,
  }
  const [command = "", ...args] = [
    ...(options.prefix ?? []),
    process.execPath,
    options.program ?? usual.program,
    ...(options.arguments ?? usual.arguments),
  ]
  const child = spawn(command, args, { env: environment, stdio: ["ignore", "pipe", "pipe"] })
  living.add(child)
  const said = { output: "", log: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.output += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.log += text))
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => (living.delete(child), resolve(code))),
  )
  const url = await Promise.race([
    urlSaid(child, () => said.output),
    ended.then(() => undefined),
    sleep(startsWithinMs, undefined, { ref: false }),
  ])
  if (url === undefined) {
    child.kill("SIGKILL")
    await ended
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    throw new Error(`the service did not start:\n${said.output}${said.log}`)
  }

  const end = (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    child.kill(signal)
    return ended
  }
  // Without a given key, the service made its own at its first start.
  const rootKey =
    environment.TALLYSTICK_ROOT_KEY ?? (await readFile(join(data, "root-key"), "utf8")).trim()
  return {
    url,
    data,
    rootKey,
    root: clientOf(url, rootKey, options.see),
    process: child,
    output: () => said.output,
    log: () => said.log,
    end,
    client: (bearer) => clientOf(url, bearer, options.see),
    async [Symbol.asyncDispose]() {
      if (living.has(child)) await end("SIGKILL")
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Services end with the tests. */
const living = new Set<ChildProcess>()
process.once("exit", () => living.forEach((child) => child.kill("SIGKILL")))
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1))

/** The settings of a command for a running service. */
export function settingsOf({ data, url, rootKey }: Pick<Service, "data" | "url" | "rootKey">) {
  return { TALLYSTICK_DATA: data, TALLYSTICK_PORT: new URL(url).port, TALLYSTICK_ROOT_KEY: rootKey }
}

/** A setting of a service whose clock is ahead by so many days. */
export function clockAhead(days: number): { readonly NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--import=${clockModule(days)}` }
}

/** A module that sets the clock of its process ahead. */
export function clockModule(days: number): string {
  return `data:text/javascript,const%20now=Date.now;Date.now=()=>now()+${days}*864e5`
}

/** One for each data folder, so that a restarted service has the same key. */
function rootKeyOf(data: string): string {
  const key = rootKeys.get(data) ?? `test-root-${randomBytes(32).toString("base64url")}`
  rootKeys.set(data, key)
  return key
}

const rootKeys = new Map<string, string>()

function urlSaid(child: ChildProcess, output: () => string): Promise<string> {
  return new Promise((resolve) => {
    child.stdout?.on("data", () => {
      const url = /listens on (http:\S+)/.exec(output())?.[1]
      if (url !== undefined) resolve(url)
    })
  })
}

// The client --------------------------------------------------------------------------------------

export interface Reply {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly bytes: Buffer
  readonly text: string
  /** The body as JSON, of the type that the caller expects. */
  json<T = any>(): T // oxlint-disable-line typescript/no-explicit-any
}

export type AnswerHeaders = Pick<Headers, "get" | "has"> & Iterable<[string, string]>

export interface Ask {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Exchange extends Ask {
  readonly method: string
  readonly path: string
  readonly bearer: string | undefined
  readonly reply: Reply
}

export type See = (exchange: Exchange) => void

/**
 * Sends requests with one credential, or none. A body that is no string or bytes is sent as JSON.
 */
export interface Client {
  readonly bearer: string | undefined
  ask(method: string, path: string, ask?: Ask): Promise<Reply>
  get(path: string, headers?: Ask["headers"]): Promise<Reply>
  post(path: string, body: unknown, headers?: Ask["headers"]): Promise<Reply>
  patch(path: string, body: unknown, headers?: Ask["headers"]): Promise<Reply>
  delete(path: string, headers?: Ask["headers"]): Promise<Reply>
  /** POST /v1/events, with a key of its own unless one is given. */
  write(event: object, key?: string, headers?: Ask["headers"]): Promise<Reply>
}

/** A request on its way to a service. */
export interface Sent extends Omit<Exchange, "reply"> {
  readonly url: string
}

export type Send = (sent: Sent) => Promise<Reply>

/**
 * How all clients of this process send. through-client.ts, imported by a scenario, sends in
 * another way.
 */
let send: Send = overHttp

export function sendBy(other: Send): void {
  send = other
}

/** Without `fetch`, which takes the tests thrice the processor time of this. */
export function overHttp({ url, bearer, method, path, body, headers }: Sent): Promise<Reply> {
  const isRaw = typeof body === "string" || body instanceof Uint8Array
  const bytes = body === undefined ? undefined : Buffer.from(isRaw ? body : JSON.stringify(body))
  const sent = {
    accept: "*/*",
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    ...(bytes === undefined
      ? {}
      : { "content-type": "application/json", "content-length": bytes.length }),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    // As fetch reports a missing or incomplete answer.
    const fail = (cause: unknown) => reject(new TypeError(`${method} ${path} failed`, { cause }))
    request(url + path, { method, headers: sent, agent }, (response) => {
      const parts: Buffer[] = []
      response
        .on("data", (part: Buffer) => parts.push(part))
        .once("error", fail)
        .once("end", () => {
          resolve(Promise.try(answered, response, Buffer.concat(parts)))
        })
    })
      .once("error", fail)
      .end(bytes)
  })
}

/** The reply; undefined when the connection was refused or cut: then the outcome is unknown. */
export function unlessCut(reply: Promise<Reply>): Promise<Reply | undefined> {
  return reply.catch((error: unknown) => {
    if (error instanceof TypeError) return undefined
    throw error
  })
}

/** A connection serves many requests, and does not keep a test alive. */
const agent = new Agent({ keepAlive: true })

function answered({ statusCode = 0, headers, rawHeaders }: IncomingMessage, sent: Buffer): Reply {
  const coding = sent.length === 0 ? undefined : headers["content-encoding"]
  const bytes =
    coding === "br" ? brotliDecompressSync(sent) : coding === "gzip" ? gunzipSync(sent) : sent
  return replyFrom(statusCode, () => headersOf(rawHeaders), bytes)
}

/** As `Headers`, which is part of that HTTP client, joins them. `raw`: names and values by turns. */
export function headersOf(raw: readonly string[]): AnswerHeaders {
  const values = new Map<string, string>()
  for (let at = 0; at < raw.length; at += 2) {
    const [name = "", value = ""] = [raw[at]?.toLowerCase(), raw[at + 1]]
    const before = values.get(name)
    values.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return {
    get: (name) => values.get(name.toLowerCase()) ?? null,
    has: (name) => values.has(name.toLowerCase()),
    [Symbol.iterator]: () => values.entries(),
  }
}

export async function replyOf(response: Response): Promise<Reply> {
  const bytes = Buffer.from(await response.arrayBuffer())
  return replyFrom(response.status, () => response.headers, bytes)
}

/** Most tests look at no header of most answers, so these are made for those that do. */
function replyFrom(status: number, makeHeaders: () => AnswerHeaders, bytes: Buffer): Reply {
  const text = bytes.toString("utf8")
  let made: AnswerHeaders | undefined
  return {
    status,
    get headers() {
      return (made ??= makeHeaders())
    },
    bytes,
    text,
    json: () => JSON.parse(text),
  }
}

function clientOf(url: string, bearer: string | undefined, see: See = () => {}): Client {
  const ask: Client["ask"] = async (method, path, { body, headers = {} } = {}) => {
    const reply = await send({ url, bearer, method, path, body, headers })
    see({ method, path, bearer, body, headers, reply })
    return reply
  }
  return {
    bearer,
    ask,
    get: (path, headers) => ask("GET", path, headers && { headers }),
    post: (path, body, headers) => ask("POST", path, { body, ...(headers && { headers }) }),
    patch: (path, body, headers) => ask("PATCH", path, { body, ...(headers && { headers }) }),
    delete: (path, headers) => ask("DELETE", path, headers && { headers }),
    write: (event, key = randomUUID(), headers = {}) =>
      ask("POST", "/v1/events", { body: event, headers: { "idempotency-key": key, ...headers } }),
  }
}

// A workspace to write to -------------------------------------------------------------------------

export interface Workspace {
  readonly id: string
  readonly path: string
  readonly writer: Client
  readonly reader: Client
}

/** A new workspace with a key that writes and a key that reads. */
export async function makeWorkspace(service: Service, settings: object = {}): Promise<Workspace> {
  const id = `ws-${randomBytes(6).toString("hex")}`
  await make(service.root, "/v1/workspaces", { id, ...settings })
  const path = `/v1/workspaces/${id}`
  const key = (scope: string) => makeKey(service, id, { scopes: [scope] })
  return { id, path, writer: await key("write"), reader: await key("read") }
}

/** A client with a new API key of a workspace. */
export async function makeKey(
  service: Service,
  workspace: string,
  request: object,
): Promise<Client> {
  const asked = { name: "a test's", ...request }
  const path = `/v1/workspaces/${workspace}/api-keys`
  return service.client((await make<{ key: string }>(service.root, path, asked)).key)
}

/** The public key of a workspace's log. */
export async function logKeyOf(client: Client, path: string): Promise<string> {
  const reply = await client.get(`${path}/tlog/log.vkey`)
  if (reply.status !== 200) throw new Error(`there is no key: ${reply.status} ${reply.text}`)
  return reply.text.trimEnd()
}

/** Makes what a test needs but is not about. Throws unless the answer is 201. */
// oxlint-disable-next-line typescript/no-explicit-any
export async function make<T = any>(by: Client, path: string, body: object): Promise<T> {
  const made = await by.post(path, body)
  if (made.status !== 201) throw new Error(`POST ${path}: ${made.status} ${made.text}`)
  return made.json<T>()
}

/** A valid event, with the changes of a test. */
export function eventFor(workspaceId: string, changes: object = {}): AuditEvent {
  return {
    workspaceId,
    projectId: "core",
    action: "billing.invoice.approve",
    actor: { id: "usr_1", type: "user", email: "ada@example.com" },
    target: { id: "inv_9", type: "invoice", name: "Invoice 9" },
    occurredAt: "2026-01-31T09:30:00Z",
    source: "api",
    ...changes,
  }
}

/** Writes an event that a test needs but is not about, and gives its receipt. */
export async function writeEvent(
  { id, writer }: Pick<Workspace, "id" | "writer">,
  changes: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Receipt> {
  const reply = await writer.write(eventFor(id, changes), undefined, headers)
  if (reply.status !== 202) throw new Error(`no event was recorded: ${reply.status} ${reply.text}`)
  return reply.json<Receipt>()
}

/** Writes events in batches, and gives their receipts in order. */
export async function writeMany(
  { id, writer }: Pick<Workspace, "id" | "writer">,
  count: number,
  {
    changes = () => ({}),
    atOnce = 100,
  }: { readonly changes?: (place: number) => object; readonly atOnce?: number } = {},
): Promise<readonly Receipt[]> {
  const receipts: Receipt[] = []
  while (receipts.length < count) {
    const from = receipts.length
    const events = Array.from({ length: Math.min(atOnce, count - from) }, (_, at) => ({
      idempotencyKey: randomUUID(),
      ...eventFor(id, changes(from + at)),
    }))
    const reply = await writer.post("/v1/events/batch", { events })
    const results =
      reply.status === 202
        ? reply.json<{ readonly results: readonly { readonly receipt?: Receipt }[] }>().results
        : []
    const written = results.flatMap(({ receipt = [] }) => receipt)
    if (written.length < events.length)
      throw new Error(`not all was recorded: ${reply.status} ${reply.text.slice(0, 300)}`)
    receipts.push(...written)
  }
  return receipts
}

/**
 * Repeats a question until its answer is neither undefined nor false, for a condition that the
 * service reaches by itself.
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  withinMs = 30_000,
): Promise<T> {
  const begun = performance.now()
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    const waitedMs = performance.now() - begun
    if (waitedMs > withinMs) throw new Error(`waited ${withinMs} ms in vain: ${what}`)
    // Each try costs the service processor time, which the awaited work may need.
    await sleep(Math.min(250, 10 + waitedMs / 20))
  }
}
