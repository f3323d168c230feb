import assert from "node:assert/strict"
import test from "node:test"
import { setImmediate } from "node:timers/promises"
import { systemClock } from "../clock.ts"
import { openTestLedger, testEvent, testKeyring, testWorkspace } from "../ledger/test-ledger.ts"
import { unpaced } from "../runtime/pace.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import { findDue } from "./due-entries.ts"
import { createPreviews } from "./retention-preview.ts"

test("a workspace's previews are counted one after the other", async () => {
  const { served } = openMemory()
  const { journal, registry } = served
  const workspace = testWorkspace("acme")
  await openTestLedger(journal, { registry }).record(workspace, [testEvent({}), testEvent({})])
  let [under, most] = [0, 0]
  const previews = createPreviews({
    registry,
    journal,
    clock: systemClock,
    secret: testKeyring.secret,
    async due(question) {
      most = Math.max(most, ++under)
      await setImmediate()
      const found = await findDue(journal, question, unpaced)
      under -= 1
      return found
    },
  })
  const counted = await Promise.all(
    [1, 2, 3, 4].map((days) => previews.count(workspace, [{ days }], 10_000)),
  )
  assert.deepEqual(
    counted.map(({ preview }) => preview?.entries),
    [2, 2, 2, 2],
  )
  assert.equal(most, 1)
  await expectChain(journal, workspace.id)
})
