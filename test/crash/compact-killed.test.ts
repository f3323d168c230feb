import assert from "node:assert/strict"
import { globSync, rmSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { tallystick } from "../program.ts"
import { createChance, seedOf, type Chance } from "../chance.ts"
import { settingsOf } from "../service.ts"
import { openPackedLedger, type OldLedger } from "./archived-ledger.ts"
import { expectFsckClean, startProgram } from "./programs.ts"
import { killAtSteps, loadedFirst, usualKills, type Killed } from "./step-kills.ts"

// Killed at each step of `tallystick compact`: the journal is the former one or the new one, and
// the next run goes on or begins again.

interface Killing {
  readonly kills: number
  readonly chance: Chance
  readonly only?: string
  /** Whether this run goes on from where the one before was killed. */
  readonly isResumed: (round: number) => boolean
  readonly modules?: readonly string[]
}

function killCompacting(
  { first }: OldLedger,
  { isResumed, modules = [], ...asked }: Killing,
): Promise<Killed> {
  return killAtSteps({
    ...asked,
    data: first.data,
    async run(environment, round) {
      if (!isResumed(round)) removeCopy(first.data)
      const all = `${environment["NODE_OPTIONS"]} ${loadedFirst(...modules)}`
      const settings = { ...settingsOf(first), ...environment, NODE_OPTIONS: all }
      const { code, errors } = await tallystick(["compact"], settings)
      assert.ok(code === 0 || code === null, errors)
      if (round % 10 === 0) await expectFsckClean(first)
    },
  })
}

function removeCopy(data: string): void {
  for (const name of globSync("journal.db.compact*", { cwd: data })) rmSync(join(data, name))
}

test(`killed ${usualKills} times while a journal is compacted: the old or the new one is there, whole`, async (t) => {
  const ledger = await openPackedLedger()
  await using _ = ledger.first
  const killed = await killCompacting(ledger, {
    kills: usualKills,
    chance: createChance(seedOf(t)),
    isResumed: (round) => round % 2 === 0,
  })
  t.diagnostic(JSON.stringify(killed))
  assert.ok(killed.kills > usualKills / 2, "hardly any kill fell while it was compacted")
  const { code, errors } = await tallystick(["compact"], settingsOf(ledger.first))
  assert.equal(code, 0, errors)
  await expectFsckClean(ledger.first)
  await using last = await startProgram({ data: ledger.first.data })
  await expectChain(last.root, ledger.workspace.id, ledger.receipts)
})

test("canary: a journal that is removed before the new one has its name is detected", async (t) => {
  const ledger = await openPackedLedger()
  await using _ = ledger.first
  const killing = killCompacting(ledger, {
    kills: 10,
    chance: createChance(seedOf(t)),
    only: "rmSync",
    isResumed: () => false,
    modules: ["removed-journal.ts"],
  })
  await assert.rejects(killing, /no ledger|journal\.db/)
})
