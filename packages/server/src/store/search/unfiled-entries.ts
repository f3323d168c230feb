// What has been recorded and is in no kept segment yet: a search finds what was written a moment
// ago, and waits for nothing. Each entry is read from the journal once. Whole chunks become
// segments in memory; the rest, fewer than a chunk, is looked through one by one.

import { kinds, parseRecord } from "@tallystick/proof"
import { filedOf, missing } from "./searchable-fields.ts"
import { findableOf, type Findable } from "./matching.ts"
import { bytesOf, type Stored } from "../entries.ts"
import { disclosuresOf } from "../opened-entry.ts"
import type { JournalReader } from "../store.ts"
import { createSegmentBuilder, type SegmentBuilder } from "./segment-builder.ts"
import { openMade, runInTurns, type Segment } from "./segment-format.ts"
import type { Filed } from "./search.ts"
import { positionOf } from "./segment-plan.ts"
import type { SegmentName, Steps, Turns } from "./segments.ts"

/** The journal, as far as a search reads it. */
export interface Recorded {
  /** The last sequence; 0 of a workspace without entries. */
  last(workspace: string): Promise<number>
  /** What follows a sequence, in order and without a gap: some of it, if there is any. */
  after(workspace: string, sequence: number, limit: number): Promise<readonly RecordedEntry[]>
}

export interface RecordedEntry {
  readonly sequence: number
  /** What it took to read. */
  readonly bytes: number
  /** It says that something was destroyed: entries that were read before may still have it. */
  readonly endsDestruction: boolean
  /** Opened when it is looked through: most entries become part of a chunk before. */
  readonly findable: () => Findable
  /** False only if no value of it has this text, which is in lower case, as of most entries. */
  readonly mayHave: (sought: string) => boolean
  readonly addTo: (builder: SegmentBuilder) => void
}

export function recordedIn(journal: Pick<JournalReader, "head" | "after">): Recorded {
  return {
    last: async (workspace) => (await journal.head(workspace))?.sequence ?? 0,
    async after(workspace, position, limit) {
      const entries: RecordedEntry[] = []
      let sequence = position + 1
      for (const stored of await journal.after(workspace, position, limit)) {
        for (; sequence < stored.sequence; sequence++) entries.push(goneFrom(sequence))
        const open = () => filedOf(stored)
        const addTo = (builder: SegmentBuilder) => builder.add(stored)
        const asStored = () => plainTextOf(stored)
        const entry = recordedAs(sequence, bytesOf(stored), open, addTo, asStored)
        entries.push(isOfDestruction(stored) ? { ...entry, endsDestruction: true } : entry)
        sequence++
      }
      return entries
    },
  }
}

/** Byte 4 of a record is its kind. The last entry of an erasure or expiry comes when it is done. */
function isOfDestruction({ record }: Stored): boolean {
  return record[4] === kinds.erasure || record[4] === kinds.retention
}

/** What is gone from the journal will be missed by whoever looks, so it is found like all else. */
function goneFrom(sequence: number): RecordedEntry {
  const filed = missing(sequence)
  return recordedAs(
    sequence,
    0,
    () => filed,
    (builder) => builder.addFiled(filed),
  )
}

/** `asStored`: a text in lower case that has all values, if there is one without opening it. */
export function recordedAs(
  sequence: number,
  bytes: number,
  open: () => Filed,
  addTo: RecordedEntry["addTo"],
  asStored: () => string | undefined = () => undefined,
): RecordedEntry {
  let known: Findable | undefined
  let text: string | undefined
  let stored: { readonly text: string | undefined } | undefined
  const findable = (): Findable => (known ??= findableOf(open()))
  return {
    sequence,
    bytes,
    endsDestruction: false,
    findable,
    mayHave(sought) {
      stored ??= { text: asStored() }
      const plain = isPlain.test(sought) ? stored.text : undefined
      return (plain ?? (text ??= textOf(findable().filed))).includes(sought)
    },
    addTo,
  }
}

function textOf({ lane, fields: { nobody, actor, target } }: Filed): string {
  let text = `${lane}\n`
  for (const fields of [nobody, actor, target]) for (const { value } of fields) text += `${value}\n`
  return text.toLowerCase()
}

/** Characters that JSON does not escape. */
const isPlain = /^[ !#-[\]-~]*$/
/** What may be written in another way than a value: an escape, or more than ASCII. */
const isUnusual = /[\\\x80-\xfe]/

/**
 * All that an entry can be found by, as it is stored, in lower case; undefined if some of it may be
 * written in another way. To open it takes ten times as long.
 */
function plainTextOf(stored: Stored): string | undefined {
  const { record, receipt, body, packedDisclosures: packed } = stored
  // Its lane is in no body then.
  if (body === undefined) return undefined
  const sealed = packed === undefined ? disclosuresOf(stored).map(decoded) : [latin1Of(packed)]
  const text = [parseRecord(record)?.kind ?? "event", receipt, latin1Of(body), ...sealed].join("\n")
  return isUnusual.test(text) ? undefined : text.toLowerCase()
}

const decoded = (disclosure: string): string => Buffer.from(disclosure, "base64url").latin1Slice()

function latin1Of({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).latin1Slice()
}

/** What waits for its segment, and what a busy writer adds while that is made. */
const entriesMax = 32_768
/** More than the entries of the smallest segment can have. */
const unfiledBytesMax = 96 * 1024 * 1024
/** A chunk of ordinary entries is made in some milliseconds. */
const chunkEntries = 512
const chunkBytesMax = 1024 * 1024
/** Of a chunk, until there is a pause: to look at the clock takes a part of an entry's time. */
const entriesPerStep = 4
/** Read at once: some milliseconds of work. */
const readEntries = 64

/** The last entry that a search finds, of a journal that ends there. */
export function findableUpTo(kept: readonly SegmentName[], end: number): number {
  const position = positionOf(kept)
  return end - position > entriesMax ? position : end
}

/** Of a workspace, as far as it has been read. */
export interface Unfiled {
  /** In order, without a gap, from the end of the kept segments on. */
  readonly chunks: readonly Chunk[]
  readonly rest: readonly RecordedEntry[]
}

export interface Chunk {
  readonly segment: Segment
  readonly bytes: number
}

interface Known {
  chunks: Chunk[]
  rest: RecordedEntry[]
  /** Of the bodies and disclosures of the rest. */
  restBytes: number
  /** The last that was read. */
  last: number
  /** All of it was read when this entry was recorded: it lacks what was destroyed until then. */
  readSince: number
}

export type ReadUnfiled = (
  workspace: string,
  position: number,
  end: number,
) => Turns<Unfiled | undefined>

/**
 * Reads what follows `position` up to `end`, in pieces between which others may have their turn.
 * Returns undefined if that is too much. Remembers `bytesMax` of chunks of the workspaces that were
 * asked for last.
 */
export function createUnfiled(
  { after }: Pick<Recorded, "after">,
  bytesMax: number,
  isUp: () => boolean,
): ReadUnfiled {
  const known = new Map<string, Known>()

  return async function* read(workspace, position, end) {
    if (end - position > entriesMax) return undefined
    let unfiled = knownFrom(known.get(workspace), position, end)
    // Who was asked for last is the last to be forgotten.
    known.delete(workspace)
    known.set(workspace, unfiled)
    while (unfiled.last < end) {
      const from = unfiled.last
      const entries = await after(workspace, from, Math.min(readEntries, end - from))
      if (entries.length === 0) break
      for (const entry of entries) {
        const { sequence, bytes } = entry
        // Another search may have come this far meanwhile.
        if (sequence !== unfiled.last + 1) continue
        if (entry.endsDestruction && sequence > unfiled.readSince) {
          // Another search may be about to add what it has read before, so it keeps the former one.
          unfiled = nothingFrom(position, end)
          known.set(workspace, unfiled)
          break
        }
        unfiled.rest.push(entry)
        unfiled.restBytes += bytes
        unfiled.last = sequence
        if (sequence % chunkEntries === 0 || unfiled.restBytes >= chunkBytesMax)
          yield* makeChunk(unfiled, isUp)
        if (bytesIn(unfiled) > unfiledBytesMax) {
          known.delete(workspace)
          return undefined
        }
      }
      if (isUp()) yield
    }
    forget(known, workspace, bytesMax)
    return { chunks: [...unfiled.chunks], rest: [...unfiled.rest] }
  }
}

function nothingFrom(position: number, end: number): Known {
  return { chunks: [], rest: [], restBytes: 0, last: position, readSince: end }
}

/** What is known and still to be filed; nothing if it begins elsewhere. */
function knownFrom(known: Known | undefined, position: number, end: number): Known {
  const fresh = nothingFrom(position, end)
  if (known === undefined) return fresh
  const chunks = known.chunks.filter(({ segment }) => segment.first > position)
  const rest = known.rest.filter(({ sequence }) => sequence > position)
  const first = chunks[0]?.segment.first ?? rest[0]?.sequence
  if (first !== position + 1) return fresh
  if (chunks.length === known.chunks.length && rest.length === known.rest.length) return known
  return { ...known, chunks, rest }
}

/** Makes a chunk of the rest, if no other search has done so meanwhile. */
async function* makeChunk(unfiled: Known, isUp: () => boolean): Turns<void> {
  const some = [...unfiled.rest]
  const bytes = unfiled.restBytes
  const segment = yield* runInTurns(segmentOf(some), isUp)
  if (unfiled.rest[0] !== some[0]) return
  unfiled.chunks.push({ segment, bytes })
  unfiled.rest = unfiled.rest.slice(some.length)
  unfiled.restBytes -= bytes
}

/** A segment in memory of entries that follow each other. There is at least one. */
export function* segmentOf(entries: readonly RecordedEntry[]): Steps<Segment> {
  const builder = createSegmentBuilder(entries[0]?.sequence ?? 1, entries.length)
  for (const [at, { addTo }] of entries.entries()) {
    addTo(builder)
    if (at % entriesPerStep === 0) yield
  }
  return openMade(yield* builder.finishing((part) => part))
}

/** The workspaces that were not asked for longest make room. */
function forget(known: Map<string, Known>, kept: string, bytesMax: number): void {
  let bytes = 0
  for (const one of known.values()) bytes += bytesIn(one)
  for (const [workspace, one] of known) {
    if (bytes <= bytesMax || workspace === kept) return
    known.delete(workspace)
    bytes -= bytesIn(one)
  }
}

function bytesIn({ chunks, restBytes }: Known): number {
  return chunks.reduce((sum, { bytes }) => sum + bytes, restBytes)
}
