import assert from "node:assert/strict"
import test from "node:test"
import { fieldsWith, type FieldWith } from "@tallystick/proof"
import { justRecorded, receiptJson, type Content } from "./opened-entry.ts"

test("a receipt has every field of the table", () => {
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
  const link = {
    sequence: 1,
    timeMs: 0,
    hash: new Uint8Array(32),
    previousHash: new Uint8Array(32),
  }
  const receipt = JSON.parse(
    receiptJson({ kind: "event", link, content }, justRecorded, "https://ledger.example"),
  )
  for (const name of fieldsWith("shown", "receipt and entry"))
    assert.equal(receipt[name], content[name], name)
})
