// Packs and unpacks by zstd with contexts that are kept. The functions of zlib make one for each
// call, which costs more than unpacking a frame, and what they allocate makes the garbage collector
// run. The handle of a stream is not documented: it is used in the versions of Node in which it was
// tested. Whatever it does not do in one call, the functions of zlib do.

import type { Transform } from "node:stream"
import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from "node:zlib"

const testedNodes = ["24", "26"]
/** Of what is packed, and of what is unpacked, in one call. */
const lengthMax = 1024 * 1024
/** What cannot be compressed becomes a little longer. */
const scratchBytes = lengthMax + 16 * 1024

export function packZstd(bytes: Uint8Array, level: number): Buffer {
  const params = { [constants.ZSTD_c_compressionLevel]: level }
  const kept =
    bytes.length <= lengthMax ? packing(level, () => createZstdCompress({ params })) : undefined
  return owned(kept?.(bytes)) ?? zstdCompressSync(bytes, { params })
}

/** Throws if it is damaged, or has more than `maxOutputLength` bytes. */
export function unpackZstd(bytes: Uint8Array, maxOutputLength: number): Buffer {
  return (
    owned(unpackedInScratch(bytes, maxOutputLength)) ??
    zstdDecompressSync(bytes, { maxOutputLength })
  )
}

/** The same for whoever takes a part out of it: what it returns is valid until the next call. */
export function peekZstd(bytes: Uint8Array, maxOutputLength: number): Buffer {
  return unpackedInScratch(bytes, maxOutputLength) ?? zstdDecompressSync(bytes, { maxOutputLength })
}

function unpackedInScratch(bytes: Uint8Array, maxOutputLength: number): Buffer | undefined {
  const length = textLength(bytes)
  return length <= maxOutputLength ? unpacking(0, createZstdDecompress)?.(bytes, length) : undefined
}

/** Whether it unpacks to this text, without a copy of it. */
export function unpacksTo(bytes: Uint8Array, text: Uint8Array): boolean {
  return peekZstd(bytes, Math.max(text.length, 1)).equals(text)
}

const magic = 0xfd2fb528

/** How many bytes a frame says that it unpacks (RFC 8878, 3.1.1.1); Infinity if it does not. */
function textLength({ buffer, byteOffset, length }: Uint8Array): number {
  // Longer than any header.
  if (length < 18) return Infinity
  const view = new DataView(buffer, byteOffset, length)
  const descriptor = view.getUint8(4)
  const isSingle = (descriptor & 0x20) !== 0
  const from = 5 + (isSingle ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0)
  if (view.getUint32(0, true) !== magic) return Infinity
  switch (descriptor >>> 6) {
    case 0:
      return isSingle ? view.getUint8(from) : Infinity
    case 1:
      return view.getUint16(from, true) + 256
    case 2:
      return view.getUint32(from, true)
    default:
      return Number(view.getBigUint64(from, true))
  }
}

/**
 * What it makes is valid until the next call. Undefined if it did not come to its end, or makes
 * another length than this.
 */
type Run = (bytes: Uint8Array, length?: number) => Buffer | undefined

/** What a stream of zlib has inside. */
interface Inside {
  readonly _handle: {
    writeSync(
      flush: number,
      input: Uint8Array,
      inputAt: number,
      inputLength: number,
      output: Uint8Array,
      outputAt: number,
      outputLength: number,
    ): void
  }
  /** How much is left of the output and of the input. */
  readonly _writeState: Uint32Array
}

const packing = keptRuns()
const unpacking = keptRuns()
let scratch: Buffer | undefined

/** Those of a thread, by the level. One that failed is made anew. */
function keptRuns() {
  const isTested = testedNodes.includes(process.versions.node.split(".")[0] ?? "")
  const kept = new Map<number, Transform>()
  return (level: number, create: () => Transform): Run | undefined => {
    if (!isTested) return undefined
    const stream = kept.get(level) ?? create().on("error", () => {})
    kept.set(level, stream)
    return (bytes, length) => {
      const made = runOnce(stream, bytes, length)
      if (made === undefined) {
        stream.destroy()
        kept.delete(level)
      }
      return made
    }
  }
}

function runOnce(stream: Transform, bytes: Uint8Array, length?: number): Buffer | undefined {
  // Only of tested versions.
  const { _handle: handle, _writeState: left } = stream as unknown as Inside
  scratch ??= Buffer.allocUnsafeSlow(scratchBytes)
  handle.writeSync(constants.ZSTD_e_end, bytes, 0, bytes.length, scratch, 0, scratchBytes)
  const [outputLeft = 0, inputLeft = 0] = left
  // A full output may not be all.
  if (stream.destroyed || inputLeft > 0 || outputLeft === 0) return undefined
  const made = scratch.subarray(0, scratchBytes - outputLeft)
  return length === undefined || made.length === length ? made : undefined
}

/** In memory of its own size, because what is unpacked is remembered by its size. */
function owned(made: Buffer | undefined): Buffer | undefined {
  if (made === undefined) return undefined
  const own = Buffer.allocUnsafeSlow(made.length)
  made.copy(own)
  return own
}
