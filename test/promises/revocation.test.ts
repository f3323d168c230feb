import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { revokeUnderTraffic } from "./revocation.ts"

// Promise 17: after a revocation is answered, the credential is never accepted again.

test("a revoked key or token ends at once under traffic, and a key's tokens with it", async (t) => {
  const ended = await revokeUnderTraffic({ rounds: 50, atOnce: 4, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(ended))
  assert.ok(ended.revocations >= 100 && ended.cascaded >= 100, "too few were ended")
  assert.ok(
    ended.before >= 750 && ended.after >= 750 && ended.spared >= 150,
    "they were not in use",
  )
})

test("canary: a registry whose cache forgets nothing is detected", async (t) => {
  const run = revokeUnderTraffic({
    rounds: 2,
    atOnce: 1,
    chance: createChance(seedOf(t)),
    fault: "forgets no document",
  })
  await assert.rejects(run, /ms after the end was let in/)
})
