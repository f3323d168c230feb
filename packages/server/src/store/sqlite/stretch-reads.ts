// Reads packed entries: what a stretch has of them, their disclosures, and their bodies in frames
// (../body-frame.ts). What was read last stays in memory, opened.

import type { DatabaseSync } from "node:sqlite"
import { parseRecord, recordBytes } from "@tallystick/proof"
import { createLru } from "../../runtime/lru-cache.ts"
import type { OpenFrame } from "../body-frame.ts"
import type { Frame } from "../content-keeper.ts"
import { createFrameCache } from "../frame-cache.ts"
import { leafBytes, withBodies, type LinkedRows } from "../linked-rows.ts"
import type { Stored } from "../store.ts"
import { disclosuresOf } from "./packed-text.ts"
import { partReads, type Span } from "./part-tables.ts"
import {
  openSealed,
  openStretch,
  type OpenSealed,
  type OpenStretch,
  type Sealed,
} from "./stretch-format.ts"

/** The salt and the body of an entry; undefined if no frame has them. */
export type FramedBodies = (sequence: number, record: Uint8Array) => Uint8Array | undefined

/**
 * For one read of a workspace with this number: entries that follow each other cost one look-up for
 * each frame.
 */
export type FrameReads = (number: number) => FramedBodies

const noDisclosures: OpenSealed = { bytes: 0, sealed: () => null }

/** One of the workspace's stretches, with the entry at each of its places. */
export interface Stretch {
  readonly first: number
  readonly end: number
  readonly open: OpenStretch
}

export type StretchReads = ReturnType<typeof stretchReads>

/** `cacheBytes`: of the opened stretches, and as many of their disclosures. */
export function stretchReads(journal: DatabaseSync, frames: FrameReads, cacheBytes: number) {
  const stretches = partReads(journal, "stretches")
  const disclosures = partReads(journal, "disclosures")
  const opened = createVersions<OpenStretch>(cacheBytes)
  const unsealed = createVersions<OpenSealed>(cacheBytes)

  const opening = (number: number, span: Span): Stretch => {
    const { first, end } = span
    const open = opened(number, span, () => openStretch(stretches.bytes(number, span), end - first))
    return { first, end, open }
  }
  const sealedOf = (number: number, { first, end }: Stretch): OpenSealed => {
    const span = disclosures.at(number, first)
    if (span?.first !== first) return noDisclosures
    return unsealed(number, span, () => {
      const found = openSealed(disclosures.bytes(number, span), end - first)
      return typeof found === "string" ? noDisclosures : found
    })
  }
  const reads = {
    /** The stretch that this entry is in. */
    at(number: number, sequence: number): Stretch | undefined {
      const span = stretches.at(number, sequence)
      return span && opening(number, span)
    },
    /** Where the next stretch after this entry begins. */
    nextFirst: (number: number, sequence: number): number | undefined =>
      stretches.next(number, sequence)?.first,
    /** Finds single entries of a workspace. */
    single(workspace: string, number: number): (sequence: number) => Stored | undefined {
      const framed = frames(number)
      let stretch: Stretch | undefined
      let sealed = noDisclosures
      return (sequence) => {
        if (stretch === undefined || sequence < stretch.first || sequence >= stretch.end) {
          stretch = reads.at(number, sequence)
          sealed = stretch === undefined ? noDisclosures : sealedOf(number, stretch)
        }
        return stretch && new PackedEntry(workspace, sequence, stretch, sealed, framed)
      }
    },
    /** The entries from one sequence up to another, which the stretch has. */
    entries(
      workspace: string,
      number: number,
      stretch: Stretch,
      from: number,
      end: number,
    ): Stored[] {
      const sealed = sealedOf(number, stretch)
      const framed = frames(number)
      return Array.from(
        { length: end - from },
        (_, at) => new PackedEntry(workspace, from + at, stretch, sealed, framed),
      )
    },
    /** The parts of these entries that make the chain. */
    linked(number: number, { first, open }: Stretch, from: number, end: number): LinkedRows {
      const leaves = Buffer.alloc((end - from) * leafBytes)
      for (let at = 0; at < end - from; at++)
        open.writeRecord(leaves, at * leafBytes + 1, from - first + at)
      const sequences = Array.from({ length: end - from }, (_, at) => from + at)
      const lengths = sequences.map(() => 0)
      return withBodies(frames(number), { sequences, leaves, lengths, bodies: new Uint8Array() })
    },
    records({ first, open }: Stretch, from: number, end: number): Uint8Array {
      const records = Buffer.allocUnsafeSlow((end - from) * recordBytes)
      for (let at = 0; at < end - from; at++)
        open.writeRecord(records, at * recordBytes, from - first + at)
      return records
    },
  }
  return reads
}

/** Remembers what was opened last, of each place in its newest version. */
function createVersions<T extends { readonly bytes: number }>(bytesMax: number) {
  const cache = createLru<{ readonly version: number; readonly opened: T }>(
    bytesMax,
    // What is around it counts too.
    ({ opened }) => opened.bytes + 1000,
  )
  return (number: number, { version, first }: Span, open: () => T): T => {
    const place = `${number}/${first}`
    const known = cache.get(place)
    if (known?.version === version) return known.opened
    const made = open()
    cache.set(place, { version, opened: made })
    return made
  }
}

/** Its values are made when they are asked for: see `plainOf`. */
class PackedEntry implements Stored {
  readonly workspace: string
  readonly sequence: number
  readonly record: Uint8Array
  readonly #salted: Uint8Array | undefined
  readonly #sealed: Sealed
  readonly #open: OpenStretch
  readonly #place: number

  constructor(
    workspace: string,
    sequence: number,
    { first, open }: Stretch,
    sealed: OpenSealed,
    framed: FramedBodies,
  ) {
    this.workspace = workspace
    this.sequence = sequence
    this.#open = open
    this.#place = sequence - first
    this.record = open.record(this.#place)
    this.#salted = framed(sequence, this.record)
    this.#sealed = sealed.sealed(this.#place)
  }

  get receipt(): string {
    return this.#open.receipt(this.#place)
  }

  get idem(): string | undefined {
    return this.#open.idem(this.#place)
  }

  get bodySalt(): Uint8Array | undefined {
    return this.#salted?.subarray(0, saltBytes)
  }

  get body(): Uint8Array | undefined {
    return this.#salted?.subarray(saltBytes)
  }

  get disclosures(): string {
    return disclosuresOf(this.#sealed)
  }

  get packedDisclosures(): Uint8Array | undefined {
    return this.#sealed instanceof Uint8Array ? this.#sealed : undefined
  }
}

const saltBytes = 16

export function frameReads(journal: DatabaseSync, cacheBytes: number): FrameReads {
  const frames = partReads(journal, "frames")
  const cache = createFrameCache(cacheBytes)
  return (number) => {
    let span: Pick<Span, "first" | "end"> | undefined
    let frame: OpenFrame | undefined
    return (sequence, record) => {
      if (span === undefined || sequence < span.first || sequence >= span.end) {
        const found = frames.at(number, sequence)
        span = found ?? {
          first: sequence,
          end: frames.next(number, sequence)?.first ?? Number.POSITIVE_INFINITY,
        }
        frame =
          found &&
          cache.open(`${number}/${found.first}`, found.version, () => frames.bytes(number, found))
      }
      const index = frame && parseRecord(record)?.index
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
  const frames = partReads(journal, "frames")
  return (number, after, bytesMax) => {
    const found: Frame[] = []
    let size = 0
    for (const row of listed.iterate(number, after)) {
      const first = Number(row["first"])
      const frame = { first, count: Number(row["count"]), bytes: frames.bytes(number, { first }) }
      size += frame.bytes.length
      if (size > bytesMax && found.length > 0) break
      found.push(frame)
    }
    return found
  }
}
