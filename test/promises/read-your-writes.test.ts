import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { readWhileWriting } from "./read-your-writes.ts"

// Promise 15: what was acknowledged is found from then on, and questions are answered exactly.
// `npm run test:deep` asks half a million.

test("900 random questions, at rest and under writers, have every match once and an exact total", async (t) => {
  const counts = await readWhileWriting({
    rounds: 3,
    filled: 300,
    queries: 300,
    chance: createChance(seedOf(t)),
  })
  t.diagnostic(JSON.stringify(counts))
  assert.ok(
    counts.queries >= 900 &&
      counts.pages >= 1500 &&
      counts.withMatches >= 360 &&
      counts.rows >= 18_000,
    "too little was asked",
  )
  assert.ok(counts.underWriters >= 180 && counts.ownWrites >= 45, "nothing was written meanwhile")
  assert.ok(counts.exactTotals >= 750 && counts.byPersons >= 150)
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
