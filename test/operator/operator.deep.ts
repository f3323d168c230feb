import assert from "node:assert/strict"
import test from "node:test"
import { createChance, seedOf } from "../chance.ts"
import { startPostgres } from "../postgres-server.ts"
import { longRun } from "../promises/long-run.ts"
import { operateAtRandom } from "./random-operator.ts"

const steps = 30

test("a thousand random commands of an operator, in folders", async (t) => {
  const chance = createChance(seedOf(t))
  await longRun(t, { what: "steps", wanted: 1000, minutes: 12, floor: 60 }, async () => {
    await operateAtRandom({ steps, chance, see: (step) => t.diagnostic(step) })
    return steps
  })
})

test("a thousand random commands of an operator, in folders and databases", async (t) => {
  const chance = createChance(seedOf(t))
  await using postgres = await startPostgres()
  await longRun(t, { what: "steps", wanted: 1000, minutes: 12, floor: 60 }, async () => {
    await operateAtRandom({ steps, chance, postgres, see: (step) => t.diagnostic(step) })
    return steps
  })
})

test("canary: a service that forgets keys is found out", async (t) => {
  const chance = createChance(seedOf(t))
  const operating = operateAtRandom({ steps, chance, fault: "forgets keys" })
  await assert.rejects(operating, /a repeated write/)
})
