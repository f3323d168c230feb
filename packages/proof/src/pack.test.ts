import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import { bodyHash } from "./body.ts"
import { canonicalize } from "./canonical.ts"
import { formatCheckpoint } from "./checkpoint.ts"
import { concat, fromUtf8, toHex, utf8 } from "./encoding.ts"
import { ledgerId } from "./genesis.ts"
import type { JsonObject } from "./json.ts"
import { signNote, type Signer } from "./note.ts"
import {
  bodiesPath,
  disclosuresPath,
  formatBodyLine,
  formatDisclosureLine,
  formatManifest,
  formatPolicy,
  formatReceiptLine,
  formatTableHeader,
  formatTableRow,
  formatTrustPolicy,
  isListed,
  packGroup,
  policyPath,
  proofPath,
} from "./pack-form.ts"
import { verifyPack, type PackOptions, type PackVerdict } from "./pack.ts"
import { encodeRecord, eventHash, parseRecord, type Kind } from "./record.ts"
import { digest, disclosure } from "./sealed.ts"
import { formatTlogProof } from "./tlog-proof.ts"
import { inclusionProof, rootOf, type NodeReader } from "./tree-proof.ts"
import { nodeHash } from "./tree.ts"
import { crc32, readZip, zipDirectory, zipFileHeader } from "./zip.ts"
import { createChance, seedOf } from "../../../test/chance.ts"
import { flipped } from "../../../test/flipped.ts"
import { native } from "../../../test/native.ts"
import { signerOf, vkeyOf } from "../../../test/signers.ts"

// A small ledger and packs of it: valid ones, changed ones, and ones that only the holder of the
// ledger's key could make.

const origin = "ledger.example/ledgers/1"
const signer = signerOf(origin, 7)
const vkey = vkeyOf(signer)
const genesisText = canonicalize({
  createdAt: "2026-01-01T00:00:00.000Z",
  nonce: "oKGio6SlpqeoqaqrrK2urw",
  origin,
  v: 1,
  workspaceId: "acme",
})
const salt = new Uint8Array(16).fill(9)
const title = "For the auditor"

type Files = Map<string, Uint8Array>

interface Entry {
  readonly record: Uint8Array
  readonly hash: Uint8Array
  readonly body: JsonObject
  readonly disclosures: readonly string[]
}

function receiptOf(index: number): string {
  return `rcp_${String(index).padStart(36, "0")}`
}

function bodyOf(index: number): {
  body: JsonObject
  disclosures: readonly string[]
  kind?: Kind
} {
  const email = disclosure(new Uint8Array(16).fill(index % 256), "email", `ada${index}@example.com`)
  const body: JsonObject = {
    v: 1,
    _sd_alg: "sha-256",
    id: `evt_${index}`,
    receipt: receiptOf(index),
    workspaceId: "acme",
    projectId: "core",
    action: "billing.invoice.approve",
    actor: { id: "=1+1", type: "user", _sd: [digest(email)] },
    target: { id: `inv_${index}`, type: "invoice" },
    occurredAt: "2026-01-01T00:00:00+01:00",
    receivedAt: "2026-01-01T00:00:00.000Z",
    source: "api",
    userVisible: false,
    lane: "operations",
    metadata: { amount: index },
    policyVersion: 1,
  }
  return { body, disclosures: [email] }
}

interface Ledger {
  readonly entries: readonly Entry[]
  append(
    kind: Kind,
    body: JsonObject,
    disclosures?: readonly string[],
    previousHash?: Uint8Array,
  ): Entry
  checkpoint(size: number, signers?: readonly Signer[]): string
  proof(index: number, checkpoint: string, size: number): string
}

function createLedger(genesis = genesisText): Ledger {
  const id = ledgerId(genesis)
  const entries: Entry[] = []
  const node: NodeReader = (level, n) =>
    level === 0 ? at(n).hash : nodeHash(node(level - 1, 2 * n), node(level - 1, 2 * n + 1))
  const at = (index: number): Entry => entries[index] ?? assert.fail()
  return {
    entries,
    append(kind, body, disclosures = [], previousHash = entries.at(-1)?.hash ?? id) {
      const index = entries.length
      const hashed = bodyHash(salt, utf8(canonicalize(body)))
      const record = encodeRecord({
        kind,
        index,
        timeMs: Date.UTC(2026, 0, 1) + index,
        ledgerId: id,
        previousHash,
        bodyHash: hashed,
      })
      const entry = { record, hash: eventHash(record), body, disclosures }
      entries.push(entry)
      return entry
    },
    checkpoint: (size, signers = [signer]) =>
      signNote(formatCheckpoint({ origin, size, root: rootOf(size, node) }), ...signers),
    proof: (index, checkpoint, size) =>
      formatTlogProof({
        extra: at(index).record,
        index,
        hashes: inclusionProof(index, size, node),
        checkpoint,
      }),
  }
}

interface Making {
  readonly count: number
  /** Of the first entries, those that go into the pack. */
  readonly chosen?: readonly number[]
  /** The place of an entry that is not linked to the one before it. */
  readonly unlinked?: number
  /**
   * An edit by the holder of the ledger's key, before the manifest is made and the pack is sealed.
   */
  readonly change?: (files: Files, ledger: Ledger) => void
  readonly sealed?: (said: JsonObject) => JsonObject
  readonly sealKind?: Kind
  readonly say?: typeof bodyOf
  /** The signers of the pack's checkpoint, and of its seal's checkpoint. */
  readonly signers?: readonly [readonly Signer[], readonly Signer[]]
}

function makePack(making: Making): Files {
  const {
    count,
    chosen,
    unlinked,
    change = () => {},
    sealed = (said) => said,
    sealKind = "admin",
    say = bodyOf,
    signers,
  } = making
  const ledger = createLedger()
  for (let index = 0; index < count; index++) {
    const { body, disclosures, kind = "event" } = say(index)
    ledger.append(kind, body, disclosures, index === unlinked ? new Uint8Array(32) : undefined)
  }
  const files = contentOf(
    ledger,
    chosen ?? Array.from({ length: count }, (_, index) => index),
    signers?.[0],
  )
  change(files, ledger)
  files.set(
    "manifest.json",
    utf8(
      formatManifest(
        new Map(
          [...files].flatMap(([path, bytes]) => (isListed(path) ? [[path, sha256(bytes)]] : [])),
        ),
      ),
    ),
  )
  const receiptCount = [...files.keys()].filter((path) => path.startsWith("proofs/")).length
  const said = {
    packId: "pack_1",
    title,
    receiptCount,
    packHash: sha256(files.get("manifest.json")),
    form: 2,
  }
  const index = ledger.entries.length
  const { body } = ledger.append(
    sealKind,
    sealed({ ...bodyOf(index).body, action: "evidence.pack.create", metadata: said }),
  )
  files.set("seal.json", utf8(formatBodyLine({ index, salt, body: canonicalize(body) })))
  files.set(
    "seal.tlog-proof",
    utf8(ledger.proof(index, ledger.checkpoint(index + 1, signers?.[1]), index + 1)),
  )
  return files
}

function contentOf(
  ledger: Ledger,
  chosen: readonly number[],
  signers: readonly Signer[] = [signer],
): Files {
  const size = ledger.entries.length
  const checkpoint = ledger.checkpoint(size, signers)
  const named = vkeyOf(signers[0] ?? assert.fail())
  const sections = [{ id: "1", title: "Use", body: "We use it." }]
  const policy = {
    id: "pol_1",
    projectId: "core",
    version: 1,
    publishedAt: "2026-01-01T00:00:00.000Z",
    sections,
  }
  const files: Files = new Map()
  const set = (path: string, text: string) => void files.set(path, utf8(text))
  const shown = chosen.map((index) => {
    const { record, hash, body } = ledger.entries[index] ?? assert.fail()
    return {
      record: parseRecord(record) ?? assert.fail(),
      eventHash: toHex(hash),
      sequence: index + 1,
      body,
    }
  })
  set("README.txt", "read me\n")
  set("genesis.json", genesisText)
  set("log.vkey", `${named}\n`)
  set("policy.txt", formatTrustPolicy(named))
  set("checkpoint", checkpoint)
  set("receipts.jsonl", shown.map((entry) => `${formatReceiptLine(entry)}\n`).join(""))
  set("entries.csv", formatTableHeader() + shown.map((entry) => formatTableRow(entry)).join(""))
  set(
    policyPath("core", 1),
    formatPolicy({ ...policy, sectionHash: sha256(utf8(canonicalize(sections))) }),
  )
  for (let from = 0; from < chosen.length; from += packGroup) {
    const members = chosen
      .slice(from, from + packGroup)
      .map((index) => ({ index, entry: ledger.entries[index] ?? assert.fail() }))
    const group = from / packGroup
    const bodies = members.map(({ index, entry }) =>
      formatBodyLine({ index, salt, body: canonicalize(entry.body) }),
    )
    set(bodiesPath(group), `${bodies.join("\n")}\n`)
    set(
      disclosuresPath(group),
      `${members.map(({ index, entry }) => formatDisclosureLine({ index, ...entry })).join("\n")}\n`,
    )
  }
  for (const index of chosen)
    set(proofPath(receiptOf(index)), ledger.proof(index, checkpoint, size))
  return files
}

function sha256(bytes: Uint8Array | undefined): string {
  return createHash("sha256")
    .update(bytes ?? assert.fail())
    .digest("hex")
}

function zip(files: Files): Uint8Array {
  const sorted = [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const list = sorted.map(([name, bytes]) => ({ name, size: bytes.length, crc: crc32(bytes) }))
  return concat(
    ...list.flatMap((file, at) => [zipFileHeader(file), sorted[at]?.[1] ?? assert.fail()]),
    zipDirectory(list),
  )
}

/** Uses Node's fast hash. The first test uses the portable one, as a browser does. */
const trusting: PackOptions = {
  trustedKeys: [vkey],
  ...native,
}

/** The failed check, which is the last one that ran. */
function failureOf(pack: Uint8Array | Files, what: string, options = trusting): string {
  const verdict = verifyPack(pack, options)
  assert.equal(verdict.verdict, "refuted", what)
  const { failure, checks } = verdict as PackVerdict & { failure: string }
  assert.deepEqual(checks.at(-1), { name: failure, ok: false }, what)
  assert.ok(
    checks.slice(0, -1).every(({ ok }) => ok),
    what,
  )
  return failure
}

const allChecks =
  "archive manifest genesis checkpoint seal records inclusion content disclosures receipts table policies key".split(
    " ",
  )

test("a pack is genuine under a trusted key, and unconfirmed under another", () => {
  const pack = zip(makePack({ count: 3 }))
  const { verdict, checks, ...report } = verifyPack(pack, { trustedKeys: [vkey] })
  assert.equal(verdict, "genuine")
  const buffer = Uint8Array.from(pack).buffer
  assert.equal(verifyPack(buffer, { trustedKeys: [vkey] }).verdict, "genuine", "of a response")
  assert.deepEqual(
    checks,
    allChecks.map((name) => ({ name, ok: true })),
  )
  assert.partialDeepStrictEqual(report, {
    packId: "pack_1",
    title,
    withheld: 0,
    ledgerId: toHex(ledgerId(genesisText)),
  })
  assert.equal(report.packHash, sha256(readZip(pack)?.get("manifest.json")))
  assert.deepEqual(report.checkpoint?.size, 3)
  assert.deepEqual(
    report.entries?.map(({ sequence, body }) => [sequence, body["receipt"]]),
    [0, 1, 2].map((index) => [index + 1, receiptOf(index)]),
  )
  const another = vkeyOf(signerOf(origin, 0))
  for (const trustedKeys of [[], ["nonsense"], [another]]) {
    const doubted = verifyPack(pack, { trustedKeys })
    assert.equal(doubted.verdict, "unconfirmed")
    assert.deepEqual(doubted.checks.at(-1), { name: "key", ok: false })
  }
})

test("a pack is not genuine as another pack", () => {
  const pack = makePack({ count: 1 })
  const asked = { packId: "pack_1", workspaceId: "acme" }
  assert.equal(verifyPack(pack, { ...trusting, ...asked }).verdict, "genuine")
  assert.equal(failureOf(pack, "another one", { ...trusting, workspaceId: "umbra" }), "genesis")
  assert.equal(failureOf(pack, "another pack", { ...trusting, packId: "pack_2" }), "seal")
  assert.partialDeepStrictEqual(verifyPack(pack, { ...trusting, packId: "pack_2" }), {
    file: "seal.json",
    expected: "pack_2",
    found: "pack_1",
  })
})

test("a pack may carry a verifier, which is any file that the manifest knows", () => {
  const carrying = (text: string) =>
    makePack({ count: 2, change: (files) => files.set("verify.html", utf8(text)) })
  for (const text of ["<!doctype html>", ""])
    assert.equal(verifyPack(zip(carrying(text)), trusting).verdict, "genuine")
  const changed = carrying("<!doctype html>")
  changed.set("verify.html", utf8("<!doctype html >"))
  assert.equal(failureOf(zip(changed), "another verifier"), "manifest")
  changed.delete("verify.html")
  assert.equal(failureOf(zip(changed), "no verifier"), "manifest")
  const added = makePack({ count: 2 }).set("verify.html", utf8("<!doctype html>"))
  assert.equal(failureOf(zip(added), "an added verifier"), "manifest")
})

test("receipts.jsonl and entries.csv have exactly this content", () => {
  const files = makePack({ count: 2, chosen: [1] })
  const textOf = (path: string) => fromUtf8(files.get(path) ?? assert.fail())
  const ledger = createLedger()
  for (const index of [0, 1]) ledger.append("event", bodyOf(index).body)
  const [first = "", second = ""] = ledger.entries.map(({ hash }) => toHex(hash))
  assert.equal(
    textOf("receipts.jsonl"),
    `{"accepted":true,"actor":{"id":"=1+1","type":"user"},"eventHash":"${second}","eventId":"evt_1","lane":"operations","policyVersion":1,"previousHash":"${first}","receipt":"${receiptOf(1)}","receivedAt":"2026-01-01T00:00:00.000Z","target":{"id":"inv_1","type":"invoice"},"timestamp":"2026-01-01T00:00:00.001Z"}\n`,
  )
  assert.equal(
    textOf("entries.csv"),
    `"sequence","timestamp","occurredAt","kind","projectId","action","lane","source","actor.id","actor.type","target.id","target.type","target.name","userVisible","policyVersion","metadata","receivedAt","eventId","receipt","eventHash","previousHash"\r\n` +
      `"2","2026-01-01T00:00:00.001Z","2026-01-01T00:00:00+01:00","event","core","billing.invoice.approve","operations","api","'=1+1","user","inv_1","invoice","","false","1","{""amount"":1}","2026-01-01T00:00:00.000Z","evt_1","${receiptOf(1)}","${second}","${first}"\r\n`,
  )
  assert.equal(verifyPack(files, trusting).verdict, "genuine")
})

test("the bytes of a pack never change: another form of pack is another version", () => {
  assert.equal(
    sha256(zip(makePack({ count: 2 }))),
    "3dc2e043c33d930615edb73047d3916da3aab507a349e9c0f2b1c135548057a8",
  )
})

test("a pack whose seal names no form, or another one, is refused", () => {
  for (const form of [undefined, 1, 3, "2", null]) {
    const sealed = (said: JsonObject) => {
      const { form: _, ...others } = said["metadata"] as JsonObject
      return { ...said, metadata: form === undefined ? others : { ...others, form } }
    }
    assert.equal(failureOf(makePack({ count: 1, sealed }), `form ${form}`), "seal")
  }
})

test("a change of any one byte of a small pack is found, and the failed check is named", () => {
  const files = makePack({ count: 2 })
  const pack = zip(files)
  for (let at = 0; at < pack.length; at++) {
    assert.equal(failureOf(flipped(pack, at), `byte ${at}`), "archive")
  }
  // Without the archive around them, as they come in JSON.
  const seen = new Map<string, number>()
  for (const [path, bytes] of files) {
    for (let at = 0; at < bytes.length; at++) {
      const changed = flipped(bytes, at)
      // Another name or key id makes it the signature of an unknown key, which confirms nothing.
      const isSigner = path === "seal.tlog-proof" && at > bytes.lastIndexOf(0x0a, -2)
      if (
        isSigner &&
        verifyPack(new Map([...files, [path, changed]]), trusting).verdict === "unconfirmed"
      )
        continue
      const failure = failureOf(new Map([...files, [path, changed]]), `${path}, byte ${at}`)
      const expected = path.startsWith("seal.")
        ? ["seal"]
        : path.startsWith("disclosures/")
          ? ["disclosures"]
          : ["manifest"]
      assert.ok(
        [...expected, ...(path === "manifest.json" ? ["seal"] : [])].includes(failure),
        `${path}, byte ${at}: ${failure}`,
      )
      seen.set(failure, (seen.get(failure) ?? 0) + 1)
    }
  }
  assert.deepEqual([...seen.keys()].toSorted(), ["disclosures", "manifest", "seal"])
})

test("a byte changed anywhere in a larger pack is found, in the archive and in its files", (context) => {
  const { below } = createChance(seedOf(context))
  const files = makePack({ count: 600, chosen: Array.from({ length: 530 }, (_, at) => at + 20) })
  const pack = zip(files)
  assert.equal(verifyPack(pack, trusting).verdict, "genuine")
  for (let round = 0; round < 60; round++) {
    const changed = pack.slice()
    const at = below(pack.length)
    changed[at] = (changed[at] ?? 0) ^ (1 + below(255))
    assert.equal(failureOf(changed, `byte ${at}`), "archive")
  }
  const paths = [...files.keys()]
  for (let round = 0; round < 60; round++) {
    const path = paths[below(paths.length)] ?? ""
    const changed = (files.get(path) ?? assert.fail()).slice()
    const at = below(changed.length)
    changed[at] = (changed[at] ?? 0) ^ (1 + below(255))
    const { verdict } = verifyPack(zip(new Map([...files, [path, changed]])), trusting)
    assert.notEqual(verdict, "genuine", `${path}, byte ${at}`)
  }
})

test("a disclosure may be missing, as after an erasure, and counts as withheld", () => {
  const files = makePack({ count: 3 })
  const path = disclosuresPath(0)
  const lines = (fromUtf8(files.get(path) ?? assert.fail()) ?? "").split("\n")
  const without = verifyPack(
    zip(new Map([...files, [path, utf8(lines.slice(1).join("\n"))]])),
    trusting,
  )
  assert.deepEqual([without.verdict, without.withheld], ["genuine", 1])
  files.delete(path)
  const all = verifyPack(zip(files), trusting)
  assert.deepEqual([all.verdict, all.withheld], ["genuine", 3])
})

test("a missing disclosure counts as erased if an entry of the pack says so", () => {
  const fields = [{ sequence: 1, digests: bodyOf(0).disclosures.map((text) => digest(text)) }]
  const erasure = { body: { ...bodyOf(2).body, metadata: { fields } }, disclosures: [] } as const
  const files = makePack({
    count: 3,
    say: (index) => (index === 2 ? { ...erasure, kind: "erasure" } : bodyOf(index)),
  })
  files.delete(disclosuresPath(0))
  const { verdict, withheld, erasedFields } = verifyPack(zip(files), trusting)
  assert.deepEqual([verdict, withheld, erasedFields], ["genuine", 2, 1])
})

/** Replaces text in a file, which must have it. */
function edit(files: Files, path: string, from: string | RegExp, to: string): void {
  const text = fromUtf8(files.get(path) ?? assert.fail(path)) ?? ""
  assert.notEqual(text.replace(from, to), text, `${path} has ${String(from)}`)
  files.set(path, utf8(text.replace(from, to)))
}

const other = proofPath(receiptOf(99))
const [first, second] = [proofPath(receiptOf(0)), proofPath(receiptOf(1))]
const bytesOf = (files: Files, path: string): Uint8Array => files.get(path) ?? assert.fail(path)

/** Forgeries by a holder of the ledger's key, and the check that finds each. */
const forgeries: readonly (readonly [
  expected: string,
  what: string,
  change: (files: Files, ledger: Ledger) => void,
])[] = [
  ["manifest", "a file that no pack has", (files) => files.set("extra.txt", utf8("x"))],
  ["manifest", "a file missing", (files) => files.delete("README.txt")],
  [
    "genesis",
    "a beginning that cannot be read",
    (files) => edit(files, "genesis.json", '"v":1', '"v":2'),
  ],
  [
    "checkpoint",
    "another beginning",
    (files) => edit(files, "genesis.json", origin, "ledger.example/ledgers/2"),
  ],
  ["checkpoint", "a key that is none", (files) => edit(files, "log.vkey", "\n", "")],
  [
    "checkpoint",
    "a policy that trusts another",
    (files) => edit(files, "policy.txt", "quorum none", "quorum x"),
  ],
  [
    "checkpoint",
    "a signature that does not hold",
    (files) => edit(files, "checkpoint", "\n6\n", "\n7\n"),
  ],
  [
    "seal",
    "another workspace's beginning",
    (files) => edit(files, "genesis.json", '"acme"', '"umbra"'),
  ],
  [
    "records",
    "an entry of another ledger",
    (files) => {
      const foreign = createLedger(canonicalize({ origin }))
      foreign.append("event", bodyOf(0).body)
      files.set(first, utf8(foreign.proof(0, foreign.checkpoint(1), 1)))
    },
  ],
  ["records", "a proof that cannot be read", (files) => edit(files, first, "index 0", "index 00")],
  ["records", "a proof of another place", (files) => edit(files, first, "index 0", "index 1")],
  ["records", "a proof twice", (files) => files.set(other, bytesOf(files, first))],
  [
    "inclusion",
    "a checkpoint of its own",
    (files, ledger) => files.set(first, utf8(ledger.proof(0, ledger.checkpoint(5), 5))),
  ],
  [
    "inclusion",
    "a way that leads elsewhere",
    (files) => edit(files, first, /\n[\w+/]{43}=\n/, `\n${"A".repeat(43)}=\n`),
  ],
  ["content", "a salt", (files) => edit(files, bodiesPath(0), /"salt":"09/, '"salt":"08')],
  ["content", "a word", (files) => edit(files, bodiesPath(0), "invoice", "voucher")],
  [
    "content",
    "bodies in another order",
    (files) => edit(files, bodiesPath(0), /^(.*\n)(.*\n)/, "$2$1"),
  ],
  ["content", "a body too many", (files) => edit(files, bodiesPath(0), /^(.*\n)/, "$1$1")],
  ["content", "a body without its newline", (files) => edit(files, bodiesPath(0), /\n$/, "")],
  ["content", "a proof gone", (files) => files.delete(first)],
  [
    "content",
    "proofs under each other's names",
    (files) => {
      const [a, b] = [bytesOf(files, first), bytesOf(files, second)]
      files.set(first, b).set(second, a)
    },
  ],
  ["content", "a second group of nothing", (files) => files.set(bodiesPath(1), utf8("x\n"))],
  [
    "disclosures",
    "of another entry",
    (files) => edit(files, disclosuresPath(0), '"index":0', '"index":5'),
  ],
  [
    "disclosures",
    "of an entry that is not in the pack",
    (files) => edit(files, disclosuresPath(0), '"index":5', '"index":6'),
  ],
  [
    "disclosures",
    "twice",
    (files) => edit(files, disclosuresPath(0), /"d":\["(.*?)"\]/, '"d":["$1","$1"]'),
  ],
  ["disclosures", "nothing", (files) => files.set(disclosuresPath(0), utf8(""))],
  [
    "disclosures",
    "of a group that is not there",
    (files) => files.set(disclosuresPath(1), bytesOf(files, disclosuresPath(0))),
  ],
  ["receipts", "another actor", (files) => edit(files, "receipts.jsonl", '"=1+1"', '"usr_2"')],
  ["receipts", "a line less", (files) => edit(files, "receipts.jsonl", /^.*\n/, "")],
  [
    "receipts",
    "what is sealed",
    (files) =>
      edit(files, "receipts.jsonl", '"type":"user"', '"email":"ada0@example.com","type":"user"'),
  ],
  ["table", "a formula", (files) => edit(files, "entries.csv", `"'=1+1"`, `"=1+1"`)],
  ["table", "a row too many", (files) => edit(files, "entries.csv", /(.*\r\n)$/, "$1$1")],
  [
    "policies",
    "another text",
    (files) => edit(files, policyPath("core", 1), "We use it.", "We sell it."),
  ],
  [
    "policies",
    "another version",
    (files) => files.set(policyPath("core", 2), bytesOf(files, policyPath("core", 1))),
  ],
  ["policies", "no policy", (files) => files.set(policyPath("core", 1), utf8("[]"))],
]

test("files that match a sealed manifest must also be consistent", () => {
  for (const [expected, what, change] of forgeries) {
    assert.equal(failureOf(zip(makePack({ count: 6, change })), what), expected, what)
  }
  const named = new Set(forgeries.map(([expected]) => expected))
  assert.deepEqual(
    allChecks.filter((name) => !named.has(name)),
    ["archive", "key"],
  )
})

test("no path of a pack leaves the folder that it is unpacked in, also of a pack as JSON", () => {
  const change = (files: Files) => {
    const policy = new TextDecoder().decode(bytesOf(files, policyPath("core", 1)))
    files.set(policyPath("..", 1), utf8(policy.replace('"projectId":"core"', '"projectId":".."')))
  }
  assert.equal(failureOf(makePack({ count: 2, change }), "a project above"), "manifest")
})

test("neighbouring entries are linked; a gap between entries is allowed", () => {
  assert.equal(failureOf(zip(makePack({ count: 6, unlinked: 0 })), "the first"), "records")
  assert.equal(failureOf(zip(makePack({ count: 6, unlinked: 3 })), "one of them"), "records")
  assert.equal(
    verifyPack(makePack({ count: 6, unlinked: 3, chosen: [0, 1, 3, 5] }), trusting).verdict,
    "genuine",
  )
})

test("only a later entry of the service about this very pack seals it", () => {
  const seal = (what: string, making: Partial<Making>) =>
    assert.equal(failureOf(zip(makePack({ count: 4, ...making })), what), "seal", what)
  const metadata = (change: object) => ({
    sealed: (said: JsonObject) => ({
      ...said,
      metadata: { ...(said["metadata"] as JsonObject), ...change },
    }),
  })
  seal("what a client wrote", { sealKind: "event" })
  seal("another act", { sealed: (said) => ({ ...said, action: "evidence.pack.download" }) })
  seal("another workspace", { sealed: (said) => ({ ...said, workspaceId: "umbra" }) })
  seal("another hash", metadata({ packHash: "0".repeat(64) }))
  seal("no hash", metadata({ packHash: null }))
  seal("another number of entries", metadata({ receiptCount: 5 }))
  seal("an _sd that is none", { sealed: (said) => ({ ...said, _sd: [] }) })
  seal("another hash of sealed fields", { sealed: (said) => ({ ...said, _sd_alg: "sha-512" }) })
  seal("nothing", { sealed: ({ metadata: _, ...said }) => said })

  const files = makePack({ count: 4 })
  const swapped = (path: string, from: Files) => new Map([...files, [path, bytesOf(from, path)]])
  const later = makePack({ count: 5 })
  for (const path of ["seal.json", "seal.tlog-proof"])
    assert.equal(failureOf(swapped(path, later), path), "seal")
  assert.equal(
    failureOf(
      new Map([...files, ["seal.tlog-proof", bytesOf(files, first)]]),
      "an entry of the pack itself",
    ),
    "seal",
  )
})

test("a pack is genuine only under a trusted key that signed both checkpoints", () => {
  const [next, stranger] = [signerOf(origin, 8), signerOf(origin, 9)]
  const cases: readonly (readonly [what: string, signers: Making["signers"], verdicts: string])[] =
    [
      [
        "both sign, the new one first",
        [
          [next, signer],
          [next, signer],
        ],
        "old next both",
      ],
      ["sealed after the rotation", [[signer], [next, signer]], "old both"],
      ["sealed when the key before had gone", [[signer], [next]], "both"],
      ["a stranger signs beside, and seals alone", [[stranger, signer], [stranger]], ""],
      ["a stranger signs alone", [[stranger], [stranger, signer]], ""],
    ]
  const trusted = { old: [vkey], next: [vkeyOf(next)], both: [vkeyOf(next), vkey], none: [] }
  for (const [what, signers, expected] of cases) {
    const files = makePack({ count: 2, ...(signers && { signers }) })
    const verdicts = Object.entries(trusted).map(([name, trustedKeys]) => [
      name,
      verifyPack(files, { ...trusting, trustedKeys }).verdict,
    ])
    const genuine = verdicts.filter(([, verdict]) => verdict === "genuine").map(([name]) => name)
    assert.equal(genuine.join(" "), expected, what)
    assert.ok(
      verdicts.every(([, verdict]) => verdict !== "refuted"),
      what,
    )
  }
})

test("any files lead to a verdict", (context) => {
  const { below } = createChance(seedOf(context))
  const files = makePack({ count: 2 })
  const paths = [...files.keys()]
  for (let round = 0; round < 300; round++) {
    const path = paths[below(paths.length)] ?? ""
    const bytes = files.get(path) ?? assert.fail()
    const cut = bytes.slice(0, below(bytes.length))
    // Whole lines of disclosures may be withheld.
    if (path.startsWith("disclosures/") && (cut.length === 0 || cut.at(-1) === 0x0a)) continue
    failureOf(zip(new Map([...files, [path, cut]])), `${path} cut to ${cut.length}`)
  }
  for (const nothing of [new Map(), new Uint8Array(), utf8("PK"), zip(new Map())]) {
    assert.ok(["archive", "manifest"].includes(failureOf(nothing, "nothing")))
  }
})
