import assert from "node:assert/strict"
import { test } from "node:test"
import { atLength } from "./at-length.ts"
import { expectShedding, overload } from "./overload.ts"
import { besideSlowClients, expectUndisturbed } from "./slow-clients.ts"

// Promises 13 and 14 at length. These measure how quick the service is, so nothing runs beside them.

test("4,500 slow sockets", async (t) => {
  const slowed = await besideSlowClients({ sockets: 4500, turns: 3, requests: 1000, pace: 6 })
  t.diagnostic(JSON.stringify(slowed))
  expectUndisturbed(slowed)
})

test("half an hour of overload", async (t) => {
  await atLength(t, { what: "seconds", wanted: 1800, minutes: 11, floor: 180 }, async () => {
    const overloaded = await overload({ turns: 3, peakSeconds: 5, overSeconds: 55 })
    t.diagnostic(JSON.stringify(overloaded))
    expectShedding(overloaded)
    assert.ok(overloaded.offered >= 10_000)
    return 3 * 60
  })
})
