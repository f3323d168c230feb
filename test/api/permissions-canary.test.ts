import assert from "node:assert/strict"
import { test } from "node:test"
import { runAgain } from "./again.ts"

// A service that leaves out one check must be found out by the table of who may do what.

for (const [fault, found] of [
  ["forgets scopes", /GET \/v1\/workspaces\/\S+\/api-keys: /],
  ["forgets projects", /\/projects\/core: /],
] as const) {
  test(`canary: a service that ${fault} is found out`, async () => {
    const { code, said } = await runAgain("permissions", `planted.ts?${encodeURIComponent(fault)}`)
    assert.equal(code, 1, said)
    assert.match(said, /\d+ of \d+ rows:/)
    assert.match(said, found)
  })
}
