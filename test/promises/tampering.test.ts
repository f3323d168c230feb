import assert from "node:assert/strict"
import { test } from "node:test"
import { startProgram } from "../crash/programs.ts"
import { eventFor, makeWorkspace } from "../service.ts"
import { createChance, seedOf } from "./chance.ts"
import { damage } from "./damaged.ts"
import { kindsCount, tamperAgainAndAgain } from "./tampering.ts"

// Promise 6: tampering is detected and named.

// Each kind of change once where fsck works in several pieces, and often where it is quick.
for (const { entries, mutations } of [
  { entries: 10_000, mutations: kindsCount },
  { entries: 1_000, mutations: 4 * kindsCount },
]) {
  test(`fsck finds and names each of ${mutations} changes to ${entries} entries`, async (t) => {
    const chance = createChance(seedOf(t))
    const tampered = await tamperAgainAndAgain({ entries, mutations, chance })
    t.diagnostic(JSON.stringify(tampered))
    assert.equal(tampered.found, mutations)
    assert.equal(Object.keys(tampered.kinds).length, kindsCount)
    assert.ok(
      kindsCount >= 60 && tampered.entries >= (mutations * entries) / 3,
      "too few entries were checked",
    )
  })
}

test("canary: where nothing is changed, nothing is found and the suite fails", async (t) => {
  const run = tamperAgainAndAgain({
    entries: 500,
    mutations: 1,
    chance: createChance(seedOf(t)),
    isIdle: true,
  })
  await assert.rejects(run, /was not found/)
})

test("a read over HTTP reports an entry with a changed body as broken, and only that one", async () => {
  await using service = await startProgram()
  const workspace = await makeWorkspace(service)
  const receipts: string[] = []
  for (let at = 0; at < 5; at++)
    receipts.push((await workspace.writer.write(eventFor(workspace.id))).json().receipt)
  const [changed = "", ...others] = receipts
  // What was signed is told one by one from then on; behind a broken entry that was not, nothing is
  // believed.
  assert.equal(
    (await workspace.reader.get(`${workspace.path}/receipts/${others.at(-1)}/proof`)).status,
    200,
  )
  damage(service.data, changed, "a byte of the body")
  const look = async (receipt: string) =>
    (await workspace.reader.get(`${workspace.path}/receipts/${receipt}`)).json()
  const answer = await look(changed)
  assert.deepEqual(
    [answer.verified, answer.entry.integrity],
    [false, "broken"],
    JSON.stringify(answer),
  )
  for (const receipt of others) assert.equal((await look(receipt)).verified, true)
})
