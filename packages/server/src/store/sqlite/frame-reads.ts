// Finds the bodies of entries in the frames that they were packed into (../body-frame.ts).

import type { DatabaseSync } from "node:sqlite"
import { parseRecord } from "@tallystick/proof"
import type { OpenFrame } from "../body-frame.ts"
import type { Frame } from "../content-keeper.ts"
import { createFrameCache } from "../frame-cache.ts"

/** The salt and the body of an entry; undefined if no frame has them. */
export type FramedBodies = (sequence: number, record: Uint8Array) => Uint8Array | undefined

/**
 * For one read of a workspace with this number: entries that follow each other cost one look-up for
 * each frame.
 */
export type FrameReads = (number: number) => FramedBodies

export function frameReads(journal: DatabaseSync): FrameReads {
  const frameOf = journal.prepare(
    `SELECT number, first, count FROM frames
     WHERE workspace = ? AND first <= ? AND part = 0 ORDER BY first DESC LIMIT 1`,
  )
  frameOf.setReturnArrays(true)
  const parts = framePartReads(journal)
  const cache = createFrameCache()
  return (number) => {
    let [first, end] = [0, 0]
    let frame: OpenFrame | undefined
    return (sequence, record) => {
      if (sequence < first || sequence >= end) {
        // As the statement selects them.
        const found = frameOf.get(number, sequence) as unknown as
          | readonly [version: number, first: number, count: number]
          | undefined
        if (found === undefined || sequence >= found[1] + found[2]) return undefined
        const version = found[0]
        first = found[1]
        end = first + found[2]
        frame = cache.open(`${number}/${first}`, version, () => parts(number, first))
      }
      const index = parseRecord(record)?.index
      return index === undefined ? undefined : frame?.salted(index)
    }
  }
}

/** Lists the frames that begin after a sequence. */
export function frameLists(
  journal: DatabaseSync,
): (number: number, after: number, bytesMax: number) => readonly Frame[] {
  const listed = journal.prepare(
    "SELECT first, count FROM frames WHERE workspace = ? AND first > ? AND part = 0 ORDER BY first",
  )
  const parts = framePartReads(journal)
  return (number, after, bytesMax) => {
    const found: Frame[] = []
    let size = 0
    for (const row of listed.iterate(number, after)) {
      const first = Number(row["first"])
      const frame = { first, count: Number(row["count"]), bytes: parts(number, first) }
      size += frame.bytes.length
      if (size > bytesMax && found.length > 0) break
      found.push(frame)
    }
    return found
  }
}

/** Reads the bytes of a frame. */
export function framePartReads(
  journal: DatabaseSync,
): (number: number, first: number) => Uint8Array {
  const parts = journal.prepare(
    "SELECT bytes FROM frames WHERE workspace = ? AND first = ? ORDER BY part",
  )
  return (number, first) =>
    Buffer.concat(
      parts.all(number, first).flatMap(({ bytes }) => (bytes instanceof Uint8Array ? bytes : [])),
    )
}
