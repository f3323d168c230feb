import assert from "node:assert/strict"
import { once } from "node:events"
import { request, type IncomingMessage } from "node:http"
import { test } from "node:test"
import { readChain } from "../chain.ts"
import { metric, residentMbOf } from "../metrics.ts"
import { makeWorkspace, startService, writeMany } from "../service.ts"
import { exportAll } from "./export-memory.ts"

// An export holds some pieces of its file, however large that is. `export-memory.deep.ts` has the
// same for 200,000 entries.

const count = 1500
const long = "x".repeat(60_000)
const fileMb = (count * long.length) / 2 ** 20

test("an export holds a few pieces, whether its client reads or not", async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  await writeMany(acme, count, { atOnce: 50, changes: () => ({ metadata: { long } }) })
  // Code is compiled, caches are filled, and both threads have the memory that they keep.
  for (let round = 0; round < 2; round += 1)
    await Promise.all([1, 2].map(() => exportAll(service, acme, "jsonl")))
  const beforeMb = await residentMbOf(service)
  const asked = request(`${service.url}${acme.path}/events/export?format=csv`, {
    headers: { authorization: `Bearer ${acme.reader.bearer}` },
    agent: false,
  }).end()
  // once gives a list of what the event has.
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  // In this time the other could have been made, too.
  const { bytes, residentMb } = await exportAll(service, acme, "jsonl")
  assert.ok(bytes > fileMb * 2 ** 20)
  assert.ok(residentMb - beforeMb < fileMb * 0.75, `${beforeMb} MB, and ${residentMb} MB`)
  const made = await metric(service, 'tallystick_exported_entries_total{format="csv"}')
  assert.ok(made > 0 && made < count / 2, `${made} entries for a client that reads nothing`)
  answer.destroy()
  await readChain(acme.reader, acme.id)
})
