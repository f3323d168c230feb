import assert from "node:assert/strict"
import { test } from "node:test"
import { runAgain } from "./again.ts"

// Nine scenarios send their requests with @tallystick/client (through-client.ts), so that an app sees the same
// answers. A client that reads one letter wrong does not pass.

for (const [planted, found] of [
  ["receipts", /rcp_~/],
  ["refusals", /'~/],
] as const) {
  test(`canary: a client that misreads ${planted} is detected`, async () => {
    const { code, said } = await runAgain("consents", { loaded: `misled-client.ts?${planted}` })
    assert.equal(code, 1, said)
    assert.match(said, /through-client\.ts:\d+/)
    assert.match(said, found)
  })
}
