import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { readWhileWriting } from "./read-your-writes.ts"

// Promise 15: what was acknowledged is found from then on, and questions are answered exactly.
// `npm run test:deep` asks half a million.

test("450 random questions, at rest and under writers, have every match once and an exact total", async (t) => {
  const counts = await readWhileWriting({
    rounds: 3,
    filled: 300,
    queries: 150,
    chance: createChance(seedOf(t)),
  })
  t.diagnostic(JSON.stringify(counts))
  assert.ok(
    counts.queries >= 450 &&
      counts.pages >= 750 &&
      counts.withMatches >= 180 &&
      counts.rows >= 9_000,
    "too little was asked",
  )
  assert.ok(counts.underWriters >= 90 && counts.ownWrites >= 22, "nothing was written meanwhile")
  assert.ok(counts.exactTotals >= 375 && counts.byPersons >= 75)
})

for (const fault of ["drops the last row", "finds late"] as const) {
  test(`canary: a search that ${fault} is detected`, async (t) => {
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
