import assert from "node:assert/strict"
import { test } from "node:test"
import { runAgain } from "./again.ts"

// A service that leaves out one check must be found out by the table of who may do what.

test("canary: a service that forgets which projects a key is for is detected", async () => {
  const loaded = `planted.ts?${encodeURIComponent("forgets projects")}`
  const { code, said } = await runAgain("permissions", { loaded })
  assert.equal(code, 1, said)
  assert.match(said, /\d+ of \d+ rows:/)
  assert.match(said, /\/projects\/core: /)
})
