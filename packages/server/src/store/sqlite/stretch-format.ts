// The rest of packed entries, without their bodies: a stretch has up to 64 consecutive entries.
//
//   stretch     hashes[64] of each: previousHash and bodyHash, the end of its record
//               | ledgerId[32] | u64 index | u64 timeMs, all three of the first entry
//               | kind[1] of each | u40 of each: milliseconds after the first
//               | receipt[23] of each | a bit for each that has a key | key[16] of each of these
//               | JSON of what does not fit, if there is any (`Unlike`)
//   disclosures zstd of the packed disclosures of each (packed-text.ts), 0xfe between them
//
// The other parts of a record follow from the first entry's. Each value has a fixed offset, so a
// damaged byte damages only one entry.

import { assert, equalBytes, recordBytes } from "@tallystick/proof"
import { bufferOf } from "../../runtime/buffer-of.ts"
import { packZstd, peekZstd, unpacksTo, unpackZstd } from "../../runtime/zstd.ts"
import { frameEntries } from "../body-frame.ts"
import { disclosuresOf, idemBytes, idemOf, receiptBytes, receiptOf } from "./packed-text.ts"

/** The columns of an entry's row. */
export interface StretchEntry {
  readonly record: Uint8Array
  readonly receipt: unknown
  readonly idem: unknown
}

/** Places count from 0. Nothing throws, even for damaged bytes. */
export interface OpenStretch {
  readonly bytes: number
  record(place: number): Uint8Array
  writeRecord(into: Buffer, at: number, place: number): void
  receipt(place: number): string
  idem(place: number): string | undefined
}

/** Values of unusual form, such as a receipt of an older version, by the place of their entry. */
interface Unlike {
  /** In hex. */
  readonly records?: Readonly<Record<number, string>>
  readonly receipts?: Readonly<Record<number, string>>
  readonly keys?: Readonly<Record<number, string>>
}

const hashesBytes = 64
/** A trigger finds the hashes of an entry by it (migrations/journal-006.sql). */
export const stretchPartBytes = 31 * hashesBytes
/** 34 years. */
const timeBytes = 5
const magic = 0x414c5231
/** Offsets of the parts of a record (record.ts in packages/proof). */
const at = { kind: 4, index: 6, timeMs: 14, ledgerId: 22, hashes: 54 } as const
/** Index, time and ledger are adjacent. */
const commonBytes = at.hashes - at.index

/** The offsets of the parts of a stretch with so many entries. */
function partsOf(count: number) {
  const common = count * hashesBytes
  const kinds = common + commonBytes
  const times = kinds + count
  const receipts = times + count * timeBytes
  const keyed = receipts + count * receiptBytes
  return { common, kinds, times, receipts, keyed, keys: keyed + Math.ceil(count / 8) }
}

/** The entries are consecutive entries of one ledger, if their records are right. */
export function packStretch(entries: readonly StretchEntry[]): Uint8Array {
  const parts = partsOf(entries.length)
  const keys = entries.filter(({ idem }) => idem !== null)
  const bytes = Buffer.alloc(parts.keys + keys.length * idemBytes)
  const first = bufferOf(entries[0]?.record ?? new Uint8Array())
  first.copy(bytes, parts.common, at.index, at.hashes)
  const unlike = { records: {}, receipts: {}, keys: {} } satisfies Unlike as {
    readonly [part in keyof Required<Unlike>]: Record<number, string>
  }
  let key = parts.keys
  for (const [place, { record, receipt, idem }] of entries.entries()) {
    bytes.set(record.subarray(at.hashes, recordBytes), place * hashesBytes)
    bytes[parts.kinds + place] = record[at.kind] ?? 0
    const afterMs = timeOf(bufferOf(record)) - timeOf(first)
    if (afterMs >= 0 && afterMs < 2 ** (8 * timeBytes))
      bytes.writeUIntBE(afterMs, parts.times + place * timeBytes, timeBytes)
    if (receipt instanceof Uint8Array && receipt.length === receiptBytes)
      bytes.set(receipt, parts.receipts + place * receiptBytes)
    else unlike.receipts[place] = receiptOf(receipt)
    if (idem === null) continue
    const bits = parts.keyed + (place >>> 3)
    bytes[bits] = (bytes[bits] ?? 0) | (1 << (place & 7))
    if (idem instanceof Uint8Array && idem.length === idemBytes) bytes.set(idem, key)
    else unlike.keys[place] = idemOf(idem) ?? ""
    key += idemBytes
  }
  const opened = openStretch(bytes, entries.length)
  for (const [place, { record }] of entries.entries())
    if (!equalBytes(opened.record(place), record))
      unlike.records[place] = Buffer.from(record).toString("hex")
  const isUnlike = Object.values(unlike).some((some) => Object.keys(some).length > 0)
  return isUnlike ? Buffer.concat([bytes, Buffer.from(JSON.stringify(unlike))]) : bytes
}

/** Missing bytes at the end count as zeros, which are no valid record. */
export function openStretch(given: Uint8Array, count: number): OpenStretch {
  const parts = partsOf(count)
  const bytes =
    given.length < parts.keys
      ? Buffer.concat([given, Buffer.alloc(parts.keys - given.length)])
      : bufferOf(given)
  /** The offset of each entry's key. 0 without a key. */
  const keyAt = new Uint32Array(count)
  let key = parts.keys
  for (let place = 0; place < count; place++) {
    if (((bytes[parts.keyed + (place >>> 3)] ?? 0) & (1 << (place & 7))) === 0) continue
    keyAt[place] = key
    key += idemBytes
  }
  const unlike = bytes.length > key ? parseUnlike(bytes.subarray(key)) : {}
  const index = integerAt(bytes, parts.common)
  const timeMs = integerAt(bytes, parts.common + 8)

  const writeRecord = (into: Buffer, to: number, place: number): void => {
    const given = unlike.records?.[place]
    if (given !== undefined) {
      into.fill(0, to, to + recordBytes)
      into.write(given, to, recordBytes, "hex")
      return
    }
    into.writeUInt32BE(magic, to)
    into[to + at.kind] = bytes[parts.kinds + place] ?? 0
    into[to + at.kind + 1] = 0
    writeInteger(into, to + at.index, index + place)
    writeInteger(
      into,
      to + at.timeMs,
      timeMs + bytes.readUIntBE(parts.times + place * timeBytes, timeBytes),
    )
    bytes.copy(into, to + at.ledgerId, parts.common + 16, parts.kinds)
    bytes.copy(into, to + at.hashes, place * hashesBytes, (place + 1) * hashesBytes)
  }
  return {
    bytes: bytes.length,
    writeRecord,
    record(place) {
      const record = Buffer.allocUnsafeSlow(recordBytes)
      writeRecord(record, 0, place)
      return record
    },
    receipt: (place) =>
      receiptOf(unlike.receipts?.[place] ?? part(bytes, parts.receipts, place, receiptBytes)),
    idem(place) {
      const from = keyAt[place] ?? 0
      if (from === 0) return undefined
      return idemOf(unlike.keys?.[place] ?? bytes.subarray(from, from + idemBytes))
    },
  }
}

function parseUnlike(bytes: Buffer): Unlike {
  try {
    // packStretch writes this form. Any other form leads to entries that are found broken.
    return (JSON.parse(bytes.toString("utf8")) ?? {}) as Unlike
  } catch {
    return {}
  }
}

function timeOf(record: Buffer): number {
  return record.length === recordBytes ? integerAt(record, at.timeMs) : 0
}

function integerAt(bytes: Buffer, from: number): number {
  return bytes.readUInt32BE(from) * 2 ** 32 + bytes.readUInt32BE(from + 4)
}

/** A value that is no safe integer is in a record of unusual form. */
function writeInteger(bytes: Buffer, to: number, value: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32) >>> 0, to)
  bytes.writeUInt32BE(value >>> 0, to + 4)
}

function part(bytes: Buffer, from: number, place: number, length: number): Buffer {
  return bytes.subarray(from + place * length, from + (place + 1) * length)
}

// Disclosures ---------------------------------------------------------------------------------------

/** Disclosures in the form of the column `sealed`. */
export type Sealed = Uint8Array | string | null

export interface OpenSealed {
  readonly bytes: number
  /** Null if the entry has none. */
  sealed(place: number): Sealed
}

/** Between entries. UTF-8 has no such byte, and disclosures are UTF-8. */
const between = 0xfe
/** Marks disclosures that are stored as text. */
const asText = 0xfd
/** 64 of the largest events. */
const unpackedBytesMax = 64 * 1024 * 1024
/** Most of the bytes are salts: higher levels take longer and do not compress them better. */
const level = 1

/** Empty if none of the entries has disclosures. */
export function packSealed(entries: readonly unknown[]): Uint8Array {
  if (entries.every((sealed) => sealed === null)) return new Uint8Array()
  const parts = entries.flatMap((sealed, place) => {
    const one = plainSealed(sealed)
    return place === 0 ? [one] : [Buffer.of(between), one]
  })
  const text = Buffer.concat(parts)
  const bytes = packZstd(text, level)
  assert(unpacksTo(bytes, text), "disclosures are read back as they were")
  return bytes
}

function plainSealed(sealed: unknown): Uint8Array {
  if (sealed instanceof Uint8Array && !sealed.includes(between) && sealed[0] !== asText)
    return sealed
  if (sealed === null) return new Uint8Array()
  return Buffer.concat([Buffer.of(asText), Buffer.from(disclosuresOf(sealed), "utf8")])
}

/** Returns a fault as a phrase that follows "the disclosures". */
export function openSealed(bytes: Uint8Array, count: number): OpenSealed | string {
  const read = readSealed(bytes, count, unpackZstd)
  if (typeof read === "string") return read
  const { text, ends } = read
  return {
    bytes: text.length,
    sealed(place) {
      return sealedOf(text, startOf(ends, place), ends[place] ?? 0)
    },
  }
}

/** The fault of disclosures, if they have one. */
export function faultOfSealed(bytes: Uint8Array, count: number): string | undefined {
  const read = readSealed(bytes, count, peekZstd)
  return typeof read === "string" ? read : undefined
}

function readSealed(
  bytes: Uint8Array,
  count: number,
  unpack: typeof unpackZstd,
): { readonly text: Buffer; readonly ends: readonly number[] } | string {
  let text: Buffer
  try {
    text = unpack(bytes, unpackedBytesMax)
  } catch {
    return "cannot be unpacked"
  }
  const ends = endsIn(text, frameEntries)
  return ends.length === count ? { text, ends } : "are of another number of entries"
}

/** Where the disclosures of each entry end, up to this place. */
function endsIn(text: Buffer, last: number): readonly number[] {
  const ends: number[] = []
  for (let from = 0; from <= text.length && ends.length <= last;) {
    const found = text.indexOf(between, from)
    const end = found < 0 ? text.length : found
    ends.push(end)
    from = end + 1
  }
  return ends
}

/** The disclosures of some entries alone. Null if they are damaged. */
export function sealedIn(bytes: Uint8Array, places: readonly number[]): readonly Sealed[] {
  let text: Buffer
  try {
    text = bytes.length === 0 ? noText : peekZstd(bytes, unpackedBytesMax)
  } catch {
    text = noText
  }
  const ends = endsIn(text, Math.max(...places))
  return places.map((place) => {
    const sealed = sealedOf(text, startOf(ends, place), ends[place] ?? 0)
    return sealed instanceof Uint8Array ? Uint8Array.from(sealed) : sealed
  })
}

const noText = Buffer.alloc(0)

function startOf(ends: readonly number[], place: number): number {
  return place === 0 ? 0 : (ends[place - 1] ?? 0) + 1
}

function sealedOf(text: Buffer, from: number, to: number): Sealed {
  if (from >= to) return null
  return text[from] === asText ? text.utf8Slice(from + 1, to) : text.subarray(from, to)
}

/** The disclosures, with those at these places replaced. Nothing of damaged ones can be kept. */
export function sealedWith(
  opened: OpenSealed | string,
  count: number,
  changed: ReadonlyMap<number, Sealed>,
): Uint8Array {
  return packSealed(
    Array.from({ length: count }, (_, place) => {
      const other = changed.get(place)
      return other !== undefined ? other : typeof opened === "string" ? null : opened.sealed(place)
    }),
  )
}
