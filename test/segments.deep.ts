import assert from "node:assert/strict"
import test from "node:test"
import { createChance, seedOf } from "./chance.ts"
import { compareSegments } from "../packages/server/src/ledger/test-segments.ts"

test("a million searches of hostile entries find what the plain filter finds", (t) => {
  const started = seedOf(t)
  const runs = 250
  for (let run = 0; run < runs; run++) {
    const seed = started + run
    try {
      assert.ok(compareSegments(createChance(seed), 10, 400) > 100)
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause })
    }
  }
})
