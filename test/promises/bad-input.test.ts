import assert from "node:assert/strict"
import { test } from "node:test"
import { sendBadInput } from "./bad-input.ts"
import { createChance, seedOf } from "../chance.ts"

// Promise 12: no input causes a 5xx, a crash, or a stall. `npm run test:deep` sends a million.

const floors = {
  invalid_field: 750,
  invalid_json: 125,
  bad_request: 75,
  unauthorized: 75,
  not_found: 75,
  payload_too_large: 3,
} as const

test("5,000 mostly invalid requests are answered as described, and every accepted one is recorded", async (t) => {
  const seed = seedOf(t)
  const counts = await sendBadInput({ requests: 5000, chance: createChance(seed), seed })
  t.diagnostic(JSON.stringify(counts))
  assert.equal(counts.requests, 5000)
  assert.ok(
    counts.fewest[1] >= 5 && counts.operations > 50,
    `${counts.fewest[0]} had too few requests`,
  )
  assert.ok(
    counts.accepted >= 500 && counts.entries >= 25 && counts.torn >= 200,
    "too little was accepted, or torn",
  )
  assert.ok(counts.unanswered < counts.torn / 10, "many torn requests had no answer")
  for (const [code, floor] of Object.entries(floors))
    assert.ok((counts.refused[code] ?? 0) >= floor, `too few were refused with ${code}`)
})

test("canary: one value that the program cannot take is detected", async (t) => {
  const seed = seedOf(t)
  const run = sendBadInput({
    requests: 5000,
    chance: createChance(seed),
    seed,
    fault: "chokes on emptiness",
  })
  // Recorded reads may fail along with the value: they are appended together.
  await assert.rejects(
    run,
    /(?:(?:POST|GET) \/v1\/\S+: 50[03] |\/events\/export\S* .*but cut off)[^]*nothing has no first item/,
  )
})
