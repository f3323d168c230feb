import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "../promises/chance.ts"
import { fillAgainAndAgain } from "./disk-full.ts"
import { makeDisk, noDisk } from "./disks.ts"
import { endure } from "./endings.ts"
import { failAgainAndAgain } from "./failing-calls.ts"
import { noTracer } from "./tracer.ts"

// Promises 1, 2, 7, 9 and 19 at length.

test("what was acknowledged survives 2,000 kills", async (t) => {
  const chance = createChance(seedOf(t))
  for (let run = 0; run < 10; run++) {
    const endured = await endure({ endings: 200, signal: "SIGKILL", clients: 32, loadMsMax: 150, chance })
    t.diagnostic(JSON.stringify(endured))
    assert.ok(endured.retried >= 2000 && endured.recordedUnheard >= 100)
  }
})

test("500 stops under load are clean", async (t) => {
  const endured = await endure({ endings: 500, signal: "SIGTERM", clients: 32, loadMsMax: 150, chance: createChance(seedOf(t)) })
  t.diagnostic(JSON.stringify(endured))
  assert.ok(endured.retried >= 5000)
  assert.equal(endured.recordedUnheard, 0)
})

for (const kind of ["ext4", "xfs"] as const) {
  test(`what was acknowledged survives 1,000 power cuts on ${kind}`, { skip: noDisk(kind) }, async (t) => {
    const chance = createChance(seedOf(t))
    // A new disk now and then, because these are small.
    for (let run = 0; run < 20; run++) {
      using disk = makeDisk(kind)
      const endured = await endure({ endings: 50, signal: "SIGKILL", clients: 16, loadMsMax: 150, chance, disk })
      t.diagnostic(JSON.stringify(endured))
      assert.ok(endured.acknowledged >= 500 && endured.retried >= 300)
    }
  })
}

test("a disk that is full 200 times", { skip: noDisk("ext4") }, async (t) => {
  const chance = createChance(seedOf(t))
  for (let run = 0; run < 10; run++) {
    using disk = makeDisk("ext4")
    const filled = await fillAgainAndAgain({ disk, cycles: 20, chance })
    assert.ok(filled.cycles === 20 && filled.refused >= 400 && filled.slowestResumeMs <= 5000)
  }
})

test("1,200 points where the disk fails", { skip: noTracer() }, async (t) => {
  const chance = createChance(seedOf(t))
  for (let run = 0; run < 20; run++) {
    const failed = await failAgainAndAgain({ points: 60, chance })
    assert.ok(failed.points === 60 && failed.failed >= 150 && failed.ended === 20 && failed.notReady === 20)
  }
})
