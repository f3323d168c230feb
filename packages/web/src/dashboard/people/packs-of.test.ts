import assert from "node:assert/strict"
import { test } from "node:test"
import { invalid } from "../../ask.ts"
import type { Desk } from "../desk.ts"
import { packMaking, packsOf } from "./packs-of.ts"

test("a history of more entries than a pack holds is several packs, with each entry once", () => {
  const receipts = (count: number) => Array.from({ length: count }, (_, at) => `rcp_${at}`)
  assert.deepEqual(packsOf("All", receipts(2)), [{ title: "All", receiptIds: receipts(2) }])
  assert.equal(packsOf("All", receipts(10_000)).length, 1)
  const packs = packsOf("All", receipts(20_001))
  assert.deepEqual(
    packs.map(({ title, receiptIds }) => [title, receiptIds.length]),
    [
      ["All, 1 of 3", 10_000],
      ["All, 2 of 3", 10_000],
      ["All, 3 of 3", 1],
    ],
  )
  assert.deepEqual(
    packs.flatMap(({ receiptIds }) => receiptIds),
    receipts(20_001),
  )
})

test("after a refusal, only the packs that are left are made", async () => {
  const asked: unknown[] = []
  const send: Desk["send"] = async (_method, _path, body) => {
    asked.push(body)
    if (asked.length === 2) return invalid("too many requests")
    return { ok: true, value: body as never } // of a pack, nothing is read here
  }
  const making = packMaking({ send })
  const wanted = packsOf("All", Array.from({ length: 20_001 }, String))
  assert.equal((await making.makeRest(wanted, () => {})).ok, false)
  assert.ok(making.isBegun())
  assert.equal((await making.makeRest(wanted, () => {})).ok, true)
  assert.deepEqual(asked, [wanted[0], wanted[1], wanted[1], wanted[2]])
  assert.ok(!making.isBegun(), "another pack of the person is whole")
})
