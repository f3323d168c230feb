import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../promises/chance.ts"
import { endure } from "./endings.ts"

// Promise 1: no acknowledged event is lost by kill -9.

test("acknowledged events survive 150 kills", async (t) => {
  const chance = createChance(seedOf(t))
  // Two services side by side, because most of a round is a start, which keeps one core busy.
  const runs = await Promise.all(
    [1, 2].map(() => endure({ endings: 75, signal: "SIGKILL", chance })),
  )
  for (const endured of runs) {
    t.diagnostic(JSON.stringify(endured))
    const { endings, acknowledged, retried, recordedUnheard, entries, lookedUp, sentAgain } =
      endured
    assert.ok(
      endings === 75 && acknowledged >= 1100 && retried >= 750,
      "there was not enough to lose",
    )
    assert.ok(recordedUnheard >= 37, "hardly any kill fell between the commit and its answer")
    assert.ok(
      entries > acknowledged && lookedUp === acknowledged && sentAgain === acknowledged,
      "not everything was looked for",
    )
  }
})

test("canary: a service that acknowledges before it commits is found out", async (t) => {
  const run = endure({
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
