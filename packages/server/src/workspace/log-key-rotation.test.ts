import assert from "node:assert/strict"
import test from "node:test"
import { formatCheckpoint, parseVkey, recordBytes, signNote } from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import { createSigners } from "../followers/signer.ts"
import { defaultLimits } from "../limits.ts"
import { createCheckpoints, createIsGenuine } from "../query/verified-checkpoints.ts"
import { createLeaves } from "../query/verified-leaves.ts"
import { epochsOf } from "../store/epochs.ts"
import { expectChain } from "../store/expect-chain.ts"
import { isSealedBy, logKeys, logKeysMax } from "../store/log-keys.ts"
import { createLogKeys } from "./log-key-rotation.ts"
import { instance, openTestHouse } from "./test-house.ts"

/** A workspace whose trees are signed on demand, unless signing is stopped. */
async function openHouse() {
  const { served, watched, workspaces, parts } = openTestHouse()
  const { journal, index, registry } = served
  const acme = await workspaces.create(instance, { id: "acme", name: "Acme" })
  const [epoch] = epochsOf(acme)
  const signersOf = createSigners({ ...parts, journal })
  /** For each tree that was signed, by which keys. */
  const signed: (readonly string[])[] = []
  let isSigning = true
  const seal = async (): Promise<void> => {
    if (!isSigning) return
    const size = (await journal.head("acme"))?.sequence ?? 0
    const before = (await index.checkpoint("acme", 1))?.size ?? 0
    const signers = await signersOf(epoch, size, before)
    signed.push(signers.map(({ publicKey }) => Buffer.from(publicKey).toString("base64")))
    const root = new Uint8Array(32)
    const note = signNote(formatCheckpoint({ origin: epoch.origin, size, root }), ...signers)
    await watched.index.putCheckpoint("acme", 1, before, { size, root, note, signedMs: 0 })
  }
  const isGenuine = createIsGenuine(registry, isSealedBy(parts.keyring))
  const checkpoints = createCheckpoints({
    store: served,
    leaves: createLeaves(served, defaultLimits),
    isGenuine,
  })
  let bytesRead = 0
  const counted: Pick<typeof journal, "records"> = {
    async records(...asked) {
      const records = await journal.records(...asked)
      bytesRead += records.length
      return records
    },
  }
  const rotating = createLogKeys({ ...parts, journal, checkpoints, seal })
  return {
    journal,
    signed,
    rotate: () => rotating.rotate(instance, acme),
    stopSigning: () => (isSigning = false),
    keys: async () => (await logKeys({ registry, journal: counted }, epoch)).toReversed(),
    recordsRead: () => bytesRead / recordBytes,
  }
}

const publicKeyOf = (vkey: string): string =>
  Buffer.from(parseVkey(vkey)?.publicKey ?? []).toString("base64")

test("each key signs a tree together with the next key, even if rotations follow quickly", async () => {
  const house = await openHouse()
  await Promise.all([house.rotate(), house.rotate(), house.rotate(), house.rotate()])
  await house.rotate()
  const keys = await house.keys()
  assert.equal(keys.length, 6)
  // The last key has signed nothing yet. The next request makes it sign.
  for (const [at, { vkey }] of keys.slice(0, -2).entries()) {
    const pair = [publicKeyOf(keys[at + 1]?.vkey ?? ""), publicKeyOf(vkey)]
    assert.ok(
      house.signed.some((signers) => pair.every((key) => signers.includes(key))),
      `key ${at} says nothing of key ${at + 1}`,
    )
  }
  assert.deepEqual(
    keys.map(({ wrapped }) => wrapped !== ""),
    [false, false, false, false, true, true],
  )
  await expectChain(house.journal, "acme")
})

test("no key is destroyed before it has signed the announcement of its successor", async () => {
  const house = await openHouse()
  house.stopSigning()
  await house.rotate()
  await assert.rejects(
    house.rotate(),
    (error) => error instanceof LedgerError && error.code === "ledger_unavailable",
  )
  assert.deepEqual(
    (await house.keys()).map(({ wrapped }) => wrapped !== ""),
    [true, true],
  )
  await expectChain(house.journal, "acme")
})

test("the number of keys of a log is limited, so that all can be listed", async () => {
  const house = await openHouse()
  for (let keys = 1; keys < logKeysMax; keys++) await house.rotate()
  await assert.rejects(
    house.rotate(),
    (error) => error instanceof LedgerError && error.code === "conflict",
  )
  assert.equal((await house.keys()).length, logKeysMax)
  assert.ok(house.recordsRead() <= 8 * logKeysMax, "a list reads a few records for each key")
})
