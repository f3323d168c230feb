import assert from "node:assert/strict"
import test from "node:test"
import { runAgain } from "../api/again.ts"
import { createChance, newSeed } from "../chance.ts"

// Runs scenarios of the API again, unchanged, with their ledgers in PostgreSQL: writing, idempotency,
// reading what was just written, packs, accounts, and retention. TEST_ENGINE=postgres does that with any other.

/**
 * Without tests of what no storage sees: what is refused before it, and how answers are sent. With few
 * of accounts, which are documents like others.
 */
const scenarios = {
  events: { tests: "^(a receipt|ids sort|an event makes|concurrent|a key that|every receipt)" },
  idempotency: {},
  queries: {
    tests:
      "^(every|an entry|the usual loops|new entries|the very next|to a key with|one workspace|with include)",
  },
  packs: { tests: "^(a pack has|a filter selects|making a pack|a pack's entries|every receipt)" },
  members: { tests: "^(a member is invited|nobody can|a removed member|every receipt)" },
  retention: {},
} as const

/** Chance draws so many; test:deep has all. */
const count = process.env["SCENARIOS"] === "all" ? Infinity : 3
const seed = newSeed()
const chance = createChance(seed)
const drawn = Object.entries(scenarios)
while (drawn.length > count) drawn.splice(chance.below(drawn.length), 1)

for (const [name, some] of drawn)
  test(`${name}, on PostgreSQL (seed ${seed})`, async (t) => {
    const { code, said } = await runAgain(name, { ...some, settings: { TEST_ENGINE: "postgres" } })
    assert.equal(code, 0, said)
    assert.match(said, /services with a database: [1-9]/)
    const [, passed = 0] = /pass (\d+)/.exec(said) ?? []
    t.diagnostic(`${passed} tests`)
    const least = { retention: 2, members: 4, packs: 5, events: 6 }[name] ?? 7
    assert.ok(Number(passed) >= least && /skipped 0/.test(said), said)
  })
