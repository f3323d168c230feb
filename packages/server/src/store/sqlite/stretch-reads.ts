// Reads packed entries from stretches, disclosures and frames (../body-frame.ts). A cache keeps
// those that were opened last.

import type { DatabaseSync } from "node:sqlite"
import { bodySaltBytes, indexOfRecord, recordBytes } from "@tallystick/proof"
import { openBodies, saltedIn, type OpenFrame } from "../body-frame.ts"
import type { Frame } from "../content-keeper.ts"
import { leafBytes, withBodies, type LinkedRows } from "../linked-rows.ts"
import { saltAndBody, type Stored } from "../entries.ts"
import { createUnpackedCache } from "../unpacked-cache.ts"
import { disclosuresOf } from "./packed-text.ts"
import { partReads, type Span } from "./part-tables.ts"
import {
  openSealed,
  openStretch,
  sealedIn,
  type OpenSealed,
  type OpenStretch,
  type Sealed,
} from "./stretch-format.ts"

/** The salt and the body of an entry; undefined if no frame has them. */
export type FramedBodies = (sequence: number, record: Uint8Array) => Uint8Array | undefined

/**
 * For one read of the workspace with this number: consecutive entries cost one look-up for each
 * frame.
 */
export type FrameReads = (number: number) => FramedBodies

/**
 * For some entries of that workspace, which lie close together: only their bodies are taken out of
 * a frame, which is not cached.
 */
export type FewBodies = (
  number: number,
  entries: readonly Pick<Stored, "sequence" | "record">[],
) => readonly (Uint8Array | undefined)[]

/**
 * Told the version of what a read of consecutive entries has unpacked and found to be right: a
 * frame whose bodies are all of its own entries, or disclosures.
 */
export interface UnpackedListener {
  readonly frame: (version: number) => void
  readonly disclosures: (version: number) => void
}

/** Up to so many entries of a stretch are read without the others, and nothing of it is cached. */
const fewMax = 16

const noDisclosures: OpenSealed = { bytes: 0, sealed: () => null }

/** A stretch of the workspace, with the entry at each place. */
export interface Stretch {
  readonly first: number
  readonly end: number
  readonly open: OpenStretch
}

export type StretchReads = ReturnType<typeof stretchReads>

/** `cacheBytes` bounds the cache of opened stretches, and separately that of their disclosures. */
export function stretchReads(
  journal: DatabaseSync,
  bodies: ReturnType<typeof frameReads>,
  cacheBytes: number,
  listener?: UnpackedListener,
) {
  const stretches = partReads(journal, "stretches")
  const disclosures = disclosureReads(journal, cacheBytes, listener)
  const cache = createUnpackedCache<OpenStretch>(cacheBytes, ({ bytes }) => bytes)

  const { manyOf, fewOf } = entryReads(bodies, disclosures)
  const opening = (number: number, span: Span): Stretch => {
    const { first, end, version } = span
    const open = cache.open(`${number}/${first}`, version, () =>
      openStretch(stretches.bytes(number, span), end - first),
    )
    return { first, end, open }
  }
  const reads = {
    at(number: number, sequence: number): Stretch | undefined {
      const span = stretches.at(number, sequence)
      return span && opening(number, span)
    },
    /** The first sequence of the next stretch after this entry. */
    nextFirst: (number: number, sequence: number): number | undefined =>
      stretches.next(number, sequence)?.first,
    /**
     * Finds single entries of a workspace, by their place among these sequences. Those that follow
     * each other and are of one stretch are read together.
     */
    single(
      workspace: string,
      number: number,
      sequences: readonly number[],
    ): (place: number) => Stored | undefined {
      let known: ReadonlyMap<number, Stored> = new Map()
      const read = (place: number, sequence: number): readonly Stored[] => {
        const few = stretches.madeAt(number, sequence, (bytes, span) => {
          const wanted = runWithin(span, sequences, place)
          const entries =
            wanted.length <= fewMax ? fewOf(workspace, number, bytes, span, wanted) : undefined
          return { span, wanted, entries }
        })
        if (few === undefined) return []
        return few.entries ?? manyOf(workspace, number, opening(number, few.span), few.wanted)
      }
      return (place) => {
        const sequence = sequences[place] ?? 0
        if (!known.has(sequence))
          known = new Map(read(place, sequence).map((entry) => [entry.sequence, entry]))
        return known.get(sequence)
      }
    },
    entries(
      workspace: string,
      number: number,
      stretch: Stretch,
      from: number,
      end: number,
    ): Stored[] {
      const sequences = Array.from({ length: end - from }, (_, at) => from + at)
      return manyOf(workspace, number, stretch, sequences)
    },
    /** The parts of these entries that form the chain. */
    linked(number: number, { first, open }: Stretch, from: number, end: number): LinkedRows {
      const leaves = Buffer.alloc((end - from) * leafBytes)
      for (let at = 0; at < end - from; at++)
        open.writeRecord(leaves, at * leafBytes + 1, from - first + at)
      const sequences = Array.from({ length: end - from }, (_, at) => from + at)
      const lengths = sequences.map(() => 0)
      return withBodies(bodies.frames(number), {
        sequences,
        leaves,
        lengths,
        bodies: new Uint8Array(),
      })
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

function entryReads(
  { frames, fewBodies }: ReturnType<typeof frameReads>,
  disclosures: ReturnType<typeof disclosureReads>,
) {
  return {
    /** Of a stretch that is opened and cached. */
    manyOf: (
      workspace: string,
      number: number,
      stretch: Stretch,
      sequences: readonly number[],
    ): Stored[] => {
      const sealed = disclosures.all(number, stretch)
      const framed = frames(number)
      const records = recordsIn(stretch.open, stretch.first, sequences)
      return sequences.map((sequence, at) => {
        const own = sealed.sealed(sequence - stretch.first)
        return new PackedEntry(workspace, sequence, stretch, recordAt(records, at), own, framed)
      })
    },
    /** Of the bytes of a stretch. Keeps nothing of them. */
    fewOf: (
      workspace: string,
      number: number,
      bytes: Uint8Array,
      span: Span,
      sequences: readonly number[],
    ): Stored[] => {
      const open = openStretch(bytes, span.end - span.first)
      const records = recordsIn(open, span.first, sequences)
      const entries = sequences.map((sequence, at) => ({ sequence, record: recordAt(records, at) }))
      const places = sequences.map((sequence) => sequence - span.first)
      const found = fewBodies(number, entries)
      const sealed = disclosures.some(number, span, places)
      return entries.map(({ sequence, record }, at) => ({
        workspace,
        sequence,
        record,
        receipt: open.receipt(places[at] ?? 0),
        idem: open.idem(places[at] ?? 0),
        ...saltAndBody(found[at]),
        disclosures: disclosuresOf(sealed[at]),
      }))
    },
  }
}

/** The sequence at this place, which is of the span, and those after it that are too. */
function runWithin(
  { first, end }: Span,
  sequences: readonly number[],
  place: number,
): readonly number[] {
  const isOf = (sequence = 0): boolean => sequence >= first && sequence < end
  let to = place + 1
  while (isOf(sequences[to])) to += 1
  return sequences.slice(place, to)
}

function recordsIn(open: OpenStretch, first: number, sequences: readonly number[]): Buffer {
  const records = Buffer.allocUnsafe(sequences.length * recordBytes)
  for (const [at, sequence] of sequences.entries())
    open.writeRecord(records, at * recordBytes, sequence - first)
  return records
}

function recordAt(records: Buffer, at: number): Uint8Array {
  return records.subarray(at * recordBytes, (at + 1) * recordBytes)
}

function disclosureReads(
  journal: DatabaseSync,
  cacheBytes: number,
  listener: UnpackedListener | undefined,
) {
  const disclosures = partReads(journal, "disclosures")
  const cache = createUnpackedCache<OpenSealed>(cacheBytes, ({ bytes }) => bytes)
  return {
    some: (
      number: number,
      span: Pick<Span, "first">,
      places: readonly number[],
    ): readonly Sealed[] => disclosures.made(number, span, (bytes) => sealedIn(bytes, places)),
    all(number: number, { first, end }: Pick<Span, "first" | "end">): OpenSealed {
      const span = disclosures.at(number, first)
      if (span?.first !== first) return noDisclosures
      return cache.open(`${number}/${first}`, span.version, () => {
        const found = disclosures.made(number, span, (bytes) => openSealed(bytes, end - first))
        if (typeof found === "string") return noDisclosures
        listener?.disclosures(span.version)
        return found
      })
    },
  }
}

/** Its values are computed on access, so it is not spread, and is sent by `sentOf`. */
class PackedEntry implements Stored {
  readonly workspace: string
  readonly sequence: number
  readonly record: Uint8Array
  /** Asked for several times by whoever reads entries in order. */
  readonly body: Uint8Array | undefined
  readonly #salted: Uint8Array | undefined
  readonly #sealed: Sealed
  readonly #open: OpenStretch
  readonly #place: number

  constructor(
    workspace: string,
    sequence: number,
    { first, open }: Stretch,
    record: Uint8Array,
    sealed: Sealed,
    framed: FramedBodies,
  ) {
    this.workspace = workspace
    this.sequence = sequence
    this.record = record
    this.#open = open
    this.#place = sequence - first
    this.#salted = framed(sequence, record)
    this.body = this.#salted?.subarray(bodySaltBytes)
    this.#sealed = sealed
  }

  get receipt(): string {
    return this.#open.receipt(this.#place)
  }

  get idem(): string | undefined {
    return this.#open.idem(this.#place)
  }

  get bodySalt(): Uint8Array | undefined {
    return this.#salted?.subarray(0, bodySaltBytes)
  }

  get disclosures(): string {
    return disclosuresOf(this.#sealed)
  }

  get packedDisclosures(): Uint8Array | undefined {
    return this.#sealed instanceof Uint8Array ? this.#sealed : undefined
  }
}

export function frameReads(
  journal: DatabaseSync,
  cacheBytes: number,
  listener?: UnpackedListener,
): { readonly frames: FrameReads; readonly fewBodies: FewBodies } {
  const frames = partReads(journal, "frames")
  const cache = createUnpackedCache<OpenFrame>(cacheBytes, ({ textBytes }) => textBytes)
  const knownAt = (number: number, { first, version }: Span): OpenFrame | undefined =>
    cache.known(`${number}/${first}`, version)
  const fewBodies: FewBodies = (number, entries) => {
    const bodies: (Uint8Array | undefined)[] = []
    const sequences = entries.map(({ sequence }) => sequence)
    while (bodies.length < entries.length) {
      const from = bodies.length
      const found = frames.madeAt(number, sequences[from] ?? 0, (bytes, span) => {
        const { length } = runWithin(span, sequences, from)
        // No entry has the index -1.
        const indexes = entries
          .slice(from, from + length)
          .map(({ record }) => indexOfRecord(record) ?? -1)
        const frame = knownAt(number, span)
        return frame === undefined
          ? saltedIn(bytes, indexes)
          : indexes.map((index) => frame.salted(index))
      })
      bodies.push(...(found ?? [undefined]))
    }
    return bodies
  }
  return { fewBodies, frames: consecutive }

  function consecutive(number: number): FramedBodies {
    let span: Pick<Span, "first" | "end"> | undefined
    let found: Span | undefined
    let frame: OpenFrame | undefined
    /** The index of the frame's first entry. */
    let start: number | undefined
    const openNext = (sequence: number): void => {
      found = frames.at(number, sequence)
      const end = (): number => frames.next(number, sequence)?.first ?? Number.POSITIVE_INFINITY
      span = found ?? { first: sequence, end: end() }
      frame = found && knownAt(number, found)
      start = undefined
    }
    return (sequence, record) => {
      const index = indexOfRecord(record)
      if (index === undefined) return undefined
      if (span === undefined || sequence < span.first || sequence >= span.end) openNext(sequence)
      if (found === undefined) return undefined
      const of = found
      frame ??= cache.open(`${number}/${of.first}`, of.version, () =>
        frames.made(number, of, openBodies),
      )
      if (sequence === of.first) start = index
      if (sequence === of.end - 1 && start !== undefined && hasOnly(frame, start, index))
        listener?.frame(of.version)
      return frame.salted(index)
    }
  }
}

/** Whether a frame has bodies, and all are of these entries. One that cannot be opened has none. */
function hasOnly({ indexes }: OpenFrame, first: number, last: number): boolean {
  return (indexes[0] ?? -1) >= first && (indexes.at(-1) ?? Infinity) <= last
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
