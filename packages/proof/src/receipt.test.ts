import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { bodyHash } from "./body.ts"
import { canonicalize } from "./canonical.ts"
import { formatCheckpoint } from "./checkpoint.ts"
import { toBase64, toHex, utf8 } from "./encoding.ts"
import { createFrontier } from "./frontier.ts"
import { ledgerId as ledgerIdOf } from "./genesis.ts"
import { parseJson, type Json, type JsonObject } from "./json.ts"
import { cosign, signNote, type Signer } from "./note.ts"
import { verifyReceipt, type ReceiptOptions, type Verdict } from "./receipt.ts"
import { encodeRecord, eventHash, parseRecord, type Kind } from "./record.ts"
import { digest, disclosure } from "./sealed.ts"
import { maskEmail } from "./shown.ts"
import { formatTlogProof } from "./tlog-proof.ts"
import { inclusionProof } from "./tree-proof.ts"
import { createVkey, formatVkey } from "./vkey.ts"
import { native } from "../../../test/native.ts"
import { signerOf, vkeyOf } from "../../../test/signers.ts"

// A ledger of five entries, made like the service makes them, and the API's answers about them.

const origin = "ledger.example/own"
const log = signerOf(origin, 1)
const impostor = signerOf(origin, 2)
const witness = signerOf("witness.example", 3)
const vkey = vkeyOf(log)
const trusting = { trustedKeys: [vkey] }

const size = 5
/**
 * The ledger continues another one, and may be continued by a later one. A verifier without the
 * geneses counts from the ledger's own first entry.
 */
const genesisOf = (name: string, continues?: Json, workspaceId = "acme"): string =>
  canonicalize({
    createdAt: "2026-01-01T00:00:00.000Z",
    nonce: "oKGio6SlpqeoqaqrrK2urw",
    origin: `ledger.example/${name}`,
    v: 1,
    workspaceId,
    ...(continues !== undefined && { continues }),
  })
const goingOn = (name: string, before: string, size: number, from: string): string =>
  genesisOf(name, {
    ledgerId: toHex(ledgerIdOf(from)),
    origin: `ledger.example/${before}`,
    size,
    root: "00".repeat(32),
    lostSize: null,
    lostRoot: null,
  })
const earlierGenesis = genesisOf("earlier")
const ownGenesis = goingOn("own", "earlier", 100, earlierGenesis)
const ledgerId = ledgerIdOf(ownGenesis)
const bodySalt = new Uint8Array(16).fill(8)

const sealed = {
  email: disclosure(new Uint8Array(16).fill(1), "email", "ada@example.com"),
  other: disclosure(new Uint8Array(16).fill(2), "other", { team: "red", tags: ["a", 1] }),
  name: disclosure(new Uint8Array(16).fill(3), "name", "Invoice 9"),
  context: disclosure(new Uint8Array(16).fill(4), "context", {
    environment: "prod",
    requestId: "r-1",
  }),
  iban: disclosure(new Uint8Array(16).fill(5), "iban", "DE00 1234"),
}
const allDisclosures = Object.values(sealed)

function bodyOf(index: number): JsonObject {
  return {
    _sd: [digest(sealed.context)],
    _sd_alg: "sha-256",
    action: "billing.invoice.approve",
    actor: { _sd: [digest(sealed.email), digest(sealed.other)].sort(), id: "usr_1", type: "user" },
    clockAhead: true,
    id: `evt_${index}`,
    keyId: "key_1",
    lane: "operations",
    metadata: { _sd: [digest(sealed.iban)], amount: 1299.5, lines: [{ n: 1 }, "\n"], "\n": "odd" },
    occurredAt: "2026-01-01T00:00:00+01:00",
    policyVersion: 3,
    projectId: "core",
    receipt: `rcp_${index}`,
    receivedAt: "2026-01-01T00:00:00.123Z",
    source: "api",
    target: { _sd: [digest(sealed.name)], id: "inv_9", type: "invoice" },
    userVisible: true,
    v: 1,
    workspaceId: "acme",
  }
}

type Parts = { record: Uint8Array; body: string; leaves: Uint8Array[]; root: Uint8Array }

/** The chain up to `size`, with the given `body` at `index`. */
function chain(index: number, body: string, kind: Kind = "event"): Parts {
  const frontier = createFrontier()
  const leaves: Uint8Array[] = []
  const records: Uint8Array[] = []
  for (let i = 0; i < size; i++) {
    const text = i === index ? body : canonicalize(bodyOf(i))
    const previousHash = leaves[i - 1] ?? ledgerId
    records.push(
      encodeRecord({
        kind,
        index: i,
        timeMs: 1767225600123 + i,
        ledgerId,
        previousHash,
        bodyHash: bodyHash(bodySalt, utf8(text)),
      }),
    )
    leaves.push(eventHash(records[i] as Uint8Array))
    frontier.append(leaves[i] as Uint8Array)
  }
  return { record: records[index] as Uint8Array, body, leaves, root: frontier.root() }
}

function proofOf({ leaves, root }: Parts, index: number, ...signers: Signer[]): string {
  const checkpoint = signNote(formatCheckpoint({ origin, size, root }), ...signers)
  const node = (level: number, n: number): Uint8Array =>
    level === 0 ? (leaves[n] as Uint8Array) : createNode(leaves, level, n)
  return formatTlogProof({ index, hashes: inclusionProof(index, size, node), checkpoint })
}

function createNode(leaves: Uint8Array[], level: number, n: number): Uint8Array {
  const frontier = createFrontier()
  for (const leaf of leaves.slice(n * 2 ** level, (n + 1) * 2 ** level)) frontier.append(leaf)
  return frontier.root()
}

type Answer = {
  receipt: Record<string, unknown>
  entry: Record<string, unknown>
  verified: boolean
  proof: Record<string, unknown>
  disclosures: string[]
}

/** The answer for a reader with all rights. */
function answerFor(
  index: number,
  body: string = canonicalize(bodyOf(index)),
  kind: Kind = "event",
): Answer {
  const parts = chain(index, body, kind)
  const eventHashText = toHex(eventHash(parts.record))
  const previousHash = toHex(parts.leaves[index - 1] ?? ledgerId)
  const actor = { id: "usr_1", type: "user", email: "ada@example.com", team: "red", tags: ["a", 1] }
  const target = { id: "inv_9", type: "invoice", name: "Invoice 9" }
  const provenance = { environment: "prod", requestId: "r-1", keyId: "key_1" }
  const common = {
    receipt: `rcp_${index}`,
    previousHash,
    sequence: index + 1,
    timestamp: `2026-01-01T00:00:00.${123 + index}Z`,
    actor,
    target,
    lane: "operations",
    receivedAt: "2026-01-01T00:00:00.123Z",
    provenance,
    policyVersion: 3,
  }
  const shown = {
    storageClass: "hot",
    verificationUrl: `https://ledger.example/v1/workspaces/acme/receipts/rcp_${index}`,
    queued: false,
    accepted: true,
  }
  return copyOf({
    receipt: { ...common, eventId: `evt_${index}`, eventHash: eventHashText, ...shown },
    entry: {
      ...common,
      workspaceId: "acme",
      projectId: "core",
      action: "billing.invoice.approve",
      occurredAt: "2026-01-01T00:00:00+01:00",
      metadata: { amount: 1299.5, lines: [{ n: 1 }, "\n"], iban: "DE00 1234", "\n": "odd" },
      userVisible: true,
      id: `evt_${index}`,
      hash: eventHashText,
      kind,
      source: "api",
      clockAhead: true,
      storageTier: "hot",
      integrity: "verified",
    },
    verified: true,
    proof: {
      record: toBase64(parts.record),
      body,
      bodySalt: toHex(bodySalt),
      vkey,
      tlogProof: proofOf(parts, index, log),
    },
    disclosures: allDisclosures,
  })
}

const answer = answerFor(3)
const uncovered = [
  "receipt.storageClass",
  "receipt.verificationUrl",
  "receipt.queued",
  "entry.storageTier",
]

function edited(change: (answer: Answer) => void, from = answer): Answer {
  const copy = copyOf(from)
  change(copy)
  return copy
}

function refutation(given: unknown, options: ReceiptOptions = trusting): [string, string?] {
  const verdict = verifyReceipt(given, options)
  assert.equal(verdict.verdict, "refuted", JSON.stringify(verdict))
  return verdict.verdict === "refuted"
    ? ([verdict.failure, ...(verdict.field === undefined ? [] : [verdict.field])] as [
        string,
        string?,
      ])
    : [""]
}

function because(given: unknown, options: ReceiptOptions = trusting): string {
  const verdict = verifyReceipt(given, options)
  assert.equal(verdict.verdict, "unconfirmed", JSON.stringify(verdict))
  return verdict.verdict === "unconfirmed" ? verdict.because : ""
}

const checksOf = (verdict: Verdict) =>
  verdict.checks.map(({ name, ok }) => `${name}${ok ? "" : " fails"}`)

test("a receipt of a trusted log is genuine, and lists its checks", () => {
  for (let index = 0; index < size; index++) {
    const verdict = verifyReceipt(answerFor(index), { ...trusting, receiptId: `rcp_${index}` })
    assert.equal(verdict.verdict, "genuine", JSON.stringify(verdict))
    assert.deepEqual(checksOf(verdict), [
      ..."record content canonical disclosures receipt checkpoint inclusion".split(" "),
      ...(index % 2 === 1 ? ["link"] : []),
      ..."integrity key".split(" "),
    ])
    assert.deepEqual(verdict.uncovered, uncovered)
    assert.equal(verdict.record?.index, index)
    assert.equal(verdict.eventHash, answerFor(index).receipt["eventHash"])
    assert.equal(verdict.withheld, 0)
    assert.deepEqual(verdict.content?.["context"], { environment: "prod", requestId: "r-1" })
    assert.equal(verdict.checkpoint?.size, size)
    assert.equal(verdict.signatures?.[0]?.key.name, origin)
  }
})

test("an entry of a list, with its proof inside, and a bare proof are checked too", () => {
  const { entry, proof, disclosures } = answer
  const listed = verifyReceipt(
    { entry: { ...entry, proof, disclosures }, proof, disclosures },
    trusting,
  )
  assert.equal(listed.verdict, "genuine")
  assert.deepEqual(listed.uncovered, ["entry.storageTier"])
  assert.equal(verifyReceipt({ proof, disclosures }, trusting).verdict, "genuine")
  assert.equal(
    verifyReceipt({ proof, disclosures: [], receipt: null, entry: null }, trusting).verdict,
    "genuine",
  )
})

test("each kind of entry is named", () => {
  for (const kind of [
    "event",
    "consent",
    "policy",
    "erasure",
    "key",
    "anchor",
    "retention",
    "admin",
  ] as const) {
    const given = answerFor(2, undefined, kind)
    assert.equal(verifyReceipt(given, trusting).verdict, "genuine")
    const other = edited(
      (copy) => (copy.entry["kind"] = kind === "event" ? "consent" : "event"),
      given,
    )
    assert.deepEqual(refutation(other), ["receipt", "entry.kind"])
  }
})

test("sealed fields may be withheld, each by itself", () => {
  const withheld = edited((copy) => {
    copy.disclosures = [sealed.iban]
    copy.receipt["actor"] = { id: "usr_1", type: "user", email: "a•••@example.com" }
    copy.entry["actor"] = { id: "usr_1", type: "user" }
    copy.receipt["target"] = copy.entry["target"] = { id: "inv_9", type: "invoice" }
    delete copy.receipt["provenance"]
    copy.entry["provenance"] = { keyId: "key_1" }
  })
  const verdict = verifyReceipt(withheld, trusting)
  assert.equal(verdict.verdict, "genuine", JSON.stringify(verdict))
  assert.equal(verdict.withheld, 4)
  // Nothing proves the mask of a withheld e-mail.
  assert.deepEqual(verdict.uncovered, ["receipt.actor.email", ...uncovered])
  // What is withheld may be erased, and nothing proves that either.
  const erased = edited((copy) => (copy.entry["integrity"] = "erased"), withheld)
  const { verdict: found, uncovered: unproven } = verifyReceipt(erased, trusting)
  assert.deepEqual([found, unproven.includes("entry.integrity")], ["genuine", true])

  const inClear = { email: "ada@example.com", name: "Ada", team: "red" }
  for (const [member, value] of Object.entries(inClear)) {
    const claimed = edited(
      (copy) => (copy.receipt["actor"] = { id: "usr_1", type: "user", [member]: value }),
      withheld,
    )
    assert.deepEqual(refutation(claimed), ["receipt", `receipt.actor.${member}`])
  }
  assert.deepEqual(
    refutation(
      edited(
        (copy) => (copy.receipt["target"] = { id: "inv_9", type: "invoice", name: "x" }),
        withheld,
      ),
    ),
    ["receipt", "receipt.target.name"],
  )
  const requestId = edited((copy) => (copy.entry["provenance"] = { requestId: "r-1" }), withheld)
  assert.deepEqual(refutation(requestId), ["receipt", "entry.provenance.requestId"])
})

test("a mask must match a disclosed e-mail, and must be absent if there is no e-mail", () => {
  const masked = (email: string) =>
    edited((copy) => ((copy.receipt["actor"] as JsonObject & { email: string }).email = email))
  assert.equal(verifyReceipt(masked("a•••@example.com"), trusting).verdict, "genuine")
  for (const email of [
    "b•••@example.com",
    "a•••@evil.com",
    "a•••",
    "•••@example.com",
    "a••@example.com",
  ]) {
    assert.deepEqual(refutation(masked(email)), ["receipt", "receipt.actor.email"])
  }
  const { other: _, ...others } = sealed
  const withoutOther = edited((copy) => {
    copy.disclosures = Object.values(others)
    copy.receipt["actor"] = copy.entry["actor"] = {
      id: "usr_1",
      type: "user",
      email: "b•••@example.com",
    }
  })
  assert.deepEqual(refutation(withoutOther), ["receipt", "receipt.actor.email"])
  const onTarget = edited(
    (copy) =>
      ((copy.receipt["target"] as JsonObject & { email: string }).email = "a•••@example.com"),
  )
  assert.deepEqual(refutation(onTarget), ["receipt", "receipt.target.email"])
  assert.deepEqual(["ada@example.com", "😀x@y@z.org", "nobody", ""].map(maskEmail), [
    "a•••@example.com",
    "😀•••@z.org",
    "n•••",
    "•••",
  ])
})

test("every field that differs from the hashed content is named", () => {
  let fields = 0
  for (const part of ["receipt", "entry"] as const) {
    for (const [name, value] of Object.entries(answer[part])) {
      const path = `${part}.${name}`
      const wrong: unknown[] =
        typeof value === "number"
          ? [value + 1, String(value), null]
          : [`${String(value)}x`, null, [value], {}, 0]
      if (uncovered.includes(path)) continue
      const nested = typeof value === "object" && value !== null
      for (const other of wrong.filter((one) => !nested || JSON.stringify(one) !== "{}")) {
        const check = path === "entry.integrity" ? "integrity" : "receipt"
        assert.deepEqual(
          refutation(edited((copy) => (copy[part][name] = other))),
          [check, path],
          JSON.stringify(other),
        )
      }
      for (const [member, inner] of nested ? Object.entries(value) : []) {
        const change = (to: unknown) =>
          edited((copy) => ((copy[part][name] as Record<string, unknown>)[member] = to))
        for (const other of [`${String(inner)}x`, null, [inner]])
          assert.deepEqual(refutation(change(other)), ["receipt", `${path}.${member}`])
        fields++
      }
      fields++
    }
  }
  assert.equal(fields, 61)
})

test("a value without a hash cannot be shown as a hashed one", () => {
  const { policyVersion: _, clockAhead: __, keyId: ___, ...body } = bodyOf(3)
  const given = answerFor(3, canonicalize(body))
  for (const [part, name] of [
    ["receipt", "policyVersion"],
    ["entry", "policyVersion"],
    ["entry", "clockAhead"],
  ] as const) {
    const other = edited((copy) => {
      for (const one of [copy.receipt, copy.entry]) {
        for (const field of ["policyVersion", "clockAhead"])
          if (one !== copy[part] || field !== name) delete one[field]
        one["provenance"] = {}
      }
    }, given)
    assert.deepEqual(refutation(other), ["receipt", `${part}.${name}`])
  }
  assert.deepEqual(
    refutation(
      edited(
        (copy) => (copy.entry["metadata"] = { ...(copy.entry["metadata"] as object), more: 1 }),
      ),
    ),
    ["receipt", "entry.metadata.more"],
  )
  const inherited = edited(
    (copy) =>
      (copy.entry["metadata"] = parseJson(
        JSON.stringify(copy.entry["metadata"]).replace("{", '{"__proto__":{},'),
      )),
  )
  assert.deepEqual(refutation(inherited), ["receipt", "entry.metadata.__proto__"])
  // Members of Object.prototype are no fields.
  assert.deepEqual(
    refutation(
      edited(
        (copy) => (copy.entry["metadata"] = { ...(copy.entry["metadata"] as object), toString: 1 }),
      ),
    ),
    ["receipt", "entry.metadata.toString"],
  )
})

test("a claim for further members of a party does not replace its own members", () => {
  const other = disclosure(new Uint8Array(16).fill(2), "other", { id: "usr_2", team: "blue" })
  const given = answerFor(
    3,
    canonicalize({ ...bodyOf(3), actor: { _sd: [digest(other)], id: "usr_1", type: "user" } }),
  )
  const shown = (id: string) =>
    edited((copy) => {
      copy.disclosures = [...Object.values(sealed).slice(2), other]
      copy.receipt["actor"] = copy.entry["actor"] = { id, type: "user", team: "blue" }
    }, given)
  assert.equal(verifyReceipt(shown("usr_1"), trusting).verdict, "genuine")
  assert.deepEqual(refutation(shown("usr_2")), ["receipt", "receipt.actor.id"])
})

test("a shown object must have every member that was hashed in clear", () => {
  for (const [name, member] of [
    ["metadata", "amount"],
    ["actor", "id"],
    ["target", "type"],
  ] as const) {
    const given = edited((copy) => delete (copy.entry[name] as Record<string, unknown>)[member])
    assert.deepEqual(refutation(given), ["receipt", `entry.${name}.${member}`])
  }
})

test("metadata that is sealed as a whole may be shown, or not", () => {
  const metadata: Json = { ssn: "1" }
  const whole = disclosure(new Uint8Array(16).fill(6), "metadata", metadata)
  const { metadata: _, ...rest } = bodyOf(3)
  const given = answerFor(
    3,
    canonicalize({ ...rest, _sd: [digest(sealed.context), digest(whole)].sort() }),
  )
  const { iban: __, ...others } = sealed
  const shown = edited((copy) => {
    copy.disclosures = [...Object.values(others), whole]
    copy.entry["metadata"] = metadata
  }, given)
  assert.equal(verifyReceipt(shown, trusting).verdict, "genuine")
  const hidden = edited((copy) => {
    copy.disclosures = Object.values(others)
    copy.entry["metadata"] = {}
  }, given)
  assert.equal(verifyReceipt(hidden, trusting).verdict, "genuine")
  assert.deepEqual(refutation(edited((copy) => (copy.entry["metadata"] = metadata), hidden)), [
    "receipt",
    "entry.metadata.ssn",
  ])
})

test("members that no hash covers are named wherever they are, and repeated values must agree", () => {
  const added = edited((copy) => {
    copy.receipt["approvedBy"] = copy.entry["approvedBy"] = copy.proof["approvedBy"] = "the CFO"
    Object.assign(copy, { approvedBy: "the CFO" })
  })
  const verdict = verifyReceipt(added, trusting)
  assert.equal(verdict.verdict, "genuine")
  assert.deepEqual(
    new Set(verdict.uncovered),
    new Set([...uncovered, ...["receipt.", "entry.", "", "proof."].map((at) => `${at}approvedBy`)]),
  )

  const archived = (change: (copy: Answer) => void) => refutation(edited(change))
  assert.deepEqual(
    archived((copy) => (copy.receipt["storageClass"] = "archive")),
    ["receipt", "entry.storageTier"],
  )
  for (const [part, name, ...wrong] of [
    ["receipt", "storageClass", "cold", 1, null],
    ["entry", "storageTier", "", [], {}],
    ["receipt", "queued", "false", 0, null],
  ] as const)
    for (const value of wrong) {
      const given = edited((copy) => {
        if (name !== "queued")
          delete copy[part === "receipt" ? "entry" : "receipt"][
            part === "receipt" ? "storageTier" : "storageClass"
          ]
        copy[part][name] = value
      })
      assert.deepEqual(refutation(given), ["receipt", `${part}.${name}`], JSON.stringify(value))
    }
  const masked = (mask: string) =>
    edited((copy) => {
      copy.disclosures = copy.disclosures.filter((one) => one !== sealed.email)
      copy.receipt["actor"] = { id: "usr_1", type: "user", email: "a•••@example.com" }
      copy.entry["actor"] = { id: "usr_1", type: "user", email: mask }
    })
  assert.deepEqual(verifyReceipt(masked("a•••@example.com"), trusting).uncovered.slice(0, 1), [
    "receipt.actor.email",
  ])
  assert.deepEqual(refutation(masked("b•••@example.com")), ["receipt", "entry.actor.email"])
  const twoDomains = edited((copy) => {
    copy.disclosures = copy.disclosures.filter((one) => one !== sealed.email)
    copy.receipt["actor"] = { id: "usr_1", type: "user" }
    copy.entry["actor"] = { id: "usr_1", type: "user", email: "a•••@b@example.com" }
  })
  assert.deepEqual(refutation(twoDomains), ["receipt", "entry.actor.email"])
})

test("an address of another receipt, or a malformed one, is refuted; no hash covers the service's own address", () => {
  const at = (url: unknown) => edited((copy) => (copy.receipt["verificationUrl"] = url))
  const end = "/v1/workspaces/acme/receipts/rcp_3"
  for (const good of ["http://127.0.0.1:8080", "https://elsewhere.example/audit"])
    assert.ok(
      verifyReceipt(at(good + end), trusting).uncovered.includes("receipt.verificationUrl"),
      good,
    )
  const bad = [
    `${end}`,
    `https://${end}`,
    `javascript:x${end}`,
    `https://a.example${end}?x`,
    `https://a.example/?x=${end}`,
    `https://a.example/#${end}`,
  ]
  for (const url of [
    ...bad,
    `https://ledger.example@evil.example${end}`,
    "https://ledger.example/v1/workspaces/acme/receipts/rcp_4",
    1,
    null,
  ])
    assert.deepEqual(refutation(at(url)), ["receipt", "receipt.verificationUrl"], String(url))
})

test("a text with a duplicate member is refused, because two readers would read it differently", () => {
  const text = JSON.stringify(answer)
  assert.equal(verifyReceipt(text, trusting).verdict, "genuine")
  for (const [from, to, field] of [
    ['"entry":{', '"entry":{"action":"x.y",', "action"],
    ['"proof":{', '"proof":{"record":"AAAA",', "record"],
    ["{", '{"disclosures":[],', "disclosures"],
    ['"amount":', '"\\u0061mount":1,"amount":', "amount"],
  ] as const) {
    const twice = text.replace(from, to)
    assert.equal(
      verifyReceipt(JSON.parse(twice), trusting).verdict,
      "genuine",
      "JSON.parse does not see it",
    )
    assert.deepEqual(refutation(twice), ["malformed", field])
  }
})

test("a receipt with something missing is unconfirmed, and the verdict names what is missing", () => {
  assert.equal(because(answer, {}), "key_not_trusted")
  assert.equal(
    because(answer, { trustedKeys: [vkeyOf(impostor), "junk", `${vkey} `] }),
    "key_not_trusted",
  )
  assert.equal(because(edited((copy) => (copy.proof["tlogProof"] = null))), "not_sealed")
  assert.equal(
    because(
      edited((copy) => (copy.proof["tlogProof"] = null)),
      {},
    ),
    "not_sealed",
  )
  for (const given of [
    {},
    { proof: null },
    { receipt: answer.receipt, entry: answer.entry, verified: true },
  ]) {
    assert.equal(because(given), "proof_missing")
  }
  assert.deepEqual(checksOf(verifyReceipt(answer)), [
    "record",
    "content",
    "canonical",
    "disclosures",
    "receipt",
    "checkpoint",
    "inclusion",
    "link",
    "integrity",
    "key fails",
  ])
})

test("an entry that does not name the one before it is refuted, though its log signed it", () => {
  const parts = chain(3, answer.proof["body"] as string)
  const fields = parseRecord(parts.record) ?? assert.fail()
  const record = encodeRecord({ ...fields, previousHash: ledgerId })
  const leaves = parts.leaves.with(3, eventHash(record))
  const tree = createFrontier()
  for (const leaf of leaves) tree.append(leaf)
  const { receipt: _, entry: __, ...bare } = answer
  const proof = { ...answer.proof, record: toBase64(record) }
  const tlogProof = proofOf({ ...parts, leaves, root: tree.root() }, 3, log)
  const verdict = verifyReceipt({ ...bare, proof: { ...proof, tlogProof } }, trusting)
  assert.deepEqual(checksOf(verdict).slice(-2), ["inclusion", "link fails"])
  assert.equal(verdict.verdict === "refuted" && verdict.found, toHex(ledgerId))
})

test("anyone can make a key with the log's name, so only a trusted key counts", () => {
  const parts = chain(3, canonicalize(bodyOf(3)))
  const forged = edited((copy) => {
    copy.proof["tlogProof"] = proofOf(parts, 3, impostor)
    copy.proof["vkey"] = vkeyOf(impostor)
  })
  assert.equal(because(forged), "key_not_trusted")
  assert.deepEqual(refutation(edited((copy) => (copy.proof["vkey"] = vkey), forged)), [
    "signature",
    "proof.tlogProof",
  ])
  // While one key takes over from the other, both sign.
  const both = edited((copy) => (copy.proof["tlogProof"] = proofOf(parts, 3, impostor, log)))
  for (const key of [vkey, vkeyOf(impostor)])
    assert.equal(verifyReceipt(both, { trustedKeys: [key] }).verdict, "genuine")
})

test("a key that is named but did not sign is listed as not covered", () => {
  const named = edited((copy) => (copy.proof["vkey"] = vkeyOf(impostor)))
  const verdict = verifyReceipt(named, trusting)
  assert.deepEqual([verdict.verdict, verdict.uncovered.at(-1)], ["genuine", "proof.vkey"])
})

test("a trusted key is enough, without the answer's own", () => {
  const without = edited((copy) => (copy.proof["vkey"] = null))
  assert.equal(verifyReceipt(without, trusting).verdict, "genuine")
  assert.deepEqual(refutation(without, {}), ["signature", "proof.tlogProof"])
})

test("a trusted witness does not replace the log's signature, and a forged one refutes", () => {
  const witnessVkey = formatVkey(createVkey(witness.name, witness.publicKey, "cosignature"))
  const text = formatCheckpoint({ origin, size, root: chain(3, canonicalize(bodyOf(3))).root })
  const line = cosign(text, 1700000000, witness)
  const witnessed = edited(
    (copy) => (copy.proof["tlogProof"] = `${String(copy.proof["tlogProof"])}${line}`),
  )
  const verdict = verifyReceipt(witnessed, { trustedKeys: [vkey, witnessVkey] })
  assert.equal(verdict.verdict, "genuine")
  assert.equal(
    verdict.signatures?.find(({ key }) => key.type === "cosignature")?.timeSeconds,
    1700000000,
  )
  assert.equal(because(witnessed, { trustedKeys: [witnessVkey] }), "key_not_trusted")
  const forged = edited(
    (copy) =>
      (copy.proof["tlogProof"] =
        String(copy.proof["tlogProof"]) + cosign(`${text}x\n`, 1700000000, witness)),
  )
  assert.deepEqual(refutation(forged, { trustedKeys: [vkey, witnessVkey] }), [
    "signature",
    "proof.tlogProof",
  ])
  assert.equal(verifyReceipt(forged, trusting).verdict, "genuine")
})

test("each kind of fault has its class", () => {
  const body = answer.proof["body"] as string
  const content = verifyReceipt(
    edited((copy) => (copy.proof["body"] = body.replace("1299.5", "1299.6"))),
    trusting,
  )
  assert.ok(
    content.verdict === "refuted" &&
      content.failure === "content" &&
      content.field === "proof.body",
  )
  assert.match(content.expected ?? "", /^[0-9a-f]{64}$/)
  assert.match(content.found ?? "", /^[0-9a-f]{64}$/)
  assert.deepEqual(checksOf(content), ["record", "content fails"])
  assert.deepEqual(refutation(edited((copy) => (copy.proof["bodySalt"] = "00".repeat(16)))), [
    "content",
    "proof.body",
  ])

  for (const text of [
    `${body} `,
    body.replace("{", '{"v":1,'),
    "[]",
    "null",
    "",
    '{"v":1,"v":1}',
    "{",
  ]) {
    assert.deepEqual(refutation(answerFor(3, text)), ["canonical", "proof.body"], text)
  }
  assert.deepEqual(refutation(answerFor(3, canonicalize({ ...bodyOf(3), v: 2 }))), [
    "malformed",
    "proof.body",
  ])

  const disclosures = (given: string[]) => edited((copy) => (copy.disclosures = given))
  const stranger = disclosure(new Uint8Array(16).fill(7), "email", "ada@example.com")
  for (const given of [
    [...allDisclosures, stranger],
    [stranger],
    ["x"],
    [sealed.email, sealed.email],
  ]) {
    assert.deepEqual(refutation(disclosures(given)), ["disclosure", "disclosures"])
  }

  const proof = answer.proof["tlogProof"] as string
  const tlogProof = (text: string) => edited((copy) => (copy.proof["tlogProof"] = text))
  assert.deepEqual(refutation(tlogProof(proof.replace("index 3", "index 2"))), [
    "inclusion",
    "proof.tlogProof",
  ])
  assert.deepEqual(refutation(tlogProof(answerFor(2).proof["tlogProof"] as string)), [
    "inclusion",
    "proof.tlogProof",
  ])
  assert.deepEqual(refutation(tlogProof(proof.replace(`\n${size}\n`, `\n${size + 1}\n`))), [
    "signature",
    "proof.tlogProof",
  ])
  assert.deepEqual(refutation(tlogProof(proof.replace("index 3", "index 03"))), [
    "malformed",
    "proof.tlogProof",
  ])
  assert.deepEqual(refutation(tlogProof(proof.replace("index 3", "extra QUJD\nindex 3"))), [
    "record",
    "proof.tlogProof",
  ])
  const foreign = signerOf("other.example", 4)
  const signedByOther = edited((copy) => {
    copy.proof["tlogProof"] = proofOf(chain(3, body), 3, foreign)
    copy.proof["vkey"] = vkeyOf(foreign)
  })
  assert.deepEqual(refutation(signedByOther), ["origin", "proof.tlogProof"])
  assert.deepEqual(refutation(signedByOther, { trustedKeys: [vkeyOf(foreign)] }), [
    "origin",
    "proof.tlogProof",
  ])

  // The first entry follows the genesis.
  const fields = {
    kind: "event",
    index: 0,
    timeMs: 1,
    ledgerId,
    bodyHash: bodyHash(bodySalt, utf8(body)),
  } as const
  const orphan = encodeRecord({ ...fields, previousHash: new Uint8Array(32) })
  assert.deepEqual(refutation({ proof: { record: toBase64(orphan) } }), ["record", "proof.record"])
})

test("malformed answers are refuted, with the place of the fault", () => {
  for (const given of [undefined, null, 1, "x", [], [answer]])
    assert.deepEqual(refutation(given), ["malformed"])
  const values: [string, unknown[]][] = [
    ["proof", ["x", 1, [], true]],
    ["proof.record", [undefined, null, 1, "", "x", "=", [], "QUJ"]],
    ["proof.body", [1, {}, [], "\ud800"]],
    ["proof.bodySalt", [1, "x", "00", "00".repeat(17), "AA".repeat(16), null]],
    ["proof.vkey", [1, "x", {}, "", formatVkey(createVkey("w", witness.publicKey, "cosignature"))]],
    ["proof.tlogProof", [1, {}, true, "", "x"]],
    ["disclosures", [1, "x", {}, [1], [null], Array(1)]],
    ["receipt", [1, "x", [], true]],
    ["entry", [1, "x", [], true]],
  ]
  for (const [path, wrong] of values) {
    const [first = "", second] = path.split(".")
    for (const value of wrong) {
      const given = edited((copy) => {
        if (second === undefined) (copy as unknown as Record<string, unknown>)[first] = value
        else (copy as unknown as Record<string, Record<string, unknown>>)[first]![second] = value
      })
      const expected = path === "proof.record" && value === "" ? "record" : "malformed"
      assert.deepEqual(refutation(given), [expected, path], `${path} = ${JSON.stringify(value)}`)
    }
  }
})

test("without its body a record verifies, but its content does not", () => {
  const gone = edited((copy) => {
    copy.disclosures = []
    copy.proof["body"] = copy.proof["bodySalt"] = null
  })
  const verdict = verifyReceipt(gone, trusting)
  assert.ok(verdict.verdict === "unconfirmed" && verdict.because === "content_missing")
  assert.deepEqual(checksOf(verdict), "record receipt checkpoint inclusion link key".split(" "))
  for (const name of ["action", "actor", "metadata", "receipt", "lane"])
    assert.ok(verdict.uncovered.includes(`entry.${name}`), name)
  for (const name of ["hash", "previousHash", "sequence", "timestamp", "kind"])
    assert.ok(!verdict.uncovered.includes(`entry.${name}`), name)
  assert.deepEqual(refutation(edited((copy) => (copy.entry["sequence"] = 9), gone)), [
    "receipt",
    "entry.sequence",
  ])
  assert.deepEqual(refutation(edited((copy) => (copy.disclosures = [sealed.email]), gone)), [
    "disclosure",
    "disclosures",
  ])
  assert.deepEqual(refutation(edited((copy) => (copy.proof["bodySalt"] = "00".repeat(16)), gone)), [
    "malformed",
    "proof.body",
  ])
})

test("the receipt must be the one that was asked for", () => {
  assert.deepEqual(refutation(answer, { ...trusting, receiptId: "rcp_4" }), [
    "receipt",
    "proof.body",
  ])
  assert.deepEqual(refutation(answer, { ...trusting, workspaceId: "umbra" }), [
    "receipt",
    "proof.body",
  ])
  assert.equal(verifyReceipt(answer, { ...trusting, workspaceId: "acme" }).verdict, "genuine")
})

test("the sequence continues from earlier ledgers, with geneses from any source", () => {
  const geneses = [ownGenesis, earlierGenesis]
  const continued = edited((copy) => (copy.receipt["sequence"] = copy.entry["sequence"] = 104))
  assert.equal(verifyReceipt(continued, { ...trusting, geneses }).verdict, "genuine")
  assert.deepEqual(refutation(continued), ["receipt", "receipt.sequence"])
  assert.deepEqual(refutation(answer, { ...trusting, geneses }), ["receipt", "receipt.sequence"])
  const told = edited((copy) => (copy.proof["geneses"] = geneses), continued)
  const verdict = verifyReceipt(told, trusting)
  assert.equal(verdict.verdict, "genuine")
  assert.ok(checksOf(verdict).includes("epochs"))
  for (const wrong of [
    [ownGenesis],
    [earlierGenesis],
    [earlierGenesis, ownGenesis],
    [genesisOf("own"), earlierGenesis],
    ["{}"],
    [""],
  ])
    assert.deepEqual(
      refutation(edited((copy) => (copy.proof["geneses"] = wrong), continued)),
      ["epochs", "proof.geneses"],
      wrong.join(),
    )
  for (const wrong of ["", [1], {}])
    assert.deepEqual(refutation(edited((copy) => (copy.proof["geneses"] = wrong), continued)), [
      "malformed",
      "proof.geneses",
    ])
})

test("a genesis must belong to the body's workspace and to the log that signed", () => {
  const { proof, disclosures } = answer
  const text = canonicalize({ ...bodyOf(0), workspaceId: "umbra" })
  const elsewhere = { body: text, record: toBase64(chain(0, text).record), tlogProof: null }
  const told = { ...trusting, geneses: [ownGenesis, earlierGenesis] }
  assert.deepEqual(refutation({ proof: { ...proof, ...elsewhere }, disclosures }, told), [
    "epochs",
    "proof.body",
  ])
  assert.deepEqual(
    refutation({ proof: { ...proof, ...elsewhere, geneses: told.geneses }, disclosures }),
    ["epochs", "proof.geneses"],
  )
  const stranger = signerOf("ledger.example/other", 4)
  const parts = chain(3, canonicalize(bodyOf(3)))
  const foreign = {
    ...proof,
    tlogProof: proofOf(parts, 3, stranger).replace(origin, stranger.name),
    vkey: vkeyOf(stranger),
  }
  const checkpoint = signNote(
    formatCheckpoint({ origin: stranger.name, size, root: parts.root }),
    stranger,
  )
  foreign.tlogProof = `${foreign.tlogProof.slice(0, foreign.tlogProof.indexOf("\n\n"))}\n\n${checkpoint}`
  const trusted = { trustedKeys: [vkeyOf(stranger)] }
  assert.equal(
    verifyReceipt({ proof: foreign, disclosures }, trusted).verdict,
    "genuine",
    "nothing says which log it is of",
  )
  for (const [given, options] of [
    [{ ...foreign, geneses: told.geneses }, trusted],
    [foreign, { ...trusted, geneses: told.geneses }],
  ] as const)
    assert.deepEqual(refutation({ proof: given, disclosures }, options), [
      "origin",
      "proof.tlogProof",
    ])
})

test("an entry that the ledger continued without is lost, even if it was signed", () => {
  const later = (size: number) => ({
    ...trusting,
    geneses: [goingOn("later", "own", size, ownGenesis), ownGenesis, earlierGenesis],
  })
  const minted = edited((copy) => (copy.receipt["sequence"] = copy.entry["sequence"] = 104))
  const kept = verifyReceipt(minted, later(4))
  assert.equal(kept.verdict, "genuine")
  assert.ok(checksOf(kept).includes("kept"))
  const lost = verifyReceipt(minted, later(3))
  assert.ok(lost.verdict === "refuted" && lost.failure === "lost")
  assert.deepEqual([lost.expected, lost.found], ["one of the 3 entries that were kept", "entry 4"])
  assert.deepEqual(lost.checks.at(-1), { name: "kept", ok: false })
})

test("the answer's own verdict does not count", () => {
  for (const verified of [false, "true", null])
    assert.deepEqual(refutation({ ...answer, verified }), ["integrity", "verified"])
  for (const integrity of ["pending", "broken", "erased", true])
    assert.deepEqual(refutation(edited((copy) => (copy.entry["integrity"] = integrity))), [
      "integrity",
      "entry.integrity",
    ])
  // Before a checkpoint covers it, the integrity cannot be checked.
  const pending = verifyReceipt(
    edited((copy) => (copy.proof["tlogProof"] = null)),
    trusting,
  )
  for (const name of ["verified", "entry.integrity"])
    assert.ok(pending.uncovered.includes(name), name)
  const verdict = verifyReceipt(
    edited((copy) => (copy.entry["action"] = "x.y")),
    trusting,
  )
  assert.deepEqual(verdict.verdict === "refuted" && [verdict.expected, verdict.found], [
    "billing.invoice.approve",
    "x.y",
  ])
})

// The rest is random. It uses the platform's hash and signatures, which are faster.

const options: ReceiptOptions = {
  ...trusting,
  ...native,
}

test("no byte of the evidence can be changed", () => {
  assert.equal(verifyReceipt(answer, options).verdict, "genuine")
  let changed = 0
  for (const name of ["record", "body", "bodySalt", "tlogProof"]) {
    const text = answer.proof[name] as string
    for (let i = 0; i < text.length; i++) {
      for (const other of [text[i] === "0" ? "1" : "0", ""]) {
        const given = edited(
          (copy) => (copy.proof[name] = text.slice(0, i) + other + text.slice(i + 1)),
        )
        if (given.proof[name] === text) continue
        const verdict = verifyReceipt(given, options)
        assert.equal(verdict.verdict, "refuted", `${name} at ${i}: ${verdict.verdict}`)
        changed++
      }
    }
  }
  assert.ok(changed > 2500, `only ${changed} changes`)
})

test("random values in random places never throw, and are genuine only if no covered value changed", () => {
  const places = pathsOf(answer)
  const value = fc.oneof(
    fc.constantFrom<unknown>(
      undefined,
      null,
      "",
      0,
      -0,
      true,
      [],
      {},
      "AAAA",
      NaN,
      2 ** 53,
      vkey,
      sealed.email,
      [sealed.email],
      answer.proof,
    ),
    fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withTypedArray: true,
      withSparseArray: true,
    }),
    fc.constantFrom(...places).map((path) => read(answer, path)),
  )
  const counts = { genuine: 0, unconfirmed: 0, refuted: 0 }
  let compared = 0
  const edit = fc.tuple(fc.constantFrom(...places), value)
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
      const given = copyOf(answer)
      for (const [path, value] of edits) write(given, path, structuredClone(value))
      const verdict = verifyReceipt(given, options)
      counts[verdict.verdict]++
      if (verdict.verdict !== "genuine") return
      for (const part of ["receipt", "entry"] as const) {
        for (const path of pathsOf(given[part])) {
          const [name = ""] = path
          const now = read(given[part], path)
          if (
            path.length === 0 ||
            verdict.uncovered.includes(`${part}.${name}`) ||
            typeof now === "object" ||
            now === undefined
          )
            continue
          // An edit may have put the entry in the receipt's place, or the other way round: what is
          // covered is true there as well.
          const truth =
            read(answer[part], path) ?? read(answer.entry, path) ?? read(answer.receipt, path)
          assert.equal(now, truth, `${part}.${path.join(".")}`)
          compared++
        }
      }
    }),
    // A fixed seed, because the counts below could be too small by chance.
    { numRuns: 2000, seed: 1 },
  )
  assert.ok(
    counts.genuine > 20 && counts.refuted > 500 && compared > 500,
    JSON.stringify({ ...counts, compared }),
  )
})

test("no input throws", () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true }),
      fc.string(),
      (given, text) => {
        assert.notEqual(verifyReceipt(given, trusting).verdict, "genuine")
        assert.notEqual(
          verifyReceipt(
            { proof: given, disclosures: given, receipt: given },
            { trustedKeys: [text] },
          ).verdict,
          "genuine",
        )
      },
    ),
    { numRuns: 1000 },
  )
  let deep: unknown = 1
  for (let i = 0; i < 100_000; i++) deep = { metadata: deep }
  assert.deepEqual(refutation({ ...answer, entry: { metadata: deep } }), [
    "receipt",
    "entry.metadata.metadata",
  ])
  assert.deepEqual(refutation({ ...answer, entry: { actor: { id: deep } } }), [
    "receipt",
    "entry.actor.id",
  ])
  const cyclic: Record<string, unknown> = { amount: 1299.5, "\n": "odd" }
  cyclic["lines"] = [cyclic, "\n"]
  assert.deepEqual(refutation({ ...answer, entry: { metadata: cyclic } }), [
    "receipt",
    "entry.metadata.lines",
  ])
  assert.deepEqual(refutation(answerFor(3, '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000))), [
    "canonical",
    "proof.body",
  ])
})

type Path = readonly string[]

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path]
  const inner = Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...path, name]))
  return path.length === 0 ? inner : [path, ...inner]
}

function read(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, name) => (at as Record<string, unknown> | undefined | null)?.[name],
    value,
  )
}

function write(value: unknown, path: Path, to: unknown): void {
  const parent = read(value, path.slice(0, -1))
  // An element of a typed array can only be a number, and JSON has no typed arrays.
  if (
    typeof parent !== "object" ||
    parent === null ||
    Object.isFrozen(parent) ||
    ArrayBuffer.isView(parent)
  )
    return
  ;(parent as Record<string, unknown>)[path.at(-1) ?? ""] = to
}

/** A copy in which no object is shared, like an answer over the network. */
function copyOf<T>(value: T): T {
  return parseJson(JSON.stringify(value)) as T
}
