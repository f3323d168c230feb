// Checks evidence in a worker, so that the page can show the progress and cancel.

import {
  examineFolder,
  examineFile,
  fromUtf8,
  isJsonObject,
  isZip,
  openBody,
  parseJson,
  readLineage,
  readZip,
  sha256,
  unreadable,
  type Finding,
  type Sha256,
  type TrustedInput,
} from "@tallystick/proof"
import { recordedContent, type RecordedContent } from "../parts/recorded-content.ts"
import type { Done, Evidence, Packed, PackedEntry, Report, Task } from "./evidence.ts"

/** Only workers have it, but the types are those of a window. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer
}

const mebibyte = 1024 * 1024
/**
 * The limits of `tallystick verify`: the largest pack, and text that is in memory several times.
 */
const packBytesMax = 1280 * mebibyte
const textBytesMax = 256 * mebibyte
const pieceBytes = 4 * mebibyte
const tellEveryMs = 100
/** For more entries, open entries.csv. */
const packedShownMax = 100

onmessage = ({ data }: MessageEvent<Task>) => {
  const { evidence, trustedKeys } = data
  tell({ is: "done", ...examine(evidence, { trustedKeys, geneses: [], hash: countingHash() }) })
}

type Examined = Omit<Done, "is">

function examine({ file, folder, fault }: Evidence, input: TrustedInput): Examined {
  try {
    if (fault !== undefined) return { findings: [unreadable(fault)] }
    if (folder !== undefined) return { findings: [examineFolder(folderOf(new Map(folder)), input)] }
    const bytes = file === undefined ? new Uint8Array() : read(file)
    const findings = examineFile(bytes, input)
    const holds = findings.every(({ verdict }) => verdict !== "refuted")
    return {
      findings,
      packed: holds && isZip(bytes) ? packedIn(bytes) : undefined,
      recorded: findings.length === 1 ? recordedOf(findings[0]) : undefined,
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { findings: [unreadable(reason)] }
  }
}

function recordedOf({ content, facts = {} }: Partial<Finding> = {}): RecordedContent | undefined {
  if (content === undefined) return undefined
  return recordedContent(content, { withheld: Number(facts["withheld"] ?? 0) })
}

/** For a checked pack, whose files have the form that a ledger writes. */
function packedIn(archive: Uint8Array): Packed {
  const files = readZip(archive) ?? new Map<string, Uint8Array>()
  const textOf = (path: string): string => fromUtf8(files.get(path) ?? new Uint8Array()) ?? ""
  const linesBelow = (folder: string): readonly string[] =>
    [...files.keys()]
      .filter((path) => path.startsWith(folder))
      .flatMap((path) => textOf(path).split("\n"))
      .filter((line) => line !== "")
  const lines = linesBelow("bodies/")
  const shown = lines
    .slice(0, packedShownMax)
    .map((line) => JSON.parse(line) as { index: number; body: string })
  const last = shown.at(-1)?.index ?? 0
  const disclosed = new Map<number, readonly string[]>()
  for (const line of linesBelow("disclosures/")) {
    const { index, d } = JSON.parse(line) as { index: number; d: readonly string[] }
    if (index > last) break
    disclosed.set(index, d)
  }
  const earlier = [...files.keys()].filter((path) => path.startsWith("epochs/")).length
  const geneses = Array.from({ length: earlier }, (_, at) =>
    textOf(`epochs/${earlier - at}/genesis.json`),
  )
  const [own] = readLineage([textOf("genesis.json"), ...geneses]) ?? []
  const before = own?.earlierEntries ?? 0
  return {
    total: lines.length,
    entries: shown.map(({ index, body }) =>
      packedEntry(before + index + 1, body, disclosed.get(index) ?? []),
    ),
  }
}

function packedEntry(sequence: number, text: string, disclosures: readonly string[]): PackedEntry {
  const body = parseJson(text)
  const opened = isJsonObject(body) ? openBody(body, disclosures) : undefined
  const { action, lane, occurredAt, actor, target } = recordedContent(
    opened?.ok === true ? opened.value : {},
    {},
  )
  return {
    sequence,
    action: action ?? "",
    lane: lane ?? "",
    occurredAt: occurredAt ?? "",
    actor,
    target,
  }
}

/** Files are read on demand, and not cached. */
function folderOf(files: ReadonlyMap<string, File>) {
  return {
    files: (path: string) => {
      const file = files.get(path)
      return file === undefined ? undefined : bytesOf(file)
    },
    paths: () => [...files.keys()],
  }
}

function read(file: File): Uint8Array {
  const most = isZip(bytesOf(file.slice(0, 4))) ? packBytesMax : textBytesMax
  if (file.size > most)
    throw new Error(
      `it has ${file.size} bytes, and at most ${most} are read here; use tallystick verify`,
    )
  const bytes = new Uint8Array(file.size)
  for (let at = 0; at < file.size; at += pieceBytes) {
    bytes.set(bytesOf(file.slice(at, at + pieceBytes)), at)
    tellSometimes({ is: "reading", done: at })
  }
  tell({ is: "checking", hashed: 0 })
  return bytes
}

function bytesOf(blob: Blob): Uint8Array {
  return new Uint8Array(new FileReaderSync().readAsArrayBuffer(blob))
}

function countingHash(): Sha256 {
  let hashed = 0
  return (bytes) => {
    hashed += bytes.length
    tellSometimes({ is: "checking", hashed })
    return sha256(bytes)
  }
}

let toldAt = 0

function tellSometimes(report: Report): void {
  const now = performance.now()
  if (now - toldAt < tellEveryMs) return
  toldAt = now
  tell(report)
}

function tell(report: Report): void {
  // The type of a window's postMessage differs.
  ;(self as unknown as { postMessage(report: Report): void }).postMessage(report)
}
