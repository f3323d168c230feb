import assert from "node:assert/strict"
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { after, test } from "node:test"
import { expectChain, readChain } from "../chain.ts"
import {
  eventFor,
  makeKey,
  makeWorkspace,
  startService,
  type Service,
  clockAhead,
} from "../service.ts"
import { dropTriggers } from "../triggers.ts"

// What stays the same for clients across a restart, also when the machine's clock is changed.

const before = await startService()
after(() => before[Symbol.asyncDispose]())
const { id, path, writer, reader } = await makeWorkspace(before, {
  laneRules: [{ prefix: "billing", lane: "data" }],
  projects: "closed",
})
const revoked = await makeKey(before, id, { scopes: ["read"] })
await before.root.delete(`${path}/api-keys/${revoked.bearer?.split("_")[1]}`)
const key = "written-before-the-restart"
const first = await writer.write(eventFor(id), key)
const { receipt, eventHash, timestamp, receivedAt } = first.json()
const workspace = (await reader.get(path)).text
const vkey = (await reader.get(`${path}/tlog/log.vkey`)).text
assert.equal((await reader.get(`${path}/receipts/${receipt}/proof`)).status, 200)
assert.equal(await before.end(), 0)

/** The same data again, under a clock that is ahead by so many days, or behind. */
function restart(days = 0, environment: Readonly<Record<string, string>> = {}): Promise<Service> {
  return startService({ data: before.data, environment: { ...clockAhead(days), ...environment } })
}

/** The address of a receipt changes with the port; every other byte stays the same for ever. */
const asBefore = (text: string, now: Service): string => text.replace(now.url, before.url)

test("after a restart, keys, receipts, settings and idempotency are the same", async () => {
  await using now = await restart()
  const [writes, reads] = [now.client(writer.bearer), now.client(reader.bearer)]
  const replay = await writes.write(eventFor(id), key)
  assert.deepEqual([replay.status, asBefore(replay.text, now)], [202, first.text])
  assert.equal(replay.headers.get("idempotency-replayed"), "true")
  assert.equal((await writes.write(eventFor(id, { source: "automation" }), key)).status, 422)
  assert.equal((await writes.write(eventFor(id, { projectId: "unheard-of" }))).status, 404)
  assert.equal((await reads.get(path)).text, workspace)
  assert.equal((await reads.get(`${path}/tlog/log.vkey`)).text, vkey)
  assert.match((await now.client(revoked.bearer).get(path)).text, /token_revoked/)
  const second = (await writes.write(eventFor(id))).json()
  assert.equal(second.previousHash, eventHash, "the chain goes on")
  await expectChain(reads, id, [first.json(), second])
  assert.equal(await now.end(), 0)
})

test("a replay has today's address of the receipt, and otherwise the bytes of the first answer", async () => {
  const moved = "https://ledger.example.org/audit"
  await using now = await restart(0, { TALLYSTICK_PUBLIC_URL: moved })
  const replay = await now.client(writer.bearer).write(eventFor(id), key)
  assert.equal(replay.json().verificationUrl, `${moved}${path}/receipts/${receipt}`)
  assert.deepEqual([replay.status, replay.text.replace(moved, before.url)], [202, first.text])
  const { receipt: shown } = (
    await now.client(reader.bearer).get(`${path}/receipts/${receipt}`)
  ).json()
  assert.equal(shown.verificationUrl, replay.json().verificationUrl)
  assert.equal(await now.end(), 0)
})

test("the ledger's time does not go back with the clock", async () => {
  await using now = await restart(-1)
  const [second, third] = [
    (await now.client(writer.bearer).write(eventFor(id))).json(),
    (await now.client(writer.bearer).write(eventFor(id))).json(),
  ]
  assert.ok(
    second.timestamp >= timestamp && third.timestamp >= second.timestamp,
    "timestamp never decreases",
  )
  assert.ok(second.receivedAt < receivedAt, "receivedAt is when it arrived, by the clock as it was")
  await expectChain(now.client(reader.bearer), id, [first.json(), second, third])
  assert.equal(await now.end(), 0)
})

for (const [days, tier] of [
  [89, "hot"],
  [91, "archive"],
] as const) {
  test(`an entry of ${days} days ago is in the tier ${tier}, verifies, and its write is answered as before`, async () => {
    await using now = await restart(days)
    const reads = now.client(reader.bearer)
    const answer = (await reads.get(`${path}/receipts/${receipt}`)).json()
    assert.deepEqual(
      [answer.receipt.storageClass, answer.entry.storageTier, answer.verified],
      [tier, tier, true],
    )
    const replay = await now.client(writer.bearer).write(eventFor(id), key)
    assert.equal(asBefore(replay.text, now), first.text)
    await expectChain(reads, id, [first.json()])
    assert.equal(await now.end(), 0)
  })
}

test("an entry changed on the disk is shown as broken, never hidden, and its neighbours are verified", async () => {
  await using started = await restart()
  const neighbour = (await started.client(writer.bearer).write(eventFor(id))).json()
  await started.client(reader.bearer).get(`${path}/receipts/${neighbour.receipt}/proof`)
  await started.end()
  const journal = new DatabaseSync(join(before.data, "journal.db"))
  dropTriggers(journal)
  const sql =
    "UPDATE entries SET salted = CAST(replace(CAST(salted AS TEXT), ?, ?) AS BLOB) WHERE instr(CAST(salted AS TEXT), ?) > 0"
  assert.equal(Number(journal.prepare(sql).run('"inv_9"', '"inv_8"', receipt).changes), 1)
  journal.close()

  // A start checks the newest entries only, and would fail if one of them was changed.
  await using now = await restart(0, { TALLYSTICK_LIMIT_RECHECK_ENTRIES: "1" })
  const reads = now.client(reader.bearer)
  const {
    verified,
    entry,
    receipt: shown,
  } = (await reads.get(`${path}/receipts/${receipt}`)).json()
  assert.deepEqual(
    [verified, entry.integrity, entry.hash, shown.eventHash],
    [false, "broken", eventHash, eventHash],
  )
  const other = (await reads.get(`${path}/receipts/${neighbour.receipt}`)).json()
  assert.deepEqual([other.verified, other.entry.integrity], [true, "verified"])
  await readChain(reads, id, [first.json(), neighbour])
  assert.equal(await now.end(), 0)
})
