import assert from "node:assert/strict"
import test from "node:test"
import { chancesOf } from "../packages/server/src/ledger/test-entries.ts"
import { compareSegments } from "../packages/server/src/ledger/test-segments.ts"

test("a million searches of hostile entries find what the plain filter finds", () => {
  const started = Math.floor(Math.random() * 2 ** 31)
  const runs = 250
  for (let run = 0; run < runs; run++) {
    const seed = started + run
    try {
      assert.ok(compareSegments(chancesOf(seed), 10, 400) > 100)
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause })
    }
  }
})
