import assert from "node:assert/strict"
import { test } from "node:test"
import { delay, systemClock } from "./clock.ts"

test("a pause that is longer than a timer of Node can be does not end at once", async (t) => {
  const warnings: string[] = []
  const warned = ({ name }: Error): void => void warnings.push(name)
  process.on("warning", warned)
  t.after(() => process.off("warning", warned))
  let hasEnded = false
  void systemClock.sleep(30 * 86_400_000).then(() => (hasEnded = true))
  await delay(50)
  assert.deepEqual([hasEnded, warnings], [false, []])
})
