import assert from "node:assert/strict"
import { test } from "node:test"
import { longRun } from "../promises/long-run.ts"
import { createChance, seedOf } from "../chance.ts"
import { fillAgainAndAgain } from "./disk-full.ts"
import { makeDisk, noDisk } from "./disks.ts"
import { endAgainAndAgain } from "./endings.ts"
import { failAgainAndAgain } from "./failing-calls.ts"
import { skipUnlessStrict } from "./strict.ts"
import { noTracer } from "./tracer.ts"

// Promises 1, 2, 7, 9 and 19 at length.

test("acknowledged events survive 2,000 kills", async (t) => {
  const chance = createChance(seedOf(t))
  let acknowledged = 0
  await longRun(t, { what: "kills", wanted: 2000, minutes: 30, floor: 250 }, async () => {
    const ended = await endAgainAndAgain({ endings: 50, signal: "SIGKILL", clients: 32, chance })
    assert.ok(ended.retried >= 500 && ended.recordedUnheard >= 25)
    assert.ok(ended.lookedUp === ended.acknowledged && ended.sentAgain === ended.acknowledged)
    acknowledged += ended.acknowledged
    return ended.endings
  })
  t.diagnostic(`${acknowledged} acknowledged events, each of them found`)
})

test("500 stops under load are clean", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "stops", wanted: 500, minutes: 8, floor: 50 }, async () => {
    const ended = await endAgainAndAgain({ endings: 25, signal: "SIGTERM", clients: 32, chance })
    assert.ok(ended.retried >= 250)
    assert.equal(ended.recordedUnheard, 0)
    return ended.endings
  })
})

for (const { kind, skip, minutes, floor } of [
  { kind: "ext4", skip: skipUnlessStrict(noDisk("ext4")), minutes: 16, floor: 160 },
  { kind: "xfs", skip: noDisk("xfs"), minutes: 8, floor: 80 },
] as const) {
  test(`what was acknowledged survives 1,000 power cuts on ${kind}`, { skip }, async (t) => {
    const chance = createChance(seedOf(t))
    let acknowledged = 0
    await longRun(t, { what: "power cuts", wanted: 1000, minutes, floor }, async () => {
      // A new disk each time, because these are small.
      using disk = makeDisk(kind)
      const ended = await endAgainAndAgain({
        endings: 50,
        signal: "SIGKILL",
        clients: 16,
        chance,
        disk,
      })
      assert.ok(ended.acknowledged >= 500 && ended.retried >= 300)
      assert.ok(ended.lookedUp === ended.acknowledged && ended.sentAgain === ended.acknowledged)
      acknowledged += ended.acknowledged
      return ended.endings
    })
    t.diagnostic(`${acknowledged} acknowledged events, each of them found`)
  })
}

test("a disk that is full 200 times", { skip: skipUnlessStrict(noDisk("ext4")) }, async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "times full", wanted: 200, minutes: 7, floor: 50 }, async () => {
    using disk = makeDisk("ext4")
    const filled = await fillAgainAndAgain({ disk, cycles: 10, chance })
    assert.ok(
      filled.cycles === 10 &&
        filled.starts === 10 &&
        filled.refused >= 400 &&
        filled.slowestResumeMs <= 5000,
    )
    return filled.cycles
  })
})

test("1,200 points where the disk fails", { skip: skipUnlessStrict(noTracer()) }, async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "points", wanted: 1200, minutes: 6, floor: 250 }, async () => {
    const failed = await failAgainAndAgain({ points: 60, chance })
    assert.ok(
      failed.points === 60 && failed.failed >= 150 && failed.ended === 20 && failed.notReady === 20,
    )
    assert.equal(failed.lookedUp, failed.acknowledged)
    return failed.points
  })
})
