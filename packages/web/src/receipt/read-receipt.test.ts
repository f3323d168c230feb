import assert from "node:assert/strict"
import test from "node:test"
import type { ListedEntry } from "@tallystick/client/wire"
import {
  encodeRecord,
  eventHash,
  formatCheckpoint,
  formatTlogProof,
  nodeHash,
  parseRecord,
  parseVkey,
  signNote,
} from "@tallystick/proof"
import { genuineEntry, logKey, withoutBody } from "../../../../test/shown-entry.ts"
import { signerOf, vkeyOf } from "../../../../test/signers.ts"
import { readReceipt, type ReceiptReading } from "./read-receipt.ts"

const trusted = [{ vkey: logKey, since: "2026-01-01T00:00:00.000Z" }]

function readingOf(event: ListedEntry, keys = trusted, nowMs = 0): ReceiptReading {
  const { proof, disclosures, ...entry } = event
  return readReceipt(JSON.stringify({ entry, proof, disclosures }), keys, nowMs)
}

const statesOf = ({ checks }: ReceiptReading): string => checks.map(({ state }) => state).join(" ")

test("what was recorded is shown from the hashed content alone", () => {
  const genuine = readingOf(genuineEntry)
  assert.deepEqual([genuine.outcome, genuine.content.action], ["genuine", genuineEntry.action])
  assert.equal(statesOf(genuine), "intact intact intact intact intact")
  for (const [event, keys, outcome, states] of [
    [withoutBody(), trusted, "gone", "undone intact intact intact intact"],
    [withoutBody(), [], "unconfirmed", "undone intact intact intact attention"],
    [withoutBody({}, false), trusted, "pending", "undone intact undone undone undone"],
  ] as const) {
    const reading = readingOf(event, [...keys])
    const { action, actor } = reading.content
    assert.deepEqual([reading.outcome, action, actor], [outcome, undefined, {}])
    assert.equal(statesOf(reading), states)
  }
})

test("what a receipt only claims is shown where it is not genuine, or has nothing to compute from", () => {
  const forged = { ...genuineEntry, action: "billing.invoice.reject" }
  const { proof: _, ...bare } = forged
  for (const [event, outcome, states] of [
    [forged, "broken", "broken undone undone undone undone"],
    [bare, "unproven", "undone undone undone undone undone"],
  ] as const) {
    const reading = readingOf(event)
    assert.deepEqual([reading.outcome, reading.content.action], [outcome, forged.action])
    assert.equal(statesOf(reading), states)
  }
})

test("an entry that no checkpoint covers is pending for a minute, and unsealed after that", () => {
  const unproven = withoutBody({}, false)
  const recordedMs = Date.parse(readingOf(unproven).recordedAt ?? "")
  for (const [laterMs, outcome] of [
    [0, "pending"],
    [60_000, "pending"],
    [60_001, "unsealed"],
  ] as const)
    assert.equal(readingOf(unproven, trusted, recordedMs + laterMs).outcome, outcome)
})

test("a signature is shown as checked only by the key that made it", () => {
  const { proof, ...entry } = genuineEntry
  const lines = proof?.tlogProof?.split("\n") ?? []
  const sibling = lines.findIndex((line) => line.startsWith("index ")) + 1
  const other = lines.with(sibling, Buffer.alloc(32, 9).toString("base64")).join("\n")
  const altered = { ...entry, proof: { ...proof, tlogProof: other } } as ListedEntry
  const { checks } = readingOf(altered)
  const [{ state, says, hash } = assert.fail()] = checks.filter(({ name }) => name === "Signature")
  // It holds, and which key made it is not in the verdict.
  assert.deepEqual([state, says, hash], ["intact", "Ed25519 signature over that root.", undefined])
})

test("an entry that does not name the one before it is broken, and the checks before that stand", () => {
  const { proof, disclosures } = genuineEntry
  const fields = parseRecord(Buffer.from(proof?.record ?? "", "base64")) ?? assert.fail()
  const record = encodeRecord({ ...fields, index: 1, previousHash: new Uint8Array(32) })
  const before = new Uint8Array(32).fill(1)
  const log = signerOf(parseVkey(logKey)?.name ?? "", 7)
  const root = nodeHash(before, eventHash(record))
  const tlogProof = formatTlogProof({
    index: 1,
    hashes: [before],
    checkpoint: signNote(formatCheckpoint({ origin: log.name, size: 2, root }), log),
  })
  const changed = { record: Buffer.from(record).toString("base64"), vkey: vkeyOf(log), tlogProof }
  const answer = JSON.stringify({ proof: { ...proof, ...changed }, disclosures })
  const { outcome, checks } = readReceipt(answer, [], 0)
  assert.equal(outcome, "broken")
  assert.deepEqual(
    checks.map(({ name, state, says }) => [name, state, says]),
    [
      ["Content", "intact", "SHA-256 of the entry is the hash that the receipt names."],
      ["Link", "broken", "Its previous hash is not that of the entry before it."],
      ["Inclusion", "intact", "1 step leads from the entry to the signed root."],
      ["Signature", "intact", "Ed25519 signature over that root."],
      ["Key", "undone", "Not checked."],
    ],
  )
  const [, link] = checks
  assert.deepEqual([link?.expected, link?.found], ["01".repeat(32), "00".repeat(32)])
})

test("the key that is called trusted is the trusted one, whoever else has signed", () => {
  const { proof, ...entry } = genuineEntry
  const name = parseVkey(logKey)?.name ?? ""
  const stranger = signerOf(name, 7)
  const [steps = "", text = "", signatures = ""] = proof?.tlogProof?.split("\n\n") ?? []
  const tlogProof = `${steps}\n\n${signNote(`${text}\n`, stranger)}${signatures}`
  const vkey = vkeyOf(stranger)
  const signedTwice = { ...entry, proof: { ...proof, vkey, tlogProof } } as ListedEntry
  const { outcome, vkey: signer, trusted: pinned } = readingOf(signedTwice)
  assert.deepEqual([outcome, signer, pinned], ["genuine", logKey, trusted[0]])
  const unnamed = { ...entry, proof: { ...proof, vkey: null } } as unknown as ListedEntry
  assert.equal(readingOf(unnamed).vkey, logKey)
  assert.equal(readingOf(signedTwice, []).vkey, vkey)
})
