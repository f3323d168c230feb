import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "./chance.ts"
import { readWhileWriting } from "./read-your-writes.ts"

// Promise 15: what was acknowledged is found from then on, and questions are answered exactly.

test("3,000 random questions, at rest and under writers, have every match once and an exact total", async (t) => {
  const counts = await readWhileWriting({
    rounds: 3,
    filled: 300,
    queries: 1000,
    chance: createChance(seedOf(t)),
  })
  t.diagnostic(JSON.stringify(counts))
  assert.ok(
    counts.queries >= 3000 &&
      counts.pages >= 5000 &&
      counts.withMatches >= 1200 &&
      counts.rows >= 60_000,
    "too little was asked",
  )
  assert.ok(counts.underWriters >= 600 && counts.ownWrites >= 150, "nothing was written meanwhile")
  assert.ok(counts.exactTotals >= 2500 && counts.byPersons >= 500)
})

for (const fault of ["drops the last row", "finds late"] as const) {
  test(`canary: a search that ${fault} is found out`, async (t) => {
    const run = readWhileWriting({
      rounds: 1,
      filled: 100,
      queries: 200,
      chance: createChance(seedOf(t)),
      fault,
    })
    await assert.rejects(
      run,
      fault === "finds late"
        ? /there were|was acknowledged before/
        : /was acknowledged before|a page of/,
    )
  })
}
