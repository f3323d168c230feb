import { fromBase64, fromUtf8, isoTime, toHex } from "./encoding.ts"
import { ed25519Verify, remembering, type Verify } from "./ed25519.ts"
import { examineLines, isExportedLines } from "./exported-lines.ts"
import { verifyExport, type ExportFiles, type ExportVerdict } from "./export.ts"
import { definedOf, equalJson, isObject, parseJson, readJson, type JsonObject } from "./json.ts"
import type { MissingCounts } from "./missing-content.ts"
import { packGroup, packPaths } from "./pack-form.ts"
import { isPackPath, verifyPack, type PackVerdict } from "./pack.ts"
import { verifyReceipt, type Because, type Verdict } from "./receipt.ts"
import type { Sha256 } from "./sha256.ts"
import { parseTilePath } from "./tile.ts"
import { signerOf } from "./trust.ts"
import { verifyTlogProof } from "./tlog-proof.ts"
import { formatVkey, type Vkey } from "./vkey.ts"

/**
 * The result of checking a file of evidence: the answer about a receipt, an entry, a page or lines
 * of entries, a tlog-proof, an evidence pack or an export. Programs show the findings to people.
 */
export interface Finding {
  /** The item, if the file has several. */
  readonly item?: string
  readonly what: "receipt" | "entry" | "page" | "list" | "proof" | "pack" | "export" | "nothing"
  readonly verdict: "genuine" | "unconfirmed" | "refuted" | "unreadable"
  /** The reason, if the verdict is `unconfirmed`. */
  readonly because?: Because | "key_missing"
  /** One sentence that explains the verdict. Absent if it is genuine. */
  readonly reason?: string
  /** Where it differs, and what was expected there. */
  readonly difference?: Difference
  /** Null: the check fails without refuting anything, such as an unknown key. */
  readonly checks: readonly { readonly name: string; readonly ok: boolean | null }[]
  /** Members that no hash covers. They prove nothing. */
  readonly notCovered: readonly string[]
  /** Statements of the bytes. A forger may have written them. */
  readonly facts: Readonly<Record<string, string | number>>
  /** The recorded content, with the disclosed sealed fields. Absent if the verdict is `refuted`. */
  readonly content?: JsonObject
}

/** Whether nothing could be computed, so that nothing is known about the file. */
export function isUnchecked({ because }: Pick<Finding, "because">): boolean {
  return because === "proof_missing" || because === "key_missing"
}

export interface Difference {
  readonly check: string
  /** The member or file that is wrong. */
  readonly in?: string
  readonly sequence?: number
  readonly expected?: string
  readonly found?: string
}

export interface Folder {
  readonly files: ExportFiles
  /** The paths of all files. */
  readonly paths: () => readonly string[]
}

/** Data that the caller has from another source than the files. */
export interface TrustedInput {
  readonly trustedKeys: readonly string[]
  /** Newest first. */
  readonly geneses: readonly string[]
  /** The receipt that an answer must be about, and its workspace. */
  readonly receiptId?: string
  readonly workspaceId?: string
  /** A faster hash function, or one that reports progress. */
  readonly hash?: Sha256
  readonly verify?: Verify
}

/** The findings about the items of the file, or about the file itself. */
export function examineFile(bytes: Uint8Array, given: TrustedInput): readonly Finding[] {
  const input = { ...given, verify: remembering(given.verify ?? ed25519Verify) }
  if (isZip(bytes)) return [ofPack(verifyPack(bytes, input))]
  if (isExportedLines(bytes))
    return [examineLines(bytes, (entry) => ofListed(entry, input), input.hash)]
  const text = fromUtf8(bytes) ?? ""
  if (text.startsWith(proofHeader)) return [ofProof(text, input)]
  const json = readJson(text)
  if (!json.ok && json.repeated !== undefined)
    return [ambiguous(`it has the member "${json.repeated}" twice`)]
  const value = json.ok ? json.value : undefined
  if (!isObject(value)) return [unreadable(kinds)]
  const [one, other] = kindsOf(value)
  if (other !== undefined) return [ambiguous(`it is both ${one} and ${other}`)]
  if (isObject(value["files"]) && isObject(value["manifest"]))
    return [ofPackJson(value, value["files"], input)]
  if (Array.isArray(value["events"])) return ofPage(value, value["events"], input)
  return [ofEntry(value, input) ?? unreadable(kinds)]
}

function ambiguous(reason: string): Finding {
  return refuted("nothing", `${reason}, so two readers can read different things`)
}

const kinds =
  "it is not a receipt of GET …/receipts/{receiptId}, a page or JSON lines read with include=proof, a tlog-proof, an evidence pack or an export"

/**
 * All kinds of evidence that the file could be. If it is genuine as one kind, that proves nothing
 * about another.
 */
function kindsOf(value: JsonMembers): readonly string[] {
  return [
    ...(isObject(value["files"]) || isObject(value["manifest"]) ? ["a pack"] : []),
    ...(Array.isArray(value["events"]) ? ["a page"] : []),
    ...(isObject(value["receipt"]) || isObject(value["entry"])
      ? ["an answer about a receipt"]
      : []),
    ...(typeof value["hash"] === "string" ? ["an entry"] : []),
    ...(typeof value["eventHash"] === "string" ? ["a receipt"] : []),
  ]
}

/** Whether the first bytes are those of a ZIP. */
export function isZip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4
}

const proofHeader = "c2sp.org/tlog-proof@v1\n"

export function unreadable(reason: string): Finding {
  return { what: "nothing", verdict: "unreadable", reason, checks: [], notCovered: [], facts: {} }
}

function refuted(what: Finding["what"], reason: string, checks: Finding["checks"] = []): Finding {
  return { what, verdict: "refuted", reason, checks, notCovered: [], facts: {} }
}

// Receipts and entries ----------------------------------------------------------------------------

/** One finding per entry. An empty page has nothing to check. */
function ofPage(
  page: JsonMembers,
  events: readonly unknown[],
  input: TrustedInput,
): readonly Finding[] {
  if (events.length === 0) return [unreadable("the page has no entries")]
  const { derived, notCovered } = ofPageItself(page, events)
  const wrong = Object.keys(derived).find(
    (name) => page[name] !== undefined && page[name] !== derived[name],
  )
  const entries = events.map((event, at): Finding => {
    const found =
      isObject(event) && typeof event["hash"] === "string"
        ? ofListed(event, input)
        : unreadable("it is not an entry")
    const uncovered = [...found.notCovered, ...notCovered]
    return { item: `events[${at}]`, ...found, notCovered: uncovered }
  })
  if (wrong !== undefined) {
    const [expected, found] = [String(derived[wrong]), JSON.stringify(page[wrong])]
    return [refuted("page", fault("page", wrong, expected, found)), ...entries]
  }
  const misplaced = firstMisplaced(entries, events)
  if (misplaced < 0) return entries
  const reason = `page does not hold, in events[${misplaced}]: entries must come once each, newest first`
  return [refuted("page", reason), ...entries]
}

/**
 * The first misplaced entry, or -1. Indexes must descend within a ledger, and shown sequences across
 * its epochs. An entry without a record has no place.
 */
function firstMisplaced(entries: readonly Finding[], events: readonly unknown[]): number {
  const lowest = new Map<unknown, number>()
  const descends = (of: unknown, place: unknown): boolean => {
    if (typeof place !== "number") return true
    const isBelow = place < (lowest.get(of) ?? Infinity)
    lowest.set(of, place)
    return isBelow
  }
  return entries.findIndex(({ facts: { ledger, index } }, number) => {
    const event = events[number]
    const sequence = ledger !== undefined && isObject(event) ? event["sequence"] : undefined
    return !descends(ledger, index) || !descends("sequence", sequence)
  })
}

/**
 * Checks the members of a page that its entries determine, and lists those that nothing covers: no
 * page proves that it is complete.
 */
function ofPageItself({ events: _, ...page }: JsonMembers, events: readonly unknown[]) {
  const entries = events.map((event) => (isObject(event) ? event : {}))
  const derived: JsonMembers = {
    returned: events.length,
    nextCursor: entries.at(-1)?.["sequence"],
    verified: entries.every(({ integrity }) => integrity !== "broken"),
  }
  return {
    derived,
    notCovered: Object.keys(page).flatMap((name) => (name in derived ? [] : [`page.${name}`])),
  }
}

/** An unchecked object from a file. */
type JsonMembers = Readonly<Record<string, unknown>>

/** Checks the answer about a receipt, an entry of a page, or the bare receipt from a write. */
function ofEntry(
  value: Readonly<Record<string, unknown>>,
  input: TrustedInput,
): Finding | undefined {
  if (isObject(value["receipt"]) || isObject(value["entry"]))
    return ofReceipt("receipt", value, input)
  if (typeof value["hash"] === "string") return ofListed(value, input)
  return typeof value["eventHash"] === "string"
    ? ofReceipt("receipt", { receipt: value }, input)
    : undefined
}

function ofListed({ proof, disclosures, ...entry }: JsonMembers, input: TrustedInput): Finding {
  return ofReceipt("entry", { entry, proof, disclosures }, input)
}

function ofReceipt(what: "receipt" | "entry", answer: object, input: TrustedInput): Finding {
  const verdict = verifyReceipt(answer, input)
  const { uncovered, record, sequence, eventHash, content, checkpoint, withheld = 0 } = verdict
  const facts = {
    ...(typeof content?.["action"] === "string" && { action: content["action"] }),
    ...(typeof content?.["receipt"] === "string" && { receipt: content["receipt"] }),
    ...definedOf({ sequence, eventHash }),
    ...(record && {
      ledger: toHex(record.ledgerId),
      index: record.index,
      recorded: timeOf(record.timeMs),
    }),
    ...(record?.kind === "key" && announcedBy(content?.["metadata"])),
    ...(withheld > 0 && { withheld }),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
    ...keyOf(signerOf(verdict, input.trustedKeys)),
  }
  if (verdict.verdict !== "refuted")
    return { ...concluded(what, verdict, facts, uncovered), ...(content && { content }) }
  const { failure, field, expected, found } = verdict
  const reason =
    failure === "lost"
      ? `${lost}: ${found} is not ${expected}`
      : fault(failure, field, expected, found)
  const difference = { check: failure, ...definedOf({ in: field, expected, found }) }
  return concluded(what, verdict, facts, uncovered, reason, difference)
}

function concluded(
  what: Finding["what"],
  verdict: Verdict | PackVerdict | ExportVerdict,
  facts: Finding["facts"],
  notCovered: readonly string[] = [],
  refutation?: string,
  difference?: Difference,
): Finding {
  const because = verdict.verdict === "unconfirmed" ? verdict.because : undefined
  const reason = because === undefined ? refutation : reasons[because]
  return {
    what,
    verdict: verdict.verdict,
    ...definedOf({ because, reason, difference }),
    checks: verdict.checks.map(({ name, ok }) => ({
      name,
      ok: ok || (because === undefined ? false : null),
    })),
    notCovered,
    facts,
  }
}

const lost =
  "it was recorded and is lost: the ledger continues without it, and another entry may have its sequence"

/**
 * The new key that this entry announces. A reader who trusts the signing key, and finds this entry
 * genuine, may trust the new key.
 */
function announcedBy(metadata: unknown): { readonly newKey?: string } {
  const vkey = isObject(metadata) ? metadata["vkey"] : undefined
  return typeof vkey === "string" ? { newKey: vkey } : {}
}

const reasons = {
  key_not_trusted:
    "everything agrees, but no key that you trust has signed it, and anyone can make a key",
  not_sealed:
    "no signed checkpoint covers it, so nothing shows yet that a ledger recorded it; get it again in a second",
  proof_missing:
    "it has no proof to check; get it with GET …/receipts/{receiptId}, or a page or an export with include=proof",
  content_missing: "the record is genuine, and its content is gone, as after its retention",
} as const

function fault(failure: string, field?: string, expected?: string, found?: string): string {
  const values = [
    expected === undefined ? "" : `expected ${expected}`,
    found === undefined ? "" : `found ${found}`,
  ].filter((one) => one !== "")
  return `${failure} does not hold${field === undefined ? "" : `, in ${field}`}${values.length === 0 ? "" : `: ${values.join(", ")}`}`
}

/** The key that signed. Unless the caller trusts it, anyone can have made it. */
function keyOf(key: Vkey | undefined): { readonly key?: string } {
  return key === undefined ? {} : { key: formatVkey(key) }
}

function timeOf(timeMs: number): string {
  return isoTime(timeMs) ?? String(timeMs)
}

// Proofs and packs --------------------------------------------------------------------------------

function ofProof(text: string, { trustedKeys, ...input }: TrustedInput): Finding {
  const proven = verifyTlogProof(text, { ...input, vkeys: trustedKeys })
  if (proven.ok) {
    const { record, checkpoint } = proven
    const checks = ["record", "checkpoint", "inclusion", "key"].map((name) => ({ name, ok: true }))
    const recorded = timeOf(record.timeMs)
    const facts = { index: record.index, recorded, log: checkpoint.origin, size: checkpoint.size }
    return { what: "proof", verdict: "genuine", checks, notCovered: [], facts }
  }
  const { failure, expected, found } = proven
  // The file does not contain the key: without it, nothing else can be checked.
  if (failure === "unsigned") {
    const checks = [{ name: "key", ok: null }]
    return {
      ...refuted("proof", unsigned, checks),
      verdict: "unconfirmed",
      because: "key_missing",
    }
  }
  const reason = fault(failure, undefined, expected, found)
  return refuted("proof", reason, [{ name: failure, ok: false }])
}

const unsigned = "no key that you trust has signed its checkpoint; give the log's vkey"

/** Refuses a pack with a file that is not base64: without the file it would be another pack. */
function ofPackJson(
  { manifest, files: _, ...others }: JsonMembers,
  files: JsonMembers,
  input: TrustedInput,
): Finding {
  const contents = new Map<string, Uint8Array>()
  for (const [path, base64] of Object.entries(files)) {
    const content = typeof base64 === "string" ? fromBase64(base64) : undefined
    if (content === undefined) return unreadable(`${path} is not base64`)
    contents.set(path, content)
  }
  const named = parseJson(fromUtf8(contents.get("manifest.json") ?? new Uint8Array()) ?? "")
  if (named === undefined || !equalJson(named, manifest))
    return refuted("pack", "manifest does not hold: it is not the one in files")
  return { ...ofPack(verifyPack(contents, input)), notCovered: Object.keys(others) }
}

function ofPack(verdict: PackVerdict): Finding {
  const { packId, title, packHash, checkpoint, entries, withheld = 0, erasedFields } = verdict
  const facts = {
    ...definedOf({ title, packId, packHash, entries: entries?.length }),
    ...(withheld > 0 && { withheld }),
    ...definedOf({ erasedFields }),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
    ...keyOf(verdict.key),
  }
  if (verdict.verdict !== "refuted") return concluded("pack", verdict, facts)
  const { failure, file, expected, found } = verdict
  const advice =
    failure === "archive"
      ? "; if another program packed it again, unpack it and check the folder"
      : ""
  const reason = `${fault(failure, file, expected, found)}${advice}`
  const difference = { check: failure, ...definedOf({ in: file, expected, found }) }
  return concluded("pack", verdict, facts, [], reason, difference)
}

/** A folder with a pack's seal is a pack that was unpacked; any other is an export. */
export function examineFolder(folder: Folder, input: TrustedInput): Finding {
  return folder.files(packPaths.seal) === undefined
    ? ofExport(folder, input)
    : ofUnpacked(folder, input)
}

/** The programs that unpack and show folders leave files of their own in them. */
function ofUnpacked({ files, paths }: Folder, input: TrustedInput): Finding {
  const contents = new Map<string, Uint8Array>()
  const others: string[] = []
  for (const path of paths()) {
    const content = isPackPath(path) ? files(path) : undefined
    if (content === undefined) others.push(path)
    else contents.set(path, content)
  }
  return { ...ofPack(verifyPack(contents, input)), notCovered: others }
}

function ofExport(folder: Folder, input: TrustedInput): Finding {
  if (folder.files("genesis.json") === undefined || folder.files("checkpoint") === undefined)
    return unreadable(
      "it is neither an unpacked pack nor an export, or an export that was never finished",
    )
  const { verdict, unread, stranger } = checkFolder(folder, input)
  const { checkpoint, epochs, entries, bodies, disclosures } = verdict
  const facts = {
    ...(epochs > 1 && { epochs }),
    entries,
    bodies,
    disclosures,
    ...missingFacts(verdict),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
    ...keyOf(verdict.key),
  }
  if (stranger !== undefined)
    return refuted("export", `${stranger} does not hold: no export has such a file there`)
  if (verdict.verdict !== "refuted") return concluded("export", verdict, facts, unread)
  const { failure, file, sequence } = verdict
  const place = sequence === undefined ? "" : `, entry ${sequence}`
  const difference = { check: failure, ...definedOf({ in: file, sequence }) }
  return concluded("export", verdict, facts, [], `${fault(failure, file)}${place}`, difference)
}

/** The counts of missing content, with and without an entry that explains it. */
function missingFacts(counts: MissingCounts): Readonly<Record<string, number>> {
  const { expiredBodies, erasedBodies, missingBodies, erasedFields, withheld } = counts
  return Object.fromEntries(
    Object.entries({ expiredBodies, erasedBodies, missingBodies, erasedFields, withheld }).filter(
      ([, count]) => count > 0,
    ),
  )
}

function checkFolder({ files, paths }: Folder, input: TrustedInput) {
  const read = new Set<string>()
  const verdict = verifyExport((path) => {
    const bytes = files(path)
    if (bytes !== undefined) read.add(path)
    return bytes
  }, input)
  // The check ended early, so unread files mean nothing.
  if (verdict.verdict === "refuted") return { verdict, unread: [], stranger: undefined }
  const unread = paths().filter((path) => !read.has(path))
  return { verdict, unread, stranger: unread.find((path) => isStranger(path, read, files)) }
}

/**
 * Whether an export never contains this file. An interrupted export leaves `.new` files, and tiles
 * and lines beyond its checkpoint.
 */
function isStranger(
  path: string,
  read: ReadonlySet<string>,
  files: (path: string) => Uint8Array | undefined,
): boolean {
  if (path.endsWith(".new")) return false
  const [, epoch = "", own = path] = /^(epochs\/[^/]*\/)(.*)$/.exec(path) ?? []
  if (own.startsWith("epochs/") || !read.has(`${epoch}genesis.json`)) return true
  if (own.startsWith("tile/")) return parseTilePath(own) === undefined
  if (!/^(bodies|disclosures)\//.test(own)) return false
  const [, group] = /^[a-z]+\/(\d{3}|[1-9]\d{3,})\.jsonl$/.exec(own) ?? []
  const lines = (fromUtf8(files(path) ?? new Uint8Array()) ?? "?").split("\n")
  if (group === undefined || lines.pop() !== "") return true
  const indexes = lines.map((text) => {
    const line = parseJson(text)
    return isObject(line) ? Number(line["index"]) : Number.NaN
  })
  return (
    new Set(indexes).size < indexes.length ||
    indexes.some((index) => Math.floor(index / packGroup) !== Number(group))
  )
}
