import { assert } from "./assert.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { isSize, leafHash } from "./tree.ts"

/**
 * The record of an entry: 118 bytes that stay for ever. It contains the time, the ledger, the index
 * and the link to the previous entry. It commits to the content only by the hash of the body.
 *
 *     off len
 *       0   4  "ALR1"
 *       4   1  kind
 *       5   1  flags          zero
 *       6   8  index          the leaf of the tree, from 0; the API's `sequence` is one more, and counts earlier epochs
 *      14   8  timeMs         the ledger's clock, milliseconds since 1970, never decreasing
 *      22  32  ledgerId
 *      54  32  previousHash   the event hash of the entry before; of the first entry, the ledgerId
 *      86  32  bodyHash
 *
 * Integers are big-endian. The entry of the transparency log is these bytes, and so the hash of the
 * linear chain is the leaf of the tree:
 *
 *     eventHash = SHA-256( 0x00 || record )
 */
export type RecordFields = {
  readonly kind: Kind
  readonly index: number
  readonly timeMs: number
  readonly ledgerId: Uint8Array
  readonly previousHash: Uint8Array
  readonly bodyHash: Uint8Array
}

export type Kind = keyof typeof kinds

export const recordBytes = 118

/** The kinds of entry by name, as the API shows them, with their byte in the record. */
export const kinds = {
  event: 1,
  consent: 2,
  policy: 3,
  erasure: 4,
  key: 5,
  anchor: 6,
  retention: 7,
  admin: 8,
} as const

export function kindOf(code: number): Kind | undefined {
  return names.get(code)
}

export function eventHash(record: Uint8Array, hash: Sha256 = sha256): Uint8Array {
  assert(record.length === recordBytes, "a record has 118 bytes")
  return leafHash(record, hash)
}

export function encodeRecord(fields: RecordFields): Uint8Array {
  const record = new Uint8Array(recordBytes)
  writeRecord(record, 0, fields)
  return record
}

/** Writes the record into `into`, from offset `at`. */
export function writeRecord(into: Uint8Array, at: number, fields: RecordFields): void {
  assert(at >= 0 && at + recordBytes <= into.length, "the buffer has room for the record")
  assert(
    fields.ledgerId.length === 32 &&
      fields.previousHash.length === 32 &&
      fields.bodyHash.length === 32,
    "a hash has 32 bytes",
  )
  writeHalf(into, at, magic)
  into[at + 4] = kinds[fields.kind]
  into[at + 5] = 0
  writeInteger(into, at + 6, fields.index)
  writeInteger(into, at + 14, fields.timeMs)
  into.set(fields.ledgerId, at + 22)
  into.set(fields.previousHash, at + 54)
  into.set(fields.bodyHash, at + 86)
}

/** Undefined unless `writeRecord` writes the same bytes. The hashes are copies. */
export function parseRecord(bytes: Uint8Array): RecordFields | undefined {
  const index = indexOfRecord(bytes)
  if (index === undefined) return undefined
  return {
    // Of a record with an index, both are there.
    kind: kindOf(bytes[4] ?? 0) as Kind,
    index,
    timeMs: readInteger(bytes, 14) as number,
    ledgerId: copy(bytes, 22),
    previousHash: copy(bytes, 54),
    bodyHash: copy(bytes, 86),
  }
}

/** The index of a record, for callers that need nothing else. It makes no copies. */
export function indexOfRecord(bytes: Uint8Array): number | undefined {
  const isRecord =
    bytes.length === recordBytes &&
    readInteger(bytes, 0, 4) === magic &&
    bytes[5] === 0 &&
    kindOf(bytes[4] ?? 0) !== undefined &&
    readInteger(bytes, 14) !== undefined
  return isRecord ? readInteger(bytes, 6) : undefined
}

/** `ALR1` */
const magic = 0x414c_5231

const names = new Map(
  Object.entries(kinds).map(([name, code]): [number, Kind] => [code, name as Kind]),
)

/** Eight bytes as two halves: bit operators work on 32 bits, and BigInt is slow. */
function writeInteger(into: Uint8Array, at: number, value: number): void {
  assert(isSize(value), "an index or a time is a safe integer")
  writeHalf(into, at, Math.floor(value / 2 ** 32))
  writeHalf(into, at + 4, value % 2 ** 32)
}

function writeHalf(into: Uint8Array, at: number, half: number): void {
  into[at] = half >>> 24
  into[at + 1] = half >>> 16
  into[at + 2] = half >>> 8
  into[at + 3] = half
}

/** Eight bytes, if not told otherwise. */
function readInteger(bytes: Uint8Array, at: number, length = 8): number | undefined {
  let value = 0
  for (let i = at; i < at + length; i++) value = value * 256 + (bytes[i] ?? 0)
  // Rounding can only turn a larger value into 2^53, which is not a safe integer either.
  return Number.isSafeInteger(value) ? value : undefined
}

function copy(bytes: Uint8Array, at: number): Uint8Array {
  return new Uint8Array(bytes.subarray(at, at + 32))
}
