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

test("however many previews a workspace asks for, those of another one are remembered", async () => {
  const { served } = openMemory()
  const { journal, registry } = served
  const [acme, greedy] = [testWorkspace("acme"), testWorkspace("greedy")]
  const ledger = openTestLedger(journal, { registry })
  for (const workspace of [acme, greedy]) await ledger.record(workspace, [testEvent({})])
  const counts = { acme: 0, greedy: 0 }
  const previews = createPreviews({
    registry,
    journal,
    clock: systemClock,
    secret: testKeyring.secret,
    due(question) {
      counts[question.workspace === "acme" ? "acme" : "greedy"]++
      return findDue(journal, question, unpaced)
    },
  })
  await previews.count(acme, [{ days: 1 }], 10_000)
  for (let days = 1; days <= 100; days++) await previews.count(greedy, [{ days }], 10_000)
  const { preview } = await previews.count(acme, [{ days: 1 }], 10_000)
  assert.equal(preview?.entries, 1)
  assert.deepEqual(counts, { acme: 1, greedy: 100 })
  await expectChain(journal, "acme")
})

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
