// Compresses and decompresses by zstd with cached contexts. The functions of node:zlib make a
// context for each call, which costs more than decompressing a frame, and their allocations trigger
// the garbage collector. The handle of a stream is undocumented, so it is used only in versions of
// Node in which it was tested. If it does not finish in one call, the functions of zlib take over.

import type { Transform } from "node:stream"
import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from "node:zlib"

const testedNodes = ["24", "26"]
/** The most bytes of input or output in one call. */
const lengthMax = 1024 * 1024
/** Incompressible data becomes a little longer. */
const scratchBytes = lengthMax + 16 * 1024

export function packZstd(bytes: Uint8Array, level: number): Buffer {
  const params = { [constants.ZSTD_c_compressionLevel]: level }
  const kept =
    bytes.length <= lengthMax ? packing(level, () => createZstdCompress({ params })) : undefined
  return owned(kept?.(bytes)) ?? zstdCompressSync(bytes, { params })
}

/** Throws if the input is damaged, or the output would have more than `maxOutputLength` bytes. */
export function unpackZstd(bytes: Uint8Array, maxOutputLength: number): Buffer {
  return (
    owned(unpackedInScratch(bytes, maxOutputLength)) ??
    zstdDecompressSync(bytes, { maxOutputLength })
  )
}

/** The same without a copy: the result is valid only until the next call. */
export function peekZstd(bytes: Uint8Array, maxOutputLength: number): Buffer {
  return unpackedInScratch(bytes, maxOutputLength) ?? zstdDecompressSync(bytes, { maxOutputLength })
}

function unpackedInScratch(bytes: Uint8Array, maxOutputLength: number): Buffer | undefined {
  const length = textLength(bytes)
  return length <= maxOutputLength ? unpacking(0, createZstdDecompress)?.(bytes, length) : undefined
}

/** Whether the bytes unpack to this text. Makes no copy. */
export function unpacksTo(bytes: Uint8Array, text: Uint8Array): boolean {
  return peekZstd(bytes, Math.max(text.length, 1)).equals(text)
}

const magic = 0xfd2fb528

/**
 * The content size in the header of a frame (RFC 8878, 3.1.1.1). Infinity if the header has none.
 */
function textLength({ buffer, byteOffset, length }: Uint8Array): number {
  // No header is longer.
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
 * The result is valid until the next call. Undefined if one call was not enough, or if the result
 * does not have this length.
 */
type Run = (bytes: Uint8Array, length?: number) => Buffer | undefined

/** The internals of a zlib stream. */
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
  /** The remaining lengths of the output and of the input. */
  readonly _writeState: Uint32Array
}

const packing = keptRuns()
const unpacking = keptRuns()
let scratch: Buffer | undefined

/** The contexts of a thread, by level. A context that failed is replaced. */
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
  // These members exist in the tested versions.
  const { _handle: handle, _writeState: left } = stream as unknown as Inside
  scratch ??= Buffer.allocUnsafeSlow(scratchBytes)
  handle.writeSync(constants.ZSTD_e_end, bytes, 0, bytes.length, scratch, 0, scratchBytes)
  const [outputLeft = 0, inputLeft = 0] = left
  // If the output is full, there may be more.
  if (stream.destroyed || inputLeft > 0 || outputLeft === 0) return undefined
  const made = scratch.subarray(0, scratchBytes - outputLeft)
  return length === undefined || made.length === length ? made : undefined
}

/** Copied into memory of exactly its size, because caches count the size of their values. */
function owned(made: Buffer | undefined): Buffer | undefined {
  if (made === undefined) return undefined
  const own = Buffer.allocUnsafeSlow(made.length)
  made.copy(own)
  return own
}
