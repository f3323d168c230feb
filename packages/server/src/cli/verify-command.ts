// `tallystick verify`: checks what somebody was given, from its bytes alone. It imports what has no way to the network.

import { existsSync, statSync } from "node:fs"
import {
  equalJson,
  fromBase64,
  fromUtf8,
  packGroup,
  parseJson,
  parseTilePath,
  parseVkey,
  readJson,
  readLineage,
  toHex,
  verifyExport,
  verifyPack,
  verifyReceipt,
  verifyTlogProof,
} from "@tallystick/proof"
import type { ExportVerdict, PackVerdict, Verdict, VerifiedTlogProof } from "@tallystick/proof"
import { filesBelow, isZip, pathsBelow, readEvidence, Unreadable } from "./evidence-files.ts"

export interface VerifyCommand {
  readonly files: readonly string[]
  /** Vkeys that the caller got by a way of its own. */
  readonly trustedKeys: readonly string[]
  /** The answer of GET …/tlog/epochs, or an export: how the ledger has gone on, so that what is lost can be told. */
  readonly epochs: string | undefined
  readonly json: boolean
  readonly say: (text: string) => void
}

/** The process's exit code. Only `notGenuine` says that something was changed. */
export const endings = { genuine: 0, unreadable: 1, unconfirmed: 2, notGenuine: 3 } as const

/** What was found about one thing in a file. */
interface Finding {
  readonly file: string
  readonly what: "receipt" | "entry" | "page" | "proof" | "pack" | "export" | "nothing"
  readonly verdict: "genuine" | "unconfirmed" | "refuted" | "unreadable"
  /** One sentence for people, unless it is genuine. */
  readonly reason?: string
  /** Null: it does not hold, and that refutes nothing, such as a key that is not known. */
  readonly checks: readonly { readonly name: string; readonly ok: boolean | null }[]
  /** Members of the file that prove nothing: no hash covers them. */
  readonly notCovered: readonly string[]
  /** What the bytes say, whoever wrote them. */
  readonly facts: Readonly<Record<string, string | number>>
}

type Found = Omit<Finding, "file">

/** What the caller knows by a way of its own. */
interface Known {
  readonly trustedKeys: readonly string[]
  /** Newest first. */
  readonly geneses: readonly string[]
}

export function runVerify({ files, trustedKeys, epochs, json, say }: VerifyCommand): number {
  const unusable = trustedKeys.find((key) => parseVkey(key)?.type !== "log")
  const geneses = epochs === undefined ? [] : genesesIn(epochs)
  const findings =
    unusable !== undefined
      ? [{ file: "--key", ...unreadable(`${unusable} is not the vkey of a log, such as <name>+<8 hex digits>+<base64>`) }]
      : readLineage(geneses) === undefined && epochs !== undefined
        ? [{ file: "--epochs", ...unreadable(`${epochs} is no answer of GET …/tlog/epochs and no export, or does not hold together`) }]
        : files.flatMap((file) => examine(file, { trustedKeys, geneses }))
  say(json ? `${JSON.stringify(findings, null, 2)}\n` : findings.map(textOf).join("\n"))
  return exitCodeOf(findings)
}

/** The worst of what was found: that something is not genuine above all, and then that something could not be read. */
function exitCodeOf(findings: readonly Finding[]): number {
  const verdicts = findings.map(({ verdict }) => verdict)
  if (verdicts.includes("refuted")) return endings.notGenuine
  if (verdicts.includes("unreadable")) return endings.unreadable
  return verdicts.includes("unconfirmed") ? endings.unconfirmed : endings.genuine
}

// What a file is ------------------------------------------------------------------------------------------------------------------------------------------

const proofHeader = "c2sp.org/tlog-proof@v1\n"

function examine(file: string, known: Known): readonly Finding[] {
  const { trustedKeys } = known
  const folder = exportFolder(file)
  if (folder !== undefined) return [{ file, ...ofExport(folder, trustedKeys) }]
  const bytes = attempt(() => readEvidence(file))
  if (!(bytes instanceof Uint8Array)) return [{ file, ...bytes }]
  if (isZip(bytes)) return [{ file, ...ofPack(verifyPack(bytes, { trustedKeys })) }]
  const text = fromUtf8(bytes) ?? ""
  if (text.startsWith(proofHeader)) return [{ file, ...ofProof(text, trustedKeys) }]
  const json = readJson(text)
  if (!json.ok && json.repeated !== undefined)
    return [{ file, ...refuted("nothing", `it has the member "${json.repeated}" twice, ${twice}`) }]
  const value = json.ok ? json.value : undefined
  if (!isObject(value)) return [{ file, ...unreadable(kinds) }]
  const [one, other] = kindsOf(value)
  if (other !== undefined)
    return [{ file, ...refuted("nothing", `it is ${one} and ${other} at once, so two readers can read two things in it`) }]
  if (isObject(value["files"]) && isObject(value["manifest"])) return [{ file, ...ofPackJson(value, value["files"], trustedKeys) }]
  if (Array.isArray(value["events"])) return ofPage(file, value, value["events"], known)
  return [{ file, ...(ofEntry(value, known) ?? unreadable(kinds)) }]
}

const kinds =
  "it is no receipt of GET …/receipts/{receiptId}, no page read with include=proof, no tlog-proof, no evidence pack and no export"

/** What a reader can take it for: one that is genuine says nothing of another one beside it. */
function kindsOf(value: Shown): readonly string[] {
  return [
    ...(isObject(value["files"]) || isObject(value["manifest"]) ? ["a pack"] : []),
    ...(Array.isArray(value["events"]) ? ["a page"] : []),
    ...(isObject(value["receipt"]) || isObject(value["entry"]) ? ["an answer about a receipt"] : []),
    ...(typeof value["hash"] === "string" ? ["an entry"] : []),
    ...(typeof value["eventHash"] === "string" ? ["a receipt"] : []),
  ]
}

const twice = "so two readers can read two things in it"

/** Of the ledger as it is now and of what it goes on from, newest first; none if they cannot be read. */
function genesesIn(path: string): readonly string[] {
  const folder = exportFolder(path)
  if (folder !== undefined) {
    const geneses = attempt(() => genesesOf(folder))
    return "what" in geneses ? [] : geneses
  }
  const bytes = attempt(() => readEvidence(path))
  const json = readJson(bytes instanceof Uint8Array ? (fromUtf8(bytes) ?? "") : "")
  const value = json.ok ? json.value : undefined
  const epochs = isObject(value) && Array.isArray(value["epochs"]) ? (value["epochs"] as readonly unknown[]) : []
  return epochs.map((epoch) => (isObject(epoch) && typeof epoch["genesis"] === "string" ? epoch["genesis"] : "")).toReversed()
}

function genesesOf(folder: string): readonly string[] {
  const files = filesBelow(folder)
  const textOf = (path: string): string => fromUtf8(files(path) ?? new Uint8Array()) ?? ""
  const earlier: string[] = []
  for (let text = ""; (text = textOf(`epochs/${earlier.length + 1}/genesis.json`)) !== "";) earlier.push(text)
  return [textOf("genesis.json"), ...earlier.toReversed()]
}

/** An export is named by its folder, or by the checkpoint in it. */
function exportFolder(file: string): string | undefined {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return file
  const [, folder] = /^(.*?)\/?checkpoint$/.exec(file) ?? []
  if (folder === undefined) return undefined
  const at = folder === "" && !file.startsWith("/") ? "." : folder
  return existsSync(`${at}/genesis.json`) ? at : undefined
}

function attempt<T>(read: () => T): T | Found {
  try {
    return read()
  } catch (error) {
    // The system's own sentence names what is wrong and the path, as ours does.
    if (error instanceof Unreadable || (error instanceof Error && "syscall" in error)) return unreadable(error.message)
    throw error
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function unreadable(reason: string): Found {
  return { what: "nothing", verdict: "unreadable", reason, checks: [], notCovered: [], facts: {} }
}

function refuted(what: Finding["what"], reason: string): Found {
  return { what, verdict: "refuted", reason, checks: [], notCovered: [], facts: {} }
}

// Receipts and entries ------------------------------------------------------------------------------------------------------------------------------------

/** An empty page has nothing to be wrong about, and nothing to confirm. */
function ofPage(file: string, page: Shown, events: readonly unknown[], known: Known): readonly Finding[] {
  if (events.length === 0) return [{ file, ...unreadable("it is a page without entries") }]
  const { derived, notCovered } = ofPageItself(page, events)
  const wrong = Object.keys(derived).find((name) => page[name] !== undefined && page[name] !== derived[name])
  const entries = events.map((event, at) => {
    const found = isObject(event) && typeof event["hash"] === "string" ? ofListed(event, known) : unreadable("it is no entry")
    return { file: `${file} events[${at}]`, ...found, notCovered: [...found.notCovered, ...notCovered] }
  })
  if (wrong !== undefined)
    return [{ file, ...refuted("page", fault("page", wrong, String(derived[wrong]), JSON.stringify(page[wrong]))) }, ...entries]
  const misplaced = firstMisplaced(entries, events)
  if (misplaced === undefined) return entries
  const reason = `page does not hold, in events[${misplaced}]: an entry stands once, and behind all those with a higher sequence`
  return [{ file, ...refuted("page", reason) }, ...entries]
}

/** Within a ledger the indexes descend, and across its epochs the sequences, where they are shown. What has no record has no place. */
function firstMisplaced(entries: readonly Found[], events: readonly unknown[]): number | undefined {
  const lowest = new Map<unknown, number>()
  const descends = (of: unknown, place: unknown): boolean => {
    if (typeof place !== "number") return true
    const isBelow = place < (lowest.get(of) ?? Infinity)
    lowest.set(of, place)
    return isBelow
  }
  const at = entries.findIndex(({ facts: { ledger, index } }, number) => {
    const event = events[number]
    const sequence = ledger !== undefined && isObject(event) ? event["sequence"] : undefined
    return !descends(ledger, index) || !descends("sequence", sequence)
  })
  return at < 0 ? undefined : at
}

/** What a page says of itself follows from its entries, or from nothing: no page proves that it left none out. */
function ofPageItself({ events: _, ...page }: Shown, events: readonly unknown[]) {
  const entries = events.map((event) => (isObject(event) ? event : {}))
  const derived: Shown = {
    returned: events.length,
    nextCursor: entries.at(-1)?.["sequence"],
    verified: entries.every(({ integrity }) => integrity !== "broken"),
  }
  return { derived, notCovered: Object.keys(page).flatMap((name) => (name in derived ? [] : [`page.${name}`])) }
}

/** An object as a file shows it. */
type Shown = Readonly<Record<string, unknown>>

/** The answer about a receipt, an entry of a page, or the receipt alone that a write was answered with. */
function ofEntry(value: Readonly<Record<string, unknown>>, known: Known): Found | undefined {
  if (isObject(value["receipt"]) || isObject(value["entry"])) return ofReceipt("receipt", verifyReceipt(value, known))
  if (typeof value["hash"] === "string") return ofListed(value, known)
  return typeof value["eventHash"] === "string" ? ofReceipt("receipt", verifyReceipt({ receipt: value }, known)) : undefined
}

function ofListed({ proof, disclosures, ...entry }: Shown, known: Known): Found {
  return ofReceipt("entry", verifyReceipt({ entry, proof, disclosures }, known))
}

function ofReceipt(what: "receipt" | "entry", verdict: Verdict): Found {
  const { uncovered, record, eventHash, content, checkpoint, withheld = 0 } = verdict
  const facts = {
    ...(typeof content?.["action"] === "string" && { action: content["action"] }),
    ...(eventHash !== undefined && { eventHash }),
    ...(record && { ledger: toHex(record.ledgerId), index: record.index, recorded: timeOf(record.timeMs) }),
    ...(record?.kind === "key" && announcedBy(content?.["metadata"])),
    ...(withheld > 0 && { withheld }),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
  }
  if (verdict.verdict !== "refuted") return concluded(what, verdict, facts, uncovered)
  const { failure, field, expected, found } = verdict
  const reason = failure === "lost" ? `${lost}: ${found} is not ${expected}` : fault(failure, field, expected, found)
  return concluded(what, verdict, facts, uncovered, reason)
}

function concluded(
  what: Finding["what"],
  verdict: Verdict | PackVerdict | ExportVerdict,
  facts: Finding["facts"],
  notCovered: readonly string[] = [],
  refutation?: string,
): Found {
  const reason = verdict.verdict === "unconfirmed" ? reasons[verdict.because] : refutation
  const checks = verdict.verdict === "unconfirmed" ? verdict.checks.map(unrefuted) : verdict.checks
  return { what, verdict: verdict.verdict, ...(reason !== undefined && { reason }), checks, notCovered, facts }
}

function unrefuted({ name, ok }: { readonly name: string; readonly ok: boolean }): Finding["checks"][number] {
  return { name, ok: ok ? true : null }
}

const lost = "it was recorded, and it is lost: the ledger has gone on without it, and its sequence may be another entry's now"

/** The key that follows the one that signed. Whoever trusts that one, and finds this genuine, may trust it as well. */
function announcedBy(metadata: unknown): { readonly newKey?: string } {
  const vkey = isObject(metadata) ? metadata["vkey"] : undefined
  return typeof vkey === "string" ? { newKey: vkey } : {}
}

const reasons = {
  key_not_trusted: "everything agrees, but no key given with --key has signed it, and anyone can make a key",
  not_sealed: "it was recorded, and no signed checkpoint covers it yet; get it again in a second",
  proof_missing: "there is nothing in it to check; get it with GET …/receipts/{receiptId}, or a page with include=proof",
  content_missing: "the record holds, and its content is gone, as after its retention",
} as const

function fault(failure: string, field?: string, expected?: string, found?: string): string {
  const values = [expected === undefined ? "" : `expected ${expected}`, found === undefined ? "" : `found ${found}`].filter(
    (one) => one !== "",
  )
  return `${failure} does not hold${field === undefined ? "" : `, in ${field}`}${values.length === 0 ? "" : `: ${values.join(", ")}`}`
}

function timeOf(timeMs: number): string {
  const time = new Date(timeMs)
  return Number.isNaN(time.getTime()) ? String(timeMs) : time.toISOString()
}

// Proofs and packs ----------------------------------------------------------------------------------------------------------------------------------------

function ofProof(text: string, trustedKeys: readonly string[]): Found {
  const proven: VerifiedTlogProof = verifyTlogProof(text, { vkeys: trustedKeys })
  if (proven.ok) {
    const { record, checkpoint } = proven
    const checks = ["record", "checkpoint", "inclusion", "key"].map((name) => ({ name, ok: true }))
    const facts = { index: record.index, recorded: timeOf(record.timeMs), log: checkpoint.origin, size: checkpoint.size }
    return { what: "proof", verdict: "genuine", checks, notCovered: [], facts }
  }
  const { failure, expected, found } = proven
  // The file does not hold the key, so without it nothing more can be said.
  if (failure === "unsigned")
    return { what: "proof", verdict: "unconfirmed", reason: unsigned, checks: [{ name: "key", ok: null }], notCovered: [], facts: {} }
  const checks = [{ name: failure, ok: false }]
  return { ...refuted("proof", fault(failure, undefined, expected, found)), checks }
}

const unsigned = "no key given with --key has signed its checkpoint; give the log's vkey"

/** Undefined values would make a pack of fewer files, which is another pack. */
function ofPackJson({ manifest, files: _, ...others }: Shown, files: Shown, trustedKeys: readonly string[]): Found {
  const contents = new Map<string, Uint8Array>()
  for (const [path, base64] of Object.entries(files)) {
    const content = typeof base64 === "string" ? fromBase64(base64) : undefined
    if (content === undefined) return unreadable(`${path} is not base64`)
    contents.set(path, content)
  }
  const named = parseJson(fromUtf8(contents.get("manifest.json") ?? new Uint8Array()) ?? "")
  if (named === undefined || !equalJson(named, manifest)) return refuted("pack", "manifest does not hold: it is not that of files")
  return { ...ofPack(verifyPack(contents, { trustedKeys })), notCovered: Object.keys(others) }
}

function ofPack(verdict: PackVerdict): Found {
  const { packId, title, packHash, checkpoint, entries, withheld = 0 } = verdict
  const facts = {
    ...(title !== undefined && { title }),
    ...(packId !== undefined && { packId }),
    ...(packHash !== undefined && { packHash }),
    ...(entries && { entries: entries.length }),
    ...(withheld > 0 && { withheld }),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
  }
  if (verdict.verdict !== "refuted") return concluded("pack", verdict, facts)
  const { failure, file, expected, found } = verdict
  return concluded("pack", verdict, facts, [], fault(failure, file, expected, found))
}

function ofExport(folder: string, trustedKeys: readonly string[]): Found {
  if (!existsSync(`${folder}/genesis.json`) || !existsSync(`${folder}/checkpoint`))
    return unreadable("it is no export, or one that was never finished")
  const checked = attempt(() => checkFolder(folder, trustedKeys))
  if ("what" in checked) return checked
  const { verdict, unread, stranger } = checked
  const { checkpoint, epochs, entries, bodies, disclosures, missingBodies, withheld } = verdict
  const facts = {
    ...(epochs > 1 && { epochs }),
    entries,
    bodies,
    disclosures,
    ...(missingBodies > 0 && { missingBodies }),
    ...(withheld > 0 && { withheld }),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
  }
  if (stranger !== undefined) return refuted("export", `${stranger} does not hold: no export has such a file there`)
  if (verdict.verdict !== "refuted") return concluded("export", verdict, facts, unread)
  const { failure, file, sequence } = verdict
  const place = sequence === undefined ? "" : `, entry ${sequence}`
  return concluded("export", verdict, facts, [], `${fault(failure, file)}${place}`)
}

function checkFolder(folder: string, trustedKeys: readonly string[]) {
  const files = filesBelow(folder)
  const read = new Set<string>()
  const verdict = verifyExport(
    (path) => {
      const bytes = files(path)
      if (bytes !== undefined) read.add(path)
      return bytes
    },
    { trustedKeys },
  )
  // It ended early, so that nothing follows from what was not read.
  if (verdict.verdict === "refuted") return { verdict, unread: [], stranger: undefined }
  const unread = pathsBelow(folder).filter((path) => !read.has(path))
  return { verdict, unread, stranger: unread.find((path) => isStranger(path, read, files)) }
}

/** Whether no export leaves this behind. One that was interrupted leaves what ends with `.new`, and tiles and lines beyond the checkpoint. */
function isStranger(path: string, read: ReadonlySet<string>, files: (path: string) => Uint8Array | undefined): boolean {
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
  return new Set(indexes).size < indexes.length || indexes.some((index) => Math.floor(index / packGroup) !== Number(group))
}

// For people ----------------------------------------------------------------------------------------------------------------------------------------------

const words = { genuine: "genuine", unconfirmed: "not confirmed", refuted: "NOT GENUINE", unreadable: "not readable" } as const

function textOf({ file, verdict, reason, checks, notCovered, facts }: Finding): string {
  const lines = [
    `${file}: ${words[verdict]}`,
    ...(reason === undefined ? [] : [`  ${reason}`]),
    ...checks.map(({ name, ok }) => `  ${ok === null ? "?   " : ok ? "ok  " : "FAIL"}  ${name}`),
    ...Object.entries(facts).map(([name, value]) => `  ${name}: ${value}`),
    ...(notCovered.length === 0 ? [] : [`  not covered by the proof: ${notCovered.join(", ")}`]),
  ]
  return lines.map((line) => `${printable(line)}\n`).join("")
}

/** What is checked may have been written by anyone: it must not move the cursor, nor the eye. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
