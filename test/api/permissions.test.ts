import assert from "node:assert/strict"
import { after, test } from "node:test"
import { goodPassword, join, setUpFirst } from "../people.ts"
import { eventFor, make, makeKey, makeWorkspace, type Client } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// Who may do what: every endpoint by every kind of credential, each cell written by hand from
// docs/api.md, "Credentials". One tenant never sees or touches another.

// Every column also tries a password and a set-up token.
const service = await startWatched({
  environment: { TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "1000" },
})
after(() => service[Symbol.asyncDispose]())
const { root } = service
const ours = await makeWorkspace(service)
const theirs = await makeWorkspace(service)
for (const { path } of [ours, theirs]) {
  await make(root, `${path}/projects`, { id: "open", receipts: "public" })
  await make(root, `${path}/projects`, { id: "mine" })
}
const shared = await makeWorkspace(service, { transparency: "public", policyVisibility: "public" })
const sections = [{ id: "use", title: "Use", body: "We use it." }]
for (const { path } of [ours, theirs, shared])
  await make(root, `${path}/published-policy`, { sections })
await root.post(`${ours.path}/published-policy`, { sections, projectId: "mine" })
const receiptOf = async (id: string, projectId: string): Promise<string> =>
  (await root.write(eventFor(id, { projectId }))).json().receipt
const receipts = {
  open: await receiptOf(ours.id, "open"),
  core: await receiptOf(ours.id, "core"),
  mine: await receiptOf(ours.id, "mine"),
}
const theirReceipts = {
  open: await receiptOf(theirs.id, "open"),
  core: await receiptOf(theirs.id, "core"),
}
await root.get(`${ours.path}/receipts/${receipts.mine}/proof`)
await root.get(`${theirs.path}/receipts/${theirReceipts.core}/proof`)
await receiptOf(shared.id, "core").then((receipt) =>
  root.get(`${shared.path}/receipts/${receipt}/proof`),
)

const key = (workspace: string, request: object): Promise<Client> =>
  makeKey(service, workspace, request)
const ended = await key(ours.id, { scopes: ["read", "write", "admin"] })
await root.delete(`${ours.path}/api-keys/${ended.bearer?.split("_")[1]}`)

for (const { path } of [ours, theirs])
  await root.patch(`${path}/projects/core`, { activityLinks: true })
const packOf = async (path: string, receipt: string): Promise<string> =>
  (await make(root, `${path}/evidence-packs`, { title: "for an auditor", receiptIds: [receipt] }))
    .packId
const packs = {
  core: await packOf(ours.path, receipts.core),
  mine: await packOf(ours.path, receipts.mine),
}
const theirPack = await packOf(theirs.path, theirReceipts.core)
const token = async (path: string, request: object = {}): Promise<Client> =>
  service.client((await make(root, `${path}/token`, request)).token)

const first = await setUpFirst(service)

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
  ["receipt token of core", await token(`${ours.path}/receipts/${receipts.core}`)],
  ["policy token of core", await token(`${ours.path}/published-policy`)],
  [
    "activity token of core",
    await token(`${ours.path}/activity`, { projectId: "core", subject: "usr_1" }),
  ],
  ["evidence token of mine", await token(`${ours.path}/evidence-packs/${packs.mine}`)],
  ["their receipt token", await token(`${theirs.path}/receipts/${theirReceipts.core}`)],
  ["session of a viewer", await join(service, ours.path, "viewer", "viewer@example.com")],
  ["session of an admin", await join(service, ours.path, "admin", "admin@example.com")],
  ["session of their admin", await join(service, theirs.path, "admin", "their-admin@example.com")],
  ["session of an instance admin", first],
]

/** What a cell says. */
const answers: Readonly<Record<string, string>> = {
  anon: "401 unauthorized",
  gone: "401 token_revoked",
  scope: "403 insufficient_scope",
  ws: "403 workspace_forbidden",
  proj: "403 project_forbidden",
  off: "403 activity_disabled",
  login: "401 login_failed",
  "404": "404 not_found",
  "409": "409 conflict",
}

/** Placeholders in a path for values that are only known at run time. */
const names: Readonly<Record<string, string>> = {
  OURS: ours.path,
  TIMES: "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z",
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
  TOKEN: "0".repeat(13),
  MEMBER: "0".repeat(13),
  ERASURE: `era_${"0".repeat(36)}`,
  HOLD: `hold_${"0".repeat(36)}`,
  PACK_MINE: packs.mine,
  PACK_CORE: packs.core,
  PACK_NONE: `pack_${"0".repeat(36)}`,
  THEIR_PACK: theirPack,
}

const workspaces: Readonly<Record<string, string>> = {
  ours: ours.id,
  theirs: theirs.id,
  nowhere: "nowhere",
}
const fresh = (): string => `p-${crypto.randomUUID().slice(0, 13)}`

/** The bodies, by the first word of their column; then come a workspace and a project. */
const bodies: Readonly<Record<string, (workspaceId: string, projectId: string) => object>> = {
  event: (workspaceId, projectId) => eventFor(workspaceId, { projectId }),
  forget: () => ({ subject: { id: "usr_of_nothing" }, reason: "a test" }),
  foretell: () => ({ subject: { id: "usr_of_nothing" }, reason: "a test", dryRun: true }),
  batch: (workspaceId, projectId) => ({
    events: [{ idempotencyKey: crypto.randomUUID(), ...eventFor(workspaceId, { projectId }) }],
  }),
  consent: (workspaceId, projectId) => {
    const subject = { id: "usr_1", email: "ada@example.com" }
    return { workspaceId, projectId, subject, mode: "explicit", policyVersion: 1, surface: "form" }
  },
  leave: (workspaceId, projectId) => {
    const subject = { id: "usr_1" }
    return { workspaceId, projectId, subject, surface: "form" }
  },
  new: () => ({ id: fresh() }),
  taken: () => ({ id: ours.id }),
  out: () => ({ entries: 1 }),
  days: () => ({ hotDays: 30 }),
  invite: () => ({ email: `${fresh()}@example.com`, role: "viewer" }),
  role: () => ({ role: "admin" }),
  login: () => ({ email: "nobody@example.com", password: goodPassword }),
  set: () => ({ token: `tsx_${"7".repeat(13)}_${"7".repeat(49)}`, password: goodPassword }),
  change: () => ({ old: "wrong horse battery", new: goodPassword }),
  name: () => ({ name: "M" }),
  key: () => ({ name: "minted", scopes: ["read"] }),
  of: (_, projectId) => ({ projectId }),
  policy: (_, projectId) => ({ sections, ...(projectId === "" ? {} : { projectId }) }),
  pack: (_, receipt) => ({
    title: "T",
    receiptIds: [{ ...receipts, theirs: theirReceipts.core }[receipt]],
  }),
  whom: () => ({ subject: "usr_1", reason: "a request" }),
  ada: (_, projectId) => ({ projectId, subject: "ada" }),
  hold: () => ({ name: "Case 7", reason: "Lawsuit", receiptIds: [receipts.core] }),
  release: () => ({ reason: "It is over" }),
  nothing: () => ({}),
}

// A batch answers each event in its place: `202:ws` is a 202 that contains this refusal.
const writing = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t | s-view s-adm s-their s-inst
POST /v1/events       event ours core       | anon anon gone 202    scope scope proj      scope     ws      scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/events       event ours mine       | anon anon gone 202    scope scope 202       scope     ws      scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/events       event ours other      | anon anon gone 202    scope scope proj      scope     ws      scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/events       event theirs core     | anon anon gone ws     scope scope ws        scope     202     scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/events       event nowhere core    | anon anon gone ws     scope scope ws        scope     ws      scope   404      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/consents     consent ours core     | anon anon gone 202    scope scope proj      scope     ws      scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/consents     consent ours mine     | anon anon gone 202    scope scope 202       scope     ws      scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/consents     consent theirs core   | anon anon gone ws     scope scope ws        scope     202     scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/consents     consent nowhere core  | anon anon gone ws     scope scope ws        scope     ws      scope   404      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/consents/withdrawals leave ours core     | anon anon gone 202    scope scope proj      scope     ws      scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/consents/withdrawals leave ours mine     | anon anon gone 202    scope scope 202       scope     ws      scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/consents/withdrawals leave theirs core   | anon anon gone ws     scope scope ws        scope     202     scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/consents/withdrawals leave nowhere core  | anon anon gone ws     scope scope ws        scope     ws      scope   404      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/events/batch batch ours core       | anon anon gone 202    scope scope 202:proj  scope     202:ws  scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/events/batch batch ours mine       | anon anon gone 202    scope scope 202       scope     202:ws  scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/events/batch batch theirs core     | anon anon gone 202:ws scope scope 202:ws    scope     202     scope   202      | scope scope scope scope scope | anon   anon  anon    anon
POST /v1/events/batch batch nowhere core    | anon anon gone 202:ws scope scope 202:ws    scope     202:ws  scope   202:404  | scope scope scope scope scope | anon   anon  anon    anon`

const queries = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t | s-view s-adm s-their s-inst
GET OURS/events                             | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events?projectId=mine              | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events?projectId=core              | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events?projectId=unheard-of        | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events?projectId=system            | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events?includeSystem=true          | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/events                           | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET NOWHERE/events                          | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/events/timeline?TIMES              | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events/timeline?TIMES&projectId=core | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/events/timeline?TIMES            | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET OURS/events/feed                        | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events/feed?projectId=core         | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events/feed?includeSystem=true     | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/events/feed                      | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET OURS/events/export                      | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events/export?projectId=core       | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/events/export?includeSystem=true   | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/events/export                    | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET OURS/events/values?field=actor          | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/events/values?field=actor        | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
POST OURS/consents/lookup   whom            | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
POST THEIRS/consents/lookup whom            | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
POST NOWHERE/consents/lookup whom           | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/consents?subject=usr_1&projectId=mine| anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/consents?subject=usr_1             | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/consents?subject=usr_1           | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET NOWHERE/consents?subject=usr_1          | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/consents/summary?projectId=mine    | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/consents/summary                   | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/consents/summary                 | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET NOWHERE/consents/summary                | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/integrity                          | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/integrity                        | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET SHARED/integrity                        | anon anon gone ws     ws    ws    ws        ws        ws      ws      200      | ws    ws    ws    ws    ws    | ws     ws    ws      200
GET NOWHERE/integrity                       | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/segments                           | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/segments                         | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET SHARED/segments                         | anon anon gone ws     ws    ws    ws        ws        ws      ws      200      | ws    ws    ws    ws    ws    | ws     ws    ws      200
GET NOWHERE/segments                        | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/activity                           | anon anon gone scope  scope scope scope     scope     ws      ws      scope    | scope scope 200   scope ws    | scope  scope scope   scope
GET THEIRS/activity                         | anon anon gone ws     ws    ws    ws        ws        scope   scope   scope    | ws    ws    ws    ws    scope | scope  scope scope   scope
GET NOWHERE/activity                        | anon anon gone ws     ws    ws    ws        ws        ws      ws      scope    | ws    ws    ws    ws    ws    | scope  scope scope   scope`

const ownReceipts = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t | s-view s-adm s-their s-inst
GET OURS/receipts/OPEN                      | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200   | 200    200   200     200
GET OURS/receipts/CORE                      | anon anon gone scope  200   200   scope     404       ws      ws      200      | 200   scope scope scope ws    | 200    200   ws      200
GET OURS/receipts/MINE                      | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope 200   ws    | 200    200   ws      200
GET OURS/receipts/NONE                      | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
GET OURS/receipts/THEIR_OPEN                | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
GET THEIRS/receipts/THEIR_OPEN              | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200   | 200    200   200     200
GET THEIRS/receipts/THEIR_CORE              | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    200   | ws     ws    200     200
GET THEIRS/receipts/CORE                    | anon anon gone ws     ws    ws    ws        ws        scope   404     404      | ws    ws    ws    ws    scope | ws     ws    404     404
GET NOWHERE/receipts/CORE                   | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404`

const logs = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t | s-view s-adm s-their s-inst
GET OURS/tlog/checkpoint                    | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/tlog/checkpoint                  | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET SHARED/tlog/checkpoint                  | 200  anon gone ws     ws    ws    ws        ws        ws      ws      200      | ws    ws    ws    ws    ws    | 200    200   200     200
GET NOWHERE/tlog/checkpoint                 | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404`

const administration = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t | s-view s-adm s-their s-inst
POST /v1/workspaces               new       | anon anon gone scope  scope scope scope     scope     scope   scope   201      | scope scope scope scope scope | scope  scope scope   201
POST /v1/workspaces               taken     | anon anon gone scope  scope scope scope     scope     scope   scope   409      | scope scope scope scope scope | scope  scope scope   409
GET /v1/workspaces                          | anon anon gone scope  scope scope scope     scope     scope   scope   200      | scope scope scope scope scope | scope  scope scope   200
GET OURS                                    | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS                                  | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET NOWHERE                                 | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
PATCH OURS                        days      | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws    | scope  200   ws      200
PATCH THEIRS                      days      | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
PATCH NOWHERE                     days      | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
POST OURS/exports                 out       | anon anon gone scope  scope scope scope     scope     ws      ws      204      | scope scope scope scope ws    | scope  scope ws      204
POST THEIRS/exports               out       | anon anon gone ws     ws    ws    ws        ws        scope   scope   204      | ws    ws    ws    ws    scope | ws     ws    scope   204
POST NOWHERE/exports              out       | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
POST OURS/erasures                forget    | anon anon gone scope  scope 202   scope     scope     ws      ws      202      | scope scope scope scope ws    | scope  202   ws      202
POST OURS/erasures                foretell  | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws    | scope  200   ws      200
POST THEIRS/erasures              forget    | anon anon gone ws     ws    ws    ws        ws        scope   202     202      | ws    ws    ws    ws    scope | ws     ws    202     202
POST NOWHERE/erasures             forget    | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/erasures                           | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws    | scope  200   ws      200
GET THEIRS/erasures                         | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET NOWHERE/erasures                        | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/erasures/ERASURE                   | anon anon gone scope  scope 404   scope     scope     ws      ws      404      | scope scope scope scope ws    | scope  404   ws      404
GET THEIRS/erasures/ERASURE                 | anon anon gone ws     ws    ws    ws        ws        scope   404     404      | ws    ws    ws    ws    scope | ws     ws    404     404
POST OURS/tlog/keys                         | anon anon gone scope  scope 201   scope     scope     ws      ws      201      | scope scope scope scope ws    | scope  201   ws      201
POST THEIRS/tlog/keys                       | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope | ws     ws    201     201
POST NOWHERE/tlog/keys                      | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/projects                           | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET THEIRS/projects                         | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET NOWHERE/projects                        | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
POST OURS/projects                new       | anon anon gone scope  scope 201   scope     scope     ws      ws      201      | scope scope scope scope ws    | scope  201   ws      201
POST THEIRS/projects              new       | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope | ws     ws    201     201
POST NOWHERE/projects             new       | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/projects/core                      | anon anon gone scope  200   200   scope     404       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/projects/mine                      | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws    | 200    200   ws      200
GET OURS/projects/unheard-of                | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
GET THEIRS/projects/mine                    | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
PATCH OURS/projects/mine          name      | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws    | scope  200   ws      200
PATCH OURS/projects/unheard-of    name      | anon anon gone scope  scope 404   scope     scope     ws      ws      404      | scope scope scope scope ws    | scope  404   ws      404
PATCH THEIRS/projects/mine        name      | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET OURS/api-keys                           | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws    | scope  200   ws      200
GET THEIRS/api-keys                         | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET NOWHERE/api-keys                        | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
POST OURS/api-keys                key       | anon anon gone scope  scope 201   scope     scope     ws      ws      201      | scope scope scope scope ws    | scope  201   ws      201
POST THEIRS/api-keys              key       | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope | ws     ws    201     201
POST NOWHERE/api-keys             key       | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
DELETE OURS/api-keys/KEY                    | anon anon gone scope  scope 204   scope     scope     ws      ws      204      | scope scope scope scope ws    | scope  204   ws      204
DELETE THEIRS/api-keys/KEY                  | anon anon gone ws     ws    ws    ws        ws        scope   204     204      | ws    ws    ws    ws    scope | ws     ws    204     204
DELETE NOWHERE/api-keys/KEY                 | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404`

const tokens = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t | s-view s-adm s-their s-inst
POST OURS/receipts/OPEN/token               | anon anon gone scope  201   201   scope     404       ws      ws      201      | scope scope scope scope ws    | 201    201   ws      201
POST OURS/receipts/CORE/token               | anon anon gone scope  201   201   scope     404       ws      ws      201      | scope scope scope scope ws    | 201    201   ws      201
POST OURS/receipts/MINE/token               | anon anon gone scope  201   201   scope     201       ws      ws      201      | scope scope scope scope ws    | 201    201   ws      201
POST OURS/receipts/NONE/token               | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
POST OURS/receipts/THEIR_OPEN/token         | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
POST THEIRS/receipts/THEIR_CORE/token       | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope | ws     ws    201     201
POST NOWHERE/receipts/CORE/token            | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
POST OURS/published-policy/token            | anon anon gone scope  201   201   scope     proj      ws      ws      201      | scope scope scope scope ws    | 201    201   ws      201
POST OURS/published-policy/token  of - mine | anon anon gone scope  201   201   scope     201       ws      ws      201      | scope scope scope scope ws    | 201    201   ws      201
POST OURS/published-policy/token  of - gone | anon anon gone scope  404   404   scope     proj      ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
POST THEIRS/published-policy/token          | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope | ws     ws    201     201
POST NOWHERE/published-policy/token         | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
POST OURS/evidence-packs/PACK_CORE/token    | anon anon gone scope  201   201   scope     404       ws      ws      201      | scope scope scope scope ws    | 201    201   ws      201
POST OURS/evidence-packs/PACK_MINE/token    | anon anon gone scope  201   201   scope     201       ws      ws      201      | scope scope scope scope ws    | 201    201   ws      201
POST OURS/evidence-packs/PACK_NONE/token    | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
POST OURS/evidence-packs/THEIR_PACK/token   | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
POST THEIRS/evidence-packs/THEIR_PACK/token | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope | ws     ws    201     201
POST NOWHERE/evidence-packs/PACK_CORE/token | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
POST OURS/activity/token       ada - core   | anon anon gone scope  201   201   scope     proj      ws      ws      201      | scope scope scope scope ws    | 201    201   ws      201
POST OURS/activity/token       ada - mine   | anon anon gone scope  off   off   scope     off       ws      ws      off      | scope scope scope scope ws    | off    off   ws      off
POST OURS/activity/token       ada - gone   | anon anon gone scope  404   404   scope     proj      ws      ws      404      | scope scope scope scope ws    | 404    404   ws      404
POST THEIRS/activity/token     ada - core   | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope | ws     ws    201     201
POST NOWHERE/activity/token    ada - core   | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
GET OURS/tokens                             | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws    | scope  200   ws      200
GET THEIRS/tokens                           | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope | ws     ws    200     200
GET NOWHERE/tokens                          | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404
DELETE OURS/tokens/TOKEN                    | anon anon gone scope  scope 204   scope     scope     ws      ws      204      | scope scope scope scope ws    | scope  204   ws      204
DELETE THEIRS/tokens/TOKEN                  | anon anon gone ws     ws    ws    ws        ws        scope   204     204      | ws    ws    ws    ws    scope | ws     ws    204     204
DELETE NOWHERE/tokens/TOKEN                 | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws    | ws     ws    ws      404`

// The last row ends the sessions of its columns.
const people = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t | s-view s-adm s-their s-inst
POST OURS/members              invite       | anon anon gone scope  scope 201   scope     scope     ws      ws      201      | scope scope scope scope ws      | scope  201   ws      201
POST THEIRS/members              invite     | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope   | ws     ws    201     201
POST NOWHERE/members              invite    | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws      | ws     ws    ws      404
GET OURS/members                            | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws      | scope  200   ws      200
GET THEIRS/members                          | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope   | ws     ws    200     200
GET NOWHERE/members                         | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws      | ws     ws    ws      404
POST OURS/members/MEMBER       role         | anon anon gone scope  scope scope scope     scope     ws      ws      404      | scope scope scope scope ws      | scope  scope ws      404
POST THEIRS/members/MEMBER       role       | anon anon gone ws     ws    ws    ws        ws        scope   scope   404      | ws    ws    ws    ws    scope   | ws     ws    scope   404
POST NOWHERE/members/MEMBER       role      | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws      | ws     ws    ws      404
PATCH OURS/members/MEMBER      role         | anon anon gone scope  scope 404   scope     scope     ws      ws      404      | scope scope scope scope ws      | scope  404   ws      404
PATCH THEIRS/members/MEMBER      role       | anon anon gone ws     ws    ws    ws        ws        scope   404     404      | ws    ws    ws    ws    scope   | ws     ws    404     404
PATCH NOWHERE/members/MEMBER      role      | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws      | ws     ws    ws      404
DELETE OURS/members/MEMBER                  | anon anon gone scope  scope 204   scope     scope     ws      ws      204      | scope scope scope scope ws      | scope  204   ws      204
DELETE THEIRS/members/MEMBER                | anon anon gone ws     ws    ws    ws        ws        scope   204     204      | ws    ws    ws    ws    scope   | ws     ws    204     204
DELETE NOWHERE/members/MEMBER               | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws      | ws     ws    ws      404
POST OURS/members/MEMBER/setup              | anon anon gone scope  scope 404   scope     scope     ws      ws      404      | scope scope scope scope ws      | scope  404   ws      404
POST THEIRS/members/MEMBER/setup            | anon anon gone ws     ws    ws    ws        ws        scope   404     404      | ws    ws    ws    ws    scope   | ws     ws    404     404
POST NOWHERE/members/MEMBER/setup           | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws      | ws     ws    ws      404
GET /v1/session                             | anon anon gone scope  scope scope scope     scope     scope   scope   scope    | scope scope scope scope scope   | 200    200   200     200
POST /v1/session/password        change     | anon anon gone scope  scope scope scope     scope     scope   scope   scope    | scope scope scope scope scope   | login  login login   login
POST /v1/session                 login      | login anon gone login  login login login     login     login   login   login    | login login login login login   | login  login login   login
POST /v1/setup                   set        | anon anon gone anon   anon  anon  anon      anon      anon    anon    anon     | anon  anon  anon  anon  anon    | anon   anon  anon    anon
DELETE /v1/session                          | 204  anon gone 204    204   204   204       204       204     204     204      | 204   204   204   204   204     | 204    204   204     204`

const policies = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t| s-view s-adm s-their s-inst
GET OURS/published-policy/1                 | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope 200   scope scope ws   | 200    200   ws      200
GET OURS/published-policy/latest            | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope 200   scope scope ws   | 200    200   ws      200
GET OURS/published-policy/1?projectId=mine  | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET OURS/published-policy/999               | anon anon gone scope  404   404   scope     proj      ws      ws      404      | scope 404   scope scope ws   | 404    404   ws      404
GET OURS/published-policy/nonsense          | anon anon gone 404    404   404   404       404       ws      ws      404      | 404   404   404   404   ws   | 404    404   ws      404
GET SHARED/published-policy/1               | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200  | 200    200   200     200
GET THEIRS/published-policy/1               | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
GET NOWHERE/published-policy/1              | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
GET OURS/published-policy                   | anon anon gone scope  200   200   scope     proj      ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET OURS/published-policy?projectId=mine    | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET THEIRS/published-policy                 | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
GET NOWHERE/published-policy                | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
POST OURS/published-policy    policy        | anon anon gone scope  scope 201   scope     scope     ws      ws      201      | scope scope scope scope ws   | scope  201   ws      201
POST OURS/published-policy    policy - gone | anon anon gone scope  scope 404   scope     scope     ws      ws      404      | scope scope scope scope ws   | scope  404   ws      404
POST THEIRS/published-policy  policy        | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope| ws     ws    201     201
POST NOWHERE/published-policy policy        | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404`

const evidence = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t| s-view s-adm s-their s-inst
POST OURS/evidence-packs      pack - core   | anon anon gone scope  201   201   scope     404       ws      ws      201      | scope scope scope scope ws   | 201    201   ws      201
POST OURS/evidence-packs      pack - mine   | anon anon gone scope  201   201   scope     201       ws      ws      201      | scope scope scope scope ws   | 201    201   ws      201
POST OURS/evidence-packs      pack - theirs | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws   | 404    404   ws      404
POST THEIRS/evidence-packs    pack - theirs | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope| ws     ws    201     201
POST NOWHERE/evidence-packs   pack - core   | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
GET OURS/evidence-packs                     | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET THEIRS/evidence-packs                   | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
GET NOWHERE/evidence-packs                  | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
GET OURS/evidence-packs/PACK_CORE           | anon anon gone scope  200   200   scope     404       ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET OURS/evidence-packs/PACK_MINE           | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET OURS/evidence-packs/PACK_NONE           | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws   | 404    404   ws      404
GET OURS/evidence-packs/THEIR_PACK          | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws   | 404    404   ws      404
GET THEIRS/evidence-packs/THEIR_PACK        | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
GET NOWHERE/evidence-packs/PACK_CORE        | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
GET OURS/evidence-packs/PACK_CORE/entries   | anon anon gone scope  200   200   scope     404       ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET OURS/evidence-packs/PACK_MINE/entries   | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET OURS/evidence-packs/PACK_NONE/entries   | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws   | 404    404   ws      404
GET OURS/evidence-packs/THEIR_PACK/entries  | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws   | 404    404   ws      404
GET THEIRS/evidence-packs/THEIR_PACK/entries| anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
GET NOWHERE/evidence-packs/PACK_CORE/entries| anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
GET OURS/evidence-packs/PACK_CORE/download  | anon anon gone scope  200   200   scope     404       ws      ws      200      | scope scope scope scope ws   | 200    200   ws      200
GET OURS/evidence-packs/PACK_MINE/download  | anon anon gone scope  200   200   scope     200       ws      ws      200      | scope scope scope 200   ws   | 200    200   ws      200
GET OURS/evidence-packs/PACK_NONE/download  | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws   | 404    404   ws      404
GET OURS/evidence-packs/THEIR_PACK/download | anon anon gone scope  404   404   scope     404       ws      ws      404      | scope scope scope scope ws   | 404    404   ws      404
GET THEIRS/evidence-packs/THEIR_PACK/download| anon anon gone ws    ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
GET NOWHERE/evidence-packs/PACK_CORE/download| anon anon gone ws    ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404`

const lifetime = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t| s-view s-adm s-their s-inst
GET OURS/holds                              | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws   | scope  200   ws      200
GET THEIRS/holds                            | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
GET NOWHERE/holds                           | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
POST OURS/holds               hold          | anon anon gone scope  scope 201   scope     scope     ws      ws      201      | scope scope scope scope ws   | scope  201   ws      201
POST THEIRS/holds             hold          | anon anon gone ws     ws    ws    ws        ws        scope   201     201      | ws    ws    ws    ws    scope| ws     ws    201     201
POST NOWHERE/holds            hold          | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
GET OURS/holds/HOLD                         | anon anon gone scope  scope 404   scope     scope     ws      ws      404      | scope scope scope scope ws   | scope  404   ws      404
GET THEIRS/holds/HOLD                       | anon anon gone ws     ws    ws    ws        ws        scope   404     404      | ws    ws    ws    ws    scope| ws     ws    404     404
GET NOWHERE/holds/HOLD                      | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
DELETE OURS/holds/HOLD        release       | anon anon gone scope  scope 404   scope     scope     ws      ws      404      | scope scope scope scope ws   | scope  404   ws      404
DELETE THEIRS/holds/HOLD      release       | anon anon gone ws     ws    ws    ws        ws        scope   404     404      | ws    ws    ws    ws    scope| ws     ws    404     404
DELETE NOWHERE/holds/HOLD     release       | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
POST OURS/retention/preview   nothing       | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws   | scope  200   ws      200
POST THEIRS/retention/preview nothing       | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
POST NOWHERE/retention/preview nothing      | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404
POST OURS/retention/run       nothing       | anon anon gone scope  scope 200   scope     scope     ws      ws      200      | scope scope scope scope ws   | scope  200   ws      200
POST THEIRS/retention/run     nothing       | anon anon gone ws     ws    ws    ws        ws        scope   200     200      | ws    ws    ws    ws    scope| ws     ws    200     200
POST NOWHERE/retention/run    nothing       | anon anon gone ws     ws    ws    ws        ws        ws      ws      404      | ws    ws    ws    ws    ws   | ws     ws    ws      404`

const operations = `
                                            | none bad  end  write  read  admin w-of-mine r-of-mine their-w their-a instance | rcpt  pol   act   evid  their-t | s-view s-adm s-their s-inst
GET /healthz                                | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200   | 200    200   200     200
GET /readyz                                 | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200   | 200    200   200     200
GET /metrics                                | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200   | 200    200   200     200
GET /v1/limits                              | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200   | 200    200   200     200
GET /v1/system                              | anon anon gone scope  scope scope scope     scope     scope   scope   200      | scope scope scope scope scope | scope  scope scope   200
GET /openapi.json                           | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200   | 200    200   200     200
GET /docs                                   | 200  anon gone 200    200   200   200       200       200     200     200      | 200   200   200   200   200   | 200    200   200     200`

interface Line {
  readonly ask: string
  readonly send: readonly string[]
  readonly cells: readonly string[]
}

/** A line of the table: the request, the body if any, and a cell for each principal. */
function linesOf(table: string): readonly Line[] {
  const [, , ...lines] = table.split("\n")
  return lines.map((line) => {
    const [left = "", ...groups] = line.split("|")
    const [method, path = "", ...send] = left.trim().split(/\s+/)
    const cells = groups.join(" ").trim().split(/\s+/)
    assert.equal(cells.length, principals.length, `${left} has a cell for each principal`)
    return {
      ask: `${method} ${path.replace(/[A-Z]+(_[A-Z]+)?/g, (name) => names[name] ?? name)}`,
      send,
      cells,
    }
  })
}

/** What holds for one resource holds for others that stand for the same thing. */
const alike = (
  lines: readonly Line[],
  change: (ask: string) => readonly string[],
): readonly Line[] => lines.flatMap((line) => change(line.ask).map((ask) => ({ ...line, ask })))
const ofEpoch = ["checkpoint", "log.vkey", "keys", "tile/0/000.p/1", "tile/entries/000.p/1"]
const ofLog = [...ofEpoch, "epochs", ...[...ofEpoch, "records"].map((name) => `epochs/1/${name}`)]

const tables: Readonly<Record<string, readonly Line[]>> = {
  writing: linesOf(writing),
  queries: linesOf(queries),
  receipts: alike(linesOf(ownReceipts), (ask) => [ask, `${ask}/proof`]),
  logs: alike(linesOf(logs), (ask) => ofLog.map((name) => ask.replace("checkpoint", name))),
  administration: linesOf(administration),
  tokens: linesOf(tokens),
  policies: linesOf(policies),
  evidence: linesOf(evidence),
  lifetime: linesOf(lifetime),
  operations: linesOf(operations),
  people: linesOf(people),
}

for (const [name, lines] of Object.entries(tables)) {
  test(`every cell of the table: ${name}`, async () => {
    assert.ok(lines.length >= 5)
    await expectRows(lines.flatMap(rowsOf))
  })
}

function rowsOf({
  ask,
  send: [kind = "", workspace = "", projectId = ""],
  cells,
}: Line): readonly Row[] {
  const isWrite = /^POST \/v1\/(events|consents|consents\/withdrawals)$/.test(ask)
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
      // A refusal reveals nothing of the refused resource.
      hasNot:
        typeof gets === "string"
          ? [ours.id, theirs.id, "rcp_", "evt_", "ada@example.com", "mine", "Invoice"]
          : [],
      has: inPlace === "" ? [] : [`"error":"${answers[inPlace]?.split(" ")[1]}"`],
    }
  })
}

test("every endpoint of the description is in the table", () => {
  const asked = new Set(
    Object.values(tables).flatMap((lines) => lines.map(({ ask }) => templateOf(ask))),
  )
  const described = Object.entries<object>(service.described.document["paths"]).flatMap(
    ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual([...asked].toSorted(), described.toSorted())
})

function templateOf(ask: string): string {
  return ask
    .replace(/\?.*/, "")
    .replace(/workspaces\/[^/]+/, "workspaces/{workspaceId}")
    .replace(/receipts\/[^/]+/, "receipts/{receiptId}")
    .replace(/projects\/[^/]+/, "projects/{projectId}")
    .replace(/api-keys\/[^/]+/, "api-keys/{keyId}")
    .replace(/members\/[^/]+/, "members/{memberId}")
    .replace(/\/tokens\/[^/]+/, "/tokens/{tokenId}")
    .replace(/evidence-packs\/[^/]+/, "evidence-packs/{packId}")
    .replace(/erasures\/[^/]+/, "erasures/{erasureId}")
    .replace(/holds\/[^/]+/, "holds/{holdId}")
    .replace(/published-policy\/(?!token)[^/]+/, "published-policy/{version}")
    .replace(/tile\/.+/, "tile/{tile}")
    .replace(/epochs\/[^/]+/, "epochs/{epoch}")
    .replace(/\?.*/, "")
}

test("a refusal says what is needed", async () => {
  const [nobody, { reader, writer }] = [service.client(), ours]
  const rows = [
    [nobody, "GET /v1/session", "a session"],
    [reader, "GET /v1/session", "a session"],
    [nobody, `GET ${ours.path}/activity`, "an activity token"],
    [reader, `GET ${ours.path}/activity`, "an activity token"],
    [nobody, `GET ${ours.path}/events`, "the scope read"],
    [writer, `GET ${ours.path}/events`, "the scope read"],
    [reader, "POST /v1/events", "the scope write"],
    [reader, `GET ${ours.path}/api-keys`, "the scope admin"],
    [reader, "GET /v1/system", "the instance key"],
  ] as const
  await expectRows(
    rows.map(([as, ask, needed]) => ({ as, ask, gets: as === nobody ? 401 : 403, has: [needed] })),
  )
})

test("a refusal about another tenant does not depend on whether the resource exists", async () => {
  const asks = [
    ["GET", (id: string) => `/v1/workspaces/${id}`],
    ["GET", (id: string) => `/v1/workspaces/${id}/projects/mine`],
    ["GET", (id: string) => `/v1/workspaces/${id}/receipts/${theirReceipts.core}`],
    ["GET", (id: string) => `/v1/workspaces/${id}/receipts/${receipts.open}`],
    ["GET", (id: string) => `/v1/workspaces/${id}/receipts/nonsense`],
    ["GET", (id: string) => `/v1/workspaces/${id}/published-policy/1`],
    ["GET", (id: string) => `/v1/workspaces/${id}/published-policy/nonsense`],
    ["GET", (id: string) => `/v1/workspaces/${id}/events`],
    ["GET", (id: string) => `/v1/workspaces/${id}/activity`],
    ["GET", (id: string) => `/v1/workspaces/${id}/tlog/checkpoint`],
    ["GET", (id: string) => `/v1/workspaces/${id}/api-keys`],
  ] as const
  for (const [name, client] of principals.slice(3, 8)) {
    for (const [method, path] of asks) {
      const [exists, doesNot] = await Promise.all(
        [theirs.id, "nowhere"].map((id) => client.ask(method, path(id))),
      )
      assert.deepEqual(
        [exists?.status, exists?.text],
        [doesNot?.status, doesNot?.text],
        `${name} ${path("x")}`,
      )
    }
  }
})

test("on public resources a credential of another workspace counts as none", async () => {
  const open = [
    `${ours.path}/receipts/${receipts.open}`,
    `${ours.path}/receipts/${receipts.open}/proof`,
    `${shared.path}/published-policy/1`,
  ]
  for (const path of open) {
    const nobody = await service.client().get(path)
    assert.equal(nobody.status, 200)
    assert.doesNotMatch(nobody.text, /ada@example\.com/)
    for (const [name, client] of principals.filter(([name]) => name.startsWith("their")))
      assert.equal((await client.get(path)).text, nobody.text, `${name} ${path}`)
  }
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
