import assert from "node:assert/strict"
import { test } from "node:test"
import { limitFailures } from "./failure-log.ts"

test("the first failures of a minute are logged, and the others are counted in one line", async () => {
  const lines: object[] = []
  const due: (() => void)[] = []
  let counted = 0
  const clock = { sleep: () => new Promise<void>((resolve) => due.push(resolve)) }
  const log = limitFailures(
    { error: (fields, message) => void lines.push({ ...fields, message }) },
    clock,
    3,
    () => (counted += 1),
  )
  const fail = (from: number, to: number): void => {
    for (let id = from; id <= to; id++) log.error({ id }, "a request failed")
  }
  const minute = async (): Promise<void> => {
    assert.equal(due.length, 1, "one minute is waited for at a time")
    due.shift()?.()
    await new Promise(setImmediate)
  }
  fail(1, 1000)
  const whole = [1, 2, 3].map((id) => ({ id, message: "a request failed" }))
  assert.deepEqual(lines.splice(0), whole)
  await minute()
  assert.deepEqual(lines.splice(0), [
    {
      failures: 997,
      message: "further requests failed in the last minute, which this log leaves out",
    },
  ])
  fail(1, 3)
  await minute()
  assert.deepEqual(
    lines.splice(0),
    whole,
    "a minute in which all were written needs no further line",
  )
  assert.equal(counted, 1003)
})
