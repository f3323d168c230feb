import assert from "node:assert/strict"
import test from "node:test"
import { systemClock } from "../clock.ts"
import { createMetrics } from "./metrics.ts"

test("requests for the metrics at the same time share one text", async () => {
  let reads = 0
  const freeBytes = async () => ++reads
  const metrics = createMetrics({
    version: "0.0.0",
    clock: systemClock,
    queued: () => 0,
    storage: { kind: "disk", freeBytes, reserveBytes: 0 },
  })
  const texts = await Promise.all(Array.from({ length: 50 }, metrics.text))
  assert.equal(reads, 1)
  assert.equal(new Set(texts).size, 1)
  metrics.failure()
  assert.match(await metrics.text(), /^tallystick_failures_total 1$/m)
  assert.equal(reads, 2)
})
