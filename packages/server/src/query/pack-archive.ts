// An evidence pack as one stream. A ZIP contains each file's size and checksum before its content,
// and the manifest contains the hashes of files after it. So every file is made twice: once to
// measure it, once to send it.

import { createHash, hash, type Hash } from "node:crypto"
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
import type { PackFile, Piece } from "./pack-files.ts"

/** What a file's content must be when it is sent. */
export interface Measure {
  readonly size: number
  readonly crc: number
  readonly hash: string
}

export interface MeasuredFile extends PackFile, ZipFile {}

export interface Manifest {
  readonly text: string
  readonly packHash: string
}

/** Measures files by their pieces, after those before. Refuses more than `bytesMax` in total. */
export async function measure(
  pieces: AsyncIterable<Piece>,
  bytesMax: number,
  signal?: AbortSignal,
  before: ReadonlyMap<string, Measure> = new Map(),
): Promise<ReadonlyMap<string, Measure>> {
  const files = new Map<string, { size: number; crc: number; readonly hashing: Hash }>()
  let bytes = before.values().reduce((sum, { size }) => sum + size, 0)
  for await (const { path, chunk } of pieces) {
    signal?.throwIfAborted()
    bytes += chunk.length
    if (bytes > bytesMax)
      throw new LedgerError(
        "payload_too_large",
        `the pack has more than the ${bytesMax} bytes that are allowed`,
      )
    const file = files.get(path) ?? { size: 0, crc: 0, hashing: createHash("sha256") }
    files.set(path, file)
    file.size += chunk.length
    file.crc = crc32(chunk, file.crc)
    file.hashing.update(chunk)
  }
  const measures = new Map(before)
  for (const [path, { size, crc, hashing }] of files)
    measures.set(path, { size, crc, hash: hashing.digest("hex") })
  return measures
}

export async function* piecesOf(files: readonly PackFile[]): AsyncGenerator<Piece> {
  for (const file of files)
    for await (const chunk of file.chunks()) yield { path: file.path, chunk }
}

export function manifestOf(measures: ReadonlyMap<string, Measure>): Manifest {
  const text = formatManifest(
    new Map([...measures].flatMap(([path, { hash }]) => (isListed(path) ? [[path, hash]] : []))),
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

/** The files in the order of an archive, each as it was measured. */
export function inOrder(
  files: readonly PackFile[],
  measures: ReadonlyMap<string, Measure>,
): readonly MeasuredFile[] {
  return files
    .map((file) => {
      const measured = measures.get(file.path)
      if (measured === undefined) throw changedMeanwhile(file.path)
      return { ...file, name: file.path, ...measured }
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
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
  if (sent !== file.size || found !== file.crc) throw changedMeanwhile(file.path)
}

function changedMeanwhile(path: string): Error {
  return new Error(`${path} is not what it was a moment ago`)
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
