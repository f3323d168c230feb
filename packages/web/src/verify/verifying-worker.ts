// Checks evidence beside the page, so that the page can show how far it is, and end it.

import {
  examineExport,
  examineFile,
  fromUtf8,
  isZip,
  readZip,
  sha256,
  unreadable,
  type Finding,
  type Sha256,
  type TrustedInput,
} from "@tallystick/proof"
import type { Evidence, Packed, PackedEntry, Report, Task } from "./evidence.ts"

/** Only workers have it, and the types are a window's. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer
}

const mebibyte = 1024 * 1024
/** As `tallystick verify` reads: the largest pack, and text that is held in memory several times. */
const packBytesMax = 1280 * mebibyte
const textBytesMax = 256 * mebibyte
const pieceBytes = 4 * mebibyte
const tellEveryMs = 100
/** Whoever wants more opens entries.csv. */
const packedShownMax = 100

onmessage = ({ data }: MessageEvent<Task>) => {
  const { evidence, trustedKeys } = data
  tell({ is: "done", ...examine(evidence, { trustedKeys, geneses: [], hash: countingHash() }) })
}

interface Examined {
  readonly findings: readonly Finding[]
  readonly packed?: Packed | undefined
}

function examine({ file, folder }: Evidence, input: TrustedInput): Examined {
  try {
    if (folder !== undefined) return { findings: [examineExport(folderOf(new Map(folder)), input)] }
    const bytes = file === undefined ? new Uint8Array() : read(file)
    const findings = examineFile(bytes, input)
    const holds = findings.every(({ verdict }) => verdict !== "refuted")
    return { findings, packed: holds && isZip(bytes) ? packedIn(bytes) : undefined }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { findings: [unreadable(reason)] }
  }
}

/** Of a pack that was checked: its bodies are of the form that a ledger writes. */
function packedIn(archive: Uint8Array): Packed {
  const lines = [...(readZip(archive) ?? [])]
    .filter(([path]) => path.startsWith("bodies/"))
    .flatMap(([, content]) => (fromUtf8(content) ?? "").split("\n"))
    .filter((line) => line !== "")
  return { total: lines.length, entries: lines.slice(0, packedShownMax).map(packedEntry) }
}

function packedEntry(line: string): PackedEntry {
  const { index, body } = JSON.parse(line) as { index: number; body: string }
  const { action, lane, occurredAt, actor, target } = JSON.parse(body) as Record<
    "action" | "lane" | "occurredAt",
    string
  > &
    Record<"actor" | "target", { readonly id: string }>
  return { index, action, lane, occurredAt, actor: actor.id, target: target.id }
}

/** Files are read when they are asked for, and none is kept. */
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

/** Says how far it has come by what it has hashed. */
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
  // A window's postMessage is another one.
  ;(self as unknown as { postMessage(report: Report): void }).postMessage(report)
}
