// What has been recorded and is in no kept segment yet: a search finds what was written a moment
// ago, and waits for nothing. Each entry is read from the journal once. Whole chunks become
// segments in memory; the rest, fewer than a chunk, is looked through one by one.

import { filedAfter } from "./searchable-fields.ts"
import { findableOf, type Findable } from "./matching.ts"
import type { JournalReader } from "../store.ts"
import { bytesOf } from "../stored-bytes.ts"
import { createSegmentBuilder } from "./segment-builder.ts"
import { openMade, runInTurns, type Segment } from "./segment-format.ts"
import type { Filed } from "./search.ts"
import { positionOf } from "./segment-plan.ts"
import type { KeptSegment, Steps, Turns } from "./segments.ts"

/** The journal, as far as a search reads it. */
export interface Recorded {
  /** The last sequence; 0 of a workspace without entries. */
  last(workspace: string): Promise<number>
  /** What follows a sequence, in order and without a gap: some of it, if there is any. */
  after(workspace: string, sequence: number, limit: number): Promise<readonly RecordedEntry[]>
}

export interface RecordedEntry {
  readonly filed: Filed
  /** What it took to read. */
  readonly bytes: number
}

export function recordedIn(journal: Pick<JournalReader, "head" | "after">): Recorded {
  return {
    last: async (workspace) => (await journal.head(workspace))?.sequence ?? 0,
    async after(workspace, sequence, limit) {
      const entries = await journal.after(workspace, sequence, limit)
      const sizes = new Map(entries.map((entry) => [entry.sequence, bytesOf(entry)]))
      return Array.from(filedAfter(sequence, entries), (filed) => ({
        filed,
        bytes: sizes.get(filed.sequence) ?? 0,
      }))
    },
  }
}

/** What waits for its segment, and what a busy writer adds while that is made. */
const entriesMax = 32_768
/** More than the entries of the smallest segment can have. */
const unfiledBytesMax = 96 * 1024 * 1024
/** A chunk of ordinary entries is made in some milliseconds. */
const chunkEntries = 512
const chunkBytesMax = 1024 * 1024
/** Read at once: some milliseconds of work. */
const readEntries = 64

/** The last entry that a search finds, of a journal that ends there. */
export function findableUpTo(kept: readonly KeptSegment[], end: number): number {
  const position = positionOf(kept)
  return end - position > entriesMax ? position : end
}

/** Of a workspace, as far as it has been read. */
export interface Unfiled {
  /** In order, without a gap, from the end of the kept segments on. */
  readonly chunks: readonly Chunk[]
  readonly rest: readonly Findable[]
}

export interface Chunk {
  readonly segment: Segment
  readonly bytes: number
}

interface Known {
  chunks: Chunk[]
  rest: Findable[]
  /** Of the bodies and disclosures of the rest. */
  restBytes: number
  /** The last that was read. */
  last: number
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
    const unfiled = knownFrom(known.get(workspace), position)
    // Who was asked for last is the last to be forgotten.
    known.delete(workspace)
    known.set(workspace, unfiled)
    while (unfiled.last < end) {
      const from = unfiled.last
      const entries = await after(workspace, from, Math.min(readEntries, end - from))
      if (entries.length === 0) break
      for (const { filed, bytes } of entries) {
        // Another search may have come this far meanwhile.
        if (filed.sequence !== unfiled.last + 1) continue
        unfiled.rest.push(findableOf(filed))
        unfiled.restBytes += bytes
        unfiled.last = filed.sequence
        if (filed.sequence % chunkEntries === 0 || unfiled.restBytes >= chunkBytesMax)
          yield* makeChunk(unfiled, isUp)
        if (bytesIn(unfiled) > unfiledBytesMax) {
          known.delete(workspace)
          return undefined
        }
        if (isUp()) yield
      }
    }
    forget(known, workspace, bytesMax)
    return { chunks: [...unfiled.chunks], rest: [...unfiled.rest] }
  }
}

/** What is known and still to be filed; nothing if it begins elsewhere. */
function knownFrom(known: Known | undefined, position: number): Known {
  const fresh: Known = { chunks: [], rest: [], restBytes: 0, last: position }
  if (known === undefined) return fresh
  const chunks = known.chunks.filter(({ segment }) => segment.first > position)
  const rest = known.rest.filter(({ filed }) => filed.sequence > position)
  const first = chunks[0]?.segment.first ?? rest[0]?.filed.sequence
  if (first !== position + 1) return fresh
  if (chunks.length === known.chunks.length && rest.length === known.rest.length) return known
  return { chunks, rest, restBytes: known.restBytes, last: known.last }
}

/** Makes a chunk of the rest, if no other search has done so meanwhile. */
async function* makeChunk(unfiled: Known, isUp: () => boolean): Turns<void> {
  const some = [...unfiled.rest]
  const bytes = unfiled.restBytes
  const segment = yield* runInTurns(segmentOfFiled(some), isUp)
  if (unfiled.rest[0] !== some[0]) return
  unfiled.chunks.push({ segment, bytes })
  unfiled.rest = unfiled.rest.slice(some.length)
  unfiled.restBytes -= bytes
}

/** A segment in memory of entries that follow each other. There is at least one. */
export function* segmentOfFiled(entries: readonly Findable[]): Steps<Segment> {
  const builder = createSegmentBuilder(entries[0]?.filed.sequence ?? 1, entries.length)
  for (const { filed } of entries) {
    builder.addFiled(filed)
    yield
  }
  return openMade(yield* builder.finishing())
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
