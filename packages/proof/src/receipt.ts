import { bodyHash, bodySaltBytes, commitsTo, parseBody } from "./body.ts"
import { placeFault } from "./chain.ts"
import type { Checkpoint } from "./checkpoint.ts"
import type { Verify } from "./ed25519.ts"
import { equalBytes, fromBase64, fromHex, toHex, utf8 } from "./encoding.ts"
import { readLineage, type Born } from "./genesis.ts"
import { isObject, readJson, type Json, type JsonObject } from "./json.ts"
import type { VerifiedSignature } from "./note.ts"
import { eventHash, parseRecord, type RecordFields } from "./record.ts"
import { digest, openBody } from "./sealed.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { compareShown, texts, type Content, type Difference, type Hashed } from "./shown.ts"
import { verifyTlogProof, type TlogProofRefuted } from "./tlog-proof.ts"
import { isTrusted } from "./trust.ts"
import { formatVkey, parseVkey } from "./vkey.ts"

/**
 * Checks what `GET …/receipts/{id}` answers, or an entry of a list that was read with its proof:
 *
 *     { receipt?, entry?, proof: { record, body, bodySalt, vkey, tlogProof, geneses? }, disclosures }
 *
 *     record       the record is well-formed
 *     content      the record contains the body's salted hash
 *     canonical    the body is canonical
 *     disclosures  each disclosure belongs to a digest in the body
 *     epochs       if the ledger continues others: each genesis names the one before it, and the
 *                  first is the record's own, of the body's workspace and of the log that signed
 *     receipt      the shown receipt and entry agree with record and body
 *     kept         if the caller gives later geneses: the ledger kept the entry
 *     checkpoint   a key signed the head of its own log
 *     inclusion    the tree under that head contains the record
 *     link         at an odd index, where the proof has the entry before it: the record names that one
 *     integrity    `integrity` and `verified` of the answer, if present, are what was found
 *     key          the caller trusts the key
 *
 * in that order, to the first that fails. Everything is computed from bytes; nothing in the answer
 * is trusted, least of all its `verified`. Given the text of the answer, it also refutes a duplicate
 * member, which the parsed value does not show.
 */
export type Verdict = Genuine | Unconfirmed | Refuted

/** All checks hold, and a trusted key signed. */
export type Genuine = { readonly verdict: "genuine" } & Report

/** No check failed, but something is missing. */
export type Unconfirmed = { readonly verdict: "unconfirmed"; readonly because: Because } & Report

/** A check failed: this is not what the ledger recorded. */
export type Refuted = {
  readonly verdict: "refuted"
  readonly failure: Failure
  /** The wrong member of the answer, if the failure is in one. */
  readonly field?: string
  readonly expected?: string
  readonly found?: string
} & Report

/**
 * `key_not_trusted`: every check holds, but anyone could have made the key. `not_sealed`: no
 * checkpoint covers the entry yet. `proof_missing`: the answer has nothing to check.
 * `content_missing`: the body was removed, as after its retention; the record holds.
 */
export type Because = "key_not_trusted" | "not_sealed" | "proof_missing" | "content_missing"

/**
 * `lost`: the entry may have been recorded, but the current ledger continues without it and gives
 * its sequence to another entry.
 */
export type Failure =
  | "malformed"
  | "record"
  | "content"
  | "canonical"
  | "disclosure"
  | "epochs"
  | "receipt"
  | "lost"
  | "origin"
  | "signature"
  | "inclusion"
  | "link"
  | "integrity"

export type CheckName =
  | "record"
  | "content"
  | "canonical"
  | "disclosures"
  | "epochs"
  | "receipt"
  | "kept"
  | "checkpoint"
  | "inclusion"
  | "link"
  | "integrity"
  | "key"

export type Check = { readonly name: CheckName; readonly ok: boolean }

/** The checks that ran, and their findings. */
export type Report = {
  readonly checks: readonly Check[]
  readonly record?: RecordFields
  readonly eventHash?: string
  /** The place of the entry in its ledger, counted from 1, with the entries of former epochs. */
  readonly sequence?: number
  /** The body with the disclosed claims in place. */
  readonly content?: JsonObject
  /** How many sealed fields were not disclosed. */
  readonly withheld?: number
  /** Members of the answer that no hash covers. They prove nothing. */
  readonly uncovered: readonly string[]
  readonly checkpoint?: Checkpoint
  readonly signatures?: readonly VerifiedSignature[]
}

export type ReceiptOptions = {
  /**
   * Vkeys of the log and of witnesses, which the caller got independently. Malformed ones are not
   * trusted, nor is one with the end of the line that a file has.
   */
  readonly trustedKeys?: readonly string[]
  /** Id and workspace of the requested receipt. */
  readonly receiptId?: string
  readonly workspaceId?: string
  /**
   * The geneses of the current ledger and of all ledgers that it continues, newest first. They show
   * which entries were lost.
   */
  readonly geneses?: readonly string[]
  readonly hash?: Sha256
  readonly verify?: Verify
}

export function verifyReceipt(answer: unknown, options: ReceiptOptions = {}): Verdict {
  const report: Draft = { checks: [], uncovered: [] }
  const doubt = examine(answer, options, report)
  if (!doubt) return { verdict: "genuine", ...report }
  return "because" in doubt
    ? { verdict: "unconfirmed", ...doubt, ...report }
    : { verdict: "refuted", ...doubt, ...report }
}

type Doubt = Missing | Wrong
type Missing = Pick<Unconfirmed, "because">
type Wrong = Omit<Refuted, keyof Report | "verdict">
type Draft = { -readonly [member in keyof Report]: Report[member] } & { readonly checks: Check[] }

function examine(answer: unknown, options: ReceiptOptions, report: Draft): Doubt | undefined {
  const evidence = readEvidence(answer)
  if (isDoubt(evidence)) return evidence
  report.uncovered = evidence.unknown
  const record = checkRecord(evidence, options, report)
  if (isDoubt(record)) return record
  const content = checkContent(evidence, record, options, report)
  if (content && isDoubt(content)) return content
  const born = checkEpochs(evidence, record, content, options, report)
  if (born && isDoubt(born)) return born
  return (
    checkShown(evidence, record, content, born?.earlierEntries ?? 0, options, report) ??
    checkKept(record, options, report) ??
    checkSealed(evidence, content !== undefined, born?.genesis.origin, options, report) ??
    (content ? undefined : { because: "content_missing" })
  )
}

function checkRecord(
  evidence: Evidence,
  { hash = sha256 }: ReceiptOptions,
  report: Draft,
): RecordFields | Doubt {
  const parsed = parseRecord(evidence.record)
  const record = parsed && placeFault(parsed, {}) === undefined ? parsed : undefined
  note(report, "record", record !== undefined)
  if (!record) return { failure: "record", field: "proof.record" }
  report.record = record
  report.eventHash = toHex(eventHash(evidence.record, hash))
  return record
}

/** Undefined if the body is gone. */
function checkContent(
  { sealedBody, disclosures }: Evidence,
  record: RecordFields,
  { hash = sha256 }: ReceiptOptions,
  report: Draft,
): Content | Doubt | undefined {
  if (!sealedBody)
    return disclosures.length === 0 ? undefined : { failure: "disclosure", field: "disclosures" }
  if (!note(report, "content", commitsTo(record, sealedBody.salt, sealedBody.bytes, hash))) {
    const found = toHex(bodyHash(sealedBody.salt, sealedBody.bytes, hash))
    return { failure: "content", field: "proof.body", expected: toHex(record.bodyHash), found }
  }

  const body = parseBody(sealedBody.bytes)
  if (!note(report, "canonical", body !== "canonical"))
    return { failure: "canonical", field: "proof.body" }
  if (typeof body === "string") return malformed("proof.body")

  const opened = openBody(body, disclosures, hash)
  note(report, "disclosures", opened.ok)
  if (!opened.ok) return { failure: "disclosure", field: "disclosures", found: opened.reason }
  report.content = opened.value
  report.withheld = opened.withheld
  return {
    body,
    opened: opened.value,
    disclosed: new Set(disclosures.map((text) => digest(text, hash))),
  }
}

/**
 * The genesis facts of the record's ledger, from the answer or the caller; undefined without
 * either.
 */
function checkEpochs(
  { geneses = [] }: Evidence,
  { ledgerId }: RecordFields,
  content: Content | undefined,
  { geneses: known = [], hash = sha256 }: ReceiptOptions,
  report: Draft,
): Born | Doubt | undefined {
  const isOwn = (born: Born): boolean => equalBytes(born.ledgerId, ledgerId)
  const isTold = geneses.length > 0
  const born = isTold
    ? readLineage(geneses, hash)?.slice(0, 1).find(isOwn)
    : readLineage(known, hash)?.find(isOwn)
  if (!isTold && !born) return undefined
  const holds =
    born !== undefined && (!content || content.body["workspaceId"] === born.genesis.workspaceId)
  if (isTold || !holds) note(report, "epochs", holds)
  return holds ? born : { failure: "epochs", field: isTold ? "proof.geneses" : "proof.body" }
}

function checkShown(
  { receipt, entry, record: bytes }: Evidence,
  record: RecordFields,
  content: Content | undefined,
  earlierEntries: number,
  options: ReceiptOptions,
  report: Draft,
): Doubt | undefined {
  const { hash = sha256 } = options
  const sequence = earlierEntries + record.index + 1
  const hashed: Hashed = {
    record,
    eventHash: eventHash(bytes, hash),
    sequence,
    ...(content && { content }),
  }
  const shown = compareShown(receipt, entry, hashed)
  report.uncovered = [...shown.uncovered, ...report.uncovered]
  const difference = shown.difference ?? otherReceipt(options, content)
  if (note(report, "receipt", !difference)) report.sequence = sequence
  return difference && { failure: "receipt", ...difference }
}

/**
 * The epoch after an ended one states how many entries were kept. Later entries of the ended epoch
 * are lost, signed or not.
 */
function checkKept(
  { ledgerId, index }: RecordFields,
  { geneses = [], hash = sha256 }: ReceiptOptions,
  report: Draft,
): Doubt | undefined {
  const lineage = readLineage(geneses, hash) ?? []
  const at = lineage.findIndex((one) => equalBytes(one.ledgerId, ledgerId))
  if (at < 0) return undefined
  const kept = lineage[at - 1]?.genesis.continues?.size
  if (note(report, "kept", kept === undefined || index < kept)) return undefined
  return {
    failure: "lost",
    field: "proof.record",
    expected: `one of the ${kept} entries that were kept`,
    found: `entry ${index + 1}`,
  }
}

function otherReceipt(
  { receiptId, workspaceId }: ReceiptOptions,
  content: Content | undefined,
): Difference | undefined {
  const body = content?.body
  return (
    body && (otherThan(receiptId, body["receipt"]) ?? otherThan(workspaceId, body["workspaceId"]))
  )
}

function otherThan(expected: string | undefined, found: Json | undefined): Difference | undefined {
  if (expected === undefined || found === expected) return undefined
  return { field: "proof.body", ...texts(expected, found) }
}

function checkSealed(
  evidence: Evidence,
  isWhole: boolean,
  origin: string | undefined,
  { trustedKeys = [], hash, verify }: ReceiptOptions,
  report: Draft,
): Doubt | undefined {
  const { record, vkey, tlogProof } = evidence
  if (tlogProof === undefined) return { because: "not_sealed" }
  const vkeys = vkey === undefined ? trustedKeys : [...trustedKeys, vkey]
  const proven = verifyTlogProof(tlogProof, {
    record,
    vkeys,
    ...(hash && { hash }),
    ...(verify && { verify }),
  })
  if (!proven.ok) return refuteProof(proven, report)
  const found = proven.checkpoint.origin
  if (origin !== undefined && found !== origin)
    return refuteProof({ ok: false, failure: "origin", expected: origin, found }, report)
  note(report, "checkpoint", true)
  note(report, "inclusion", true)
  if (proven.record.index % 2 === 1) note(report, "link", true)
  report.checkpoint = proven.checkpoint
  report.signatures = proven.signatures
  if (vkey !== undefined && !proven.signatures.some(({ key }) => formatVkey(key) === vkey))
    report.uncovered = [...report.uncovered, "proof.vkey"]
  // Without its body, an entry may be expired or erased. Without sealed fields, it may be erased.
  const contradiction = isWhole ? checkIntegrity(evidence, report) : undefined
  if (contradiction) return contradiction
  return note(report, "key", isTrusted(proven, trustedKeys))
    ? undefined
    : { because: "key_not_trusted" }
}

/**
 * Without a checkpoint over the entry, any `integrity` is possible; with one, only one value is
 * true.
 */
function checkIntegrity({ entry, verified }: Evidence, report: Draft): Doubt | undefined {
  const integrity: unknown = entry && "integrity" in entry ? entry.integrity : undefined
  if (integrity === undefined && verified === undefined) return undefined
  const isErased = integrity === "erased" && Boolean(report.withheld)
  report.uncovered = report.uncovered.filter(
    (name) => (name !== "entry.integrity" || isErased) && name !== "verified",
  )
  const isVerified = integrity === undefined || integrity === "verified" || isErased
  if (note(report, "integrity", isVerified && (verified === undefined || verified === true)))
    return undefined
  const [field, expected, found] = isVerified
    ? ["verified", "true", verified]
    : ["entry.integrity", "verified", integrity]
  return { failure: "integrity", field, ...texts(expected, found) }
}

function refuteProof({ failure, ok: _, ...values }: TlogProofRefuted, report: Draft): Doubt {
  const field = "proof.tlogProof"
  switch (failure) {
    case "malformed":
    case "record":
      return { failure, field, ...values }
    case "unsigned":
    case "signature":
    case "origin":
      note(report, "checkpoint", false)
      return { failure: failure === "unsigned" ? "signature" : failure, field, ...values }
    case "inclusion":
    case "link":
      note(report, "checkpoint", true)
      if (failure === "link") note(report, "inclusion", true)
      note(report, failure, false)
      return { failure, field, ...values }
  }
}

/** The decoded parts of an answer. Only their types are checked. */
type Evidence = {
  readonly receipt?: object
  readonly entry?: object
  readonly record: Uint8Array
  readonly sealedBody?: { readonly bytes: Uint8Array; readonly salt: Uint8Array }
  readonly vkey?: string
  readonly tlogProof?: string
  readonly geneses?: readonly string[]
  readonly disclosures: readonly string[]
  readonly verified?: unknown
  /** Paths of unknown members, and of `verified`, which is checked later. */
  readonly unknown: readonly string[]
}

/**
 * These may be absent or null: receipt and entry, a removed body, a pending proof, empty
 * disclosures.
 */
function readEvidence(given: unknown): Evidence | Doubt {
  const text = isString(given) ? readJson(given) : undefined
  if (text?.ok === false && text.repeated !== undefined)
    return {
      failure: "malformed",
      field: text.repeated,
      expected: "one member of this name",
      found: "two",
    }
  const answer = text?.ok === true ? text.value : given
  if (!isObject(answer)) return malformed()
  const { receipt, entry, proof, disclosures, verified, ...others } = answer
  if (proof === undefined || proof === null) return { because: "proof_missing" }
  if (!isObject(proof)) return malformed("proof")
  const { record: recordText, body, bodySalt, vkey, tlogProof, geneses, ...otherProof } = proof
  const record = isString(recordText) ? fromBase64(recordText) : undefined
  if (!record) return malformed("proof.record")
  const sealedBody = isAbsent(body) && isAbsent(bodySalt) ? undefined : readBody(body, bodySalt)
  if (sealedBody && isDoubt(sealedBody)) return sealedBody
  if (!isAbsent(vkey) && !(isString(vkey) && parseVkey(vkey)?.type === "log"))
    return malformed("proof.vkey")
  if (!isAbsent(tlogProof) && !isString(tlogProof)) return malformed("proof.tlogProof")
  if (!isAbsent(geneses) && !isStrings(geneses)) return malformed("proof.geneses")
  if (!isAbsent(disclosures) && !isStrings(disclosures)) return malformed("disclosures")
  if (!isAbsent(receipt) && !isObject(receipt)) return malformed("receipt")
  if (!isAbsent(entry) && !isObject(entry)) return malformed("entry")
  return {
    record,
    disclosures: disclosures ?? [],
    verified,
    unknown: [
      ...namesOf({ verified, ...others }),
      ...namesOf(otherProof).map((name) => `proof.${name}`),
    ],
    ...(receipt && { receipt }),
    ...(entry && { entry }),
    ...(sealedBody && { sealedBody }),
    ...(!isAbsent(vkey) && { vkey }),
    ...(!isAbsent(tlogProof) && { tlogProof }),
    ...(!isAbsent(geneses) && { geneses }),
  }
}

function readBody(body: unknown, bodySalt: unknown): NonNullable<Evidence["sealedBody"]> | Doubt {
  // A lone surrogate has no UTF-8, so text with one is not the bytes of any body.
  if (!isString(body) || !body.isWellFormed()) return malformed("proof.body")
  const salt = isString(bodySalt) ? fromHex(bodySalt) : undefined
  return salt?.length === bodySaltBytes ? { bytes: utf8(body), salt } : malformed("proof.bodySalt")
}

/** Adds a check to the report and returns its result. */
function note(report: Draft, name: CheckName, ok: boolean): boolean {
  report.checks.push({ name, ok })
  return ok
}

function malformed(field?: string): Wrong {
  return { failure: "malformed", ...(field !== undefined && { field }) }
}

function isDoubt(value: object): value is Doubt {
  return "because" in value || "failure" in value
}

function isString(value: unknown): value is string {
  return typeof value === "string"
}

function isStrings(value: unknown): value is readonly string[] {
  // Array.from, because `every` skips holes.
  return Array.isArray(value) && Array.from(value as unknown[]).every(isString)
}

/** An undefined member counts as absent: JSON would drop it. */
function namesOf(object: object): readonly string[] {
  return Object.entries(object).flatMap(([name, value]) => (value === undefined ? [] : [name]))
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}
