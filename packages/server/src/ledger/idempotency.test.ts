import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import test from "node:test"
import type { Content } from "../store/opened-entry.ts"
import { idemOf, sameRequest, withoutErased } from "./idempotency.ts"

const recorded: Content = {
  id: "evt_1",
  receipt: "rcp_1",
  workspaceId: "acme",
  projectId: "core",
  action: "billing.invoice.approve",
  actor: { id: "usr_1", type: "user", email: "ada@example.com" },
  target: { id: "inv_9", type: "invoice" },
  occurredAt: "2026-01-01T00:00:00Z",
  receivedAt: "2026-01-01T00:00:00.123Z",
  source: "api",
  userVisible: false,
  lane: "operations",
  metadata: { amount: 1, lines: [{ a: 1, b: 2 }] },
}

test("the hash of a key in a body follows the format", () => {
  const secret = randomBytes(32)
  for (const key of ["order-4711-created", "!".repeat(12), "~".repeat(255)]) {
    for (const route of ["/v1/events", "/v1/consents"] as const) {
      const preimage = Buffer.concat([
        Buffer.from("ALK1"),
        secret,
        Buffer.from(route),
        Buffer.of(0x0a),
        Buffer.from(key),
      ])
      assert.equal(
        idemOf(secret, route, key),
        createHash("sha256").update(preimage).digest().subarray(0, 16).toString("base64url"),
      )
    }
    assert.notEqual(
      idemOf(secret, "/v1/events", key),
      idemOf(secret, "/v1/consents", key),
      "each route has its own keys",
    )
    assert.notEqual(
      idemOf(secret, "/v1/events", key),
      idemOf(randomBytes(32), "/v1/events", key),
      "and each ledger",
    )
  }
})

// Fields that a caller sets: any difference makes it another request.
const others: readonly (readonly [member: string, asked: Partial<Content>])[] = [
  ["workspaceId", { workspaceId: "other" }],
  ["projectId", { projectId: "other" }],
  ["action", { action: "billing.invoice.reject" }],
  ["actor", { actor: { id: "usr_1", type: "user" } }],
  ["actor's further members", { actor: { ...recorded.actor, age: 3 } }],
  ["target", { target: { id: "inv_9", type: "invoice", name: "9" } }],
  ["occurredAt", { occurredAt: "2026-01-01T00:00:00.0Z" }],
  ["source", { source: "system" }],
  ["metadata", { metadata: { amount: 2, lines: [{ a: 1, b: 2 }] } }],
  ["metadata's order of items", { metadata: { amount: 1, lines: [{ a: 1, b: 2 }, {}] } }],
  ["userVisible", { userVisible: true }],
]
for (const [member, asked] of others) {
  test(`a request with another ${member} is another request`, () => {
    assert.equal(sameRequest("event", recorded, { ...recorded, ...asked }), false)
  })
}

test("context headers and the order of members do not make another request", () => {
  const sentAgain: Content = {
    ...recorded,
    id: "evt_2",
    receipt: "rcp_2",
    receivedAt: "2027-01-01T00:00:00.000Z",
    lane: "data",
    keyId: "another",
    context: { requestId: "another" },
    policyVersion: 3,
    clockAhead: true,
    actor: { email: "ada@example.com", type: "user", id: "usr_1" },
    metadata: { lines: [{ b: 2, a: 1 }], amount: 1 },
  }
  assert.equal(sameRequest("event", recorded, sentAgain), true)
  assert.equal(
    sameRequest("consent", recorded, { ...sentAgain, occurredAt: sentAgain.receivedAt }),
    true,
    "we date a consent",
  )
})

test("what was erased of a recorded request is not compared, and all else is", () => {
  const digest = "A".repeat(43)
  const asked: Content = {
    ...recorded,
    actor: { ...recorded.actor, name: "Ada" },
    target: { ...recorded.target, name: "Invoice 9" },
    metadata: { ...recorded.metadata, note: "paid" },
  }
  const sealed = { _sd: [digest] }
  for (const [part, body] of [
    ["actor", { actor: sealed, metadata: {} }],
    ["target", { target: sealed, metadata: {} }],
    ["metadata", { metadata: sealed }],
    ["metadata", sealed],
  ] as const) {
    const left = withoutErased(asked, recorded, Buffer.from(JSON.stringify(body)), [digest])
    assert.deepEqual(left, { ...asked, [part]: recorded[part] })
  }
  const withoutContext = Buffer.from(JSON.stringify({ ...sealed, metadata: {} }))
  assert.deepEqual(withoutErased(asked, recorded, withoutContext, [digest]), asked)
})
