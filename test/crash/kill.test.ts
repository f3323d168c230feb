import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { endAgainAndAgain } from "./endings.ts"

// Promise 1: no acknowledged event is lost by kill -9. `npm run test:deep` kills 2,000 times.

const endings = 8

test(`acknowledged events survive ${2 * endings} kills`, async (t) => {
  const chance = createChance(seedOf(t))
  // Two services side by side, because most of a round is a start, which keeps one core busy.
  const runs = await Promise.all(
    [1, 2].map(() => endAgainAndAgain({ endings, signal: "SIGKILL", chance })),
  )
  for (const ended of runs) {
    t.diagnostic(JSON.stringify(ended))
    const { acknowledged, retried, recordedUnheard, entries, lookedUp, sentAgain } = ended
    assert.ok(
      ended.endings === endings && acknowledged >= 8 * endings && retried >= 8 * endings,
      "there was not enough to lose",
    )
    assert.ok(
      recordedUnheard >= endings / 2,
      "hardly any kill fell between the commit and its answer",
    )
    assert.ok(
      entries > acknowledged && lookedUp === acknowledged && sentAgain === acknowledged,
      "not everything was looked for",
    )
  }
})

test("canary: a service that acknowledges before it commits is detected", async (t) => {
  const run = endAgainAndAgain({
    endings: 5,
    signal: "SIGKILL",
    chance: createChance(seedOf(t)),
    fault: "acknowledges before commit",
  })
  await assert.rejects(
    run,
    /was acknowledged, and (its entry is lost|is answered differently now|is said to be new)/,
  )
})
