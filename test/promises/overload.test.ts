import assert from "node:assert/strict"
import { test } from "node:test"
import { expectShedding, overload } from "./overload.ts"

// Promise 14: under overload the service refuses the excess, and recovers by itself. The queue is
// full after a fifth of a second, and after more on a busy machine: most of each overload comes
// later. `npm run test:deep` keeps it full for longer.

test("at three times its capacity the service records at nearly its peak and refuses the rest at once", async (t) => {
  const overloaded = await overload({ turns: 3, peakSeconds: 1, overSeconds: 2 })
  t.diagnostic(JSON.stringify(overloaded))
  expectShedding(overloaded)
  assert.ok(overloaded.offered >= 100 && overloaded.neighbour >= 8, "that was no overload")
})

test("canary: a queue without a bound is detected", async (t) => {
  const environment = {
    TALLYSTICK_LIMIT_QUEUED_EVENTS_MAX: "1000000000",
    TALLYSTICK_LIMIT_TURNS_WAITING_BYTES_MAX: "1000000000000",
  }
  const overloaded = await overload({ turns: 1, peakSeconds: 0.5, overSeconds: 0.8, environment })
  t.diagnostic(JSON.stringify(overloaded))
  assert.throws(() => expectShedding(overloaded), /nothing is shed/)
})
