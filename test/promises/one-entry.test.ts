import assert from "node:assert/strict"
import { test } from "node:test"
import { startProgram } from "../crash/programs.ts"
import { makeKey, type Service, type Workspace } from "../service.ts"
import { fieldsOfEvent } from "./bodies.ts"
import { createChance, seedOf } from "../chance.ts"
import { createModel, sendAgainAndAgain, sendSome, type Counts } from "./one-entry.ts"

// Promise 4: one entry per key, for ever. `npm run test:deep` sends a million again.

test("2,000 replays of keys young and old, across restarts, are answered as the first time", async (t) => {
  const kept = await sendAgainAndAgain({
    fill: 66_000,
    rounds: 2,
    replays: 2_000,
    chance: createChance(seedOf(t)),
  })
  t.diagnostic(JSON.stringify(kept))
  assert.ok(
    kept.recorded > 66_000 && kept.entries > kept.recorded,
    "the first keys are in memory still",
  )
  assert.ok(
    kept.replayed >= 2_000 && kept.reused >= 300 && kept.atOnce >= 480 && kept.restarts === 2,
    "too little was sent again",
  )
})

test("canary: a comparison of requests that ignores any field is detected", async (t) => {
  const chance = createChance(seedOf(t))
  await using service = await startProgram({}, "ignores a field")
  const sendMany = async (field: string): Promise<void> => {
    const model = createModel(await makeNamed(service, `ignores-${field}`))
    const counts: Counts = { recorded: 0, replayed: 0, reused: 0, atOnce: 0 }
    while (counts.replayed < 1500) await sendSome(service, model, counts, chance)
  }
  // The same run passes if no field is ignored.
  await sendMany("nothing")
  for (const field of fieldsOfEvent)
    await assert.rejects(
      sendMany(field),
      /was used for another request/,
      `nobody noticed that ${field} is ignored`,
    )
})

async function makeNamed(service: Service, id: string): Promise<Workspace> {
  const { status, text } = await service.root.post("/v1/workspaces", { id })
  assert.equal(status, 201, text)
  const [writer, reader] = [
    await makeKey(service, id, { scopes: ["write"] }),
    await makeKey(service, id, { scopes: ["read"] }),
  ]
  return { id, path: `/v1/workspaces/${id}`, writer, reader }
}
