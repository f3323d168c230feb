import assert from "node:assert/strict"
import test from "node:test"
import { runAgain } from "../api/again.ts"

// Runs scenarios of the API again, unchanged, with their ledgers in PostgreSQL: writing, idempotency,
// reading what was just written, packs, accounts, and retention. TEST_ENGINE=postgres does that with any other.

for (const name of ["events", "idempotency", "queries", "packs", "members", "retention"])
  test(`${name}, on PostgreSQL`, async (t) => {
    const { code, said } = await runAgain(name, { settings: { TEST_ENGINE: "postgres" } })
    assert.equal(code, 0, said)
    assert.match(said, /services with a database: [1-9]/)
    const [, passed = 0] = /pass (\d+)/.exec(said) ?? []
    t.diagnostic(`${passed} tests`)
    assert.ok(Number(passed) >= (name === "retention" ? 2 : 7) && /skipped 0/.test(said), said)
  })
