import assert from "node:assert/strict"
import test from "node:test"
import { runAgain } from "../api/again.ts"

// Runs scenarios of the API again, unchanged, with their ledgers in PostgreSQL: writing, idempotency,
// reading what was just written, packs, and accounts. TEST_ENGINE=postgres does that with any other.

for (const name of ["events", "idempotency", "queries", "packs", "members"])
  test(`${name}, on PostgreSQL`, async (t) => {
    const { code, said } = await runAgain(name, undefined, { TEST_ENGINE: "postgres" })
    assert.equal(code, 0, said)
    assert.match(said, /services with a database: [1-9]/)
    const [, passed = 0] = /pass (\d+)/.exec(said) ?? []
    t.diagnostic(`${passed} tests`)
    assert.ok(Number(passed) >= 7 && /skipped 0/.test(said), said)
  })
