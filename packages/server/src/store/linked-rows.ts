// The parts of entries that form the chain, concatenated: an object for each entry would cost more
// than its hashes. Each part has the form in which it is hashed, so nothing is copied.

import { bodyTag, concat, recordBytes, utf8 } from "@tallystick/proof"
import type { Stored } from "./entries.ts"

/** Ascending. */
export interface LinkedRows {
  readonly sequences: readonly number[]
  /**
   * For each entry a zero byte and the record, the input of the leaf's hash. A record with another
   * length is replaced by zeros here.
   */
  readonly leaves: Uint8Array
  /** How many bytes of `bodies` belong to each entry; 0 without a body. */
  readonly lengths: readonly number[]
  /** For each entry "ALB1", the salt and the body: the input of the body's hash. */
  readonly bodies: Uint8Array
}

/** The parts of an entry that form the chain. */
export type ChainEntry = Pick<Stored, "sequence" | "record" | "body" | "bodySalt">

export const leafBytes = 1 + recordBytes
export const bodyStart = bodyTag.length

const tag = utf8(bodyTag)
const zero = new Uint8Array(1)

export function recordAt({ leaves }: LinkedRows, place: number): Uint8Array {
  return leaves.subarray(place * leafBytes + 1, (place + 1) * leafBytes)
}

/** For drivers that store entries as objects. */
export function linkRows(entries: readonly ChainEntry[]): LinkedRows {
  const bodies = entries.map(({ body, bodySalt }) =>
    body === undefined || bodySalt === undefined ? [] : [tag, bodySalt, body],
  )
  return {
    sequences: entries.map(({ sequence }) => sequence),
    leaves: concat(
      ...entries.flatMap(({ record }) => [
        zero,
        record.length === recordBytes ? record : new Uint8Array(recordBytes),
      ]),
    ),
    lengths: bodies.map((parts) => parts.reduce((sum, part) => sum + part.length, 0)),
    bodies: concat(...bodies.flat()),
  }
}

export function bodilessIn(pieces: readonly LinkedRows[]): readonly number[] {
  return pieces.flatMap(({ sequences, lengths }) =>
    lengths.includes(0) ? sequences.filter((_, place) => lengths[place] === 0) : [],
  )
}

/** The first `count` entries of these, and the others. */
export function splitRows(
  pieces: readonly LinkedRows[],
  count: number,
): readonly [LinkedRows[], LinkedRows[]] {
  const [first, others]: [LinkedRows[], LinkedRows[]] = [[], []]
  let left = count
  for (const rows of pieces) {
    if (left >= rows.sequences.length) first.push(rows)
    else if (left <= 0) others.push(rows)
    else {
      first.push(partOf(rows, 0, left))
      others.push(partOf(rows, left, rows.sequences.length))
    }
    left -= rows.sequences.length
  }
  return [first, others]
}

function partOf(
  { sequences, leaves, lengths, bodies }: LinkedRows,
  from: number,
  to: number,
): LinkedRows {
  const bytes = (count: number): number =>
    lengths.slice(0, count).reduce((sum, length) => sum + length, 0)
  return {
    sequences: sequences.slice(from, to),
    leaves: leaves.subarray(from * leafBytes, to * leafBytes),
    lengths: lengths.slice(from, to),
    bodies: bodies.subarray(bytes(from), bytes(to)),
  }
}

/**
 * Inserts missing bodies: `saltedOf` returns the salt and the body of an entry that has none here,
 * or undefined.
 */
export function withBodies(
  saltedOf: (sequence: number, record: Uint8Array) => Uint8Array | undefined,
  rows: LinkedRows,
): LinkedRows {
  if (!rows.lengths.includes(0)) return rows
  const bodies: Uint8Array[] = []
  const lengths: number[] = []
  let at = 0
  for (const [place, length] of rows.lengths.entries()) {
    const salted =
      length > 0 ? undefined : saltedOf(rows.sequences[place] ?? 0, recordAt(rows, place))
    if (salted !== undefined) bodies.push(tag, salted)
    else if (length > 0) bodies.push(rows.bodies.subarray(at, at + length))
    lengths.push(salted === undefined ? length : tag.length + salted.length)
    at += length
  }
  return { ...rows, lengths, bodies: Buffer.concat(bodies) }
}
