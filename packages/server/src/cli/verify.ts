// `tallystick verify`: checks what somebody was given, from its bytes alone. It imports what has no way to the network.

import { existsSync, readFileSync, statSync } from "node:fs"
import {
  fromBase64,
  fromUtf8,
  parseVkey,
  readLineage,
  toHex,
  verifyExport,
  verifyPack,
  verifyReceipt,
  verifyTlogProof,
} from "@tallystick/proof"
import type { ExportVerdict, PackVerdict, Verdict, VerifiedTlogProof } from "@tallystick/proof"

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
  readonly what: "receipt" | "entry" | "proof" | "pack" | "export" | "nothing"
  readonly verdict: "genuine" | "unconfirmed" | "refuted" | "unreadable"
  /** One sentence for people, unless it is genuine. */
  readonly reason?: string
  readonly checks: readonly { readonly name: string; readonly ok: boolean }[]
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

const isZip = (bytes: Uint8Array): boolean => toHex(bytes.subarray(0, 4)) === "504b0304"
const proofHeader = "c2sp.org/tlog-proof@v1\n"

function examine(file: string, known: Known): readonly Finding[] {
  const { trustedKeys } = known
  const folder = exportFolder(file)
  if (folder !== undefined) return [{ file, ...ofExport(folder, trustedKeys) }]
  const bytes = read(file)
  if (!(bytes instanceof Uint8Array)) return [{ file, ...bytes }]
  if (isZip(bytes)) return [{ file, ...ofPack(verifyPack(bytes, { trustedKeys })) }]
  const text = fromUtf8(bytes)
  if (text?.startsWith(proofHeader)) return [{ file, ...ofProof(text, trustedKeys) }]
  const value = text === undefined ? undefined : parse(text)
  if (!isObject(value)) return [{ file, ...unreadable(kinds) }]
  if (isObject(value["files"]) && isObject(value["manifest"])) return [{ file, ...ofPackJson(value["files"], trustedKeys) }]
  if (Array.isArray(value["events"])) return ofPage(file, value["events"], known)
  return [{ file, ...(ofEntry(value, known) ?? unreadable(kinds)) }]
}

const kinds =
  "it is no receipt of GET …/receipts/{receiptId}, no page read with include=proof, no tlog-proof, no evidence pack and no export"

/** An export is named by its folder, or by the checkpoint in it. */
/** Of the ledger as it is now and of what it goes on from, newest first; none if they cannot be read. */
function genesesIn(path: string): readonly string[] {
  const folder = exportFolder(path)
  if (folder !== undefined) return genesesOf(folder)
  const bytes = read(path)
  const value = bytes instanceof Uint8Array ? parse(fromUtf8(bytes) ?? "") : undefined
  const epochs = isObject(value) && Array.isArray(value["epochs"]) ? (value["epochs"] as readonly unknown[]) : []
  return epochs.map((epoch) => (isObject(epoch) ? String(epoch["genesis"]) : "")).toReversed()
}

function genesesOf(folder: string): readonly string[] {
  const earlier: string[] = []
  const pathOf = (number: number): string => `${folder}/epochs/${number}/genesis.json`
  while (existsSync(pathOf(earlier.length + 1))) earlier.push(readFileSync(pathOf(earlier.length + 1), "utf8"))
  return existsSync(`${folder}/genesis.json`) ? [readFileSync(`${folder}/genesis.json`, "utf8"), ...earlier.toReversed()] : []
}

function exportFolder(file: string): string | undefined {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return file
  const [, folder] = /^(.*?)\/?checkpoint$/.exec(file) ?? []
  if (folder === undefined) return undefined
  const at = folder === "" && !file.startsWith("/") ? "." : folder
  return existsSync(`${at}/genesis.json`) ? at : undefined
}

function read(file: string): Uint8Array | Found {
  try {
    return readFileSync(file)
  } catch (error) {
    // The system's own sentence names what is wrong and the path.
    return unreadable(error instanceof Error ? error.message : String(error))
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function unreadable(reason: string): Found {
  return { what: "nothing", verdict: "unreadable", reason, checks: [], facts: {} }
}

// Receipts and entries ------------------------------------------------------------------------------------------------------------------------------------

/** An empty page has nothing to be wrong about, and nothing to confirm. */
function ofPage(file: string, events: readonly unknown[], known: Known): readonly Finding[] {
  if (events.length === 0) return [{ file, ...unreadable("it is a page without entries") }]
  return events.map((event, at) => ({
    file: `${file} events[${at}]`,
    ...((isObject(event) ? ofEntry(event, known) : undefined) ?? unreadable("it is no entry")),
  }))
}

/** The answer about a receipt, an entry of a page, or the receipt alone that a write was answered with. */
function ofEntry(value: Readonly<Record<string, unknown>>, known: Known): Found | undefined {
  if (isObject(value["receipt"]) || isObject(value["entry"])) return ofReceipt("receipt", verifyReceipt(value, known))
  if (typeof value["hash"] === "string") {
    const { proof, disclosures, ...entry } = value
    return ofReceipt("entry", verifyReceipt({ entry, proof, disclosures }, known))
  }
  return typeof value["eventHash"] === "string" ? ofReceipt("receipt", verifyReceipt({ receipt: value }, known)) : undefined
}

function ofReceipt(what: "receipt" | "entry", verdict: Verdict): Found {
  const { checks, record, eventHash, content, checkpoint, withheld = 0 } = verdict
  const facts = {
    ...(typeof content?.["action"] === "string" && { action: content["action"] }),
    ...(eventHash !== undefined && { eventHash }),
    ...(record && { ledger: toHex(record.ledgerId), index: record.index, recorded: timeOf(record.timeMs) }),
    ...(record?.kind === "key" && announcedBy(content?.["metadata"])),
    ...(withheld > 0 && { withheld }),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
  }
  switch (verdict.verdict) {
    case "genuine":
      return { what, verdict: "genuine", checks, facts }
    case "unconfirmed":
      return { what, verdict: "unconfirmed", reason: reasons[verdict.because], checks, facts }
    case "refuted": {
      const { failure, field, expected, found } = verdict
      const reason = failure === "lost" ? `${lost}: ${found} is not ${expected}` : fault(failure, field, expected, found)
      return { what, verdict: "refuted", reason, checks, facts }
    }
  }
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
    return { what: "proof", verdict: "genuine", checks, facts }
  }
  const { failure, expected, found } = proven
  // The file does not hold the key, so without it nothing more can be said.
  if (failure === "unsigned")
    return { what: "proof", verdict: "unconfirmed", reason: unsigned, checks: [{ name: "key", ok: false }], facts: {} }
  const checks = [{ name: failure, ok: false }]
  return { what: "proof", verdict: "refuted", reason: fault(failure, undefined, expected, found), checks, facts: {} }
}

const unsigned = "no key given with --key has signed its checkpoint; give the log's vkey"

/** Undefined values would make a pack of fewer files, which is another pack. */
function ofPackJson(files: Readonly<Record<string, unknown>>, trustedKeys: readonly string[]): Found {
  const contents = new Map<string, Uint8Array>()
  for (const [path, base64] of Object.entries(files)) {
    const content = typeof base64 === "string" ? fromBase64(base64) : undefined
    if (content === undefined) return unreadable(`${path} is not base64`)
    contents.set(path, content)
  }
  return ofPack(verifyPack(contents, { trustedKeys }))
}

function ofPack(verdict: PackVerdict): Found {
  const { checks, packId, title, packHash, checkpoint, entries, withheld = 0 } = verdict
  const facts = {
    ...(title !== undefined && { title }),
    ...(packId !== undefined && { packId }),
    ...(packHash !== undefined && { packHash }),
    ...(entries && { entries: entries.length }),
    ...(withheld > 0 && { withheld }),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
  }
  switch (verdict.verdict) {
    case "genuine":
      return { what: "pack", verdict: "genuine", checks, facts }
    case "unconfirmed":
      return { what: "pack", verdict: "unconfirmed", reason: reasons[verdict.because], checks, facts }
    case "refuted": {
      const { failure, file, expected, found } = verdict
      return { what: "pack", verdict: "refuted", reason: fault(failure, file, expected, found), checks, facts }
    }
  }
}

function ofExport(folder: string, trustedKeys: readonly string[]): Found {
  if (!existsSync(`${folder}/genesis.json`) || !existsSync(`${folder}/checkpoint`))
    return unreadable("it is no export, or one that was never finished")
  let verdict: ExportVerdict
  try {
    verdict = verifyExport((path) => (existsSync(`${folder}/${path}`) ? readFileSync(`${folder}/${path}`) : undefined), { trustedKeys })
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error
    return unreadable(error.message)
  }
  const { checks, checkpoint, epochs, entries, bodies, disclosures, missingBodies, withheld } = verdict
  const facts = {
    ...(epochs > 1 && { epochs }),
    entries,
    bodies,
    disclosures,
    ...(missingBodies > 0 && { missingBodies }),
    ...(withheld > 0 && { withheld }),
    ...(checkpoint && { log: checkpoint.origin, size: checkpoint.size }),
  }
  switch (verdict.verdict) {
    case "genuine":
      return { what: "export", verdict: "genuine", checks, facts }
    case "unconfirmed":
      return { what: "export", verdict: "unconfirmed", reason: reasons[verdict.because], checks, facts }
    case "refuted": {
      const { failure, file, sequence } = verdict
      const reason = `${fault(failure, file)}${sequence === undefined ? "" : `, entry ${sequence}`}`
      return { what: "export", verdict: "refuted", reason, checks, facts }
    }
  }
}

// For people ----------------------------------------------------------------------------------------------------------------------------------------------

const words = { genuine: "genuine", unconfirmed: "not confirmed", refuted: "NOT GENUINE", unreadable: "not readable" } as const

function textOf({ file, verdict, reason, checks, facts }: Finding): string {
  const lines = [
    `${file}: ${words[verdict]}`,
    ...(reason === undefined ? [] : [`  ${reason}`]),
    ...checks.map(({ name, ok }) => `  ${ok ? "ok  " : "FAIL"}  ${name}`),
    ...Object.entries(facts).map(([name, value]) => `  ${name}: ${value}`),
  ]
  return lines.map((line) => `${printable(line)}\n`).join("")
}

/** What is checked may have been written by anyone: it must not move the cursor, nor the eye. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
