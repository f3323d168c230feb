import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { after, test } from "node:test"
import type { EventsPage } from "@tallystick/client/wire"
import { expectChain } from "../chain.ts"
import { eventually, makeWorkspace, startService, type Reply, writeMany } from "../service.ts"

// Large entries and many readers: a page ends at its budget, nobody else waits, and memory stays
// bounded.

const pageBytesMax = 4 * 1024 * 1024
const entries = 40

const service = await startService({
  program: join(import.meta.dirname, "measured-turns.ts"),
  arguments: [],
  environment: { TALLYSTICK_LIMIT_READ_WAIT_MS: "60000" },
})
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const metadata = Object.fromEntries(["a", "b", "c"].map((name) => [name, 'x"é'.repeat(15_000)]))
await writeMany(acme, entries, { changes: () => ({ metadata }), atOnce: 10 })
const path = `${acme.path}/events?limit=100`
await eventually(
  "they can be found",
  async () => (await acme.reader.get(`${acme.path}/events?limit=1`)).status === 200,
  60_000,
)

/** The longest turn of the main thread since the last call, in milliseconds of the processor. */
async function longestTurn(): Promise<number> {
  const said = service.output().length
  service.process.kill("SIGUSR2")
  const look = async () =>
    /longest turn: ([0-9.]+) ms/.exec(service.output().slice(said)) ?? undefined
  const [, longestMs] = await eventually("the longest turn", look)
  return Number(longestMs)
}

async function peakMegabytes(): Promise<number> {
  const status = await readFile(`/proc/${service.process.pid}/status`, "utf8")
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024
}

for (const include of ["", "&include=proof"]) {
  test(`pages of large entries end at their budget, and paging shows each entry once (${include || "without proofs"})`, async () => {
    const seen: number[] = []
    for (let cursor = 0, hasMore = true; hasMore;) {
      const reply = await acme.reader.get(`${path}&cursor=${cursor}${include}`)
      assert.equal(reply.status, 200, reply.text)
      const page = reply.json<EventsPage>()
      assert.ok(reply.bytes.length < pageBytesMax + 1000, `${reply.bytes.length} bytes`)
      assert.deepEqual(
        [page.returned, page.total, page.verified],
        [page.events.length, entries, true],
      )
      assert.ok(
        !page.hasMore || (page.returned < 100 && reply.bytes.length > pageBytesMax / 2),
        "it ends for its size alone",
      )
      seen.push(...page.events.map(({ sequence }) => sequence))
      assert.equal(page.nextCursor, seen.at(-1))
      ;({ nextCursor: cursor, hasMore } = page)
    }
    assert.deepEqual(
      seen,
      [...new Set(seen)].toSorted((a, b) => b - a),
    )
    assert.equal(seen.length, entries)
  })
}

test("neither receipts nor an evidence pack of large entries hold the thread", async () => {
  const { events } = (await acme.reader.get(path)).json<EventsPage>()
  const receiptIds = events.map(({ receipt }) => receipt)
  await longestTurn()
  const looked = await Promise.all(
    [...receiptIds, ...receiptIds].map((receipt) =>
      acme.reader.get(`${acme.path}/receipts/${receipt}`),
    ),
  )
  assert.ok(looked.every((reply) => reply.json().verified === true))
  const ofReceipts = await longestTurn()
  const made = await acme.reader.post(`${acme.path}/evidence-packs`, { title: "Large", receiptIds })
  assert.equal(made.status, 201, made.text)
  const download = await acme.reader.get(
    `${acme.path}/evidence-packs/${made.json().packId}/download?format=json`,
  )
  assert.equal(download.status, 200)
  const ofPacks = await longestTurn()
  assert.ok(
    ofReceipts < 50 && ofPacks < 50,
    `the thread worked ${ofReceipts} and ${ofPacks} ms without hearing who else was there`,
  )
})

test("many large pages at once neither hold the thread nor fill the memory", async () => {
  await longestTurn()
  const before = await peakMegabytes()
  const replies = await Promise.all(
    Array.from({ length: 16 }, (): Promise<Reply> => acme.reader.get(`${path}&include=proof`)),
  )
  assert.deepEqual(
    replies.map(({ status }) => status),
    Array.from(replies, () => 200),
  )
  const turnMs = await longestTurn()
  const grown = (await peakMegabytes()) - before
  assert.ok(turnMs < 50, `the thread worked ${turnMs} ms without hearing who else was there`)
  assert.ok(grown < 250, `${Math.round(grown)} MB more were resident`)
  await expectChain(acme.reader, acme.id)
})
