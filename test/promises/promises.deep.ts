import assert from "node:assert/strict"
import { test } from "node:test"
import { longRun } from "./long-run.ts"
import { sendBadInput } from "./bad-input.ts"
import { createChance, seedOf } from "../chance.ts"
import { cutAgainAndAgain } from "./cut-answers.ts"
import { writeTogether } from "./one-chain.ts"
import { sendAgainAndAgain } from "./one-entry.ts"
import { readWhileWriting } from "./read-your-writes.ts"
import { restoreAgainAndAgain } from "./restored.ts"
import { revokeUnderTraffic } from "./revocation.ts"
import { tamperAgainAndAgain } from "./tampering.ts"

// Promises 3, 4, 6, 8, 12, 15, 16 and 17 at length.

test("five million events by 64 writers", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "events", wanted: 5_000_000, minutes: 12, floor: 500_000 }, async () => {
    const { written, unknown } = await writeTogether({
      writers: 64,
      workspaces: 63,
      batchMax: 200,
      lookUpsMax: 20,
      events: 100_000,
      chance,
    })
    assert.ok(written >= 100_000 && unknown === 0)
    return written
  })
})

test("a million replays", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(
    t,
    { what: "replays", wanted: 1_000_000, minutes: 12, floor: 200_000 },
    async () => {
      const kept = await sendAgainAndAgain({ fill: 135_000, rounds: 6, replays: 100_000, chance })
      assert.ok(kept.replayed >= 100_000 && kept.reused >= 10_000 && kept.restarts === 6)
      return kept.replayed
    },
  )
})

test("a hundred thousand cuts", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "cuts", wanted: 100_000, minutes: 6, floor: 8_000 }, async () => {
    const cuts = await cutAgainAndAgain({ requests: 20, betweens: 20, answers: 960, chance })
    assert.ok(cuts.recordedUnheard >= 960)
    return cuts.requests + cuts.betweens + cuts.answers
  })
})

test("five hundred restored copies", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "copies", wanted: 500, minutes: 15, floor: 15 }, async () => {
    const restored = await restoreAgainAndAgain({ rounds: 5, chance })
    assert.ok(
      restored.resumed === 5 &&
        restored.epochs >= 15 &&
        restored.lost >= 110 &&
        restored.proved >= 100,
    )
    return restored.resumed
  })
})

test("a thousand revocations", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "revocations", wanted: 1000, minutes: 4, floor: 250 }, async () => {
    const ended = await revokeUnderTraffic({ rounds: 50, atOnce: 4, chance })
    assert.ok(ended.revocations >= 100 && ended.cascaded >= 100)
    return ended.revocations
  })
})

test("half a million questions", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(
    t,
    { what: "questions", wanted: 500_000, minutes: 10, floor: 6_000 },
    async (number) => {
      const counts = await readWhileWriting({
        rounds: 3,
        filled: 100 * (1 + (number % 5)),
        queries: 1000,
        chance,
      })
      assert.ok(counts.queries >= 3000 && counts.withMatches >= 1200)
      return counts.queries
    },
  )
})

test("a million requests that are almost right", async (t) => {
  const seed = seedOf(t)
  const chance = createChance(seed)
  await longRun(
    t,
    { what: "requests", wanted: 1_000_000, minutes: 8, floor: 60_000 },
    async (number) => {
      const taken = await sendBadInput({ requests: 40_000, chance, seed: seed + number })
      assert.ok(taken.requests >= 40_000 && taken.accepted >= 1000)
      return taken.requests
    },
  )
})

test("a hundred thousand changes to ten thousand entries", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "changes", wanted: 100_000, minutes: 8, floor: 1_000 }, async () => {
    const tampered = await tamperAgainAndAgain({ entries: 10_000, mutations: 500, chance })
    assert.ok(tampered.found === 500 && tampered.entries >= 1_500_000)
    return tampered.found
  })
})
