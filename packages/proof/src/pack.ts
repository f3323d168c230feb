import { parseCanonical } from "./canonical.ts"
import { placeFault } from "./chain.ts"
import type { Checkpoint } from "./checkpoint.ts"
import type { Verify } from "./ed25519.ts"
import { commitsTo, parseBody } from "./body.ts"
import { equalBytes, fromUtf8, toHex, utf8 } from "./encoding.ts"
import { readDestroyed } from "./destroyed.ts"
import { readLineage, type Genesis } from "./genesis.ts"
import { definedOf, isJsonObject, type JsonObject } from "./json.ts"
import {
  bodiesPath,
  disclosuresPath,
  epochPath,
  formatReceiptLine,
  formatTableHeader,
  formatTableRow,
  formatTrustPolicy,
  isListed,
  packAction,
  packForm,
  packGroup,
  packPaths,
  packVerifierPath,
  parseBodyLine,
  parseDisclosureLine,
  proofPath,
  type PackEntry,
} from "./pack-form.ts"
import { createMissingContent, type MissingCounts } from "./missing-content.ts"
import { checkPolicies } from "./pack-policies.ts"
import { eventHash, parseRecord, type RecordFields } from "./record.ts"
import { openBody } from "./sealed.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { parseTlogProof, type TlogProof } from "./tlog-proof.ts"
import { rootFromInclusion } from "./tree.ts"
import { isTrusted, openCheckpoint } from "./trust.ts"
import { parseVkey, type Vkey } from "./vkey.ts"
import { isZipName, readZip } from "./zip.ts"

/**
 * Checks an evidence pack, from its bytes alone:
 *
 *     archive      it is a ZIP of the one form that a pack has, to the last byte
 *     manifest     every file is one that a pack has, and has the hash that the manifest says
 *     genesis      the ledger's beginning can be read; its hash is the ledgerId
 *     checkpoint   the log's key signed the checkpoint, under the ledger's own name
 *     seal         the ledger itself has an entry, later than that checkpoint, that says the hash of this manifest
 *     records      each proof has a record of this ledger, linked to the one before it where that is in the pack too
 *     inclusion    each proof leads to the checkpoint
 *     content      each record commits to its body, which is canonical, and whose receipt the proof is named after
 *     disclosures  each belongs to a digest in its body
 *     receipts     receipts.jsonl is what records and bodies say
 *     table        entries.csv is what records and bodies say
 *     policies     each policy has the hash that it says
 *     key          a key that the caller trusts signed both checkpoints: the pack's and the seal's
 *
 * in that order, to the first that fails.
 */
export type PackVerdict = PackGenuine | PackUnconfirmed | PackRefuted

/** All checks hold, and a trusted key signed. */
export type PackGenuine = { readonly verdict: "genuine" } & PackReport

/** No check failed, but anyone could have made the keys that signed. */
export type PackUnconfirmed = {
  readonly verdict: "unconfirmed"
  readonly because: "key_not_trusted"
} & PackReport

/** A check failed: this is not what the ledger gave out. */
export type PackRefuted = { readonly verdict: "refuted" } & PackFault & PackReport

export type PackFault = {
  readonly failure: Exclude<PackCheckName, "key">
  /** The file with the failure, if it is in one. */
  readonly file?: string
  readonly expected?: string
  readonly found?: string
}

export type PackCheckName =
  | "archive"
  | "manifest"
  | "genesis"
  | "checkpoint"
  | "seal"
  | "records"
  | "inclusion"
  | "content"
  | "disclosures"
  | "receipts"
  | "table"
  | "policies"
  | "key"

/** The checks that ran, and what they found. */
export type PackReport = {
  readonly checks: readonly { readonly name: PackCheckName; readonly ok: boolean }[]
  readonly packId?: string
  readonly title?: string
  readonly packHash?: string
  readonly genesis?: Genesis
  readonly ledgerId?: string
  readonly checkpoint?: Checkpoint
  /** The key that it names, and that signed its checkpoint. */
  readonly key?: Vkey
  /** The entries as hashed. */
  readonly entries?: readonly PackEntry[]
  /** How many sealed fields were not disclosed, and are in no erasure of the pack. */
  readonly withheld?: number
  /** How many sealed fields an erasure explains that is an entry of the pack. */
  readonly erasedFields?: number
}

export type PackOptions = {
  /** Vkeys of the log, which the caller got independently. */
  readonly trustedKeys?: readonly string[]
  /** Id and workspace of the requested pack. */
  readonly packId?: string
  readonly workspaceId?: string
  readonly hash?: Sha256
  readonly verify?: Verify
}

/** Accepts the ZIP, or its files by path. */
export function verifyPack(
  pack: Uint8Array | ArrayBuffer | ReadonlyMap<string, Uint8Array>,
  options: PackOptions = {},
): PackVerdict {
  const report: Draft = { checks: [] }
  const fault = examine(
    pack instanceof ArrayBuffer ? new Uint8Array(pack) : pack,
    { hash: sha256, ...options },
    report,
  )
  if (fault === undefined) return { verdict: "genuine", ...report }
  return fault === "key"
    ? { verdict: "unconfirmed", because: "key_not_trusted", ...report }
    : { verdict: "refuted", ...fault, ...report }
}

type Draft = { -readonly [member in keyof PackReport]: PackReport[member] } & {
  readonly checks: { name: PackCheckName; ok: boolean }[]
}
type Options = PackOptions & { readonly hash: Sha256 }
type Files = ReadonlyMap<string, Uint8Array>

function examine(
  pack: Uint8Array | Files,
  options: Options,
  report: Draft,
): PackFault | "key" | undefined {
  const files = pack instanceof Uint8Array ? readZip(pack) : pack
  note(report, "archive", files !== undefined)
  if (files === undefined) return { failure: "archive" }

  const unlisted = checkManifest(files, options)
  if (!note(report, "manifest", unlisted === undefined)) return unlisted
  const log = checkLog(files, options, report)
  if (isFault(log)) return log
  const seal = checkSeal(files, log, options, report)
  note(report, "seal", !isFault(seal))
  if (isFault(seal)) return seal

  const proven = checkProofs(files, log, options, report)
  if (isFault(proven)) return proven
  const entries = checkContent(files, proven, log, options)
  note(report, "content", !isFault(entries))
  if (isFault(entries)) return entries
  report.entries = entries
  const missing = checkDisclosures(files, entries, options)
  note(report, "disclosures", !isFault(missing))
  if (isFault(missing)) return missing
  report.withheld = missing.withheld
  if (missing.erasedFields > 0) report.erasedFields = missing.erasedFields

  const derived = checkDerived(files, entries, options, report)
  if (derived !== undefined) return derived
  return note(report, "key", log.isTrusted && seal.isTrusted) ? undefined : "key"
}

/** Checks that every file belongs to a pack, and that no required file is missing. */
function checkManifest(files: Files, { hash }: Options): PackFault | undefined {
  const missing = Object.values(packPaths).find((path) => !files.has(path))
  if (missing !== undefined) return { failure: "manifest", file: missing }
  const manifest = parseCanonical(files.get(packPaths.manifest) ?? new Uint8Array())
  if (!isJsonObject(manifest)) return { failure: "manifest", file: packPaths.manifest }
  for (const [path, content] of files) {
    if (!isPackPath(path)) return { failure: "manifest", file: path }
    if (!isListed(path)) continue
    const expected = Object.hasOwn(manifest, path) ? manifest[path] : undefined
    const found = toHex(hash(content))
    if (expected !== found)
      return {
        failure: "manifest",
        file: path,
        ...(typeof expected === "string" && { expected }),
        found,
      }
  }
  const absent = Object.keys(manifest).find((path) => !files.has(path) || !isListed(path))
  return absent === undefined ? undefined : { failure: "manifest", file: absent }
}

type Log = {
  readonly genesis: Genesis
  readonly ledgerId: Uint8Array
  /** Number of entries before this ledger that its sequences count. */
  readonly earlierEntries: number
  readonly key: Vkey
  readonly note: string
  readonly checkpoint: Checkpoint
  readonly isTrusted: boolean
}

function checkLog(
  files: Files,
  { hash, verify, trustedKeys = [], workspaceId }: Options,
  report: Draft,
): Log | PackFault {
  const earlier = [...files.keys()]
    .filter((path) => path.startsWith("epochs/"))
    .map((_, at) => epochPath(at + 1, packPaths.genesis))
  const [born] =
    readLineage(
      [...earlier, packPaths.genesis].map((path) => textOf(files, path)).toReversed(),
      hash,
    ) ?? []
  const found = born?.genesis.workspaceId
  const isAsked = workspaceId === undefined || found === workspaceId
  note(report, "genesis", born !== undefined && isAsked)
  if (!born || !isAsked)
    return {
      failure: "genesis",
      file: packPaths.genesis,
      ...(born && definedOf({ expected: workspaceId, found })),
    }
  const { genesis, ledgerId, earlierEntries } = born
  report.genesis = genesis
  report.ledgerId = toHex(ledgerId)

  const wrong = (file: string, values: Partial<PackFault> = {}): PackFault => {
    note(report, "checkpoint", false)
    return { failure: "checkpoint", file, ...values }
  }
  const vkey = textOf(files, packPaths.vkey).slice(0, -1)
  const key = parseVkey(vkey, hash)
  if (key?.type !== "log" || textOf(files, packPaths.vkey) !== `${vkey}\n`)
    return wrong(packPaths.vkey)
  if (textOf(files, packPaths.policy) !== formatTrustPolicy(vkey)) return wrong(packPaths.policy)
  const noteText = textOf(files, packPaths.checkpoint)
  const signed = openCheckpoint(noteText, key, trustedKeys, verify)
  if (!signed?.signatures.some((one) => one.key === key)) return wrong(packPaths.checkpoint)
  const { checkpoint } = signed
  for (const origin of [checkpoint.origin, key.name]) {
    if (origin !== genesis.origin)
      return wrong(packPaths.checkpoint, { expected: genesis.origin, found: origin })
  }
  note(report, "checkpoint", true)
  report.checkpoint = checkpoint
  report.key = key
  return {
    genesis,
    ledgerId,
    earlierEntries,
    key,
    note: noteText,
    checkpoint,
    isTrusted: isTrusted(signed, trustedKeys),
  }
}

/**
 * The entry about this pack must be later than the pack's entries, in the same ledger. Its
 * checkpoint may be so late that a newer key signed it. If no known key signed it, the seal is not
 * refuted, but not trusted.
 */
function checkSeal(
  files: Files,
  log: Log,
  options: Options,
  report: Draft,
): { readonly isTrusted: boolean } | PackFault {
  const { hash, verify, trustedKeys = [] } = options
  const wrong = (file: string, values: Partial<PackFault> = {}): PackFault => ({
    failure: "seal",
    file,
    ...values,
  })
  const proof = parseTlogProof(textOf(files, packPaths.sealProof))
  const record = recordOf(proof, log)
  const signed = proof && openCheckpoint(proof.checkpoint, log.key, trustedKeys, verify)
  if (!proof || !record || signed?.checkpoint.origin !== log.genesis.origin)
    return wrong(packPaths.sealProof)
  if (!leadsTo(signed.checkpoint, proof, eventHash(record.bytes, hash), hash))
    return wrong(packPaths.sealProof)
  if (record.fields.kind !== "admin" || record.fields.index < log.checkpoint.size)
    return wrong(packPaths.sealProof)

  const line = parseBodyLine(textOf(files, packPaths.seal))
  const body = line && openContent(line.body, log)
  if (!line || !body || line.index !== record.fields.index || !openBody(body, [], hash).ok)
    return wrong(packPaths.seal)
  if (!commitsTo(record.fields, line.salt, utf8(line.body), hash)) return wrong(packPaths.seal)
  const { action, metadata } = body
  if (action !== packAction || !isJsonObject(metadata)) return wrong(packPaths.seal)
  const { packId, title, packHash, receiptCount } = metadata
  const found = toHex(hash(files.get(packPaths.manifest) ?? new Uint8Array()))
  if (packHash !== found)
    return wrong(packPaths.seal, {
      ...(typeof packHash === "string" && { expected: packHash }),
      found,
    })
  report.packHash = found
  if (typeof packId === "string") report.packId = packId
  if (typeof title === "string") report.title = title
  if (options.packId !== undefined && packId !== options.packId)
    return wrong(packPaths.seal, {
      expected: options.packId,
      ...(typeof packId === "string" && { found: packId }),
    })
  if (metadata["form"] !== packForm) return wrong(packPaths.seal)
  const proofs = [...files.keys()].filter((path) => path.startsWith("proofs/")).length
  return receiptCount === proofs
    ? { isTrusted: isTrusted(signed, trustedKeys) }
    : wrong(packPaths.seal, { found: String(proofs) })
}

function leadsTo(
  { size, root }: Checkpoint,
  { index, hashes }: TlogProof,
  leaf: Uint8Array,
  hash: Sha256,
): boolean {
  const found = rootFromInclusion(leaf, index, size, hashes, hash)
  return found !== undefined && equalBytes(found, root)
}

type Proven = {
  readonly path: string
  readonly fields: RecordFields
  readonly eventHash: Uint8Array
}

/** The records of a pack by index, in chain order. */
function checkProofs(
  files: Files,
  log: Log,
  { hash }: Options,
  report: Draft,
): readonly Proven[] | PackFault {
  const proofs: (Proven & { readonly proof: TlogProof })[] = []
  for (const [path, content] of files) {
    if (!path.startsWith("proofs/")) continue
    const proof = parseTlogProof(fromUtf8(content) ?? "")
    const record = recordOf(proof, log)
    if (!proof || !record) return failed(report, "records", path)
    proofs.push({ path, proof, fields: record.fields, eventHash: eventHash(record.bytes, hash) })
  }
  proofs.sort((a, b) => a.fields.index - b.fields.index)
  for (const [at, { path, fields }] of proofs.entries())
    if (!follows(fields, proofs[at - 1])) return failed(report, "records", path)
  note(report, "records", true)

  for (const { path, proof, eventHash } of proofs)
    if (proof.checkpoint !== log.note || !leadsTo(log.checkpoint, proof, eventHash, hash))
      return failed(report, "inclusion", path)

  note(report, "inclusion", true)
  return proofs
}

/** Whether an entry can follow another one, directly or later. */
function follows(fields: RecordFields, previous: Proven | undefined): boolean {
  if (previous === undefined) return true
  const { index, timeMs } = previous.fields
  const previousHash = fields.index === index + 1 ? previous.eventHash : undefined
  return fields.index > index && placeFault(fields, { timeMs, previousHash }) === undefined
}

function recordOf(
  proof: TlogProof | undefined,
  { ledgerId }: Log,
): { readonly bytes: Uint8Array; readonly fields: RecordFields } | undefined {
  const bytes = proof?.extra
  const fields = bytes && parseRecord(bytes)
  return bytes && fields && placeFault(fields, { ledgerId, index: proof.index }) === undefined
    ? { bytes, fields }
    : undefined
}

function checkContent(
  files: Files,
  proven: readonly Proven[],
  log: Log,
  { hash }: Options,
): readonly PackEntry[] | PackFault {
  const entries: PackEntry[] = []
  for (let group = 0; group * packGroup < proven.length; group++) {
    const file = bodiesPath(group)
    const members = proven.slice(group * packGroup, (group + 1) * packGroup)
    const lines = linesOf(files, file)
    if (lines?.length !== members.length) return { failure: "content", file }
    for (const [at, { path, fields, eventHash }] of members.entries()) {
      const line = parseBodyLine(lines[at] ?? "")
      const body = line && openContent(line.body, log)
      if (!line || !body || line.index !== fields.index) return { failure: "content", file }
      if (!commitsTo(fields, line.salt, utf8(line.body), hash)) return { failure: "content", file }
      if (typeof body["receipt"] !== "string" || proofPath(body["receipt"]) !== path)
        return { failure: "content", file: path }
      entries.push({
        record: fields,
        eventHash: toHex(eventHash),
        sequence: log.earlierEntries + fields.index + 1,
        body,
      })
    }
  }
  const groups = Math.ceil(proven.length / packGroup)
  const extra = [...files.keys()].filter((path) => path.startsWith("bodies/"))[groups]
  return extra === undefined ? entries : { failure: "content", file: extra }
}

function openContent(text: string, { genesis }: Log): JsonObject | undefined {
  const body = parseBody(text, genesis.workspaceId)
  return typeof body === "string" ? undefined : body
}

/** The sealed fields that have no disclosure. */
function checkDisclosures(
  files: Files,
  entries: readonly PackEntry[],
  { hash }: Options,
): MissingCounts | PackFault {
  const disclosed = new Map<number, readonly string[]>()
  const groups = Math.ceil(entries.length / packGroup)
  const paths = Array.from({ length: groups }, (_, group) => disclosuresPath(group))
  const extra = [...files.keys()].find(
    (path) => path.startsWith("disclosures/") && !paths.includes(path),
  )
  if (extra !== undefined) return { failure: "disclosures", file: extra }
  for (const [group, file] of paths.entries()) {
    if (!files.has(file)) continue
    const members = new Set(
      entries.slice(group * packGroup, (group + 1) * packGroup).map(({ record }) => record.index),
    )
    let previous = -1
    for (const text of linesOf(files, file) ?? [""]) {
      const line = parseDisclosureLine(text)
      if (!line || line.index <= previous || !members.has(line.index))
        return { failure: "disclosures", file }
      disclosed.set(line.index, line.disclosures)
      previous = line.index
    }
  }
  const missing = createMissingContent()
  for (const [at, { record, sequence, body }] of entries.entries()) {
    const opened = openBody(body, disclosed.get(record.index) ?? [], hash)
    if (!opened.ok)
      return {
        failure: "disclosures",
        file: disclosuresPath(Math.floor(at / packGroup)),
        found: opened.reason,
      }
    missing.addFields(sequence, opened.missing)
    const destroyed = readDestroyed(record.kind, sequence, body)
    if (destroyed !== undefined) missing.explain(destroyed)
  }
  return missing.counts
}

/** Files that repeat what records and bodies say. */
function checkDerived(
  files: Files,
  entries: readonly PackEntry[],
  { hash }: Options,
  report: Draft,
): PackFault | undefined {
  const receipts = entries.map((entry) => `${formatReceiptLine(entry)}\n`).join("")
  if (!note(report, "receipts", textOf(files, packPaths.receipts) === receipts))
    return { failure: "receipts", file: packPaths.receipts }
  const table = formatTableHeader() + entries.map(formatTableRow).join("")
  if (!note(report, "table", textOf(files, packPaths.table) === table))
    return { failure: "table", file: packPaths.table }
  const file = checkPolicies(files, hash)
  note(report, "policies", file === undefined)
  return file === undefined ? undefined : { failure: "policies", file }
}

const fixedPaths: ReadonlySet<string> = new Set([...Object.values(packPaths), packVerifierPath])
const otherPaths =
  /^(?:(?:bodies|disclosures)\/[0-9]{3}\.jsonl|epochs\/[1-9][0-9]*\/genesis\.json|proofs\/[0-9A-Za-z_]+\.tlog-proof|policies\/[\w.-]+\/[1-9][0-9]*\.json)$/

/** Files by path are those of a ZIP, so their names follow its rules. */
export function isPackPath(path: string): boolean {
  return isZipName(path) && (fixedPaths.has(path) || otherPaths.test(path))
}

/** Empty for a missing text, which matches nothing. */
function textOf(files: Files, path: string): string {
  return fromUtf8(files.get(path) ?? new Uint8Array()) ?? ""
}

/** Undefined unless there is at least one line and each ends with a newline. */
function linesOf(files: Files, path: string): readonly string[] | undefined {
  const lines = textOf(files, path).split("\n")
  return lines.pop() === "" && lines.length > 0 ? lines : undefined
}

/** Adds a check to the report and returns its result. */
function note(report: Draft, name: PackCheckName, ok: boolean): boolean {
  report.checks.push({ name, ok })
  return ok
}

function failed(report: Draft, failure: PackFault["failure"], file: string): PackFault {
  note(report, failure, false)
  return { failure, file }
}

function isFault(value: object): value is PackFault {
  return "failure" in value
}
