import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { revokeUnderTraffic } from "./revocation.ts"

// Promise 17: after a revocation is answered, the credential is never accepted again.

test("a revoked key or token ends at once under traffic, and a key's tokens with it", async (t) => {
  const ended = await revokeUnderTraffic({ rounds: 25, atOnce: 4, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(ended))
  assert.ok(ended.revocations >= 50 && ended.cascaded >= 50, "too few were ended")
  assert.ok(ended.before >= 375 && ended.after >= 375 && ended.spared >= 75, "they were not in use")
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
