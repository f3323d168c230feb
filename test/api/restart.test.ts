import assert from "node:assert/strict"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { eventFor, makeKey, makeWorkspace, startService, type Service } from "../service.ts"

// What a client may count on across a restart, also when the machine's clock is set in between.

/** The same service again, on the same data and address of nothing, with a clock that is ahead by this much, or behind. */
function restart(ended: Service, aheadMs = 0): Promise<Service> {
  const clock = `data:text/javascript,const now = Date.now; Date.now = () => now() + (${aheadMs})`.replaceAll(" ", "%20")
  return startService({ data: ended.data, environment: { NODE_OPTIONS: `--import=${clock}` } })
}

const dayMs = 86_400_000

test("keys, receipts, settings and idempotency are what they were", async () => {
  await using before = await startService()
  const { id, path, writer, reader } = await makeWorkspace(before, { laneRules: [{ prefix: "billing", lane: "data" }], projects: "closed" })
  const ended = await makeKey(before, id, { scopes: ["read"] })
  await before.root.delete(`${path}/api-keys/${ended.bearer?.split("_")[1]}`)
  const first = await writer.write(eventFor(id), "written-before-the-restart")
  const workspace = (await reader.get(path)).text
  const vkey = (await reader.get(`${path}/tlog/log.vkey`)).text
  assert.equal(await before.end(), 0)

  await using after = await restart(before)
  const again = after.client(writer.bearer)
  const replay = await again.write(eventFor(id), "written-before-the-restart")
  // Where it can be looked at has moved with the port; all else is the same bytes.
  assert.deepEqual([replay.status, replay.text], [202, first.text.replace(before.url, after.url)])
  assert.equal(replay.headers.get("idempotency-replayed"), "true")
  assert.equal((await again.write(eventFor(id, { source: "automation" }), "written-before-the-restart")).status, 422)
  assert.equal((await again.write(eventFor(id, { projectId: "unheard-of" }))).status, 404)
  const readerAgain = after.client(reader.bearer)
  assert.equal((await readerAgain.get(path)).text, workspace)
  assert.equal((await readerAgain.get(`${path}/tlog/log.vkey`)).text, vkey)
  assert.match((await after.client(ended.bearer).get(path)).text, /token_revoked/)
  const second = await again.write(eventFor(id))
  assert.equal(second.json().previousHash, first.json().eventHash, "the chain goes on")
  await expectChain(readerAgain, id, [first.json(), second.json()])
  assert.equal(await after.end(), 0)
})

test("the time of the ledger does not go back when the clock does, and each says what it saw", async () => {
  await using before = await startService()
  const { id, writer, reader } = await makeWorkspace(before)
  const first = (await writer.write(eventFor(id))).json()
  await before.end()

  await using behind = await restart(before, -dayMs)
  const second = (await behind.client(writer.bearer).write(eventFor(id))).json()
  assert.ok(second.timestamp >= first.timestamp, "timestamp never decreases")
  assert.ok(second.receivedAt < first.receivedAt, "receivedAt is when it arrived, by the clock as it was")
  const third = (await behind.client(writer.bearer).write(eventFor(id))).json()
  await expectChain(behind.client(reader.bearer), id, [first, second, third])
})

test("what was written 91 days ago is in the archive, still verifies, and its write is still answered as it was", async () => {
  await using before = await startService()
  const { id, path, writer, reader } = await makeWorkspace(before)
  const first = await writer.write(eventFor(id), "an-event-that-will-grow-old")
  const sealed = await reader.get(`${path}/receipts/${first.json().receipt}/proof`)
  assert.equal(sealed.status, 200)
  await before.end()

  for (const [days, tier] of [
    [89, "hot"],
    [91, "archive"],
  ] as const) {
    await using later = await restart(before, days * dayMs)
    const answer = (await later.client(reader.bearer).get(`${path}/receipts/${first.json().receipt}`)).json()
    assert.deepEqual([answer.receipt.storageClass, answer.entry.storageTier, answer.verified], [tier, tier, true])
    const replay = (await later.client(writer.bearer).write(eventFor(id), "an-event-that-will-grow-old")).json()
    assert.deepEqual({ ...replay, verificationUrl: "" }, { ...first.json(), verificationUrl: "" })
    await expectChain(later.client(reader.bearer), id, [first.json()])
    await later.end()
  }
})
