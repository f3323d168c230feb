import assert from "node:assert/strict"
import test from "node:test"
import { createChance, seedOf } from "./chance.ts"
import { longRun } from "./promises/long-run.ts"
import { compareSegments } from "../packages/server/src/ledger/test-segments.ts"

test("a million searches of hostile entries find what the plain filter finds", async (t) => {
  const started = seedOf(t)
  const wanted = { what: "searches", wanted: 1_000_000, minutes: 12, floor: 40_000 }
  await longRun(t, wanted, async (number) => {
    const seed = started + number
    try {
      assert.ok(compareSegments(createChance(seed), 10, 400) > 100)
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause })
    }
    return 10 * 400
  })
})
