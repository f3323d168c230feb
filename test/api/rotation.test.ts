import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { verifyPack, verifyReceipt } from "@tallystick/proof"
import { expectChain, openCheckpoint, type MintedReceipt } from "../chain.ts"
import { eventFor, logKeyOf, makeWorkspace, startService, writeEvent } from "../service.ts"
import { signerOf, vkeyOf } from "../signers.ts"

// A new key signs a log: earlier evidence stays genuine under the former key, and the log announces
// the new one.

interface Rotated {
  readonly vkey: string
  readonly fromSize: number
  readonly receiptId: string
}

const before = await startService()
after(() => before[Symbol.asyncDispose]())
const { id, path, writer, reader } = await makeWorkspace(before)
const { origin } = (await reader.get(path)).json<{ origin: string }>()

const verdictOf = (answer: unknown, ...trustedKeys: string[]) =>
  verifyReceipt(answer, { trustedKeys }).verdict

test("under writes and across a restart, old and new evidence verifies under the keys that signed it", async () => {
  const old = await logKeyOf(reader, path)
  const minted: MintedReceipt[] = [(await writer.write(eventFor(id))).json()]
  await reader.get(`${path}/receipts/${minted[0]?.receipt}/proof`)
  const receipt = (await reader.get(`${path}/receipts/${minted[0]?.receipt}`)).json()
  const packed = await makePack(minted[0]?.receipt ?? "")
  assert.equal(verdictOf(receipt, old), "genuine")

  // Twenty writers that go on during the rotation.
  let going = true
  const writers = Array.from({ length: 20 }, async () => {
    for (; going;) minted.push((await writer.write(eventFor(id))).json())
  })
  const enough = async (count: number): Promise<void> => {
    while (minted.length < count) minted.push((await writer.write(eventFor(id))).json())
  }
  await enough(100)
  const answer = await before.root.post(`${path}/tlog/keys`, undefined)
  assert.equal(answer.status, 201, answer.text)
  const first = answer.json<Rotated>()
  await enough(minted.length + 100)
  going = false
  await Promise.all(writers)
  assert.ok(minted.length >= 200, `${minted.length} writes only`)

  // The announcement names the new key and is genuine under either.
  const announced = (await reader.get(`${path}/receipts/${first.receiptId}`)).json()
  assert.equal(announced.entry.kind, "key")
  assert.deepEqual(announced.entry.metadata, { previousVkey: old, vkey: first.vkey })
  for (const key of [old, first.vkey]) assert.equal(verdictOf(announced, key), "genuine")
  assert.equal(verdictOf(announced, vkeyOfNobody(first.vkey)), "unconfirmed")
  assert.equal(announced.entry.sequence, first.fromSize)
  assert.equal(await logKeyOf(reader, path), first.vkey)
  assert.deepEqual((await reader.get(`${path}/tlog/keys`)).json().keys, [
    { vkey: old, fromSize: 0, toSize: first.fromSize },
    { vkey: first.vkey, fromSize: first.fromSize, toSize: null },
  ])
  const note = (await reader.get(`${path}/tlog/checkpoint`)).text
  assert.equal(
    note.split("\n").filter((line) => line.startsWith("— ")).length,
    2,
    "both keys sign for a while",
  )
  assert.ok(openCheckpoint(note, origin, first.vkey).size >= first.fromSize)

  // Earlier evidence verifies under the former key, later evidence under either.
  assert.equal(verdictOf(receipt, old), "genuine")
  assert.equal(verdictOf(receipt, first.vkey), "unconfirmed")
  const since = await makePack(minted.at(-1)?.receipt ?? "")
  assert.deepEqual(
    [
      verifyPack(packed, { trustedKeys: [old] }).verdict,
      verifyPack(since, { trustedKeys: [first.vkey] }).verdict,
    ],
    ["genuine", "genuine"],
  )
  await expectChain(reader, id, minted)

  // A second rotation, after a restart: the first key signs nothing any more, and its private
  // half is destroyed.
  assert.equal(await before.end(), 0)
  await using now = await startService({ data: before.data })
  const reads = now.client(reader.bearer)
  assert.equal(await logKeyOf(reads, path), first.vkey)
  const second = (await now.root.post(`${path}/tlog/keys`, undefined)).json<Rotated>()
  const again = (await reads.get(`${path}/receipts/${second.receiptId}`)).json()
  assert.deepEqual(
    [old, first.vkey, second.vkey].map((key) => verdictOf(again, key)),
    ["unconfirmed", "genuine", "genuine"],
  )
  assert.equal(verdictOf(receipt, old), "genuine")
  const { keys } = (await reads.get(`${path}/tlog/keys`)).json()
  assert.deepEqual(
    keys.map(({ vkey, toSize }: { vkey: string; toSize: number | null }) => [vkey, toSize]),
    [
      [old, first.fromSize],
      [first.vkey, second.fromSize],
      [second.vkey, null],
    ],
  )
  const chain = await expectChain(reads, id, minted)
  assert.equal(chain.vkey, second.vkey)
  assert.equal(await now.end(), 0)

  const database = new DatabaseSync(join(before.data, "journal.db"), { readOnly: true })
  const kept = database
    .prepare(
      "SELECT value FROM documents WHERE kind = 'log-key' AND workspace = ? ORDER BY created",
    )
    .all(id)
  database.close()
  assert.deepEqual(
    kept.map(({ value }) => JSON.parse(String(value)).wrapped !== ""),
    [false, true, true],
    "what a key before the last could sign, nobody can any more",
  )
})

/** The canary: an announcement with a changed key is not genuine. */
test("an announcement that names another key than the one that was recorded is refuted", async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  const old = await logKeyOf(acme.reader, acme.path)
  const { receiptId, vkey } = (
    await service.root.post(`${acme.path}/tlog/keys`, undefined)
  ).json<Rotated>()
  const answer = (await acme.reader.get(`${acme.path}/receipts/${receiptId}`)).json()
  assert.equal(verdictOf(answer, old), "genuine")
  const forged = structuredClone(answer)
  forged.proof.body = forged.proof.body.replace(
    `"vkey":"${vkey}"`,
    `"vkey":"${vkeyOfNobody(vkey)}"`,
  )
  assert.notEqual(forged.proof.body, answer.proof.body)
  assert.equal(verdictOf(forged, old), "refuted")
  await expectChain(acme.reader, acme.id)
})

test("after the overlap the new key signs alone, and the announcement has both signatures", async () => {
  await using service = await startService({
    environment: { TALLYSTICK_LIMIT_KEY_OVERLAP_MS: "1" },
  })
  const acme = await makeWorkspace(service)
  const old = await logKeyOf(acme.reader, acme.path)
  const { receiptId, vkey } = (
    await service.root.post(`${acme.path}/tlog/keys`, undefined)
  ).json<Rotated>()
  // Kept now, because the former key does not sign the next checkpoint.
  const announced = (await acme.reader.get(`${acme.path}/receipts/${receiptId}`)).json()
  const { receipt } = await writeEvent(acme)
  await acme.reader.get(`${acme.path}/receipts/${receipt}/proof`)
  const later = (await acme.reader.get(`${acme.path}/receipts/${receipt}`)).json()
  assert.deepEqual([verdictOf(announced, old), verdictOf(announced, vkey)], ["genuine", "genuine"])
  assert.deepEqual([verdictOf(later, old), verdictOf(later, vkey)], ["unconfirmed", "genuine"])
  await expectChain(acme.reader, acme.id, [{ receipt, ...later.receipt }])
})

test("concurrent rotations each make a key, one after the other", async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  const made = await Promise.all(
    [1, 2, 3, 4].map(async () =>
      (await service.root.post(`${acme.path}/tlog/keys`, undefined)).json<Rotated>(),
    ),
  )
  const { keys } = (await acme.reader.get(`${acme.path}/tlog/keys`)).json<{
    keys: { vkey: string; fromSize: number }[]
  }>()
  assert.equal(keys.length, 5)
  const inOrder = made.toSorted((one, other) => one.fromSize - other.fromSize)
  assert.deepEqual(
    keys.slice(1).map(({ vkey, fromSize }) => [vkey, fromSize]),
    inOrder.map(({ vkey, fromSize }) => [vkey, fromSize]),
  )
  await acme.writer.write(eventFor(acme.id))
  await expectChain(acme.reader, acme.id)
})

async function makePack(receiptId: string): Promise<Uint8Array> {
  const { packId } = (
    await reader.post(`${path}/evidence-packs`, { title: "Rotation", receiptIds: [receiptId] })
  ).json()
  return (await reader.get(`${path}/evidence-packs/${packId}/download`)).bytes
}

/** A key that has the log's name but was never its key. */
function vkeyOfNobody(vkey: string): string {
  const name = vkey.slice(0, vkey.indexOf("+"))
  return vkeyOf(signerOf(name, 0))
}
