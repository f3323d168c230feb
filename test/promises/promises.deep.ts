import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "./chance.ts"
import { cutAgainAndAgain } from "./cut-answers.ts"
import { writeTogether } from "./one-chain.ts"
import { sendAgainAndAgain } from "./one-entry.ts"

// Promises 3, 4 and 8 at length.

test("five million events by 64 writers", async (t) => {
  const chance = createChance(seedOf(t))
  for (let run = 0; run < 50; run++) {
    const written = await writeTogether({ writers: 64, workspaces: 63, batchMax: 200, lookUpsMax: 20, events: 100_000, chance })
    assert.ok(written.written >= 100_000 && written.unknown === 0)
  }
})

test("a million replays", async (t) => {
  const kept = await sendAgainAndAgain({ fill: 270_000, rounds: 20, replays: 1_000_000, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(kept))
  assert.ok(kept.replayed >= 1_000_000 && kept.reused >= 100_000)
})

test("a hundred thousand cuts", async (t) => {
  const chance = createChance(seedOf(t))
  for (let run = 0; run < 100; run++) {
    const cuts = await cutAgainAndAgain({ requests: 20, betweens: 20, answers: 960, chance })
    assert.ok(cuts.recordedUnheard >= 960)
  }
})
