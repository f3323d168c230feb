import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeKey, makeWorkspace, type Client } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// Who may do what: every endpoint by every kind of credential, each cell written by hand from the contract, section 3. One tenant never sees or touches another.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const { root } = service
const ours = await makeWorkspace(service)
const theirs = await makeWorkspace(service)
for (const { path } of [ours, theirs]) {
  await root.post(`${path}/projects`, { id: "open", receipts: "public" })
  await root.post(`${path}/projects`, { id: "mine" })
}
const shared = await makeWorkspace(service, { transparency: "public" })
const receiptOf = async (id: string, projectId: string): Promise<string> => (await root.write(eventFor(id, { projectId }))).json().receipt
const receipts = { open: await receiptOf(ours.id, "open"), core: await receiptOf(ours.id, "core"), mine: await receiptOf(ours.id, "mine") }
const theirReceipts = { open: await receiptOf(theirs.id, "open"), core: await receiptOf(theirs.id, "core") }
await root.get(`${ours.path}/receipts/${receipts.mine}/proof`)
await root.get(`${theirs.path}/receipts/${theirReceipts.core}/proof`)
await receiptOf(shared.id, "core").then((receipt) => root.get(`${shared.path}/receipts/${receipt}/proof`))

const key = (workspace: string, request: object): Promise<Client> => makeKey(service, workspace, request)
const ended = await key(ours.id, { scopes: ["read", "write", "admin"] })
await root.delete(`${ours.path}/api-keys/${ended.bearer?.split("_")[1]}`)

/** The columns. */
const principals: readonly (readonly [string, Client])[] = [
  ["nobody", service.client()],
  ["wrong", service.client(`tsk_${"7".repeat(13)}_${"7".repeat(49)}`)],
  ["ended", ended],
  ["write", await key(ours.id, { scopes: ["write"] })],
  ["read", await key(ours.id, { scopes: ["read"] })],
  ["admin", await key(ours.id, { scopes: ["admin"] })],
  ["write of mine", await key(ours.id, { scopes: ["write"], projectIds: ["mine"] })],
  ["read of mine", await key(ours.id, { scopes: ["read"], projectIds: ["mine"] })],
  ["their write", await key(theirs.id, { scopes: ["write"] })],
  ["their admin", await key(theirs.id, { scopes: ["admin"] })],
  ["instance", root],
]

/** What a cell says. */
const answers: Readonly<Record<string, string>> = {
  anon: "401 unauthorized",
  gone: "401 token_revoked",
  scope: "403 insufficient_scope",
  ws: "403 workspace_forbidden",
  proj: "403 project_forbidden",
  "404": "404 not_found",
  "409": "409 conflict",
}

/** What stands in a path for something that is only known when the test runs. */
const names: Readonly<Record<string, string>> = {
  OURS: ours.path,
  THEIRS: theirs.path,
  SHARED: shared.path,
  NOWHERE: "/v1/workspaces/nowhere",
  OPEN: receipts.open,
  CORE: receipts.core,
  MINE: receipts.mine,
  NONE: `rcp_${"0".repeat(36)}`,
  THEIR_OPEN: theirReceipts.open,
  THEIR_CORE: theirReceipts.core,
  KEY: "0".repeat(13),
}

const workspaces: Readonly<Record<string, string>> = { ours: ours.id, theirs: theirs.id, nowhere: "nowhere" }
const fresh = (): string => `p-${crypto.randomUUID().slice(0, 13)}`

/** The bodies, by the first word of their column; then come a workspace and a project. */
const bodies: Readonly<Record<string, (workspaceId: string, projectId: string) => object>> = {
  event: (workspaceId, projectId) => eventFor(workspaceId, { projectId }),
  batch: (workspaceId, projectId) => ({ events: [{ idempotencyKey: crypto.randomUUID(), ...eventFor(workspaceId, { projectId }) }] }),
  consent: (workspaceId, projectId) => {
    const subject = { id: "usr_1", email: "ada@example.com" }
    return { workspaceId, projectId, subject, mode: "explicit", policyVersion: 1, surface: "form" }
  },
  new: () => ({ id: fresh() }),
  taken: () => ({ id: ours.id }),
  days: () => ({ hotDays: 30 }),
  name: () => ({ name: "M" }),
  key: () => ({ name: "minted", scopes: ["read"] }),
}

// Of a batch each event is answered in its place: `202:ws` is a good answer with that refusal in it.
const writing = `
                                          | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance
POST /v1/events       event ours core     | anon anon gone 202    scope scope proj      scope     ws      scope   202
POST /v1/events       event ours mine     | anon anon gone 202    scope scope 202       scope     ws      scope   202
POST /v1/events       event ours other    | anon anon gone 202    scope scope proj      scope     ws      scope   202
POST /v1/events       event theirs core   | anon anon gone ws     scope scope ws        scope     202     scope   202
POST /v1/events       event nowhere core  | anon anon gone ws     scope scope ws        scope     ws      scope   404
POST /v1/consents     consent ours core   | anon anon gone 202    scope scope proj      scope     ws      scope   202
POST /v1/consents     consent ours mine   | anon anon gone 202    scope scope 202       scope     ws      scope   202
POST /v1/consents     consent theirs core | anon anon gone ws     scope scope ws        scope     202     scope   202
POST /v1/consents     consent nowhere core| anon anon gone ws     scope scope ws        scope     ws      scope   404
POST /v1/events/batch batch ours core     | anon anon gone 202    scope scope 202:proj  scope     202:ws  scope   202
POST /v1/events/batch batch ours mine     | anon anon gone 202    scope scope 202       scope     202:ws  scope   202
POST /v1/events/batch batch theirs core   | anon anon gone 202:ws scope scope 202:ws    scope     202     scope   202
POST /v1/events/batch batch nowhere core  | anon anon gone 202:ws scope scope 202:ws    scope     202:ws  scope   202:404`

const ownReceipts = `
                                          | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance
GET OURS/receipts/OPEN                    | 200  anon gone 200    200   200   200       200       ws      ws      200
GET OURS/receipts/CORE                    | anon anon gone scope  200   200   scope     404       ws      ws      200
GET OURS/receipts/MINE                    | anon anon gone scope  200   200   scope     200       ws      ws      200
GET OURS/receipts/NONE                    | anon anon gone scope  404   404   scope     404       ws      ws      404
GET OURS/receipts/THEIR_OPEN              | anon anon gone scope  404   404   scope     404       ws      ws      404
GET THEIRS/receipts/THEIR_OPEN            | 200  anon gone ws     ws    ws    ws        ws        200     200     200
GET THEIRS/receipts/THEIR_CORE            | anon anon gone ws     ws    ws    ws        ws        scope   200     200
GET THEIRS/receipts/CORE                  | anon anon gone ws     ws    ws    ws        ws        scope   404     404
GET NOWHERE/receipts/CORE                 | anon anon gone ws     ws    ws    ws        ws        ws      ws      404`

const logs = `
                                          | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance
GET OURS/tlog/checkpoint                  | anon anon gone scope  200   200   scope     200       ws      ws      200
GET THEIRS/tlog/checkpoint                | anon anon gone ws     ws    ws    ws        ws        scope   200     200
GET SHARED/tlog/checkpoint                | 200  anon gone ws     ws    ws    ws        ws        ws      ws      200
GET NOWHERE/tlog/checkpoint               | anon anon gone ws     ws    ws    ws        ws        ws      ws      404`

const administration = `
                                          | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance
POST /v1/workspaces               new     | anon anon gone scope  scope scope scope     scope     scope   scope   201
POST /v1/workspaces               taken   | anon anon gone scope  scope scope scope     scope     scope   scope   409
GET /v1/workspaces                        | anon anon gone scope  scope scope scope     scope     scope   scope   200
GET OURS                                  | anon anon gone scope  200   200   scope     200       ws      ws      200
GET THEIRS                                | anon anon gone ws     ws    ws    ws        ws        scope   200     200
GET NOWHERE                               | anon anon gone ws     ws    ws    ws        ws        ws      ws      404
PATCH OURS                        days    | anon anon gone scope  scope 200   scope     scope     ws      ws      200
PATCH THEIRS                      days    | anon anon gone ws     ws    ws    ws        ws        scope   200     200
PATCH NOWHERE                     days    | anon anon gone ws     ws    ws    ws        ws        ws      ws      404
GET OURS/projects                         | anon anon gone scope  200   200   scope     200       ws      ws      200
GET THEIRS/projects                       | anon anon gone ws     ws    ws    ws        ws        scope   200     200
GET NOWHERE/projects                      | anon anon gone ws     ws    ws    ws        ws        ws      ws      404
POST OURS/projects                new     | anon anon gone scope  scope 201   scope     scope     ws      ws      201
POST THEIRS/projects              new     | anon anon gone ws     ws    ws    ws        ws        scope   201     201
POST NOWHERE/projects             new     | anon anon gone ws     ws    ws    ws        ws        ws      ws      404
GET OURS/projects/core                    | anon anon gone scope  200   200   scope     404       ws      ws      200
GET OURS/projects/mine                    | anon anon gone scope  200   200   scope     200       ws      ws      200
GET OURS/projects/unheard-of              | anon anon gone scope  404   404   scope     404       ws      ws      404
GET THEIRS/projects/mine                  | anon anon gone ws     ws    ws    ws        ws        scope   200     200
PATCH OURS/projects/mine          name    | anon anon gone scope  scope 200   scope     scope     ws      ws      200
PATCH OURS/projects/unheard-of    name    | anon anon gone scope  scope 404   scope     scope     ws      ws      404
PATCH THEIRS/projects/mine        name    | anon anon gone ws     ws    ws    ws        ws        scope   200     200
GET OURS/api-keys                         | anon anon gone scope  scope 200   scope     scope     ws      ws      200
GET THEIRS/api-keys                       | anon anon gone ws     ws    ws    ws        ws        scope   200     200
GET NOWHERE/api-keys                      | anon anon gone ws     ws    ws    ws        ws        ws      ws      404
POST OURS/api-keys                key     | anon anon gone scope  scope 201   scope     scope     ws      ws      201
POST THEIRS/api-keys              key     | anon anon gone ws     ws    ws    ws        ws        scope   201     201
POST NOWHERE/api-keys             key     | anon anon gone ws     ws    ws    ws        ws        ws      ws      404
DELETE OURS/api-keys/KEY                  | anon anon gone scope  scope 204   scope     scope     ws      ws      204
DELETE THEIRS/api-keys/KEY                | anon anon gone ws     ws    ws    ws        ws        scope   204     204
DELETE NOWHERE/api-keys/KEY               | anon anon gone ws     ws    ws    ws        ws        ws      ws      404`

const operations = `
                                          | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance
GET /healthz                              | 200  anon gone 200    200   200   200       200       200     200     200
GET /readyz                               | 200  anon gone 200    200   200   200       200       200     200     200
GET /metrics                              | 200  anon gone 200    200   200   200       200       200     200     200
GET /v1/limits                            | 200  anon gone 200    200   200   200       200       200     200     200
GET /openapi.json                         | 200  anon gone 200    200   200   200       200       200     200     200`

interface Line {
  readonly ask: string
  readonly send: readonly string[]
  readonly cells: readonly string[]
}

/** Below the headings, one line of a table: what is asked, the body if any, and a cell for each principal. */
function linesOf(table: string): readonly Line[] {
  const [, , ...lines] = table.split("\n")
  return lines.map((line) => {
    const [left = "", right = ""] = line.split("|")
    const [method, path = "", ...send] = left.trim().split(/\s+/)
    const cells = right.trim().split(/\s+/)
    assert.equal(cells.length, principals.length, `${left} has a cell for each principal`)
    return { ask: `${method} ${path.replace(/[A-Z]+(_[A-Z]+)?/g, (name) => names[name] ?? name)}`, send, cells }
  })
}

/** What holds for one resource holds for others that stand for the same thing. */
const alike = (lines: readonly Line[], change: (ask: string) => readonly string[]): readonly Line[] =>
  lines.flatMap((line) => change(line.ask).map((ask) => ({ ...line, ask })))
const ofLog = ["checkpoint", "log.vkey", "keys", "tile/0/000.p/1", "tile/entries/000.p/1"]

const tables: Readonly<Record<string, readonly Line[]>> = {
  writing: linesOf(writing),
  receipts: alike(linesOf(ownReceipts), (ask) => [ask, `${ask}/proof`]),
  logs: alike(linesOf(logs), (ask) => ofLog.map((name) => ask.replace("checkpoint", name))),
  administration: linesOf(administration),
  operations: linesOf(operations),
}

for (const [name, lines] of Object.entries(tables)) {
  test(`every cell of the table: ${name}`, async () => {
    assert.ok(lines.length >= 5)
    await expectRows(lines.flatMap(rowsOf))
  })
}

function rowsOf({ ask, send: [kind = "", workspace = "", projectId = ""], cells }: Line): readonly Row[] {
  const isWrite = ask === "POST /v1/events" || ask === "POST /v1/consents"
  return principals.map(([about, as], at) => {
    const [cell = "", inPlace = ""] = (cells[at] ?? "").split(":")
    const gets = answers[cell] ?? Number(cell)
    return {
      about,
      as,
      ask,
      gets,
      ...(kind === "" ? {} : { send: bodies[kind]?.(workspaces[workspace] ?? "", projectId) }),
      ...(isWrite ? { headers: { "idempotency-key": crypto.randomUUID() } } : {}),
      // A refusal tells nothing of what it refuses.
      hasNot: typeof gets === "string" ? [ours.id, theirs.id, "rcp_", "evt_", "ada@example.com", "mine", "Invoice"] : [],
      has: inPlace === "" ? [] : [`"error":"${answers[inPlace]?.split(" ")[1]}"`],
    }
  })
}

test("every endpoint of the description is in the table", () => {
  const asked = new Set(Object.values(tables).flatMap((lines) => lines.map(({ ask }) => templateOf(ask))))
  const described = Object.entries<object>(service.described.document["paths"]).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual([...asked].toSorted(), described.toSorted())
})

function templateOf(ask: string): string {
  return ask
    .replace(/workspaces\/[^/]+/, "workspaces/{workspaceId}")
    .replace(/receipts\/[^/]+/, "receipts/{receiptId}")
    .replace(/projects\/[^/]+/, "projects/{projectId}")
    .replace(/api-keys\/[^/]+/, "api-keys/{keyId}")
    .replace(/tile\/.+/, "tile/{tile}")
}

test("what a tenant is refused about another does not depend on whether it exists", async () => {
  const asks = [
    ["GET", (id: string) => `/v1/workspaces/${id}`],
    ["GET", (id: string) => `/v1/workspaces/${id}/projects/mine`],
    ["GET", (id: string) => `/v1/workspaces/${id}/receipts/${theirReceipts.open}`],
    ["GET", (id: string) => `/v1/workspaces/${id}/tlog/checkpoint`],
    ["GET", (id: string) => `/v1/workspaces/${id}/api-keys`],
  ] as const
  for (const [name, client] of principals.slice(3, 8)) {
    for (const [method, path] of asks) {
      const [exists, doesNot] = await Promise.all([theirs.id, "nowhere"].map((id) => client.ask(method, path(id))))
      assert.deepEqual([exists?.status, exists?.text], [doesNot?.status, doesNot?.text], `${name} ${path("x")}`)
    }
  }
})

test("every receipt of this run verifies, and no secret went astray", () => service.finish())
