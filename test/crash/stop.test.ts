import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { endAgainAndAgain } from "./endings.ts"

// Promise 19: a clean shutdown. `npm run test:deep` has 500.

test("6 stops under load are clean: every recorded event was acknowledged, and the exit code is 0 within 10 s", async (t) => {
  const chance = createChance(seedOf(t))
  const runs = await Promise.all(
    [1, 2].map(() => endAgainAndAgain({ endings: 3, signal: "SIGTERM", chance })),
  )
  for (const ended of runs) {
    t.diagnostic(JSON.stringify(ended))
    const { endings, acknowledged, retried, recordedUnheard, slowestStopMs, lookedUp } = ended
    assert.ok(
      endings === 3 && acknowledged >= 45 && retried >= 30 && lookedUp === acknowledged,
      "there was not enough to lose",
    )
    assert.equal(recordedUnheard, 0, "what was recorded was answered before the end")
    assert.ok(slowestStopMs < 10_000)
  }
})

test("canary: a service that stops with a commit under way is detected", async (t) => {
  const run = endAgainAndAgain({
    endings: 4,
    signal: "SIGTERM",
    chance: createChance(seedOf(t)),
    fault: "acknowledges before commit",
  })
  await assert.rejects(
    run,
    /was acknowledged, and (its entry is lost|is answered differently now|is said to be new)/,
  )
})
