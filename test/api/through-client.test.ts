import assert from "node:assert/strict"
import { test } from "node:test"
import { runAgain } from "./again.ts"

// Runs the scenarios again through @tallystick/client, so that an app sees the same answers. Each
// runs unchanged in its own process, with another way to send; requests that no client would send
// still go over plain HTTP.

/**
 * For each scenario, at least how many requests the client makes, and how many of these are
 * refused.
 */
const scenarios = {
  batch: [800, 2],
  consents: [50, 30],
  events: [350, 30],
  idempotency: [200, 80],
  keys: [500, 300],
  operations: [20, 5],
  receipts: [300, 150],
  tlog: [800, 50],
  workspaces: [250, 80],
} as const satisfies Readonly<Record<string, readonly [made: number, refused: number]>>

for (const [name, [made, refused]] of Object.entries(scenarios)) {
  test(`${name}, through the client`, async (t) => {
    const { code, said } = await runAgain(name, { loaded: "through-client.ts" })
    assert.equal(code, 0, said)
    const counts = JSON.parse(/through the client: (\{.*\})/.exec(said)?.[1] ?? "{}")
    t.diagnostic(JSON.stringify(counts))
    assert.ok(
      counts.client >= made && counts.refused >= refused,
      `the client has made ${JSON.stringify(counts)}`,
    )
  })
}

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
