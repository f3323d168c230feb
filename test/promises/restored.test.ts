import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { restoreAgainAndAgain } from "./restored.ts"

// Promise 16: a restored copy cannot fork silently.

test("a copy made under load has every acknowledged entry, is read-only, and keeps its name only if nothing is missing", async (t) => {
  const restored = await restoreAgainAndAgain({ rounds: 1, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(restored))
  assert.ok(
    restored.backups === 3 &&
      restored.resumed === 1 &&
      restored.epochs >= 2 + 2 + 2 &&
      restored.laterEpochs === 2,
  )
  assert.equal(restored.foundLost, 2 + 2)
  assert.ok(
    restored.before >= 30 && restored.during >= 20 && restored.lost >= 22,
    "there was not enough load",
  )
  assert.ok(
    restored.refused >= 2 * 25 && restored.proved >= 20 && restored.entries >= 165,
    "too little was tried",
  )
})

test("canary: a service that takes a copy for the original is detected", async (t) => {
  const run = restoreAgainAndAgain({
    rounds: 1,
    chance: createChance(seedOf(t)),
    fault: "takes a copy for the original",
  })
  await assert.rejects(run, /a restored copy takes itself for the ledger/)
})

test("canary: a copy that keeps its name without signed entries is detected", async (t) => {
  const resumeProgram = join(import.meta.dirname, "resume-in-place.ts")
  const run = restoreAgainAndAgain({ rounds: 1, chance: createChance(seedOf(t)), resumeProgram })
  await assert.rejects(run, /was signed again, from an older state/)
})
