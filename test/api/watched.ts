import assert from "node:assert/strict"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { verifyReceipt } from "@tallystick/proof"
import { fsck, passes, sentenceOf } from "../../packages/server/src/operator/fsck/fsck.ts"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { databaseOf } from "../engine.ts"
import { native } from "../native.ts"
import { askDatabase } from "../postgres-server.ts"
import {
  overHttp,
  startService,
  type AnswerHeaders,
  type Exchange,
  type Service,
  type ServiceOptions,
} from "../service.ts"
import { createTextSearch } from "../text-search.ts"
import { describedBy, type Described } from "./described.ts"

// A watched service: every answer is checked against the rules for all answers. At the end two
// programs verify every receipt, fsck derives the files again, and a search looks for secrets in
// every place that may not have them.

export interface Watched extends Service {
  readonly described: Described
  /** Every receipt that the service has given so far, by its id. */
  readonly minted: ReadonlyMap<string, Minted>
  /** Secrets that no stranger and no operator may read. */
  readonly secrets: ReadonlySet<string>
  /**
   * Counts a string among those that must not appear in answers that say no, in logs and in
   * metrics.
   */
  keepSecret(text: string): void
  /** Verifies and searches, stops the service as an operator would, and searches again. */
  finish(): Promise<void>
}

interface Minted extends MintedReceipt {
  readonly workspaceId: string
}

export async function startWatched(options: ServiceOptions = {}): Promise<Watched> {
  const secrets = new Set<string>()
  const minted = new Map<string, Minted>()
  const see = (exchange: Exchange): void => {
    for (const key of keysIn(exchange)) secrets.add(key).add(secretPart(key))
    for (const secret of secretsOfPeople(exchange)) secrets.add(secret)
    for (const receipt of receiptsIn(exchange)) minted.set(receipt.receipt, receipt)
    expectValidAnswer(exchange, described, secrets, service.data)
  }
  const service = await startService({ ...options, see })
  secrets.add(service.rootKey)
  const described = describedBy(await descriptionBy(service.url))

  const finish = async (): Promise<void> => {
    await expectReceipts(service, minted)
    const { text: metrics } = await service.client().get("/metrics")
    expectNone(secrets, metrics, "the metrics")
    await expectFilesClean(service.data, secrets)
    assert.equal(await service.end(), 0, "the service did not end well")
    expectNone(secrets, service.log(), "the log")
    await expectFilesClean(service.data, secrets)
    const faults = service
      .log()
      .split("\n")
      .filter((line) => line !== "" && JSON.parse(line).level >= 50)
    assert.deepEqual(faults, [], "the service logged a fault of its own")
    const database = await databaseOf(service.data)
    if (database !== undefined) await expectTablesClean(database, secrets)
    await expectWhole(service.data, options.environment?.["TALLYSTICK_HEADS"], minted.size)
  }
  return {
    ...service,
    described,
    minted,
    secrets,
    keepSecret: (text) => void secrets.add(text),
    finish,
  }
}

/** fsck finds nothing wrong with the data of the run. */
async function expectWhole(
  data: string,
  headsPath: string | undefined,
  receipts: number,
): Promise<void> {
  const all = {
    data,
    databaseUrl: await databaseOf(data),
    heads: headsPath ?? `${data}.heads`,
    workspaces: undefined,
    checkpoints: [],
    passes,
    threads: 0,
  }
  const { faults, workspaces } = await fsck({ ...all, progress: () => {} })
  assert.deepEqual(faults.map(sentenceOf), [])
  const entries = workspaces.reduce((sum, each) => sum + each.entries, 0)
  assert.ok(
    entries >= receipts,
    `${receipts} receipts were given, and there are ${entries} entries`,
  )
}

/** In place of the files: every value of every table. */
async function expectTablesClean(database: string, secrets: ReadonlySet<string>): Promise<void> {
  const search = createTextSearch(formsOf(secrets))
  const tables = await askDatabase(
    database,
    "SELECT tablename FROM pg_tables WHERE schemaname = 'tallystick'",
  )
  for (const { tablename } of tables)
    for (const row of await askDatabase(database, `SELECT * FROM tallystick.${String(tablename)}`))
      for (const [column, value] of Object.entries(row)) {
        const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value))
        assert.equal(search(bytes), undefined, `${String(tablename)}.${column} holds a secret`)
      }
}

async function descriptionBy(url: string): Promise<object> {
  const path = "/openapi.json"
  const asked = { url, bearer: undefined, method: "GET", path }
  return (await overHttp(asked)).json<object>()
}

// What every answer must be -----------------------------------------------------------------------

function expectValidAnswer(
  { method, path, bearer, body, headers, reply }: Exchange,
  described: Described,
  secrets: ReadonlySet<string>,
  data: string,
): void {
  const what = `${method} ${path}`
  assert.notEqual(reply.status, 500, `${what}: ${reply.text}`)
  expectUsualHeaders(what, reply.status, reply.headers)
  if (reply.status >= 400) {
    if (method !== "HEAD") expectProblem(reply.text, what)
    expectNone(secrets, reply.text, what)
    expectNone([...(bearer ? [bearer] : []), data], reply.text, what)
  }
  const type = reply.headers.get("content-type") ?? ""
  assert.deepEqual(described.faultsOf(method, path, reply.status, type, reply.text), [])
  if (reply.status < 300 && body !== undefined && !reply.text.includes('{"error":')) {
    const json =
      typeof body === "string" || body instanceof Uint8Array
        ? JSON.parse(Buffer.from(body).toString())
        : body
    // Members that are undefined are not sent.
    assert.deepEqual(described.requestFaults(method, path, JSON.parse(JSON.stringify(json))), [])
  }
  const asked = headers?.["x-request-id"]
  if (asked !== undefined && /^[\w-]{1,128}$/.test(asked))
    assert.equal(reply.headers.get("x-request-id"), asked)
}

export function expectUsualHeaders(what: string, status: number, headers: AnswerHeaders): void {
  assert.match(headers.get("x-request-id") ?? "", /^[\w.:/+=@-]{1,128}$/, `${what}: X-Request-Id`)
  assert.equal(headers.get("referrer-policy"), "no-referrer", what)
  assert.equal(headers.get("x-content-type-options"), "nosniff", what)
  if (!/^(POST|DELETE) \/v1\/(session|setup)$/.test(what))
    assert.equal(headers.get("set-cookie"), null, what)
  if (status >= 400)
    assert.equal(headers.get("cache-control"), "no-store", `${what}: an error must not be kept`)
  assert.equal(
    headers.get("www-authenticate"),
    status === 401 ? "Bearer" : null,
    `${what}: WWW-Authenticate`,
  )
  if (status === 405)
    assert.match(headers.get("allow") ?? "", /^[A-Z]+(, [A-Z]+)*$/, `${what}: Allow`)
  if (status === 429 || status === 503)
    assert.match(headers.get("retry-after") ?? "", /^[1-9][0-9]*$/, `${what}: Retry-After`)
}

const statuses: Readonly<Record<string, number>> = {
  invalid_field: 400,
  invalid_json: 400,
  bad_request: 400,
  ambiguous_credentials: 400,
  unauthorized: 401,
  token_expired: 401,
  token_revoked: 401,
  login_failed: 401,
  insufficient_scope: 403,
  workspace_forbidden: 403,
  project_forbidden: 403,
  csrf_failed: 403,
  activity_disabled: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  content_gone: 410,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  overloaded: 503,
  storage_full: 503,
  ledger_unavailable: 503,
  archive_unavailable: 503,
  read_only: 503,
  shutting_down: 503,
}

/**
 * An error is `{ error, detail }`, perhaps with the receipt that a key belongs to, and reveals
 * nothing internal.
 */
export function expectProblem(
  text: string,
  what: string,
): { readonly error: string; readonly detail: string; readonly status: number | undefined } {
  const problem = JSON.parse(text)
  const mayHave =
    problem.error === "idempotency_key_reused" && "receipt" in problem ? ["receipt"] : []
  assert.deepEqual(Object.keys(problem), ["error", "detail", ...mayHave], what)
  assert.ok(problem.error in statuses, `${what}: ${problem.error} is no code of docs/api.md`)
  assert.equal(typeof problem.detail, "string", what)
  assert.ok(problem.detail.length > 0 && problem.detail.length <= 500, `${what}: ${problem.detail}`)
  expectNone(
    [
      "node_modules",
      "/packages/",
      process.cwd(),
      "    at ",
      ".ts:",
      "SQLITE",
      "SELECT ",
      "INSERT ",
      "undefined",
      "[object",
    ],
    text,
    what,
  )
  return { ...problem, status: statuses[problem.error] }
}

function expectNone(forbidden: Iterable<string>, text: string, what: string): void {
  for (const one of forbidden)
    assert.ok(!text.includes(one), `${what} shows ${one}:\n${text.slice(0, 1000)}`)
}

// What the run has made ---------------------------------------------------------------------------

function keysIn({ reply, method, path }: Exchange): readonly string[] {
  if (method !== "POST" || reply.status !== 201) return []
  return path.endsWith("/api-keys")
    ? [reply.json().key]
    : path.endsWith("/token")
      ? [reply.json().token]
      : []
}

/** Passwords that were sent, and the tokens of set-up and sessions, the secret part of each. */
function secretsOfPeople({ method, path, body, headers, reply }: Exchange): readonly string[] {
  const ofPeople =
    /^\/v1\/(setup|session)\b/.test(path) &&
    method === "POST" &&
    typeof body === "object" &&
    body !== null
  const sent = ofPeople
    ? Object.entries(body).flatMap(([name, value]) =>
        ["password", "old", "new", "token"].includes(name) ? [String(value)] : [],
      )
    : []
  const shown = [
    reply.headers.get("set-cookie") ?? "",
    headers?.["cookie"] ?? "",
    path.includes("/members") ? reply.text : "",
    ...sent,
  ].join(" ")
  const tokens = shown.match(/ts[sx]_[0-9A-Za-z]{13}_[0-9A-Za-z]{49}/g) ?? []
  // A shorter text cannot be a password, and may be part of a sentence.
  return [
    ...sent.filter((text) => text.length >= 12),
    ...tokens.flatMap((token) => [token, secretPart(token)]),
  ]
}

/** The secret part of a key or token, `tsk_<id>_<secret>`; the id is no secret. */
function secretPart(key: string): string {
  return key.split("_")[2] ?? key
}

function receiptsIn({ reply, path }: Exchange): readonly Minted[] {
  if (reply.status !== 202 || path.endsWith("/erasures")) return []
  const answer = reply.json()
  const receipts =
    path === "/v1/events"
      ? [answer]
      : path.startsWith("/v1/consents")
        ? [answer.receipt]
        : answer.results.flatMap((one: any) => one.receipt ?? []) // oxlint-disable-line typescript/no-explicit-any
  return receipts.map(
    ({ receipt, eventHash, previousHash, verificationUrl }: Record<string, string>) => ({
      receipt,
      eventHash,
      previousHash,
      workspaceId: /\/workspaces\/([^/]+)\/receipts\//.exec(verificationUrl ?? "")?.[1] ?? "",
    }),
  )
}

/**
 * Every receipt of the run is verified twice: by a verifier that shares no code with the service,
 * and by the one that we give to auditors.
 */
async function expectReceipts(
  service: Service,
  minted: ReadonlyMap<string, Minted>,
): Promise<void> {
  const byWorkspace = Map.groupBy(minted.values(), ({ workspaceId }) => workspaceId)
  for (const [workspaceId, receipts] of byWorkspace) {
    let seen = 0
    await expectChain(service.root, workspaceId, receipts, (answer, { vkey }, receiptId) => {
      // The first one in plain JavaScript, as in a browser; all others with Node's faster code.
      const isGone = answer["proof"].body === null
      const { verdict, ...report } = verifyReceipt(answer, {
        trustedKeys: [vkey],
        receiptId,
        ...(seen++ > 0 && native),
      })
      assert.equal(verdict, isGone ? "unconfirmed" : "genuine", JSON.stringify(report))
    })
  }
}

function formsOf(secrets: ReadonlySet<string>): readonly string[] {
  return [...secrets].flatMap((secret) => [
    secret,
    Buffer.from(secret).toString("hex"),
    Buffer.from(secret).toString("base64url"),
  ])
}

/** Some files hold secrets on purpose. No other file may have one, in any form. */
async function expectFilesClean(data: string, secrets: ReadonlySet<string>): Promise<void> {
  const search = createTextSearch(formsOf(secrets))
  const names = await readdir(data, { recursive: true })
  assert.ok(
    (await databaseOf(data)) !== undefined || names.some((name) => name.endsWith(".db")),
    "the data folder has no data",
  )
  for (const name of names.filter((one) => one !== "root-key" && one !== "secret")) {
    // The log of a database may be removed meanwhile.
    const bytes = await readFile(join(data, name)).catch(() => Buffer.alloc(0))
    assert.equal(search(bytes), undefined, `the file ${name} holds a secret`)
  }
}
