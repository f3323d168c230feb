import assert from "node:assert/strict"
import test from "node:test"
import { bodyHash } from "./body.ts"
import { canonicalize } from "./canonical.ts"
import { formatCheckpoint } from "./checkpoint.ts"
import { readDestroyed } from "./destroyed.ts"
import { utf8 } from "./encoding.ts"
import { verifyExport } from "./export.ts"
import { ledgerId } from "./genesis.ts"
import type { JsonObject } from "./json.ts"
import { createMissingContent } from "./missing-content.ts"
import { signNote } from "./note.ts"
import { formatBodyLine } from "./pack-form.ts"
import { encodeRecord, eventHash } from "./record.ts"
import { bundle } from "./tile.ts"
import { emptyRoot } from "./tree.ts"
import { signerOf, vkeyOf } from "../../../test/signers.ts"

const origin = "ledger.example/ledgers/1"
const signer = signerOf(origin, 7)
const vkey = vkeyOf(signer)

/** An export of one entry, as a ledger with this body in it would have. */
function exportOf(content: JsonObject): Map<string, Uint8Array> {
  const genesis = canonicalize({
    createdAt: "",
    nonce: "oKGio6SlpqeoqaqrrK2urw",
    origin,
    v: 1,
    workspaceId: "acme",
  })
  const id = ledgerId(genesis)
  const [salt, body] = [new Uint8Array(16), canonicalize(content)]
  const record = encodeRecord({
    kind: "event",
    index: 0,
    timeMs: 1,
    ledgerId: id,
    previousHash: id,
    bodyHash: bodyHash(salt, utf8(body)),
  })
  const root = eventHash(record)
  return new Map([
    ["genesis.json", utf8(genesis)],
    ["log.vkey", utf8(`${vkey}\n`)],
    ["checkpoint", utf8(signNote(formatCheckpoint({ origin, size: 1, root }), signer))],
    ["tile/entries/000.p/1", bundle([record])],
    ["tile/0/000.p/1", root],
    ["bodies/000.jsonl", utf8(`${formatBodyLine({ index: 0, salt, body })}\n`)],
  ])
}

function failureOf(files: ReadonlyMap<string, Uint8Array>): string {
  const verdict = verifyExport((path) => files.get(path), { trustedKeys: [vkey] })
  return verdict.verdict === "refuted" ? verdict.failure : verdict.verdict
}

const body = { receipt: "rcp_1", v: 1, workspaceId: "acme" }

test("a body of an export must have a known version and the ledger's workspace", () => {
  assert.equal(failureOf(exportOf(body)), "genuine")
  assert.equal(failureOf(exportOf({ ...body, v: 2 })), "content")
  assert.equal(failureOf(exportOf({ ...body, workspaceId: "umbra" })), "content")
})

test("an export whose checkpoint covers no entry is refuted: only an entry binds its genesis", () => {
  const files = exportOf(body)
  const empty = formatCheckpoint({ origin, size: 0, root: emptyRoot })
  const forged = canonicalize({
    createdAt: "",
    nonce: "AAAAAAAAAAAAAAAAAAAAAA",
    origin,
    v: 1,
    workspaceId: "another",
  })
  files.set("checkpoint", utf8(signNote(empty, signer)))
  files.set("genesis.json", utf8(forged))
  assert.equal(failureOf(files), "checkpoint")
})

test("sealed fields must follow the rules even without disclosures", () => {
  assert.equal(failureOf(exportOf({ ...body, _sd: [] })), "disclosures")
})

test("a last line without a newline does not count", () => {
  const files = exportOf(body)
  const lines = files.get("bodies/000.jsonl") ?? assert.fail()
  assert.equal(failureOf(files.set("bodies/000.jsonl", lines.subarray(0, -1))), "content")
  // The same holds for lines beyond the checkpoint.
  const torn = Uint8Array.from([...lines, ...utf8('{"body":"{}","index":1')])
  assert.equal(failureOf(files.set("bodies/000.jsonl", torn)), "content")
})

test("missing content is counted separately if an entry explains it", () => {
  const missing = createMissingContent()
  for (const sequence of [2, 3, 4, 7, 8, 11]) missing.addBody(sequence)
  missing.addFields(5, ["a", "b"])
  missing.addFields(6, ["c"])
  const explain = (kind: "retention" | "erasure", metadata: JsonObject) => {
    const destroyed = readDestroyed(kind, 20, { metadata })
    if (destroyed === undefined) assert.fail("it is malformed")
    missing.explain(destroyed)
  }
  explain("retention", { bodies: [[1, 3]] })
  explain("retention", {
    bodies: [
      [2, 2],
      [8, 10],
    ],
  })
  explain("erasure", { bodies: [[4, 4]], fields: [{ sequence: 5, digests: ["b", "z"] }] })
  assert.deepEqual(missing.counts, {
    expiredBodies: 3,
    erasedBodies: 1,
    missingBodies: 2,
    erasedFields: 1,
    withheld: 2,
  })
})
