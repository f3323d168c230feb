// An evidence pack as one stream. A ZIP contains each file's size and checksum before its content,
// and the manifest contains the hashes of files after it. So every file is made twice: once to
// measure it, once to send it.

import { createHash, hash } from "node:crypto"
import { crc32 } from "node:zlib"
import {
  formatManifest,
  isListed,
  packPaths,
  zipBytes,
  zipDirectory,
  zipFileHeader,
  type ZipFile,
} from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import type { PackFile } from "./pack-files.ts"

export interface MeasuredFile extends PackFile, ZipFile {
  readonly hash: string
}

export interface Manifest {
  readonly text: string
  readonly packHash: string
}

/** Makes every file once and measures it. Refuses more than `bytesMax` in total. */
export async function measure(
  files: readonly PackFile[],
  bytesMax: number,
  signal?: AbortSignal,
): Promise<readonly MeasuredFile[]> {
  const measured: MeasuredFile[] = []
  let bytes = 0
  for (const file of files) {
    const hashing = createHash("sha256")
    let size = 0
    let crc = 0
    for await (const chunk of file.chunks()) {
      signal?.throwIfAborted()
      hashing.update(chunk)
      crc = crc32(chunk, crc)
      size += chunk.length
      if (bytes + size > bytesMax)
        throw new LedgerError(
          "payload_too_large",
          `the pack has more than the ${bytesMax} bytes that are allowed`,
        )
    }
    bytes += size
    measured.push({ ...file, name: file.path, size, crc, hash: hashing.digest("hex") })
  }
  return measured
}

export function manifestOf(files: readonly MeasuredFile[]): Manifest {
  const text = formatManifest(
    new Map(files.flatMap(({ path, hash }) => (isListed(path) ? [[path, hash]] : []))),
  )
  return { text, packHash: hash("sha256", text) }
}

export function manifestFile({ text }: Manifest): PackFile {
  return {
    path: packPaths.manifest,
    async *chunks() {
      yield Buffer.from(text)
    },
  }
}

export function inOrder(files: readonly MeasuredFile[]): readonly MeasuredFile[] {
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

export interface Archive {
  readonly bytes: number | undefined
  readonly chunks: AsyncGenerator<Buffer>
}

/** The files must be in order. */
export function zipOf(files: readonly MeasuredFile[]): Archive {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const file of files) {
      yield zipFileHeader(file)
      yield* checked(file)
    }
    yield zipDirectory(files)
  }
  return { bytes: zipBytes(files), chunks: inBlocks(pieces()) }
}

/** `{ manifest, files: { path: base64 } }`. The files must be in order. */
export function jsonOf(files: readonly MeasuredFile[], manifest: Manifest): Archive {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`{"manifest":${manifest.text},"files":{`)
    for (const [at, file] of files.entries()) {
      yield Buffer.from(`${at === 0 ? "" : ","}${JSON.stringify(file.path)}:"`)
      let rest = Buffer.alloc(0)
      for await (const chunk of checked(file)) {
        // Three bytes make four digits. The remainder goes before the next piece.
        const whole = Buffer.concat([rest, chunk])
        const end = whole.length - (whole.length % 3)
        yield Buffer.from(whole.subarray(0, end).toString("base64"))
        rest = whole.subarray(end)
      }
      yield Buffer.from(`${rest.toString("base64")}"`)
    }
    yield Buffer.from("}}")
  }
  return { bytes: undefined, chunks: inBlocks(pieces()) }
}

/**
 * A file's content. It must equal the measured content, because the announced size was already
 * sent.
 */
async function* checked(file: MeasuredFile): AsyncGenerator<Buffer> {
  let sent = 0
  let found = 0
  for await (const chunk of file.chunks()) {
    found = crc32(chunk, found)
    sent += chunk.length
    yield chunk
  }
  if (sent !== file.size || found !== file.crc)
    throw new Error(`${file.path} is not what it was a moment ago`)
}

const blockBytes = 64 * 1024

/** Joins small pieces: a pack may have ten thousand small files. */
async function* inBlocks(pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = []
  let bytes = 0
  for await (const piece of pieces) {
    held.push(piece)
    bytes += piece.length
    if (bytes < blockBytes) continue
    yield Buffer.concat(held)
    held = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(held)
}
