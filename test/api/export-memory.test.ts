import assert from "node:assert/strict"
import { once } from "node:events"
import { request, type IncomingMessage } from "node:http"
import { test } from "node:test"
import { readChain } from "../chain.ts"
import { eventually, makeWorkspace, startService, writeMany } from "../service.ts"
import { exportAll, residentOf } from "./export-memory.ts"

// An export holds some pieces of its file, however large that is. `export-memory.deep.ts` has the
// same for 200,000 entries.

const count = 1500
const long = "x".repeat(60_000)
const fileMb = (count * long.length) / 2 ** 20

test("an export holds a few pieces, whether its client reads or not", async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  await writeMany(acme, count, { atOnce: 50, changes: () => ({ metadata: { long } }) })
  // Code is compiled, and caches are filled.
  await exportAll(service, acme, "jsonl")
  const beforeMb = await residentOf(service)
  const { bytes, residentMb } = await exportAll(service, acme, "jsonl")
  assert.ok(bytes > fileMb * 2 ** 20)
  assert.ok(residentMb - beforeMb < fileMb * 0.75, `${beforeMb} MB, and ${residentMb} MB`)

  const exported = async (): Promise<number> => {
    const { text } = await service.root.get("/metrics")
    return Number(/^tallystick_exported_entries_total\{format="csv"\} (\d+)$/m.exec(text)?.[1])
  }
  const asked = request(`${service.url}${acme.path}/events/export?format=csv`, {
    headers: { authorization: `Bearer ${acme.reader.bearer}` },
    agent: false,
  }).end()
  // once gives a list of what the event has.
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  let before = -1
  await eventually("the export waits for its client", async () => {
    const now = await exported()
    if (now > 0 && now === before) return true
    before = now
    await new Promise((resolve) => setTimeout(resolve, 200))
    return undefined
  })
  assert.ok(before < count / 2, `${before} entries were made for a client that reads nothing`)
  answer.destroy()
  await readChain(acme.reader, acme.id)
})
