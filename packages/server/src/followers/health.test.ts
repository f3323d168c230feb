import assert from "node:assert/strict"
import test from "node:test"
import { createSuspicions } from "./health.ts"

test("repeated reads of a broken entry cause one check, and so do those of an intact workspace", () => {
  const reports: string[] = []
  const halted = new Set<string>()
  let nowMs = 0
  const suspect = createSuspicions(
    { elapsed: () => nowMs },
    (workspace) => halted.has(workspace),
    (workspace, sequence) => reports.push(`${workspace} ${sequence}`),
  )
  for (let read = 0; read < 1000; read++, nowMs += 9) suspect("acme", 5 + (read % 7))
  suspect("other", 1)
  assert.deepEqual(reports, ["acme 5", "other 1"])
  nowMs += 10_000
  suspect("acme", 9)
  assert.deepEqual(reports.slice(2), ["acme 9"], "it may have come later")
  halted.add("acme")
  nowMs += 10_000
  suspect("acme", 9)
  assert.equal(reports.length, 3)
})
