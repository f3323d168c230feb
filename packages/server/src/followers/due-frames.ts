// Chooses the frames of the next archive segment: the oldest due ones of one ledger, as many as a
// segment may have.

import { parseRecord, recordBytes } from "@tallystick/proof"
import type { Frame } from "../store/content-keeper.ts"
import { readGone } from "../store/destroyed.ts"
import type { FilingStore } from "../store/store.ts"
import { openFitting } from "../store/stretch.ts"
import { turn } from "./loop.ts"

/** A ledger whose entries are archived. `last`: its last sequence so far. */
export interface ArchivedLedger {
  readonly ledgerId: string
  readonly before: number
  readonly last: number
  /** Whether it has segments already. */
  readonly hasSegments: boolean
}

export interface DueSegment {
  readonly workspace: string
  /** Only frames that begin between these sequences. */
  readonly after: number
  readonly end: number
  /** Newest first: the ledger of an entry is the first one that begins before it. */
  readonly ledgers: readonly ArchivedLedger[]
  /** Entries that were recorded before this are due. */
  readonly dueMs: number
  /** Entries of a segment at most. */
  readonly entriesMax: number
  /** A segment that is not full is made if its first entry was recorded before this. */
  readonly partialDueMs: number
  /**
   * Where the due frames ended at the previous sweep. If they still end there, the packer is idle,
   * and a segment that is not full may be made.
   */
  readonly endedAt: number | undefined
}

/** A frame whose bodies were hashed against their records. */
export interface DueFrame extends Frame {
  readonly textBytes: number
  /** The sequences of the entries whose bodies it has. */
  readonly indexes: readonly number[]
}

export interface DueFrames {
  readonly frames: readonly DueFrame[]
  readonly ledger: ArchivedLedger
}

/** The due frames now end with this entry; the packer may add more. */
export interface StillPacked {
  readonly endsAt: number
}

export type FramedStore = Pick<FilingStore, "journal" | "content" | "registry">

/** The bytes of a segment's text at most. */
const textBytesMax = 64 * 1024 * 1024
/** Frames that are read in one step. */
export const readBytes = 256 * 1024

/** The frames that become the next segment, and their ledger; undefined if none is due. */
export async function findDueFrames(
  store: FramedStore,
  due: DueSegment,
): Promise<DueFrames | StillPacked | undefined> {
  const frames: DueFrame[] = []
  let [textBytes, after] = [0, due.after]
  let ledger: ArchivedLedger | undefined
  let isOld = false
  const found = (isComplete: boolean): DueFrames | undefined =>
    ledger !== undefined && (isComplete || isOld) ? { frames, ledger } : undefined
  for (;;) {
    const some = await store.content.frames(due.workspace, after, readBytes)
    for (const frame of some) {
      after = frame.first
      if (after >= due.end) return found(true)
      const facts = await factsOf(store, due.workspace, frame)
      // A frame that does not match its records stays where readers find it broken.
      if (facts === undefined && frames.length === 0) continue
      const of = due.ledgers.find(({ before }) => frame.first > before)
      const isDue = facts !== undefined && facts.lastMs < due.dueMs
      const from = frames[0]?.first ?? frame.first
      textBytes += facts?.textBytes ?? 0
      const isFull = frame.first + frame.count - from > due.entriesMax || textBytes > textBytesMax
      const isNext = of !== undefined && (ledger ?? of) === of
      if (!isDue || !isNext || (isFull && frames.length > 0))
        return found(isFull || (isDue && !isNext))
      const last = frames.at(-1)
      if (last !== undefined && !(await areGone(store, due.workspace, endOf(last), frame.first)))
        return found(true)
      if (frames.length === 0) isOld = facts.firstMs < due.partialDueMs
      ledger = of
      frames.push({ ...frame, textBytes: facts.textBytes, indexes: facts.indexes })
    }
    if (some.length === 0) {
      const last = frames.at(-1)
      if (last === undefined) return undefined
      const endsAt = endOf(last) - 1
      return endsAt === due.endedAt ? found(false) : { endsAt }
    }
    await turn()
  }
}

function endOf({ first, count }: Frame): number {
  return first + count
}

/**
 * Whether the bodies of all entries from one up to another were destroyed. Others may be packed
 * later, and what is dropped after a segment was recorded is all that lies within it.
 */
async function areGone(
  { registry }: FramedStore,
  workspace: string,
  from: number,
  end: number,
): Promise<boolean> {
  const between = Array.from({ length: end - from }, (_, at) => from + at)
  const goneAt = await readGone(registry, workspace, between)
  return between.every((sequence) => goneAt(sequence)?.what === "body")
}

async function factsOf({ journal }: FramedStore, workspace: string, frame: Frame) {
  const entries = await recordsOf(journal, workspace, frame)
  const opened = openFitting(frame, entries)
  if (typeof opened === "string") return undefined
  const [firstMs, lastMs] = [entries[0], entries.at(-1)].map(
    (entry) => parseRecord(entry?.record ?? new Uint8Array())?.timeMs,
  )
  if (firstMs === undefined || lastMs === undefined) return undefined
  return { textBytes: opened.textBytes, indexes: opened.indexes, firstMs, lastMs }
}

/** The records of a frame's entries. */
async function recordsOf(
  journal: Pick<FramedStore["journal"], "records">,
  workspace: string,
  { first, count }: Pick<Frame, "first" | "count">,
): Promise<readonly { readonly sequence: number; readonly record: Uint8Array }[]> {
  const joined = await journal.records(workspace, first, count)
  return Array.from({ length: joined.length / recordBytes }, (_, at) => ({
    sequence: first + at,
    record: joined.subarray(at * recordBytes, (at + 1) * recordBytes),
  }))
}
