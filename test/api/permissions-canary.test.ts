import assert from "node:assert/strict"
import { test } from "node:test"
import { runAgain } from "./again.ts"

// The table of who may do what must detect a service that leaves out one check.

test("canary: a service that forgets which projects a key is for is detected", async () => {
  const loaded = `planted.ts?${encodeURIComponent("forgets projects")}`
  const { code, said } = await runAgain("permissions", { loaded, tests: "table: administration$" })
  assert.equal(code, 1, said)
  assert.match(said, /\d+ of \d+ rows:/)
  assert.match(said, /\/projects\/core: /)
})
