// A test aid: a workspace, an ordinary event, and a ledger without metrics.

import { createHash } from "node:crypto"
import type { Clock } from "../clock.ts"
import { LedgerError, type ErrorCode } from "../error.ts"
import { defaultLimits } from "../limits.ts"
import { firstKeyring } from "../secrets/keyring.ts"
import type { Workspace, WorkspaceDocument } from "../store/documents.ts"
import type { Journal } from "../store/store.ts"
import { createLedger, type Ledger, type LedgerParts, type Draft } from "./ledger.ts"

const clock: Clock = { now: () => Date.UTC(2026, 0, 2), elapsed: () => 0, sleep: async () => {} }

export const testKeyring = firstKeyring(new Uint8Array(32))

/** A workspace's document, with a ledgerId of its own. */
export function testWorkspace(id = "acme", changes: Partial<WorkspaceDocument> = {}): Workspace {
  const value: WorkspaceDocument = {
    name: id,
    createdAt: "2026-01-01T00:00:00.000Z",
    genesis: "",
    ledgerId: createHash("sha256").update(id).digest("hex"),
    origin: `ledger.example/ledgers/${id}`,
    policyVisibility: "private",
    projects: "open",
    transparency: "private",
    hotDays: 90,
    requirePublishedPolicy: false,
    personalKeys: [],
    laneRules: [],
    ...changes,
  }
  return { kind: "workspace", workspace: id, id, version: 1, created: 1, value }
}

export function testEvent(changes: Partial<Draft> = {}): Draft {
  return {
    kind: "event",
    projectId: "core",
    action: "test.entry.write",
    actor: { id: "usr_1", type: "user", email: "ada@example.com" },
    target: { id: "inv_9", type: "invoice", name: "Invoice 9" },
    occurredAt: "2026-01-01T00:00:00Z",
    source: "api",
    userVisible: false,
    metadata: {},
    receivedAtMs: Date.UTC(2026, 0, 2),
    ...changes,
  }
}

export function openTestLedger(journal: Journal, parts: Partial<LedgerParts> = {}): Ledger {
  const report = { commit: () => {}, advanced: () => {} }
  return createLedger({
    registry: { get: async () => undefined },
    journal,
    clock,
    limits: defaultLimits,
    keyring: testKeyring,
    report,
    ...parts,
  })
}

/** For `assert.rejects`: a refusal with this code. */
export const hasCode = (expected: ErrorCode) => (error: unknown) =>
  error instanceof LedgerError && error.code === expected
