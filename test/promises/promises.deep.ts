import assert from "node:assert/strict"
import { test } from "node:test"
import { sendBadInput } from "./bad-input.ts"
import { createChance, seedOf } from "./chance.ts"
import { cutAgainAndAgain } from "./cut-answers.ts"
import { writeTogether } from "./one-chain.ts"
import { sendAgainAndAgain } from "./one-entry.ts"
import { expectShedding, overload } from "./overload.ts"
import { readWhileWriting } from "./read-your-writes.ts"
import { restoreAgainAndAgain } from "./restored.ts"
import { revokeUnderTraffic } from "./revocation.ts"
import { tamperAgainAndAgain } from "./tampering.ts"
import { besideSlowClients, expectUndisturbed } from "./slow-clients.ts"

// Promises 3, 4, 6, 8, 12, 13, 14, 15, 16 and 17 at length.

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

test("five hundred restored copies", async (t) => {
  const restored = await restoreAgainAndAgain({ rounds: 500, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(restored))
  assert.ok(restored.resumed === 500 && restored.epochs >= 1500 && restored.lost >= 11_000 && restored.proved >= 10_000)
})

test("a thousand revocations", async (t) => {
  const ended = await revokeUnderTraffic({ rounds: 500, atOnce: 4, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(ended))
  assert.ok(ended.revocations >= 1000 && ended.cascaded >= 1000)
})

test("half a million questions", async (t) => {
  const chance = createChance(seedOf(t))
  for (let run = 0; run < 50; run++) {
    const counts = await readWhileWriting({ rounds: 5, filled: 100 * (1 + (run % 5)), queries: 2000, chance })
    assert.ok(counts.queries >= 10_000 && counts.withMatches >= 4000)
  }
})

test("a million requests that are almost right", async (t) => {
  const seed = seedOf(t)
  const chance = createChance(seed)
  for (let run = 0; run < 10; run++) {
    const taken = await sendBadInput({ requests: 100_000, chance, seed: seed + run })
    t.diagnostic(JSON.stringify(taken))
    assert.ok(taken.requests >= 100_000 && taken.accepted >= 2000)
  }
})

test("4,500 slow sockets", async (t) => {
  const slowed = await besideSlowClients({ sockets: 4500, turns: 5, requests: 1000 })
  t.diagnostic(JSON.stringify(slowed))
  expectUndisturbed(slowed)
})

test("half an hour of overload", async (t) => {
  const overloaded = await overload({ turns: 30, peakSeconds: 5, overSeconds: 55 })
  t.diagnostic(JSON.stringify(overloaded))
  expectShedding(overloaded)
  assert.ok(overloaded.offered >= 100_000)
})

test("fifteen thousand changes to ten thousand entries", async (t) => {
  const tampered = await tamperAgainAndAgain({ entries: 10_000, mutations: 15_000, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(tampered))
  assert.ok(tampered.found === 15_000 && tampered.entries >= 50_000_000)
})
