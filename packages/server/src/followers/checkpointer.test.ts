import assert from "node:assert/strict"
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
} from "node:crypto"
import test from "node:test"
import {
  createVkey,
  encodeRecord,
  formatVkey,
  nodeInTile,
  parseRecord,
  verifyInclusion,
  type Signer,
} from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import { firstKeyring, seal } from "../secrets/keyring.ts"
import type { Draft } from "../ledger/ledger.ts"
import { openTestLedger, testEvent, testKeyring, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { sha256 } from "../runtime/sha256.ts"
import { proveLeaf, readRoot, readTile, type TreeStore } from "../store/tree-reads.ts"
import type { Change } from "../store/documents.ts"
import { epochsOf, type Log } from "../store/epochs.ts"
import { expectChain } from "../store/expect-chain.ts"
import { memoryHeads, type Heads } from "../store/heads.ts"
import { openMemory } from "../store/memory.ts"
import { linkRows, splitRows, type LinkedRows } from "../store/linked-rows.ts"
import type { Stored } from "../store/entries.ts"
import type { Checkpoint } from "../store/index-state.ts"
import type { Index, JournalReader } from "../store/store.ts"
import { createCheckpointer, IntegrityError, type Checkpointer } from "./checkpointer.ts"
import { followOnce } from "./follow.ts"
import { recheckEntry } from "./recheck-entry.ts"
import { createSigners } from "./signer.ts"

const clock: Clock = { now: () => 1_800_000_000_000, elapsed: () => 0, sleep: async () => {} }
const limits = { ...defaultLimits, followEntriesMax: 7 }
const origin = "ledger.example/ledgers/abc"

const { privateKey, publicKey } = generateKeyPairSync("ed25519")
const rawPublicKey = publicKey.export({ format: "der", type: "spki" }).subarray(-32)
const seed = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32)
const signer: Signer = {
  name: origin,
  publicKey: rawPublicKey,
  sign: (message) => sign(null, message, privateKey),
}

/**
 * A workspace with `entries` entries, over a store in memory, and functions to follow it
 * repeatedly.
 */
async function openHouse(entries: number) {
  const { served, watched } = openMemory()
  const ledger = openTestLedger(served.journal, { clock })
  const acme = testWorkspace("acme", { origin })
  const said = (at: number): Draft =>
    testEvent({ target: { id: `t${at}`, type: "thing" }, metadata: { at } })
  const add = (count: number) =>
    ledger.record(
      acme,
      Array.from({ length: count }, (_, at) => said(at)),
    )
  await ledger.record(acme, [said(0)], [{ ...acme, version: 0 }, keyOf()])
  if (entries > 1) await add(entries - 1)
  return {
    journal: watched.journal,
    registry: watched.registry,
    index: watched.index,
    acme,
    add,
    checkpointer: (
      heads: Heads,
      journal: JournalReader = watched.journal,
      index: Index = watched.index,
    ) =>
      createCheckpointer({
        journal,
        index,
        registry: watched.registry,
        heads,
        signersOf: async () => [signer],
        isGenuine: async () => true,
        rootAt: (log, size) => readRoot({ journal, index }, log, size),
        clock,
      }),
  }
}

/** The document of the workspace's key. */
function keyOf(): Change {
  const vkey = formatVkey(createVkey(origin, rawPublicKey, "log"))
  return {
    kind: "log-key",
    id: "1",
    version: 0,
    value: { vkey, wrapped: seal(testKeyring, "log keys", vkey, seed), createdAt: "" },
  }
}

const acmeLog: Log = { workspace: "acme", number: 1, before: 0, end: undefined }

async function followAll(journal: JournalReader, checkpointer: Checkpointer): Promise<void> {
  while (!(await followOnce(journal, checkpointer, "acme", limits)).caughtUp) continue
}

/** RFC 6962, section 2.1, word for word. */
function naiveRoot(leaves: readonly string[]): string {
  const sha256 = (...parts: readonly (string | Buffer)[]) =>
    parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex")
  if (leaves.length === 0) return sha256("")
  if (leaves.length === 1) return leaves[0] ?? ""
  let half = 1
  while (half * 2 < leaves.length) half *= 2
  return sha256(
    "\x01",
    Buffer.from(naiveRoot(leaves.slice(0, half)), "hex"),
    Buffer.from(naiveRoot(leaves.slice(half)), "hex"),
  )
}

/** Reads the note as its specification says, with the platform's Ed25519. */
function expectSigned(checkpoint: Checkpoint | undefined, leaves: readonly string[]): void {
  assert.ok(checkpoint !== undefined)
  const root = naiveRoot(leaves)
  assert.equal(checkpoint.size, leaves.length)
  assert.equal(Buffer.from(checkpoint.root).toString("hex"), root)
  const text = `${origin}\n${leaves.length}\n${Buffer.from(root, "hex").toString("base64")}\n`
  assert.ok(checkpoint.note.startsWith(`${text}\n\u2014 ${origin} `))
  const signature = Buffer.from(
    checkpoint.note
      .slice(text.length + 1)
      .trimEnd()
      .split(" ")[2] ?? "",
    "base64",
  )
  const keyId = createHash("sha256")
    .update(`${origin}\n\x01`)
    .update(rawPublicKey)
    .digest()
    .subarray(0, 4)
  assert.deepEqual(signature.subarray(0, 4), keyId)
  assert.ok(verify(null, Buffer.from(text), publicKey, signature.subarray(4)))
}

test("at every size the signed root is that of RFC 6962 over the hashes of the records", async () => {
  const house = await openHouse(1)
  const checkpointer = house.checkpointer(memoryHeads())
  for (const added of [0, 1, 1, 1, 3, 1, 8, 1, 15, 33]) {
    if (added > 0) await house.add(added)
    await followAll(house.journal, checkpointer)
    const { hashes } = await expectChain(house.journal, "acme")
    const checkpoint = await checkpointer.sign("acme")
    expectSigned(checkpoint, hashes)
    assert.deepEqual(await checkpointer.sign("acme"), checkpoint, "nothing new, nothing signed")
    assert.equal(checkpointer.unsignedSinceMs("acme"), undefined)
  }
})

test("a checkpointer continues where the last one stopped, even within a batch, with the same tiles", async () => {
  const house = await openHouse(600)
  const heads = memoryHeads()
  for (let restart = 0; restart < 40; restart++) {
    const checkpointer = house.checkpointer(heads)
    await followOnce(house.journal, checkpointer, "acme", {
      ...limits,
      followEntriesMax: 1 + ((restart * 7) % 31),
    })
    if (restart % 3 === 0) await checkpointer.sign("acme")
    assert.equal(
      await house.checkpointer(heads).position("acme"),
      await checkpointer.position("acme"),
    )
  }
  const last = house.checkpointer(heads)
  await followAll(house.journal, last)
  const { hashes } = await expectChain(house.journal, "acme")
  const checkpoint = await last.sign("acme")
  expectSigned(checkpoint, hashes)
  const kept = { journal: house.journal, index: house.index }
  for (const [level, tile, width] of [
    [0, 0, 256],
    [0, 2, 88],
    [1, 0, 2],
  ] as const) {
    const expected = Array.from({ length: width }, (_, place) =>
      naiveRoot(
        hashes.slice((tile * 256 + place) * 256 ** level, (tile * 256 + place + 1) * 256 ** level),
      ),
    )
    assert.equal(
      Buffer.from(await readTile(kept, acmeLog, level, tile, 256)).toString("hex"),
      expected.join(""),
      `tile ${level}/${tile}`,
    )
  }
  // A tile that was begun before a restart has no middle. Its leaves are verified without.
  assert.deepEqual(await house.index.tiles("acme", 1, [{ level: 64, tile: 0 }]), [new Uint8Array()])
  // From a leaf and its neighbours up to the root, as RFC 9162 does it.
  for (const index of [0, 1, 255, 256, 511, 512, 598, 599]) {
    const proof = await proofOf(
      kept,
      600,
      Buffer.from(naiveRoot(hashes), "hex"),
      index,
      Buffer.from(hashes[index] ?? "", "hex"),
    )
    let [node, at, end] = [hashes[index] ?? "", index, 599]
    for (const sibling of proof.map((hash) => Buffer.from(hash).toString("hex"))) {
      const [left, right] = at % 2 === 1 || at === end ? [sibling, node] : [node, sibling]
      if (at === end) while (at % 2 === 0 && at > 0) [at, end] = [at >> 1, end >> 1]
      node = createHash("sha256")
        .update("\x01")
        .update(left, "hex")
        .update(right, "hex")
        .digest("hex")
      ;[at, end] = [at >> 1, end >> 1]
    }
    assert.equal(node, naiveRoot(hashes), `leaf ${index}`)
  }
})

test("a full tile has a middle, the roots of each 32 leaves, however many are followed at once", async () => {
  for (const followEntriesMax of [1, 31, 256, 1000]) {
    const house = await openHouse(1000)
    const checkpointer = house.checkpointer(memoryHeads())
    for (let times = 0; times < 1000 / followEntriesMax; times++)
      await followOnce(house.journal, checkpointer, "acme", { ...limits, followEntriesMax })
    const { hashes } = await expectChain(house.journal, "acme")
    const names = [0, 1, 2, 3].map((tile) => ({ level: 64, tile }))
    const kept = (await house.index.tiles("acme", 1, names)).map((one) =>
      Buffer.from(one).toString("hex"),
    )
    const expected = [0, 1, 2].map((tile) =>
      Array.from({ length: 8 }, (_, part) => {
        const first = tile * 256 + part * 32
        return naiveRoot(hashes.slice(first, first + 32))
      }).join(""),
    )
    assert.deepEqual(kept, [...expected, ""], `${followEntriesMax} at once`)
  }
})

test("a tree of more than 65,536 leaves has a tile of level 2, and proofs that need it lead to its root", async () => {
  const size = 65_536 + 300
  const { served, watched } = openMemory()
  const acme = testWorkspace("acme", { origin })
  const { ledgerId } = epochsOf(acme)[0]
  const [salt, body] = [Buffer.alloc(16), Buffer.from("{}")]
  const bodyHash = createHash("sha256").update("ALB1").update(salt).update(body).digest()
  let previousHash = ledgerId
  const entries = Array.from({ length: size }, (_, index) => {
    const record = encodeRecord({
      kind: "event",
      index,
      timeMs: 0,
      ledgerId,
      previousHash,
      bodyHash,
    })
    previousHash = sha256(Buffer.concat([Buffer.alloc(1), record]))
    return { record, receipt: `${index}`, idem: undefined, bodySalt: salt, body, disclosures: "" }
  })
  const from = { sequence: 0, hash: ledgerId, timeMs: 0 }
  await served.journal.append({
    workspace: "acme",
    from,
    entries,
    changes: [{ ...acme, version: 0 }, keyOf()],
  })
  const { journal, index } = watched
  const checkpointer = createCheckpointer({
    ...watched,
    heads: memoryHeads(),
    signersOf: async () => [signer],
    isGenuine: () => assert.fail("nothing was signed before"),
    rootAt: () => assert.fail("nothing was signed before"),
    clock,
  })
  while (
    !(
      await followOnce(journal, checkpointer, "acme", {
        ...defaultLimits,
        followEntriesMax: 9000,
      })
    ).caughtUp
  )
    continue
  const { root } = (await checkpointer.sign("acme")) ?? assert.fail("nothing was signed")
  const [first, second] = await index.tiles("acme", 1, [
    { level: 1, tile: 0 },
    { level: 2, tile: 0 },
  ])
  assert.deepEqual(
    Buffer.from(second ?? []),
    Buffer.from(nodeInTile(first ?? new Uint8Array(), 0, 256)),
  )
  for (const at of [0, 65_535, 65_536, size - 1]) {
    const leaf = sha256(Buffer.concat([Buffer.alloc(1), entries[at]?.record ?? salt]))
    assert.ok(
      verifyInclusion(
        leaf,
        at,
        size,
        await proofOf({ journal, index }, size, root, at, leaf),
        root,
      ),
      `leaf ${at}`,
    )
  }
})

async function proofOf(
  kept: TreeStore,
  size: number,
  root: Uint8Array,
  index: number,
  leaf: Uint8Array,
): Promise<readonly Uint8Array[]> {
  const read = (level: number, tile: number) => readTile(kept, acmeLog, level, tile, 256)
  return (
    (await proveLeaf({ size, root }, index, leaf, read)) ??
    assert.fail(`leaf ${index} does not lead to the root`)
  )
}

const flip = (bytes: Uint8Array | undefined, at: number): Uint8Array => {
  const changed = Uint8Array.from(bytes ?? [])
  changed[at] = (changed[at] ?? 0) ^ 1
  return changed
}

const tampering: readonly (readonly [what: string, bend: (entry: Stored) => Stored])[] = [
  ...[0, 4, 5, 6, 13, 14, 21, 22, 53, 54, 85, 86, 117].map(
    (at): [string, (entry: Stored) => Stored] => [
      `byte ${at} of the record`,
      (entry) => ({ ...entry, record: flip(entry.record, at) }),
    ],
  ),
  ["the record's length", (entry) => ({ ...entry, record: entry.record.subarray(1) })],
  ["the first byte of the body", (entry) => ({ ...entry, body: flip(entry.body, 0) })],
  [
    "the last byte of the body",
    (entry) => ({ ...entry, body: flip(entry.body, (entry.body?.length ?? 1) - 1) }),
  ],
  ["a byte of the salt", (entry) => ({ ...entry, bodySalt: flip(entry.bodySalt, 9) })],
  ["a body that is gone", (entry) => ({ ...entry, body: undefined })],
]
for (const [what, bend] of tampering) {
  test(`nothing is signed over a changed entry: ${what}`, async () => {
    const house = await openHouse(20)
    const heads = memoryHeads()
    // Storage returns a changed ninth entry. The tenth reveals changes that the ninth alone cannot.
    const journal: JournalReader = {
      ...house.journal,
      linked: async (...asked) =>
        rowsOf(
          (await house.journal.after(...asked)).map((entry) =>
            entry.sequence === 9 ? bend(entry) : entry,
          ),
        ),
    }
    const checkpointer = house.checkpointer(heads, journal)
    await followOnce(journal, checkpointer, "acme", limits)
    await checkpointer.sign("acme")
    await assert.rejects(
      followAll(journal, checkpointer),
      (error: unknown) => error instanceof IntegrityError && /^entry (9|10): /.test(error.message),
    )
    assert.equal((await checkpointer.sign("acme"))?.size, 7)
    assert.equal((await heads.get(origin))?.size, 7)
    assert.equal((await house.index.tree("acme", 1))?.size, 7)
    // Only the read was wrong: the same checkpointer continues when reads are right again.
    const healed = house.checkpointer(heads)
    await followAll(house.journal, healed)
    expectSigned(await healed.sign("acme"), (await expectChain(house.journal, "acme")).hashes)
  })
}

test("a missing or misplaced entry is not followed", async () => {
  const house = await openHouse(10)
  const bends: ((entries: readonly Stored[]) => Stored[])[] = [
    (entries) => entries.filter(({ sequence }) => sequence !== 3),
    (entries) =>
      entries.map((entry) =>
        entry.sequence === 3 ? { ...(entries[3] ?? entry), sequence: 3 } : entry,
      ),
    (entries) => entries.toReversed(),
  ]
  for (const bend of bends) {
    const journal: JournalReader = {
      ...house.journal,
      linked: async (...asked) => rowsOf(bend(await house.journal.after(...asked))),
    }
    const heads = memoryHeads()
    const checkpointer = house.checkpointer(heads, journal)
    await assert.rejects(followOnce(journal, checkpointer, "acme", limits))
    await checkpointer.sign("acme")
    assert.equal(await heads.get(origin), undefined)
  }
  await expectChain(house.journal, "acme")
})

test("if the index cannot store the tree, the one in memory is dropped too", async () => {
  const house = await openHouse(20)
  let failing = false
  const index: Index = {
    ...house.index,
    growTree: (...asked) =>
      failing ? Promise.reject(new Error("the disk is full")) : house.index.growTree(...asked),
  }
  const checkpointer = house.checkpointer(memoryHeads(), house.journal, index)
  await followOnce(house.journal, checkpointer, "acme", limits)
  failing = true
  await assert.rejects(followOnce(house.journal, checkpointer, "acme", limits), /the disk is full/)
  assert.equal(await checkpointer.position("acme"), 7)
  failing = false
  await followAll(house.journal, checkpointer)
  expectSigned(await checkpointer.sign("acme"), (await expectChain(house.journal, "acme")).hashes)
})

test("a signed head is written to the heads file first, and to the index last", async () => {
  const house = await openHouse(5)
  const heads = memoryHeads()
  const steps: string[] = []
  const checkpointer = createCheckpointer({
    ...house,
    index: {
      ...house.index,
      putCheckpoint: (...asked) => (
        steps.push(`index ${asked[3].size}`),
        house.index.putCheckpoint(...asked)
      ),
    },
    heads: {
      ...heads,
      advance: (name, head) => (steps.push(`heads ${head.size}`), heads.advance(name, head)),
    },
    signersOf: async () => [
      { ...signer, sign: (message) => (steps.push("signature"), signer.sign(message)) },
    ],
    isGenuine: () => assert.fail("nothing was signed before"),
    rootAt: () => assert.fail("nothing was signed before"),
    clock,
  })
  for (const size of [5, 6]) {
    await followAll(house.journal, checkpointer)
    await checkpointer.sign("acme")
    assert.deepEqual(steps.splice(0), [`heads ${size}`, "signature", `index ${size}`])
    assert.equal((await heads.get(origin))?.size, size)
    await house.add(1)
  }
  await expectChain(house.journal, "acme")
})

test("entries that another server has signed must be here before more is signed", async () => {
  for (const isHere of [true, false]) {
    const house = await openHouse(9)
    const heads = memoryHeads()
    const checkpointer = house.checkpointer(heads)
    await followAll(house.journal, checkpointer)
    const root = isHere ? await readRoot(house, acmeLog, 7) : new Uint8Array(32)
    await heads.advance(origin, { size: 7, root })
    const { hashes } = await expectChain(house.journal, "acme")
    if (isHere) expectSigned(await checkpointer.sign("acme"), hashes)
    else
      await assert.rejects(
        checkpointer.sign("acme"),
        /the first 7 entries are not those that were signed/,
      )
  }
})

test("after a crash between the heads file and the checkpoint, the next signature repairs it", async () => {
  const house = await openHouse(5)
  const heads = memoryHeads()
  const index: Index = { ...house.index, putCheckpoint: () => Promise.reject(new Error("killed")) }
  const killed = house.checkpointer(heads, house.journal, index)
  await followAll(house.journal, killed)
  await assert.rejects(killed.sign("acme"), /killed/)
  assert.equal((await heads.get(origin))?.size, 5)
  assert.equal(await house.index.checkpoint("acme", 1), undefined)
  const next = house.checkpointer(heads)
  await followAll(house.journal, next)
  expectSigned(await next.sign("acme"), (await expectChain(house.journal, "acme")).hashes)
})

test("a deleted index is rebuilt to the same tree, which is signed once it has reached the signed size", async () => {
  const house = await openHouse(20)
  const heads = memoryHeads()
  const before = house.checkpointer(heads)
  await followAll(house.journal, before)
  const signed = await before.sign("acme")
  const { index } = openMemory().watched
  const again = house.checkpointer(heads, house.journal, index)
  await followOnce(house.journal, again, "acme", limits)
  assert.equal(
    await again.sign("acme"),
    undefined,
    "a smaller tree than the signed one is not signed",
  )
  await followAll(house.journal, again)
  assert.deepEqual(await again.sign("acme"), signed)
  expectSigned(signed, (await expectChain(house.journal, "acme")).hashes)
})

test("a history that differs from the signed one is not signed, wherever it differs", async () => {
  const house = await openHouse(20)
  const { hashes } = await expectChain(house.journal, "acme")
  const signedElsewhere = async (size: number) => {
    const heads = memoryHeads()
    await heads.advance(origin, {
      size,
      root: createHash("sha256").update("another history").digest(),
    })
    return heads
  }
  const refused = (error: unknown) =>
    error instanceof IntegrityError && /signed/.test(error.message)
  // The rebuilt tree passes the signed size.
  for (const size of [1, 7, 13, 20]) {
    const { index } = openMemory().watched
    const heads = await signedElsewhere(size)
    const checkpointer = house.checkpointer(heads, house.journal, index)
    await assert.rejects(followAll(house.journal, checkpointer), refused, `signed at ${size}`)
    assert.equal(await index.checkpoint("acme", 1), undefined)
    assert.equal((await heads.get(origin))?.size, size)
  }
  // The tree is already larger than the signed size, or has that size.
  await followAll(house.journal, house.checkpointer(memoryHeads()))
  for (const size of [1, 8, 13, 19, 20]) {
    const heads = await signedElsewhere(size)
    const checkpointer = house.checkpointer(heads)
    await assert.rejects(
      async () => {
        await house.add(1)
        await followAll(house.journal, checkpointer)
        await checkpointer.sign("acme")
      },
      refused,
      `signed at ${size}, the tree had 20`,
    )
    assert.equal((await heads.get(origin))?.size, size)
  }
  // The same history, signed at an earlier size, continues.
  const honest = memoryHeads()
  await honest.advance(origin, {
    size: 13,
    root: Buffer.from(naiveRoot(hashes.slice(0, 13)), "hex"),
  })
  const checkpointer = house.checkpointer(honest)
  await followAll(house.journal, checkpointer)
  expectSigned(await checkpointer.sign("acme"), (await expectChain(house.journal, "acme")).hashes)
})

test("a workspace's key signs for it, opens only with the service's secret, and must have the origin's name", async () => {
  const house = await openHouse(1)
  const { registry, journal } = house
  const [epoch] = epochsOf(house.acme)
  const [made] = await createSigners({ registry, journal, keyring: testKeyring, clock })(
    epoch,
    1,
    0,
  )
  assert.ok(made !== undefined)
  assert.equal(made.name, origin)
  assert.ok(
    verify(
      null,
      Buffer.from("x"),
      createPublicKey(createPrivateKey(privateKey.export({ format: "pem", type: "pkcs8" }))),
      made.sign(Buffer.from("x")),
    ),
  )
  await assert.rejects(
    createSigners({ registry, journal, keyring: firstKeyring(Buffer.alloc(32, 4)), clock })(
      epoch,
      1,
      0,
    ),
  )
  await assert.rejects(
    createSigners({ registry, journal, keyring: testKeyring, clock })(
      { ...epoch, workspace: "other" },
      1,
      0,
    ),
    /no key to sign with/,
  )
  const wrong = createCheckpointer({
    ...house,
    heads: memoryHeads(),
    signersOf: async () => [{ ...signer, name: "other.example/x" }],
    isGenuine: () => assert.fail("nothing was signed"),
    rootAt: () => assert.fail("nothing was signed"),
    clock,
  })
  await followAll(house.journal, wrong)
  await assert.rejects(wrong.sign("acme"), /origin's name/)
  assert.equal(await house.index.checkpoint("acme", 1), undefined)
  await expectChain(house.journal, "acme")
})

test("of two processes that follow one workspace, the slower one continues at the other's position", async () => {
  const house = await openHouse(10)
  const heads = memoryHeads()
  const [one, other] = [house.checkpointer(heads), house.checkpointer(heads)]
  for (const checkpointer of [one, other]) assert.equal(await checkpointer.position("acme"), 0)
  const rows = await house.journal.linked("acme", 0, 10)
  const [first, others] = splitRows(rows, 6)
  await one.take("acme", first)
  await assert.rejects(other.take("acme", rows), /is ahead/)
  assert.equal(await other.position("acme"), 6)
  await one.take("acme", others)
  await assert.rejects(other.take("acme", others), /is ahead/)
  assert.equal((await one.sign("acme"))?.size, 10)
  assert.equal((await other.sign("acme"))?.size, 10, "what the other signed is its own")
  await house.add(5)
  const more = await house.journal.linked("acme", 10, 5)
  await one.take("acme", more)
  assert.equal((await one.sign("acme"))?.size, 15)
  await assert.rejects(other.take("acme", more), /is ahead/)
  assert.equal((await other.sign("acme"))?.size, 15)
  expectSigned(
    await house.index.checkpoint("acme", 1),
    (await expectChain(house.journal, "acme")).hashes,
  )
})

/** The rows of a driver that stores these entries. */
function rowsOf(entries: readonly Stored[]): readonly LinkedRows[] {
  return entries.length === 0 ? [] : [linkRows(entries)]
}

test("another entry that fits its place is found by the next one's link, or by the signed tree", async () => {
  const house = await openHouse(3)
  const checkpointer = house.checkpointer(memoryHeads())
  await followAll(house.journal, checkpointer)
  const parts = { ...house, isGenuine: async () => true }
  /** As if this entry had been recorded a millisecond later. */
  const moved = (sequence: number) => ({
    ...house.journal,
    at: async (...asked: Parameters<JournalReader["at"]>) =>
      (await house.journal.at(...asked)).map((entry) => {
        const fields = entry?.sequence === sequence ? parseRecord(entry.record) : undefined
        if (entry === undefined || fields === undefined) return entry
        return { ...entry, record: encodeRecord({ ...fields, timeMs: fields.timeMs + 1 }) }
      }),
  })
  const look = (sequence: number) =>
    recheckEntry({ ...parts, journal: moved(sequence) }, house.acme, sequence)
  assert.equal(await recheckEntry(parts, house.acme, 2), undefined)
  assert.equal(await look(2), "entry 2: the next entry links to another hash")
  await checkpointer.sign("acme")
  assert.equal(await recheckEntry(parts, house.acme, 3), undefined)
  assert.equal(await look(3), "entry 3: it is not the one that was signed")
})
