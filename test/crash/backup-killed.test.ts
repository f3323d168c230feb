import assert from "node:assert/strict"
import { globSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { createChance, seedOf } from "../chance.ts"
import { tallystick } from "../program.ts"
import { makeWorkspace, settingsOf, writeMany } from "../service.ts"
import { startProgram } from "./programs.ts"
import { killAtSteps } from "./step-kills.ts"

test("killed at any step of a backup: what is left is marked as a copy, or is no ledger", async (t) => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const receipts = await writeMany(workspace, 20)
  await expectChain(workspace.reader, workspace.id, receipts)
  assert.equal(await service.end(), 0)
  const { data } = service
  const left = (): readonly string[] => globSync(`${data}.backup*`)
  let [journals, complete] = [0, 0]
  const killed = await killAtSteps({
    kills: 20,
    chance: createChance(seedOf(t)),
    data,
    async run(environment) {
      const settings = { ...settingsOf(service), ...environment }
      const { code, errors } = await tallystick(["backup", `${data}.backup`], settings)
      assert.ok(code === 0 || code === null, errors)
      if (code === 0) complete += 1
      for (const folder of left()) {
        for (const path of globSync(join(folder, "journal.db"))) {
          journals += 1
          using journal = new DatabaseSync(path, { readOnly: true })
          const mark = journal.prepare("PRAGMA application_id").get()
          assert.deepEqual({ ...mark }, { application_id: 0x636f7079 })
        }
        rmSync(folder, { recursive: true })
      }
    },
  })
  t.diagnostic(JSON.stringify(killed))
  assert.ok(complete >= 1 && journals > complete, "hardly any kill left a journal")
})
