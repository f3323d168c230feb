import assert from "node:assert/strict"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { unpaced } from "../runtime/pace.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import { createCheckpoints } from "./verified-checkpoints.ts"
import { createLeaves } from "./verified-leaves.ts"
import { findReceipt } from "./verified-entries.ts"

const recordedMs = Date.UTC(2026, 0, 1)
const clock: Clock = { now: () => recordedMs, elapsed: () => 0, sleep: async () => {} }
const acme = testWorkspace("acme", { hotDays: 3 })

test("an entry is hot until its days are over, and archived a millisecond later", async () => {
  const { served } = openMemory()
  await openTestLedger(served.journal, { clock }).record(acme, [testEvent()])
  const [stored] = await served.journal.at("acme", [1])
  const leaves = createLeaves(served, defaultLimits)
  const checkpoints = createCheckpoints({
    store: served,
    leaves,
    isGenuine: () => assert.fail("nothing is signed"),
  })
  const source = {
    ...served,
    leaves,
    checkpoints,
    haltedFrom: () => undefined,
    suspect: () => assert.fail("nothing is broken"),
  }
  for (const [afterMs, expected] of [
    [0, "hot"],
    [3 * 86_400_000 - 1, "hot"],
    [3 * 86_400_000, "hot"],
    [3 * 86_400_000 + 1, "archive"],
  ] as const) {
    const { present, integrity } = await findReceipt(
      source,
      acme,
      stored ?? assert.fail(),
      recordedMs + afterMs,
      unpaced,
    )
    assert.deepEqual(
      [present.storageClass, integrity],
      [expected, "pending"],
      `${afterMs} ms later`,
    )
  }
  await expectChain(served.journal, "acme")
})
