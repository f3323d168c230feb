// `tallystick verify`: checks evidence from its bytes alone. Nothing that it imports can reach the
// network.

import { existsSync, statSync } from "node:fs"
import {
  examineFolder,
  examineFile,
  fromUtf8,
  isObject,
  isUnchecked,
  parseVkey,
  printable,
  printableJson,
  readJson,
  readLineage,
  unreadable,
  type Finding,
  type TrustedInput,
} from "@tallystick/proof"
import { filesBelow, pathsBelow, readEvidence, Unreadable } from "./evidence-files.ts"

interface VerifyCommand {
  readonly files: readonly string[]
  /** Vkeys that the caller trusts and got from another source than the files. */
  readonly trustedKeys: readonly string[]
  /**
   * File with the answer of GET …/tlog/epochs, or an export. With the epochs of the ledger, lost
   * entries can be recognised.
   */
  readonly epochs: string | undefined
  readonly json: boolean
  readonly say: (text: string) => void
}

/** Only `notGenuine` means that something was changed. */
const exitCodes = { genuine: 0, unreadable: 1, unconfirmed: 2, notGenuine: 3 } as const

export type FileFinding = Omit<Finding, "item"> & { readonly file: string }

export function runVerify({ files, trustedKeys, epochs, json, say }: VerifyCommand): number {
  const findings =
    checkInput(trustedKeys, epochs) ??
    files.flatMap((file) =>
      examine(file, { trustedKeys, geneses: genesesIn(epochs) }).map(({ item, ...finding }) => ({
        file: item === undefined ? file : `${file} ${item}`,
        ...finding,
      })),
    )
  say(json ? `${printableJson(findings, 2)}\n` : findings.map(textOf).join("\n"))
  return exitCodeOf(findings)
}

/** A finding about an unusable option. */
function checkInput(
  trustedKeys: readonly string[],
  epochs: string | undefined,
): readonly FileFinding[] | undefined {
  const unusable = trustedKeys.find((key) => parseVkey(key)?.type !== "log")
  if (unusable !== undefined) return [{ file: "--key", ...unreadable(notVkey(unusable)) }]
  if (epochs === undefined || readLineage(genesesIn(epochs)) !== undefined) return undefined
  const read = exportFolder(epochs) ?? attempt(() => readEvidence(epochs))
  if (typeof read === "object" && "what" in read) return [{ file: `--epochs ${epochs}`, ...read }]
  const reason = `${epochs} is neither an answer of GET …/tlog/epochs nor an export, or its epochs do not fit together`
  return [{ file: "--epochs", ...unreadable(reason) }]
}

/** A file's name is the likeliest mistake. */
export function notVkey(given: string): string {
  return `${given} is not the vkey of a log: <name>+<8 hex digits>+<base64>; of a key in a file give the content: --key "$(cat log.vkey)"`
}

/** The worst result counts: not genuine, then unreadable, then unconfirmed. */
export function exitCodeOf(findings: readonly Pick<Finding, "verdict">[]): number {
  const verdicts = findings.map(({ verdict }) => verdict)
  if (verdicts.includes("refuted")) return exitCodes.notGenuine
  if (verdicts.includes("unreadable")) return exitCodes.unreadable
  return verdicts.includes("unconfirmed") ? exitCodes.unconfirmed : exitCodes.genuine
}

// Kinds of files ----------------------------------------------------------------------------------

function examine(file: string, input: TrustedInput): readonly Finding[] {
  const folder = exportFolder(file)
  if (folder !== undefined) {
    const paths = () => pathsBelow(folder)
    return [attempt(() => examineFolder({ files: filesBelow(folder), paths }, input))]
  }
  const bytes = attempt(() => readEvidence(file))
  return bytes instanceof Uint8Array ? examineFile(bytes, input) : [bytes]
}

/** Geneses of all epochs, newest first. Empty if they cannot be read. */
function genesesIn(path: string | undefined): readonly string[] {
  if (path === undefined) return []
  const folder = exportFolder(path)
  if (folder !== undefined) {
    const geneses = attempt(() => genesesOf(folder))
    return "what" in geneses ? [] : geneses
  }
  const bytes = attempt(() => readEvidence(path))
  const json = readJson(bytes instanceof Uint8Array ? (fromUtf8(bytes) ?? "") : "")
  const value = json.ok ? json.value : undefined
  const epochs =
    isObject(value) && Array.isArray(value["epochs"]) ? (value["epochs"] as readonly unknown[]) : []
  return epochs
    .map((epoch) =>
      isObject(epoch) && typeof epoch["genesis"] === "string" ? epoch["genesis"] : "",
    )
    .toReversed()
}

function genesesOf(folder: string): readonly string[] {
  const files = filesBelow(folder)
  const textOf = (path: string): string => fromUtf8(files(path) ?? new Uint8Array()) ?? ""
  const earlier: string[] = []
  for (let text = ""; (text = textOf(`epochs/${earlier.length + 1}/genesis.json`)) !== "";)
    earlier.push(text)
  return [textOf("genesis.json"), ...earlier.toReversed()]
}

/** The folder of an export, which may be given by its path or by its checkpoint. */
function exportFolder(file: string): string | undefined {
  if (isFolder(file)) return file
  const [, folder] = /^(|.*\/)checkpoint$/.exec(file) ?? []
  return folder !== undefined && existsSync(`${folder}genesis.json`) ? folder || "." : undefined
}

/** A path that cannot be looked at is read as a file, which says why. */
function isFolder(path: string): boolean {
  const stats = attempt(() => statSync(path))
  return "isDirectory" in stats && stats.isDirectory()
}

function attempt<T>(read: () => T): T | Finding {
  try {
    return read()
  } catch (error) {
    if (error instanceof Unreadable) return unreadable(error.message)
    if (!(error instanceof Error && "syscall" in error)) throw error
    // The system's message names the path, as ours does.
    const isMissing = "code" in error && error.code === "ENOENT"
    return unreadable(isMissing ? "there is no such file" : error.message)
  }
}

// Output ------------------------------------------------------------------------------------------

const words = {
  genuine: "genuine",
  unconfirmed: "not confirmed",
  refuted: "NOT GENUINE",
  unreadable: "not readable",
} as const

/** For people. */
export function textOf(finding: FileFinding): string {
  const { file, verdict, reason, checks, notCovered, facts } = finding
  const lines = [
    `${file}: ${isUnchecked(finding) ? "not checked" : words[verdict]}`,
    ...(reason === undefined ? [] : [`  ${reason}`]),
    ...checks.map(({ name, ok }) => `  ${ok === null ? "?   " : ok ? "ok  " : "FAIL"}  ${name}`),
    ...Object.entries(facts).map(([name, value]) => `  ${name}: ${value}`),
    ...(notCovered.length === 0 ? [] : [`  not covered by the proof: ${notCovered.join(", ")}`]),
  ]
  return lines.map((line) => `${printable(line)}\n`).join("")
}
