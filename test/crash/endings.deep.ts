import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../promises/chance.ts"
import { endure } from "./endings.ts"

// Promises 1 and 19 at length.

test("what was acknowledged survives 2,000 kills", async (t) => {
  const chance = createChance(seedOf(t))
  for (let run = 0; run < 10; run++) {
    const endured = await endure({ endings: 200, signal: "SIGKILL", clients: 32, loadMsMax: 150, chance })
    t.diagnostic(JSON.stringify(endured))
    assert.ok(endured.retried >= 2000 && endured.recordedUnheard >= 100)
  }
})

test("500 stops under load are clean", async (t) => {
  const endured = await endure({ endings: 500, signal: "SIGTERM", clients: 32, loadMsMax: 150, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(endured))
  assert.ok(endured.retried >= 5000)
  assert.equal(endured.recordedUnheard, 0)
})
