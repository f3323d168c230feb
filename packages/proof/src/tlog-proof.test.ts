import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import { formatCheckpoint } from "./checkpoint.ts"
import { toBase64 } from "./encoding.ts"
import { cosign, signNote } from "./note.ts"
import { encodeRecord, eventHash, parseRecord } from "./record.ts"
import { formatTlogProof, parseTlogProof, verifyTlogProof, type TlogProof } from "./tlog-proof.ts"
import { nodeHash } from "./tree.ts"
import { createVkey, formatVkey } from "./vkey.ts"
import { signerOf, vkeyOf } from "../../../test/signers.ts"

const origin = "ledger.example/1"
const log = signerOf(origin, 1)
const witness = signerOf("witness.example", 2)
const stranger = signerOf("stranger.example", 3)
const vkey = vkeyOf(log)
const witnessVkey = formatVkey(createVkey(witness.name, witness.publicKey, "cosignature"))
const strangerVkey = vkeyOf(stranger)

const bytes = (byte: number) => new Uint8Array(32).fill(byte)
const recordOf = (index: number, previousHash: Uint8Array = bytes(2 + index)) =>
  encodeRecord({
    kind: "event",
    index,
    timeMs: 1,
    ledgerId: bytes(1),
    previousHash,
    bodyHash: bytes(3),
  })
const first = recordOf(0)
const second = recordOf(1, eventHash(first))
const root = nodeHash(eventHash(first), eventHash(second))
const text = formatCheckpoint({ origin, size: 2, root })
const proof: TlogProof = {
  extra: second,
  index: 1,
  hashes: [eventHash(first)],
  checkpoint: signNote(text, log),
}
const file = formatTlogProof(proof)

test("a proof has the lines of the format and parses back", () => {
  const head = `c2sp.org/tlog-proof@v1\nextra ${toBase64(second)}\nindex 1\n${toBase64(eventHash(first))}\n\n`
  assert.equal(file, head + proof.checkpoint)
  assert.deepEqual(parseTlogProof(file), proof)
  const bare = { index: 0, hashes: [], checkpoint: proof.checkpoint }
  assert.deepEqual(parseTlogProof(formatTlogProof(bare)), bare)
})

test("every parsed text is written back unchanged", () => {
  const line = fc.constantFrom(
    "c2sp.org/tlog-proof@v1",
    "extra AAAA",
    "extra ",
    "index 1",
    "index 01",
    "index ",
    "",
    toBase64(bytes(7)),
    "AAAA",
    " ",
  )
  let read = 0
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), (lines) => {
      for (const text of [
        lines.join("\n"),
        `c2sp.org/tlog-proof@v1\n${lines.join("\n")}\n\n${proof.checkpoint}`,
      ]) {
        const parsed = parseTlogProof(text)
        if (!parsed) continue
        read++
        assert.equal(formatTlogProof(parsed), text)
      }
    }),
    { numRuns: 3000 },
  )
  assert.ok(read > 20, `only ${read} were read`)
})

test("malformed proofs are refused", () => {
  const bad = [
    "",
    "\n\n",
    file.replace("@v1", "@v2"),
    ` ${file}`,
    `\ufeff${file}`,
    file.replaceAll("\n", "\r\n"),
    file.replace("index 1", "index -1"),
    file.replace("index 1", "index 1 "),
    file.replace("index 1", "index  1"),
    file.replace("index 1", "index 9007199254740992"),
    file.replace("index 1\n", ""),
    file.replace("index 1", "index 1\nindex 1"),
    file.replace("extra ", "extra  "),
    file.replace("extra ", "more "),
    file.replace(`extra ${toBase64(second)}`, "extra "),
    file.replace("\n\n", "\n"),
    file.slice(0, -1),
    `${file}\n`,
    file.replace(toBase64(eventHash(first)), "AAAA"),
    file.replace(toBase64(eventHash(first)), `${toBase64(eventHash(first))}=`),
    file.replace("index 1\n", `index 1\n${`${toBase64(bytes(1))}\n`.repeat(53)}`),
  ]
  for (const text of bad) {
    assert.equal(parseTlogProof(text), undefined, JSON.stringify(text))
    assert.deepEqual(verifyTlogProof(text, { vkeys: [vkey] }), { ok: false, failure: "malformed" })
  }
  assert.ok(
    parseTlogProof(formatTlogProof({ ...proof, hashes: Array<Uint8Array>(53).fill(bytes(1)) })),
  )
})

test("a proof holds for its record, with the log's key", () => {
  for (const options of [
    { vkeys: [vkey] },
    { vkeys: [vkey], record: second },
    { vkeys: ["junk", strangerVkey, vkey] },
  ]) {
    const verdict = verifyTlogProof(file, options)
    assert.ok(verdict.ok)
    assert.deepEqual(verdict.record, parseRecord(second))
    assert.deepEqual(verdict.checkpoint, { origin, size: 2, root })
    assert.equal(verdict.signatures.length, 1)
  }
  const witnessed = file + cosign(text, 77, witness)
  const verdict = verifyTlogProof(witnessed, { vkeys: [vkey, witnessVkey] })
  assert.ok(verdict.ok)
  assert.deepEqual(
    verdict.signatures.map(({ key, timeSeconds }) => [key.type, timeSeconds]),
    [
      ["log", undefined],
      ["cosignature", 77],
    ],
  )
})

test("each kind of fault has its name", () => {
  const failureOf = (
    change: Partial<TlogProof>,
    options: { vkeys?: string[]; record?: Uint8Array } = {},
  ) => {
    const verdict = verifyTlogProof(formatTlogProof({ ...proof, ...change }), {
      vkeys: [vkey],
      ...options,
    })
    return verdict.ok ? "ok" : verdict.failure
  }
  const { extra: _, ...bare } = proof
  assert.equal(verifyTlogProof(formatTlogProof(bare), { vkeys: [vkey], record: second }).ok, true)
  assert.deepEqual(verifyTlogProof(formatTlogProof(bare), { vkeys: [vkey] }), {
    ok: false,
    failure: "record",
  })
  assert.equal(failureOf({ extra: Uint8Array.of(1) }), "record")
  assert.equal(failureOf({ extra: first }, { record: second }), "record")
  // A node of the tree is no record, so it cannot be passed off as an entry.
  assert.equal(failureOf({}, { record: new Uint8Array(64) }), "record")

  assert.equal(failureOf({}, { vkeys: [] }), "unsigned")
  assert.equal(failureOf({}, { vkeys: [strangerVkey] }), "unsigned")
  assert.equal(
    failureOf(
      { checkpoint: proof.checkpoint + cosign(text, 1, witness) },
      { vkeys: [witnessVkey] },
    ),
    "unsigned",
  )
  assert.equal(failureOf({ checkpoint: proof.checkpoint.replace("\n2\n", "\n3\n") }), "signature")
  assert.equal(failureOf({ checkpoint: signNote("no checkpoint\n", log) }), "malformed")
  assert.equal(failureOf({ checkpoint: signNote(`${text}extension\n`, log) }), "malformed")

  const foreign = verifyTlogProof(
    formatTlogProof({ ...proof, checkpoint: signNote(text, stranger) }),
    { vkeys: [strangerVkey] },
  )
  assert.deepEqual(foreign, {
    ok: false,
    failure: "origin",
    expected: stranger.name,
    found: origin,
  })

  assert.equal(failureOf({ index: 0 }), "inclusion")
  assert.equal(failureOf({ extra: first }), "inclusion")
  assert.equal(failureOf({ extra: first, index: 0 }), "inclusion")
  assert.equal(failureOf({ hashes: [] }), "inclusion")
  assert.equal(failureOf({ hashes: [eventHash(first), eventHash(first)] }), "inclusion")
  assert.equal(failureOf({ hashes: [eventHash(second)] }), "inclusion")
  assert.equal(failureOf({ extra: recordOf(5), index: 5 }), "inclusion")
  // A record that states another index than its place in the tree.
  const misplaced = recordOf(5)
  const misplacedRoot = nodeHash(eventHash(first), eventHash(misplaced))
  const itsCheckpoint = signNote(formatCheckpoint({ origin, size: 2, root: misplacedRoot }), log)
  assert.equal(failureOf({ extra: misplaced, checkpoint: itsCheckpoint }), "inclusion")
  // An entry that names another one before it than the tree has there.
  const unlinked = recordOf(1)
  const unlinkedRoot = nodeHash(eventHash(first), eventHash(unlinked))
  const itsNote = signNote(formatCheckpoint({ origin, size: 2, root: unlinkedRoot }), log)
  assert.equal(failureOf({ extra: unlinked, checkpoint: itsNote }), "link")
  const other = signNote(formatCheckpoint({ origin, size: 2, root: bytes(9) }), log)
  const wrongRoot = verifyTlogProof(formatTlogProof({ ...proof, checkpoint: other }), {
    vkeys: [vkey],
  })
  assert.deepEqual(wrongRoot, {
    ok: false,
    failure: "inclusion",
    expected: "09".repeat(32),
    found: Buffer.from(root).toString("hex"),
  })
})

test("an impossible proof fails an assertion", () => {
  for (const bad of [
    { index: -1 },
    { hashes: [bytes(1).slice(1)] },
    { extra: new Uint8Array() },
    { hashes: Array<Uint8Array>(54).fill(bytes(1)) },
  ]) {
    assert.throws(() => formatTlogProof({ ...proof, ...bad }), AssertionError)
  }
})
