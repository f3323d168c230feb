import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { cutAgainAndAgain } from "./cut-answers.ts"

// Promise 8: a connection that is cut is honest.

test("each write over five hundred cut connections has one entry", async (t) => {
  const cuts = await cutAgainAndAgain({
    requests: 30,
    betweens: 30,
    answers: 440,
    chance: createChance(seedOf(t)),
  })
  t.diagnostic(JSON.stringify(cuts))
  assert.ok(
    cuts.requests + cuts.betweens + cuts.answers === 500 && cuts.recordedUnheard >= 440,
    "too few cuts",
  )
  assert.ok(
    cuts.answerBytes > 500 && cuts.lastByte > cuts.answerBytes * 0.95,
    "the cuts did not reach the end of the answer",
  )
})

test("canary: a second receipt for one key is detected", async (t) => {
  const run = cutAgainAndAgain({
    requests: 0,
    betweens: 0,
    answers: 5,
    chance: createChance(seedOf(t)),
    fault: "forgets keys",
  })
  await assert.rejects(run, /is recorded, and found by its key/)
})
