// Checks a chain from rows that are joined end to end. It makes the same checks as takeEntry
// (check-entry.ts), but directly on the bytes, with two hashes and no object for each entry. If an
// entry fails, takeEntry finds the reason.

import { hash } from "node:crypto"
import { bodySaltBytes, createChain, hashBytes, kindOf } from "@tallystick/proof"
import { bufferOf } from "../runtime/buffer-of.ts"
import { sha256 } from "../runtime/sha256.ts"
import { takeEntry } from "./check-entry.ts"
import type { GoneAt } from "./destroyed.ts"
import { bodyStart, leafBytes, recordAt, type ChainEntry, type LinkedRows } from "./linked-rows.ts"

export interface LinkedChain {
  /** The index of the next entry, which is the number of entries so far. */
  readonly index: number
  /** When the last entry was recorded. */
  readonly timeMs: number
  /**
   * Takes entries up to the first broken one, and returns its fault. Calls `taken` with the hash of
   * each entry, which it may keep, and the entry's position in the rows. Calls `goneAt` if a body
   * is missing.
   */
  take(
    rows: LinkedRows,
    taken: (leaf: Uint8Array, place: number) => void,
    goneAt?: GoneAt,
  ): string | undefined
}

/** Offsets of the parts of a record (record.ts in packages/proof). */
const at = { kind: 4, flags: 5, index: 6, timeMs: 14, ledgerId: 22, bodyHash: 86 } as const
/** "ALR1" */
const magic = 0x414c5231

/**
 * Continues after the first `index` entries of an epoch, which has `before` entries before it.
 * `last` is the record of the last of them; it is not checked.
 */
export function createLinkedChain(
  ledgerId: Uint8Array,
  before: number,
  index = 0,
  last: Uint8Array = new Uint8Array(),
): LinkedChain {
  const start = createChain(ledgerId, sha256, index, last)
  /** The next record must contain these: the ledgerId, and the hash of the previous entry. */
  const links = Buffer.concat([ledgerId, start.previousHash])
  let lastRecord: Uint8Array = last
  const chain = {
    index,
    timeMs: start.timeMs ?? 0,
    take(
      rows: LinkedRows,
      taken: (leaf: Uint8Array, place: number) => void,
      goneAt?: GoneAt,
    ): string | undefined {
      const { sequences, lengths } = rows
      const [leaves, bodies] = [bufferOf(rows.leaves), bufferOf(rows.bodies)]
      const hashes = Buffer.allocUnsafe(sequences.length * hashBytes)
      let body = 0
      for (let place = 0; place < sequences.length; place++) {
        const [leaf, bodyEnd] = [place * leafBytes, body + (lengths[place] ?? 0)]
        const timeMs = integerAt(leaves, leaf + 1 + at.timeMs)
        const holds =
          sequences[place] === before + chain.index + 1 &&
          isRecord(leaves, leaf + 1) &&
          integerAt(leaves, leaf + 1 + at.index) === chain.index &&
          timeMs >= chain.timeMs &&
          Number.isSafeInteger(timeMs) &&
          isAt(links, leaves, leaf + 1 + at.ledgerId) &&
          (bodyEnd === body
            ? goneAt?.(sequences[place] ?? 0)?.what === "body"
            : bodyEnd - body >= bodyStart + bodySaltBytes &&
              hash("sha256", bodies.subarray(body, bodyEnd), "latin1") ===
                leaves.latin1Slice(leaf + 1 + at.bodyHash, leaf + leafBytes))
        if (!holds) return faultOf(entryOf(rows, place, body), goneAt)
        const hashed = hash("sha256", leaves.subarray(leaf, leaf + leafBytes), "latin1")
        links.latin1Write(hashed, hashBytes)
        hashes.latin1Write(hashed, place * hashBytes)
        chain.index += 1
        chain.timeMs = timeMs
        lastRecord = leaves.subarray(leaf + 1, leaf + leafBytes)
        taken(hashes.subarray(place * hashBytes, (place + 1) * hashBytes), place)
        body = bodyEnd
      }
      return undefined
    },
  }
  return chain

  function faultOf(entry: ChainEntry, goneAt: GoneAt | undefined): string {
    const slow = createChain(ledgerId, sha256, chain.index, lastRecord)
    const fault = takeEntry(slow, before, entry, goneAt?.(entry.sequence))
    return typeof fault === "string"
      ? fault
      : "it was faulty once, and correct when it was read again: check the disk and the memory of this machine"
  }
}

function isRecord(leaves: Buffer, from: number): boolean {
  return (
    leaves.readUInt32BE(from) === magic &&
    leaves[from + at.flags] === 0 &&
    kindOf(leaves[from + at.kind] ?? 0) !== undefined
  )
}

/** An integer that is too large for a double becomes an unsafe integer. */
function integerAt(bytes: Buffer, from: number): number {
  return bytes.readUInt32BE(from) * 2 ** 32 + bytes.readUInt32BE(from + 4)
}

function isAt(part: Buffer, whole: Buffer, from: number): boolean {
  return part.compare(whole, from, from + part.length) === 0
}

function entryOf(rows: LinkedRows, place: number, body: number): ChainEntry {
  const { sequences, lengths, bodies } = rows
  const end = body + (lengths[place] ?? 0)
  const salt = body + bodyStart
  const isThere = end > body
  return {
    sequence: sequences[place] ?? 0,
    record: recordAt(rows, place),
    bodySalt: isThere ? bodies.subarray(salt, Math.min(salt + bodySaltBytes, end)) : undefined,
    body: isThere ? bodies.subarray(salt + bodySaltBytes, end) : undefined,
  }
}
