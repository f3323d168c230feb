import assert from "node:assert/strict"
import test from "node:test"
import { runAgain } from "../api/again.ts"

// Runs scenarios of the API again, unchanged, with their ledgers in PostgreSQL: writing, idempotency,
// reading what was just written, packs, accounts, and retention. TEST_ENGINE=postgres does that with any other.

/** Without tests of how answers are sent; with few of accounts, which are documents like others. */
const scenarios = {
  events: {},
  idempotency: {},
  queries: {},
  packs: { tests: "^(?!other programs|one changed byte|a page of another|a download is cut)" },
  members: { tests: "^(a member is invited|nobody can|a removed member|every receipt)" },
  retention: {},
} as const

for (const [name, some] of Object.entries(scenarios))
  test(`${name}, on PostgreSQL`, async (t) => {
    const { code, said } = await runAgain(name, { ...some, settings: { TEST_ENGINE: "postgres" } })
    assert.equal(code, 0, said)
    assert.match(said, /services with a database: [1-9]/)
    const [, passed = 0] = /pass (\d+)/.exec(said) ?? []
    t.diagnostic(`${passed} tests`)
    const least = { retention: 2, members: 4 }[name] ?? 7
    assert.ok(Number(passed) >= least && /skipped 0/.test(said), said)
  })
