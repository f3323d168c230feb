// Reads packed entries from stretches, disclosures and frames (../body-frame.ts). A cache keeps
// those that were opened last.

import type { DatabaseSync } from "node:sqlite"
import { bodySaltBytes, indexOfRecord, recordBytes } from "@tallystick/proof"
import { createLru } from "../../runtime/lru-cache.ts"
import { openFrame, saltedIn, type OpenFrame } from "../body-frame.ts"
import type { Frame } from "../content-keeper.ts"
import { createFrameCache } from "../frame-cache.ts"
import { leafBytes, withBodies, type LinkedRows } from "../linked-rows.ts"
import type { Stored } from "../entries.ts"
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
 * frame. For entries that lie far apart, only the needed body is taken out of a frame at its first
 * use.
 */
export type FrameReads = (number: number, reach?: "far apart") => FramedBodies

/**
 * Told the version of what a read of consecutive entries has unpacked and found to be right: a
 * frame whose bodies are all of its own entries, or disclosures.
 */
export interface UnpackedListener {
  readonly frame: (version: number) => void
  readonly disclosures: (version: number) => void
}

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
  frames: FrameReads,
  cacheBytes: number,
  listener?: UnpackedListener,
) {
  const stretches = partReads(journal, "stretches")
  const disclosures = disclosureReads(journal, cacheBytes, listener)
  const opened = createVersions<OpenStretch>(cacheBytes)

  const opening = (number: number, span: Span): Stretch => {
    const { first, end } = span
    const open = opened(number, span, () => openStretch(stretches.bytes(number, span), end - first))
    return { first, end, open }
  }
  const reads = {
    /** The stretch that contains this entry. */
    at(number: number, sequence: number): Stretch | undefined {
      const span = stretches.at(number, sequence)
      return span && opening(number, span)
    },
    /** The first sequence of the next stretch after this entry. */
    nextFirst: (number: number, sequence: number): number | undefined =>
      stretches.next(number, sequence)?.first,
    /** Finds single entries of a workspace. */
    single(workspace: string, number: number): (sequence: number) => Stored | undefined {
      const alone = (sequence: number, framed: FramedBodies): LoneEntry | undefined =>
        stretches.madeAt(number, sequence, (bytes, span) => {
          const entry = entryIn(bytes, span, workspace, sequence, framed)
          const sealed = disclosures.one(number, span, sequence - span.first)
          return { span, entry: { ...entry, disclosures: disclosuresOf(sealed) } }
        })
      const together = (span: Span, framed: FramedBodies): ((sequence: number) => Stored) => {
        const stretch = opening(number, span)
        const sealed = disclosures.all(number, stretch)
        return (sequence) => {
          const place = sequence - span.first
          const [record, own] = [stretch.open.record(place), sealed.sealed(place)]
          return new PackedEntry(workspace, sequence, stretch, record, own, framed)
        }
      }
      return singles(frames(number, "far apart"), alone, together)
    },
    /** The entries of the stretch, from one sequence up to another. */
    entries(
      workspace: string,
      number: number,
      stretch: Stretch,
      from: number,
      end: number,
    ): Stored[] {
      const sealed = disclosures.all(number, stretch)
      const framed = frames(number)
      const records = reads.records(stretch, from, end)
      return Array.from({ length: end - from }, (_, at) => {
        const record = records.subarray(at * recordBytes, (at + 1) * recordBytes)
        const own = sealed.sealed(from + at - stretch.first)
        return new PackedEntry(workspace, from + at, stretch, record, own, framed)
      })
    },
    /** The parts of these entries that form the chain. */
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

interface LoneEntry {
  readonly span: Span
  readonly entry: Stored
}

/**
 * The first entry from a stretch is read alone and nothing of the stretch is cached: the next one is
 * mostly in another. From the second on, all of the stretch is opened.
 */
function singles(
  framed: FramedBodies,
  alone: (sequence: number, framed: FramedBodies) => LoneEntry | undefined,
  together: (span: Span, framed: FramedBodies) => (sequence: number) => Stored,
): (sequence: number) => Stored | undefined {
  let span: Span | undefined
  let others: ((sequence: number) => Stored) | undefined
  return (sequence) => {
    if (span !== undefined && sequence >= span.first && sequence < span.end)
      return (others ??= together(span, framed))(sequence)
    const found = alone(sequence, framed)
    ;[span, others] = [found?.span, undefined]
    return found?.entry
  }
}

/** An entry of a stretch, without its disclosures. Keeps nothing of the bytes. */
function entryIn(
  bytes: Uint8Array,
  { first, end }: Span,
  workspace: string,
  sequence: number,
  framed: FramedBodies,
): Omit<Stored, "disclosures"> {
  const open = openStretch(bytes, end - first)
  const place = sequence - first
  const record = Buffer.allocUnsafe(recordBytes)
  open.writeRecord(record, 0, place)
  const salted = framed(sequence, record)
  return {
    workspace,
    sequence,
    record,
    receipt: open.receipt(place),
    idem: open.idem(place),
    bodySalt: salted?.subarray(0, bodySaltBytes),
    body: salted?.subarray(bodySaltBytes),
  }
}

/** Disclosures of the entries of a stretch. */
function disclosureReads(
  journal: DatabaseSync,
  cacheBytes: number,
  listener: UnpackedListener | undefined,
) {
  const disclosures = partReads(journal, "disclosures")
  const opened = createVersions<OpenSealed>(cacheBytes)
  return {
    one: (number: number, span: Pick<Span, "first">, place: number): Sealed =>
      disclosures.made(number, span, (bytes) => sealedIn(bytes, place)),
    all(number: number, { first, end }: Pick<Span, "first" | "end">): OpenSealed {
      const span = disclosures.at(number, first)
      if (span?.first !== first) return noDisclosures
      return opened(number, span, () => {
        const found = disclosures.made(number, span, (bytes) => openSealed(bytes, end - first))
        if (typeof found === "string") return noDisclosures
        listener?.disclosures(span.version)
        return found
      })
    },
  }
}

/** Caches recently opened values: for each place its newest version. */
function createVersions<T extends { readonly bytes: number }>(bytesMax: number) {
  const cache = createLru<{ readonly version: number; readonly opened: T }>(
    bytesMax,
    // The overhead of an entry counts too.
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
): FrameReads {
  const frames = partReads(journal, "frames")
  const cache = createFrameCache(cacheBytes)
  return (number, reach) => {
    let span: Pick<Span, "first" | "end"> | undefined
    let found: Span | undefined
    let frame: OpenFrame | undefined
    /** The index of the frame's first entry. */
    let start: number | undefined
    const knownAt = ({ first, version }: Span): OpenFrame | undefined =>
      cache.known(`${number}/${first}`, version)
    const withoutFrame = (sequence: number): Pick<Span, "first" | "end"> => ({
      first: sequence,
      end: frames.next(number, sequence)?.first ?? Number.POSITIVE_INFINITY,
    })
    const openNext = (sequence: number): void => {
      found = frames.at(number, sequence)
      span = found ?? withoutFrame(sequence)
      frame = found && knownAt(found)
      start = undefined
    }
    const alone = (sequence: number, index: number): Uint8Array | undefined => {
      found = undefined
      const salted = frames.madeAt(number, sequence, (bytes, at) => {
        found = at
        frame = knownAt(at)
        return frame === undefined ? saltedIn(bytes, index) : frame.salted(index)
      })
      span = found ?? withoutFrame(sequence)
      return salted
    }
    return (sequence, record) => {
      const index = indexOfRecord(record)
      if (index === undefined) return undefined
      if (span === undefined || sequence < span.first || sequence >= span.end) {
        if (reach === "far apart") return alone(sequence, index)
        openNext(sequence)
      }
      if (found === undefined) return undefined
      const of = found
      frame ??= cache.open(`${number}/${of.first}`, of.version, () =>
        frames.made(number, of, openFrame),
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
