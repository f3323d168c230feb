import assert from "node:assert/strict"
import { test } from "node:test"
import { readChain } from "../chain.ts"
import { makeWorkspace, startService, writeMany } from "../service.ts"
import { exportAll, residentOf } from "./export-memory.ts"

// The memory of exports over 200,000 entries: what an export holds does not grow with its file.

const count = 200_000
const formats = ["jsonl", "csv", "parquet"]
/** Two threads with their code, caches and pieces. */
const exportsMbMax = 450

test("exports over 200,000 entries hold their memory", async (t) => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  await writeMany(acme, count, {
    atOnce: 1000,
    changes: (place) => ({ target: { id: `inv_${place}`, type: "invoice", name: `No. ${place}` } }),
  })
  const beforeMb = await residentOf(service)
  for (const format of formats) {
    const first = await exportAll(service, acme, format)
    const second = await exportAll(service, acme, format)
    t.diagnostic(`${format}: ${beforeMb} MB before, ${first.residentMb} and ${second.residentMb}`)
    assert.ok(first.residentMb - beforeMb < exportsMbMax, `${format}: ${first.residentMb} MB`)
    assert.ok(second.residentMb < first.residentMb * 1.25, `${format}: ${second.residentMb} MB`)
  }
  await readChain(acme.reader, acme.id)
})
