import assert from "node:assert/strict"
import { suite, test } from "node:test"
import { runAgain } from "../api/again.ts"
import { createChance, newSeed } from "../chance.ts"

// Runs the tests that kill a service at its steps (test/crash/killed-at-step.ts) again, with the
// ledger in PostgreSQL: a sent commit is a step, too. A service that starts after a kill waits for
// the leases of the killed one, so these tests run side by side. Chance draws one; test:deep has all.

const settings = { TEST_ENGINE: "postgres", KILLS: "6" }
const seed = newSeed()
const all = ["erasure", "expiry", "archive"] as const
const drawn = process.env["SCENARIOS"] === "all" ? all : [createChance(seed).pick(all)]

suite(`on PostgreSQL (seed ${seed})`, { concurrency: 3 }, () => {
  for (const name of drawn)
    test(`${name} is killed at its steps`, async (t) => {
      const again = { settings, tests: "^killed" }
      const { code, said } = await runAgain(`../crash/${name}-killed`, again)
      assert.equal(code, 0, said)
      assert.match(said, /services with a database: 1\b/)
      assert.match(said, /pass 1\b/)
      const [killed = ""] = /\{"kills".*\}/.exec(said) ?? []
      t.diagnostic(killed)
      assert.match(killed, /"steps":\{[^}]*"append_group"/, "what the database was sent is a step")
    })
})
