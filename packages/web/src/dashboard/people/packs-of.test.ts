import assert from "node:assert/strict"
import { test } from "node:test"
import { packsOf } from "./packs-of.ts"

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
