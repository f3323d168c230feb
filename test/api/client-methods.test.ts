import assert from "node:assert/strict"
import { test } from "node:test"
import { createClient, type AuditEvent, type Client } from "@tallystick/client"
import { startService } from "../service.ts"

// No endpoint lacks a method of the client, and no method an endpoint.

const event: AuditEvent = {
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  actor: { id: "usr_1", type: "user" },
  target: { id: "inv_9", type: "invoice" },
  occurredAt: "2026-01-31T09:30:00Z",
  source: "api",
}
const consent = {
  workspaceId: "acme",
  subject: { id: "usr_1", email: "ada@example.com" },
  mode: "explicit",
  policyVersion: 1,
  surface: "form",
} as const
const login = { email: "ada@example.com", password: "correct horse battery staple" }

const methods: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  "POST /v1/events": ({ events }) => events.write(event),
  "POST /v1/events/batch": ({ events }) => events.writeBatch([event]),
  "POST /v1/consents": ({ consents }) => consents.record(consent),
  "GET /v1/workspaces/{workspaceId}/events": ({ events }) => events.list("acme"),
  "GET /v1/workspaces/{workspaceId}/activity": ({ activity }) => activity.list("acme"),
  "GET /v1/workspaces/{workspaceId}/receipts/{receiptId}": ({ receipts }) => receipts.get("acme", "rcp_1"),
  "GET /v1/workspaces/{workspaceId}/receipts/{receiptId}/proof": ({ receipts }) => receipts.proof("acme", "rcp_1"),
  "GET /v1/workspaces/{workspaceId}/tlog/checkpoint": ({ log }) => log.checkpoint("acme"),
  "GET /v1/workspaces/{workspaceId}/tlog/log.vkey": ({ log }) => log.vkey("acme"),
  "GET /v1/workspaces/{workspaceId}/tlog/keys": ({ log }) => log.keys("acme"),
  "GET /v1/workspaces/{workspaceId}/tlog/epochs": ({ log }) => log.epochs("acme"),
  "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/checkpoint": ({ log }) => log.checkpoint("acme", { epoch: 1 }),
  "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/log.vkey": ({ log }) => log.vkey("acme", { epoch: 1 }),
  "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/keys": ({ log }) => log.keys("acme", { epoch: 1 }),
  "GET /v1/workspaces/{workspaceId}/tlog/epochs/{epoch}/tile/{tile}": ({ log }) => log.tile("acme", "0/000", { epoch: 1 }),
  "POST /v1/workspaces/{workspaceId}/tlog/keys": ({ log }) => log.rotateKey("acme"),
  "GET /v1/workspaces/{workspaceId}/tlog/tile/{tile}": ({ log }) => log.tile("acme", "0/000"),
  "POST /v1/workspaces": ({ workspaces }) => workspaces.create({ id: "acme" }),
  "GET /v1/workspaces": ({ workspaces }) => workspaces.list(),
  "GET /v1/workspaces/{workspaceId}": ({ workspaces }) => workspaces.get("acme"),
  "PATCH /v1/workspaces/{workspaceId}": ({ workspaces }) => workspaces.update("acme", { hotDays: 30 }),
  "POST /v1/workspaces/{workspaceId}/exports": ({ workspaces }) => workspaces.recordExport("acme", { entries: 1 }),
  "POST /v1/workspaces/{workspaceId}/projects": ({ projects }) => projects.create("acme", { id: "core" }),
  "GET /v1/workspaces/{workspaceId}/projects": ({ projects }) => projects.list("acme"),
  "GET /v1/workspaces/{workspaceId}/projects/{projectId}": ({ projects }) => projects.get("acme", "core"),
  "PATCH /v1/workspaces/{workspaceId}/projects/{projectId}": ({ projects }) => projects.update("acme", "core", { name: "Core" }),
  "POST /v1/workspaces/{workspaceId}/published-policy": ({ policies }) => policies.publish("acme", { sections: [] }),
  "GET /v1/workspaces/{workspaceId}/published-policy": ({ policies }) => policies.list("acme"),
  "GET /v1/workspaces/{workspaceId}/published-policy/{version}": ({ policies }) => policies.get("acme", "latest"),
  "POST /v1/workspaces/{workspaceId}/evidence-packs": ({ packs }) => packs.create("acme", { title: "All", receiptIds: ["rcp_1"] }),
  "GET /v1/workspaces/{workspaceId}/evidence-packs": ({ packs }) => packs.list("acme"),
  "GET /v1/workspaces/{workspaceId}/evidence-packs/{packId}": ({ packs }) => packs.get("acme", "pack_1"),
  "GET /v1/workspaces/{workspaceId}/evidence-packs/{packId}/download": async ({ packs }) => {
    await packs.download("acme", "pack_1")
    await packs.downloadJson("acme", "pack_1")
  },
  "POST /v1/workspaces/{workspaceId}/api-keys": ({ apiKeys }) => apiKeys.create("acme", { name: "one", scopes: ["read"] }),
  "GET /v1/workspaces/{workspaceId}/api-keys": ({ apiKeys }) => apiKeys.list("acme"),
  "DELETE /v1/workspaces/{workspaceId}/api-keys/{keyId}": ({ apiKeys }) => apiKeys.revoke("acme", "key_1"),
  "POST /v1/workspaces/{workspaceId}/receipts/{receiptId}/token": ({ tokens }) => tokens.forReceipt("acme", "rcp_1"),
  "POST /v1/workspaces/{workspaceId}/published-policy/token": ({ tokens }) => tokens.forPolicy("acme"),
  "POST /v1/workspaces/{workspaceId}/evidence-packs/{packId}/token": ({ tokens }) => tokens.forPack("acme", "pack_1"),
  "POST /v1/workspaces/{workspaceId}/activity/token": ({ tokens }) => tokens.forActivity("acme", { projectId: "core", subject: "usr_1" }),
  "GET /v1/workspaces/{workspaceId}/tokens": ({ tokens }) => tokens.list("acme"),
  "DELETE /v1/workspaces/{workspaceId}/tokens/{tokenId}": ({ tokens }) => tokens.revoke("acme", "tok_1"),
  "POST /v1/workspaces/{workspaceId}/members": ({ members }) => members.invite("acme", { email: "ada@example.com", role: "viewer" }),
  "GET /v1/workspaces/{workspaceId}/members": ({ members }) => members.list("acme"),
  "POST /v1/workspaces/{workspaceId}/members/{memberId}": ({ members }) => members.add("acme", "mem_1", { role: "viewer" }),
  "PATCH /v1/workspaces/{workspaceId}/members/{memberId}": ({ members }) => members.update("acme", "mem_1", { role: "admin" }),
  "DELETE /v1/workspaces/{workspaceId}/members/{memberId}": ({ members }) => members.remove("acme", "mem_1"),
  "POST /v1/workspaces/{workspaceId}/members/{memberId}/setup": ({ members }) => members.inviteAgain("acme", "mem_1"),
  "POST /v1/setup": ({ session }) => session.setUp({ token: "tsx_1", password: login.password }),
  "POST /v1/session": ({ session }) => session.signIn(login),
  "GET /v1/session": ({ session }) => session.get(),
  "DELETE /v1/session": ({ session }) => session.signOut(),
  "POST /v1/session/password": ({ session }) => session.changePassword({ old: login.password, new: `${login.password}s` }),
  "GET /healthz": ({ service }) => service.health(),
  "GET /readyz": ({ service }) => service.readiness(),
  "GET /metrics": ({ service }) => service.metrics(),
  "GET /v1/limits": ({ service }) => service.limits(),
  "GET /openapi.json": ({ service }) => service.description(),
}

/** Methods that are made of others, or ask for what the description does not describe. */
const others = /\.(each|verify)$|^service\.docs$/

test("every endpoint of the description has a method of the client, and every method an endpoint", async () => {
  await using service = await startService()
  const { paths } = (await service.client().get("/openapi.json")).json<{ paths: Record<string, object> }>()
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.ok(described.length >= 40, `the description has ${described.length} operations only`)
  assert.deepEqual(
    described.filter((operation) => !(operation in methods) && operation !== "GET /docs"),
    [],
    "these have no method of the client",
  )
  assert.deepEqual(
    Object.keys(methods).filter((operation) => !described.includes(operation)),
    [],
    "these are not described",
  )

  const called = new Set<string>()
  for (const [operation, call] of Object.entries(methods)) {
    const sent: string[] = []
    await call(watched(recorder(sent), called))
    assert.ok(sent.length > 0)
    for (const one of sent) assert.match(one, patternOf(operation))
  }
  const all = Object.entries(recorder([])).flatMap(([noun, calls]) => Object.keys(calls).map((name) => `${noun}.${name}`))
  assert.deepEqual(
    all.filter((name) => !called.has(name) && !others.test(name)),
    [],
    "these were not tried",
  )
})

/** A client that is answered something by nobody. */
function recorder(sent: string[]): Client {
  return createClient({
    baseUrl: "http://127.0.0.1",
    async fetch(url, { method = "" } = {}) {
      sent.push(`${method} ${new URL(url instanceof Request ? url.url : url).pathname}`)
      return new Response(JSON.stringify({ ready: true, results: [] }))
    },
  })
}

/** The same client, noting which of its methods are taken. */
function watched(client: Client, called: Set<string>): Client {
  const nouns = Object.entries(client).map(([noun, calls]) => {
    const get = (target: object, name: string): unknown => (called.add(`${noun}.${name}`), Reflect.get(target, name))
    return [noun, new Proxy<object>(calls, { get: (target, name) => get(target, String(name)) })]
  })
  return Object.fromEntries(nouns) as Client // of the same members
}

function patternOf(operation: string): RegExp {
  const [method = "", path = ""] = operation.split(" ")
  return new RegExp(`^${method} ${path.replaceAll(".", "\\.").replaceAll(/\{(\w+)\}/g, (_, name) => (name === "tile" ? ".+" : "[^/]+"))}$`)
}
