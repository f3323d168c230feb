import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { kindsCount, tamperAgainAndAgain } from "./tampering.ts"

// Promise 6: tampering is detected and named.

// Each kind of change once where fsck is quick, and a quarter of them where it works in several pieces.
for (const [entries, mutations] of [
  [10_000, Math.ceil(kindsCount / 4)],
  [1_000, kindsCount],
] as const) {
  test(`fsck finds and names each of ${mutations} changes to ${entries} entries`, async (t) => {
    const chance = createChance(seedOf(t))
    const tampered = await tamperAgainAndAgain({ entries, mutations, chance })
    t.diagnostic(JSON.stringify(tampered))
    assert.equal(tampered.found, mutations)
    assert.equal(Object.keys(tampered.kinds).length, mutations)
    assert.ok(
      kindsCount >= 60 && tampered.entries >= (mutations * entries) / 3,
      "too few entries were checked",
    )
  })
}

test("canary: if nothing is changed, nothing is found and the suite fails", async (t) => {
  const run = tamperAgainAndAgain({
    entries: 500,
    mutations: 1,
    chance: createChance(seedOf(t)),
    isIdle: true,
  })
  await assert.rejects(run, /was not found/)
})
