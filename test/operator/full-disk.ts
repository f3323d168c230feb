import assert from "node:assert/strict"
import { rm } from "node:fs/promises"
import { fill } from "../crash/disk-full.ts"
import { untilReady } from "../until.ts"
import { expectModel } from "./ledger-model.ts"
import {
  answered,
  ballastOf,
  commandOnce,
  sendSome,
  started,
  stopped,
  synced,
  type OperatedLedger,
} from "./operated-ledger.ts"

// A disk that others have filled: what was written stays, commands fail cleanly, and all of it
// works again once there is space.

/** Room for a ledger with its backups. */
export const diskMegabytes = 2048

const commands: readonly (readonly string[])[] = [
  ["fsck"],
  ["reindex"],
  ["compact"],
  ["secret", "rotate"],
  ["root-key", "rotate"],
  ["archive", "now"],
  ["archive", "restore"],
  ["resume"],
]

export async function fillDisk(ledger: OperatedLedger): Promise<void> {
  const { chance, model, database } = ledger
  const ballast = ballastOf(ledger) ?? assert.fail()
  await started(ledger)
  const args = chance.pick(
    commands.filter(([name]) => database === undefined || name !== "compact"),
  )
  const isAlone = chance.percent(60)
  if (isAlone) await stopped(ledger)
  // Nothing is left, or less than what the service keeps free.
  fill(ballast, chance.pick([0, 0, 300_000, 5_000_000]))
  try {
    if (isAlone) {
      const { code, errors } = await commandOnce(ledger, args)
      assert.ok(code === 0 || code === 1, `${args.join(" ")}: ${errors}`)
      assert.doesNotMatch(errors, /^\s+at /m, `${args.join(" ")}: ${errors}`)
    }
    if (chance.percent(50)) await stopped(ledger)
    const service = await started(ledger)
    await answered(ledger, sendSome(ledger, service))
    await expectModel(service, model, chance)
  } finally {
    await rm(ballast, { force: true })
    await synced(ledger)
  }
  if (ledger.service !== undefined) await untilReady(ledger.service)
  await started(ledger)
  if (!isAlone) return
  await stopped(ledger)
  const { code, errors } = await commandOnce(ledger, args)
  assert.equal(code, 0, `${args.join(" ")}: ${errors}`)
}
