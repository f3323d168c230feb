import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { cp, mkdir, rename, rm, writeFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { createChance } from "../chance.ts"
import { segmentFiles } from "../crash/archived-ledger.ts"
import { filesWith } from "../personal-files.ts"
import { refuse } from "../s3-server.ts"
import { changeRulesBesideExpiry } from "./at-the-same-time.ts"
import { erasePerson } from "./holds-and-erasures.ts"
import {
  answered,
  command,
  commandOnce,
  newPlace,
  sendSome,
  started,
  stopped,
  synced,
  type OperatedLedger,
} from "./operated-ledger.ts"

// An archive that is away, or fails at times.

const commands = [["fsck"], ["reindex"], ["archive", "now"], ["archive", "restore"]]

/** Clients write meanwhile. What is destroyed meanwhile is destroyed once it is back. */
export async function useFailingArchive(ledger: OperatedLedger): Promise<void> {
  const { chance } = ledger
  await started(ledger)
  if (chance.percent(30)) {
    await changeRulesBesideExpiry(ledger, (run) => failing(ledger, run))
    return
  }
  if (chance.percent(60)) {
    await erasePerson(ledger, () =>
      failing(ledger, async () => {
        await answered(ledger, sendSome(ledger, await started(ledger)))
        await sleep(chance.below(1000))
      }),
    )
    return
  }
  const args = chance.pick(commands)
  await stopped(ledger)
  await failing(ledger, async () => {
    const { code, errors } = await commandOnce(ledger, args)
    assert.ok(code === 0 || code === 1, `${args.join(" ")}: ${code} ${errors}`)
    assert.doesNotMatch(errors, /^\s+at /m, `${args.join(" ")}: ${errors}`)
    if (chance.percent(50)) await answered(ledger, sendSome(ledger, await started(ledger)))
  })
  await stopped(ledger)
  await command(ledger, args)
}

async function failing<T>(ledger: OperatedLedger, act: () => Promise<T>): Promise<T> {
  const { bucket, data, chance } = ledger
  const folder = join(data, "archive")
  if (bucket !== undefined) {
    const { pick, percent } = createChance(chance.below(2 ** 31))
    bucket.misbehave = ({ socket }, response) => {
      if (percent(50)) return false
      const answers = [
        () => refuse(response, 503, "SlowDown"),
        () => socket.destroy(),
        () =>
          response.writeHead(206, { "content-length": 1000 }).write("half", () => socket.destroy()),
      ]
      pick(answers)()
      return true
    }
    const result = await act()
    bucket.misbehave = () => false
    return result
  }
  if (segmentFiles(data).length === 0) return act()
  const away = `${folder}-away`
  await rename(folder, away)
  const result = await act()
  // What was just being written.
  if (existsSync(folder)) await cp(folder, away, { recursive: true })
  await rm(folder, { recursive: true, force: true })
  await rename(away, folder)
  await synced(ledger)
  return result
}

/** The archived objects that have one of these texts. */
export async function objectsWith(ledger: OperatedLedger, texts: readonly string[]) {
  const place = await newPlace(ledger)
  await mkdir(place)
  for (const [name, bytes] of ledger.bucket?.objects ?? [])
    await writeFile(join(place, basename(name)), bytes)
  const found = await filesWith(place, texts)
  await rm(place, { recursive: true })
  return found
}
