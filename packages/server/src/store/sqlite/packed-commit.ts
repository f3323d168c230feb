// Passes entries to the writer thread: all entries of a commit are in one buffer that both threads
// share. A message with an object for each entry costs more than hashing the entry, and allocating
// memory for each commit costs as much as that message.
//
//   entry = u32 body length | u32 disclosures length | u8 receipt length | u8 idem length (0: none)
//           | record[118] | salt[16] | body | disclosures | receipt | idem

import { bodySaltBytes, recordBytes } from "@tallystick/proof"
import { bufferOf } from "../../runtime/buffer-of.ts"
import type { Linked } from "../entries.ts"

const prefixBytes = 10

export interface Unpacked {
  readonly record: Uint8Array
  /** The salt, then the body. */
  readonly saltedBody: Uint8Array
  /** Latin letters. Empty if there is none. */
  readonly disclosures: Buffer
  readonly receipt: Buffer
  readonly idem: Buffer
}

/** Enough for a usual commit. A larger commit gets memory of its own. */
const usualBytes = 1024 * 1024

export interface Packer {
  /** Valid until it is given back, because its memory is reused then. */
  pack(entries: readonly Linked[]): Uint8Array
  giveBack(packed: Uint8Array): void
}

export function createPacker(): Packer {
  const free: SharedArrayBuffer[] = []
  return {
    pack(entries) {
      let bytes = 0
      for (const entry of entries) bytes += packedBytes(entry)
      const memory =
        bytes > usualBytes
          ? new SharedArrayBuffer(bytes)
          : (free.pop() ?? new SharedArrayBuffer(usualBytes))
      const buffer = Buffer.from(memory, 0, bytes)
      let at = 0
      for (const entry of entries) at = packOne(buffer, at, entry)
      return buffer
    },
    giveBack({ buffer }) {
      if (buffer instanceof SharedArrayBuffer && buffer.byteLength === usualBytes) free.push(buffer)
    },
  }
}

/** Calls `each` with the entries in order. They are views of the buffer and must not be kept. */
export function unpack(
  packed: Uint8Array,
  start: number,
  count: number,
  each: (entry: Unpacked, place: number) => void,
): number {
  const buffer = bufferOf(packed)
  let at = start
  for (let place = 0; place < count; place++) {
    const bodyEnd = at + prefixBytes + recordBytes + bodySaltBytes + buffer.readUInt32LE(at)
    const disclosuresEnd = bodyEnd + buffer.readUInt32LE(at + 4)
    const receiptEnd = disclosuresEnd + (buffer[at + 8] ?? 0)
    const end = receiptEnd + (buffer[at + 9] ?? 0)
    const record = at + prefixBytes
    each(
      {
        record: buffer.subarray(record, record + recordBytes),
        saltedBody: buffer.subarray(record + recordBytes, bodyEnd),
        disclosures: buffer.subarray(bodyEnd, disclosuresEnd),
        receipt: buffer.subarray(disclosuresEnd, receiptEnd),
        idem: buffer.subarray(receiptEnd, end),
      },
      place,
    )
    at = end
  }
  return at
}

function packedBytes(entry: Linked): number {
  return (
    prefixBytes +
    recordBytes +
    bodySaltBytes +
    entry.body.length +
    entry.disclosures.length +
    entry.receipt.length +
    (entry.idem?.length ?? 0)
  )
}

function packOne(buffer: Buffer, at: number, entry: Linked): number {
  buffer.writeUInt32LE(entry.body.length, at)
  buffer.writeUInt32LE(entry.disclosures.length, at + 4)
  buffer[at + 8] = entry.receipt.length
  buffer[at + 9] = entry.idem?.length ?? 0
  const salt = at + prefixBytes + recordBytes
  buffer.set(entry.record, at + prefixBytes)
  buffer.set(entry.bodySalt, salt)
  buffer.set(entry.body, salt + bodySaltBytes)
  let next = salt + bodySaltBytes + entry.body.length
  next += buffer.latin1Write(entry.disclosures, next)
  next += buffer.latin1Write(entry.receipt, next)
  if (entry.idem !== undefined) next += buffer.latin1Write(entry.idem, next)
  return next
}
