import assert from "node:assert/strict"
import { appendFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { tallystick } from "../program.ts"
import { startService } from "../service.ts"
import { fillAgainAndAgain } from "./disk-full.ts"
import { makeDisk, noDisk } from "./disks.ts"
import { skipUnlessStrict } from "./strict.ts"

// Promise 9: a full disk is a clean state.

const skip = skipUnlessStrict(noDisk("ext4"))

test(
  "while the disk is full, twice, writes are refused and reads continue; with space, writes resume",
  { skip },
  async (t) => {
    using disk = makeDisk("ext4")
    const filled = await fillAgainAndAgain({ disk, cycles: 2, chance: createChance(seedOf(t)) })
    t.diagnostic(JSON.stringify(filled))
    assert.ok(
      filled.cycles === 2 &&
        filled.starts === 2 &&
        filled.refused >= 80 &&
        filled.read >= 32 &&
        filled.acknowledged >= 42,
      "too little was tried",
    )
    assert.ok(filled.slowestResumeMs <= 5000)
  },
)

test("canary: a full disk that is taken for a failure is detected", { skip }, async (t) => {
  using disk = makeDisk("ext4")
  const run = fillAgainAndAgain({
    disk,
    cycles: 1,
    chance: createChance(seedOf(t)),
    fault: "hides a full disk",
  })
  await assert.rejects(run, /a full disk is a clean refusal/)
})

test(
  "a command that finds no room beside the data says so, and not that the data is damaged",
  { skip },
  async () => {
    using disk = makeDisk("ext4")
    const data = join(disk.path, "data")
    {
      await using service = await startService({ data })
      assert.equal(await service.end(), 0)
    }
    // Also what the system keeps for root.
    assert.throws(() => {
      for (const block = Buffer.alloc(4096); ;) appendFileSync(join(disk.path, "ballast"), block)
    }, /ENOSPC/)
    const settings = { TALLYSTICK_DATA: data, TALLYSTICK_HEADS: `${data}.heads` }
    const { code, errors } = await tallystick(["archive", "status"], settings)
    assert.equal(code, 1)
    assert.match(errors, /^tallystick: the disk of the data is full, or nearly: make room/)
  },
)
