import assert from "node:assert/strict"
import test from "node:test"
import { bodyHash } from "./body.ts"
import { canonicalize } from "./canonical.ts"
import { formatCheckpoint } from "./checkpoint.ts"
import { ed25519Verify, type Verify } from "./ed25519.ts"
import { toBase64, toHex, utf8 } from "./encoding.ts"
import { examineFolder, examineFile } from "./finding.ts"
import { ledgerId } from "./genesis.ts"
import type { JsonObject } from "./json.ts"
import { signNote } from "./note.ts"
import { formatBodyLine } from "./pack-form.ts"
import { encodeRecord, eventHash } from "./record.ts"
import { sha256 } from "./sha256.ts"
import { bundle } from "./tile.ts"
import { formatTlogProof } from "./tlog-proof.ts"
import { signerOf, vkeyOf } from "../../../test/signers.ts"

// A ledger of one entry, whose checkpoint a stranger has signed as well, under the log's name.

const origin = "ledger.example/ledgers/1"
const [log, stranger] = [signerOf(origin, 7), signerOf(origin, 8)]

const genesisOf = (name: string, continues?: JsonObject): string =>
  canonicalize({
    createdAt: "",
    nonce: "oKGio6SlpqeoqaqrrK2urw",
    origin: name,
    v: 1,
    workspaceId: "acme",
    ...(continues && { continues }),
  })

const salt = new Uint8Array(16)
const body = canonicalize({ receipt: "rcp_1", v: 1, workspaceId: "acme" })

function ledgerOf(genesis: string) {
  const id = ledgerId(genesis)
  const record = encodeRecord({
    kind: "event",
    index: 0,
    timeMs: 1,
    ledgerId: id,
    previousHash: id,
    bodyHash: bodyHash(salt, utf8(body)),
  })
  const root = eventHash(record)
  const checkpoint = signNote(formatCheckpoint({ origin, size: 1, root }), stranger, log)
  const proof = {
    record: toBase64(record),
    body,
    bodySalt: toHex(salt),
    vkey: vkeyOf(stranger),
    tlogProof: formatTlogProof({ index: 0, hashes: [], checkpoint }),
  }
  return { record, root, checkpoint, entry: { hash: toHex(root), sequence: 1, proof } }
}

const genesis = genesisOf(origin)
const { record, root, checkpoint, entry } = ledgerOf(genesis)
const files = new Map([
  ["genesis.json", utf8(genesis)],
  ["log.vkey", utf8(`${vkeyOf(stranger)}\n`)],
  ["checkpoint", utf8(checkpoint)],
  ["tile/entries/000.p/1", bundle([record])],
  ["tile/0/000.p/1", root],
  ["bodies/000.jsonl", utf8(`${formatBodyLine({ index: 0, salt, body })}\n`)],
])

test("the key of genuine evidence is the trusted one, whoever else has signed", () => {
  const folder = { files: (path: string) => files.get(path), paths: () => [...files.keys()] }
  for (const [keys, verdict, key] of [
    [[vkeyOf(log)], "genuine", vkeyOf(log)],
    [[], "unconfirmed", vkeyOf(stranger)],
  ] as const) {
    const input = { trustedKeys: keys, geneses: [] }
    const lines = utf8(`${JSON.stringify(entry)}\n{"end":{}}\n`)
    for (const finding of [
      ...examineFile(utf8(JSON.stringify(entry)), input),
      examineFolder(folder, input),
    ])
      assert.deepEqual([finding.verdict, finding.facts["key"]], [verdict, key], finding.what)
    assert.equal(examineFile(lines, input)[0]?.facts["key"], key)
  }
})

test("a signature is checked once for all entries under it, and another one is checked too", () => {
  const { proof } = entry
  const [signed, other] = [proof.tlogProof, proof.tlogProof.replace(/.{8}\n$/, "AAAAAAA=\n")]
  assert.notEqual(other, signed)
  const entryWith = (tlogProof: string) => ({ ...entry, proof: { ...proof, tlogProof } })
  let checked = 0
  const verify: Verify = (...asked) => {
    checked += 1
    return ed25519Verify(...asked)
  }
  const verdictsOf = (...proofs: readonly string[]) =>
    examineFile(utf8(JSON.stringify({ events: proofs.map(entryWith) })), {
      trustedKeys: [vkeyOf(log)],
      geneses: [],
      verify,
    }).flatMap(({ item, verdict }) => (item === undefined ? [] : [verdict]))
  assert.deepEqual(verdictsOf(signed, signed, signed), ["genuine", "genuine", "genuine"])
  assert.equal(checked, 2, "the stranger's and the log's")
  assert.deepEqual(verdictsOf(signed, other, signed), ["genuine", "refuted", "genuine"])
})

test("a line that is too long for an entry is not read, and one without an end is a cut one", () => {
  const long = "x".repeat(17 * 1024 * 1024)
  const input = { trustedKeys: [vkeyOf(log)], geneses: [] }
  const line = JSON.stringify(entry)
  const [within] = examineFile(utf8(`${line}\n{"a":"${long}"}\n${line}\n`), input)
  assert.deepEqual([within?.verdict, within?.reason], ["unreadable", "line 2: it is not JSON"])
  const [cut] = examineFile(utf8(`${line}\n{"a":"${long}`), input)
  assert.match(cut?.reason ?? "", /^its last line is missing/)
})

test("an entry of a later epoch counts once among exported lines, with its geneses or without", () => {
  const earlier = genesisOf("ledger.example/ledgers/0")
  const later = genesisOf(origin, {
    ledgerId: toHex(ledgerId(earlier)),
    origin: "ledger.example/ledgers/0",
    size: 100,
    root: "00".repeat(32),
    lostSize: null,
    lostRoot: null,
  })
  const bare = ledgerOf(later).entry
  const whole = { ...bare, sequence: 101, proof: { ...bare.proof, geneses: [later, earlier] } }
  const verdictOf = (...entries: readonly object[]) => {
    const lines = entries.map((one) => `${JSON.stringify(one)}\n`).join("")
    const end = {
      count: entries.length,
      broken: 0,
      sequence: 200,
      sha256: toHex(sha256(utf8(lines))),
    }
    const input = { trustedKeys: [vkeyOf(log)], geneses: [] }
    return examineFile(utf8(`${lines}${JSON.stringify({ end })}\n`), input)[0]?.verdict
  }
  assert.equal(verdictOf(whole), "genuine")
  assert.equal(verdictOf(entry, whole), "genuine")
  assert.equal(verdictOf(bare, whole), "refuted")
})

test("the last line of an export says how many of its entries are broken", () => {
  const line = utf8(`${JSON.stringify({ hash: "", sequence: 1, integrity: "broken" })}\n`)
  const said = { count: 1, sequence: 1, sha256: toHex(sha256(line)) }
  const reasonOf = (broken: number) => {
    const end = utf8(`${JSON.stringify({ end: { ...said, broken } })}\n`)
    return examineFile(Uint8Array.of(...line, ...end), { trustedKeys: [], geneses: [] })[0]?.reason
  }
  assert.match(reasonOf(1) ?? "", /has no proof/)
  assert.match(reasonOf(0) ?? "", /^end does not hold, in broken: expected 1, found 0/)
})
