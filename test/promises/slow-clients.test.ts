import assert from "node:assert/strict"
import { test } from "node:test"
import { besideSlowClients, expectUndisturbed, impatient } from "./slow-clients.ts"

// Promise 13: slow clients do not starve others.

test("among 300 slow sockets a good client is served as before, and the slow ones are disconnected", async (t) => {
  const slowed = await besideSlowClients({ sockets: 300, turns: 3, requests: 200 })
  t.diagnostic(JSON.stringify(slowed))
  expectUndisturbed(slowed)
  assert.ok(slowed.requests >= 1200)
})

test("canary: a service without time-outs is detected", async (t) => {
  const off = ["HEADERS_TIMEOUT_MS", "BODY_TIMEOUT_MS", "STILL_TIMEOUT_MS"].map(
    (name) => [`TALLYSTICK_LIMIT_${name}`, "3600000"] as const,
  )
  const slowed = await besideSlowClients({
    sockets: 30,
    turns: 1,
    requests: 50,
    // Thrice the time-outs of this pace have passed already.
    cutWithinMs: 0,
    pace: 0.3,
    environment: { ...impatient(0.3), ...Object.fromEntries(off) },
  })
  t.diagnostic(JSON.stringify(slowed))
  assert.throws(() => expectUndisturbed(slowed), /were cut off/)
})
