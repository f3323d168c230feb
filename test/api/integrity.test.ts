import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventually, logKeyOf, makeWorkspace, writeMany } from "../service.ts"
import { startWatched } from "./watched.ts"

// GET …/integrity: how far a chain is signed and rechecked. promises/auditor.test.ts has what it
// says of damage.

const service = await startWatched({
  environment: { TALLYSTICK_LIMIT_AUDIT_ROUND_EVERY_MS: "200" },
})
after(() => service[Symbol.asyncDispose]())

test("the answer says how far a chain is signed and rechecked, and nothing else", async () => {
  const acme = await makeWorkspace(service)
  const state = async () => {
    const reply = await acme.reader.get(`${acme.path}/integrity`)
    assert.equal(reply.status, 200, reply.text)
    return reply.json()
  }
  const before = (await state()).size
  const receipts = await writeMany(acme, 20)
  const writtenAt = new Date().toISOString()
  assert.equal((await state()).size, before + 20)

  const last = receipts.at(-1)?.receipt
  assert.equal((await acme.reader.get(`${acme.path}/receipts/${last}/proof`)).status, 200)
  const signed = await state()
  assert.deepEqual([signed.pending, signed.archived, signed.faults], [0, 0, []])
  const note = (await acme.reader.get(`${acme.path}/tlog/checkpoint`)).text.split("\n")
  assert.equal(signed.checkpoint.size, Number(note[1]))
  assert.equal(signed.checkpoint.sequence, before + 20)
  const vkey = await logKeyOf(acme.reader, acme.path)
  assert.equal(signed.checkpoint.vkey, vkey)
  assert.ok(signed.checkpoint.signedAt >= String(receipts[19]?.timestamp))

  const { checked } = await eventually("it was checked after it was written", async () => {
    const seen = await state()
    return seen.checked.at(-1)?.checkedAt >= writtenAt ? seen : undefined
  })
  assert.deepEqual(
    checked.map(({ from, to }: { from: number; to: number }) => [from, to]),
    [[1, before + 20]],
  )
  assert.ok(checked[0].checkedAt <= new Date().toISOString())
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
