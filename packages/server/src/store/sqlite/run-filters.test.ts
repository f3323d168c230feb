import assert from "node:assert/strict"
import test from "node:test"
import { createChance, seedOf } from "../../../../../test/chance.ts"
import { mayHold, probe } from "./key-runs.ts"
import { createRunFilters } from "./run-filters.ts"

test("runs are found together as in each filter alone, joined or not", (t) => {
  const chance = createChance(seedOf(t))
  const bytes = 2 ** 17
  // Three quarters of the bits are set, so that a key passes one of ten filters.
  const filters = Array.from({ length: 70 }, () =>
    Uint8Array.from({ length: bytes }, () => chance.below(256) | chance.below(256)),
  )
  const runs = createRunFilters()
  for (const [at, filter] of filters.entries()) {
    assert.equal(runs.count(), at)
    // Views that begin anywhere, as the database gives them.
    const shifted = new Uint8Array(bytes + 1).subarray(1)
    shifted.set(filter)
    runs.add(shifted)
  }
  let passed = 0
  for (let count = 0; count < 2000; count++) {
    const idem = Array.from({ length: 22 }, () => chance.below(36).toString(36)).join("")
    const wanted = filters.flatMap((filter, run) => (mayHold(filter, probe(idem)) ? [run] : []))
    assert.deepEqual(runs.runsOf(idem), wanted)
    passed += wanted.length
  }
  assert.ok(passed > 5000, `${passed} found`)
})

test("no run is found where there is none", () => {
  const runs = createRunFilters()
  assert.deepEqual([runs.count(), runs.runsOf("a-key")], [0, []])
})
