import assert from "node:assert/strict"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { createChance, seedOf, type Chance } from "../chance.ts"
import { metric } from "../metrics.ts"
import { eventually, type Service } from "../service.ts"
import {
  busyArchiver,
  filed,
  openDueLedger,
  segmentFiles,
  type OldLedger,
} from "./archived-ledger.ts"
import { expectFsckClean, startProgram } from "./programs.ts"
import { killServiceAtSteps, usualKills, type Killed } from "./step-kills.ts"

// Killed at each step of packing and archiving: nothing is lost, and every segment is recorded once.

const segmentsPerRun = 3
/** Enough for all kills. */
const all = filed * Math.ceil((usualKills * segmentsPerRun) / (filed / 64))
/** For a few segments, on a busy machine. */
const patientMs = 120_000

function killArchiving(
  { first }: OldLedger,
  count: number,
  chance: Chance,
  { modules = [], withinMs = patientMs }: { modules?: readonly string[]; withinMs?: number } = {},
): Promise<Killed> {
  const { data } = first
  return killServiceAtSteps({
    kills: count,
    chance,
    data,
    environment: busyArchiver,
    modules,
    ...(modules.length > 0 && { only: "COMMIT journal.db" }),
    async work({ process }) {
      const wanted = Math.min(all / 64, segmentFiles(data).length + segmentsPerRun)
      const look = async () => {
        if (process.signalCode !== null) throw new TypeError("it was killed")
        return segmentFiles(data).length >= wanted || undefined
      }
      await eventually("some segments", look, withinMs)
    },
  })
}

/** Every due entry is in the archive, and readable. */
async function expectArchived(
  last: Service,
  { workspace, receipts }: OldLedger,
  withinMs = patientMs,
): Promise<void> {
  await eventually(
    "all to be archived",
    async () =>
      (await metric(last, "tallystick_archive_segments")) > 0 &&
      (await metric(last, "tallystick_archive_overdue_seconds")) === 0,
    withinMs,
  )
  await expectChain(last.root, workspace.id, receipts)
}

test(`killed ${usualKills} times while entries are archived: nothing is lost, and nothing is there twice`, async (t) => {
  const due = await openDueLedger(all + 50)
  await using _ = due.first
  const killed = await killArchiving(due, usualKills, createChance(seedOf(t)))
  t.diagnostic(JSON.stringify(killed))
  assert.ok(killed.kills > usualKills / 2, "hardly any kill fell while entries were archived")
  await using last = await startProgram({ data: due.first.data, environment: busyArchiver })
  await expectArchived(last, due)
  assert.equal(await metric(last, "tallystick_archive_segments"), all / 64)
  // The same frames make the same file, so a file that was not recorded is not left behind.
  assert.equal(segmentFiles(last.data).length, all / 64)
  assert.equal(await last.end(), 0)
  await expectFsckClean(last)
})

test("canary: bodies that are dropped before their segment is stored are detected", async (t) => {
  const due = await openDueLedger(filed + 50)
  await using _ = due.first
  // A ledger that lost something waits for ever; a whole one is archived within seconds.
  const withinMs = 20_000
  const killAndLook = async (): Promise<void> => {
    const modules = ["late-segments.ts"]
    await killArchiving(due, 10, createChance(seedOf(t)), { modules, withinMs })
    await using last = await startProgram({ data: due.first.data, environment: busyArchiver })
    await expectArchived(last, due, withinMs)
  }
  // If some bodies of a lost segment are still there, or no other segment is, nothing is archived any
  // more.
  await assert.rejects(killAndLook(), /archive_unavailable|in vain: (some segments|all to be)/)
})
