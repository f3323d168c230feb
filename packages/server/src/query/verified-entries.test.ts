import assert from "node:assert/strict"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { firstKeyring } from "../secrets/keyring.ts"
import { createLedger } from "../ledger/ledger.ts"
import { defaultLimits } from "../limits.ts"
import { unpaced } from "../runtime/pace.ts"
import type { WorkspaceDocument } from "../store/documents.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { Document } from "../store/store.ts"
import { createCheckpoints } from "./verified-checkpoints.ts"
import { createLeaves } from "./verified-leaves.ts"
import { findReceipt } from "./verified-entries.ts"

const recordedMs = Date.UTC(2026, 0, 1)
const clock: Clock = { now: () => recordedMs, elapsed: () => 0, sleep: async () => {} }
const value: WorkspaceDocument = {
  name: "Acme",
  createdAt: "2026-01-01T00:00:00.000Z",
  origin: "ledger.example/ledgers/1",
  genesis: "{}",
  ledgerId: "07".repeat(32),
  policyVisibility: "private",
  projects: "open",
  transparency: "private",
  hotDays: 3,
  requirePublishedPolicy: false,
  personalKeys: [],
  laneRules: [],
}
const acme: Document<"workspace"> = { kind: "workspace", workspace: "acme", id: "acme", version: 0, created: 1, value }

test("an entry is hot until its days are over, and archived a millisecond later", async () => {
  const { served } = openMemory()
  const ledger = createLedger({
    journal: served.journal,
    clock,
    limits: defaultLimits,
    keyring: firstKeyring(Buffer.alloc(32, 3)),
    report: { commit: () => {}, advanced: () => {} },
  })
  const party = { id: "usr_1", type: "user" }
  const more = { projectId: "core", occurredAt: "2026-01-01T00:00:00Z", source: "api", userVisible: false, metadata: {} }
  await ledger.record(acme, [{ kind: "event", action: "test.entry.write", actor: party, target: party, receivedAtMs: recordedMs, ...more }])
  const [stored] = await served.journal.at("acme", [1])
  const leaves = createLeaves(served, defaultLimits)
  const checkpoints = createCheckpoints({ store: served, leaves, isGenuine: () => assert.fail("nothing is signed") })
  const source = { ...served, leaves, checkpoints, haltedFrom: () => undefined, suspect: () => assert.fail("nothing is broken") }
  for (const [afterMs, expected] of [
    [0, "hot"],
    [3 * 86_400_000 - 1, "hot"],
    [3 * 86_400_000, "hot"],
    [3 * 86_400_000 + 1, "archive"],
  ] as const) {
    const { present, integrity } = await findReceipt(source, acme, stored ?? assert.fail(), recordedMs + afterMs, unpaced)
    assert.deepEqual([present.storageClass, integrity], [expected, "pending"], `${afterMs} ms later`)
  }
  await expectChain(served.journal, "acme")
})
