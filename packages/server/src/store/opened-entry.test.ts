import assert from "node:assert/strict"
import test from "node:test"
import { fieldsWith, type FieldWith, type Json } from "@tallystick/proof"
import { justRecorded, receiptJson, type Content } from "./opened-entry.ts"

const party = { id: "usr_1", type: "user" }
const content: Content & Required<Pick<Content, FieldWith<"shown", "receipt and entry">>> = {
  id: "evt_1",
  receipt: "rcp_1",
  workspaceId: "acme",
  projectId: "core",
  action: "a.b",
  actor: party,
  target: party,
  occurredAt: "2026-01-01T00:00:00Z",
  receivedAt: "2026-01-01T00:00:00.123Z",
  source: "api",
  userVisible: false,
  lane: "operations",
  metadata: {},
  policyVersion: 3,
}

function receiptOf(changed: Partial<Content>): string {
  const link = {
    sequence: 1,
    timeMs: 0,
    hash: new Uint8Array(32),
    previousHash: new Uint8Array(32),
  }
  const opened = { kind: "event", link, content: { ...content, ...changed } } as const
  return receiptJson(opened, justRecorded, "https://ledger.example")
}

test("a receipt has every field of the table", () => {
  const receipt = JSON.parse(receiptOf({}))
  for (const name of fieldsWith("shown", "receipt and entry"))
    assert.equal(receipt[name], content[name], name)
})

test("a receipt does not depend on the order of members, so that a replay has the same bytes", () => {
  const named = (name: Json): string => receiptOf({ actor: { ...party, name } })
  assert.equal(named({ given: "Ada", family: "L" }), named({ family: "L", given: "Ada" }))
  const mailed = (email: Json): string => receiptOf({ target: { ...party, email } })
  assert.equal(mailed([{ b: 1, a: 2 }]), mailed([{ a: 2, b: 1 }]))
})
