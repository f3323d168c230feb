import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { failAgainAndAgain } from "./failing-calls.ts"
import { skipUnlessStrict } from "./strict.ts"
import { noTracer } from "./tracer.ts"

// Promise 7: fail closed. `npm run test:deep` has 1,200 points.

const skip = skipUnlessStrict(noTracer())

test(
  "at 18 points where the disk fails, every acknowledged event is stored",
  { skip },
  async (t) => {
    const failed = await failAgainAndAgain({ points: 18, chance: createChance(seedOf(t)) })
    t.diagnostic(JSON.stringify(failed))
    assert.ok(
      failed.points === 18 && failed.failed >= 45 && failed.ended === 6 && failed.notReady === 6,
      "too little has failed",
    )
    assert.equal(failed.lookedUp, failed.acknowledged)
  },
)

test("canary: a service that ignores disk errors is detected", { skip }, async (t) => {
  const run = failAgainAndAgain({
    points: 3,
    chance: createChance(seedOf(t)),
    fault: "ignores errors",
  })
  await assert.rejects(
    run,
    /what could not be written was acknowledged|the process went on|its entry is lost/,
  )
})
