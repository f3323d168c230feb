import assert from "node:assert/strict"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { makeWorkspace, startService, writeMany } from "../service.ts"
import { exportAll } from "./export-memory.ts"

// The memory of exports over 200,000 entries: what an export holds does not grow with its file.

const count = 200_000
const formats = ["jsonl", "csv", "parquet"]
/** How much garbage remains differs from run to run; a file of JSON lines has 170 MB. */
const marginMb = 100

test("exports over 200,000 entries hold no more than those over a quarter of them", async (t) => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  await writeMany(acme, count, {
    atOnce: 1000,
    changes: (place) => ({ target: { id: `inv_${place}`, type: "invoice", name: `No. ${place}` } }),
  })
  for (const format of formats) {
    const quarters: number[] = []
    for (let turn = 0; turn < 4; turn++)
      quarters.push((await exportAll(service, acme, format, (count * 3) / 4)).residentMb)
    const { residentMb } = await exportAll(service, acme, format)
    t.diagnostic(`${format}: ${quarters.map(Math.round).join(", ")} MB, and ${residentMb} MB`)
    assert.ok(residentMb < Math.max(...quarters) + marginMb, format)
  }
  await expectChain(service.root, acme.id)
})
