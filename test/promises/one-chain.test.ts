import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { writeTogether } from "./one-chain.ts"

// Promise 3: the chains never fork and have no gaps. `npm run test:deep` writes five million.

const crowd = { writers: 64, workspaces: 16, batchMax: 100, lookUpsMax: 60 }

test("64 writers make one chain of each workspace", async (t) => {
  const written = await writeTogether({ ...crowd, events: 10_000, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(written))
  assert.ok(
    written.written >= 10_000 && written.entries > written.written && written.lookedUp >= 600,
    "there was not enough to part",
  )
  assert.ok(written.singles >= 250 && written.batches >= 75 && written.unknown === 0)
})

test("64 writers make one chain of each workspace also when the storage fails, before or after it has stored", async (t) => {
  const written = await writeTogether({
    ...crowd,
    events: 2500,
    batchMax: 6,
    chance: createChance(seedOf(t)),
    fault: "storage fails",
  })
  t.diagnostic(JSON.stringify(written))
  assert.ok(
    written.written >= 2500 && written.unknown >= 100 && written.recordedUnknown >= 50,
    "the storage did not fail often enough",
  )
})

test("canary: a head that is believed across an error is detected", async (t) => {
  const run = writeTogether({
    ...crowd,
    events: 1500,
    batchMax: 6,
    chance: createChance(seedOf(t)),
    fault: "storage fails, the head is kept",
  })
  // Or the fork shows earlier: if the chain continues from another head, a write is never answered.
  await assert.rejects(
    run,
    /its index is its place|it follows the entry before it|the service does not come to know/,
  )
})
