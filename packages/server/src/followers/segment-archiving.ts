// Makes archive segments of the oldest packed entries, and rewrites existing ones: the slow part of
// archiving, for the filing thread. It records no entries. A body is dropped only after it was
// hashed against its record, and after the file that was read back from storage has the hash of
// exactly those bytes.

import { assert, parseRecord, type SequenceRange } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import type { ArchiveStorage } from "../store/archive/archive-storage.ts"
import { ArchiveFailure } from "../store/archive/archive-storage.ts"
import {
  checkSegment,
  makeSegment,
  mayHaveBody,
  readSegment,
  segmentPrefix,
  segmentWithout,
  type CheckedSegment,
  type MadeSegment,
  type ReadSegment,
} from "../store/archive/archive-segment.ts"
import { createSegmentDirectory } from "../store/archive/segment-directory.ts"
import { indexesOfFrame } from "../store/body-frame.ts"
import type { Frame } from "../store/content-keeper.ts"
import { isWithin, readGone } from "../store/destroyed.ts"
import type { ArchiveSegmentDocument } from "../store/documents.ts"
import { createArchiveCheck } from "./archive-check.ts"
import {
  findDueFrames,
  readBytes,
  type ArchivedLedger,
  type DueFrames,
  type DueSegment,
  type FramedStore,
  type StillPacked,
} from "./due-frames.ts"
import { turn } from "./loop.ts"

export interface WrittenSegment {
  readonly document: ArchiveSegmentDocument
  /** The sequences in its range whose bodies it does not have. */
  readonly missing: readonly number[]
}

export interface OldestFrame {
  /** The sequence of its first entry. */
  readonly first: number
  readonly timeMs: number
}

export interface SegmentArchiving {
  /** The oldest frame after this sequence that is still in the database. */
  oldest(workspace: string, after: number): Promise<OldestFrame | undefined>
  /** Writes the next due segment, and reads it back. Undefined if none is due. */
  write(due: DueSegment): Promise<WrittenSegment | StillPacked | undefined>
  /**
   * Writes a recorded segment again where storage has lost it and the database has its frames; then
   * drops those, in steps. Throws if storage does not have it. Frames with bodies that it lacks
   * stay; the result is whether there are any. `isChecked`: it was made of the frames just now.
   */
  drop(workspace: string, segment: ArchiveSegmentDocument, isChecked: boolean): Promise<boolean>
  /**
   * Rewrites a segment without the bodies of these entries. Undefined if none is left, or if a
   * restore was killed after it had deleted the file; the same segment if it has none of them. Only
   * frames with some of them are packed again. The others were checked when the file was recorded,
   * whose hash is compared.
   */
  without(
    workspace: string,
    segment: ArchiveSegmentDocument,
    gone: readonly SequenceRange[],
  ): Promise<ArchiveSegmentDocument | undefined>
  /** Checks a segment, and puts its frames back into the database, on the disk. Idempotent. */
  restore(workspace: string, segment: ArchiveSegmentDocument): Promise<void>
  /** The names of all files at this segment's place: its own, former ones, and strays. */
  files(place: ArchiveSegmentDocument): Promise<readonly string[]>
  /** Deletes files that no document names. */
  discard(files: readonly string[]): Promise<void>
  /**
   * Deletes the files of a ledger that no document names and that have some of these bodies, or
   * cannot be read: an archiver that was killed leaves such files. Nothing can record them any more,
   * because the bodies are recorded as destroyed.
   */
  discardStrays(
    workspace: string,
    ledger: Pick<ArchivedLedger, "ledgerId" | "before">,
    gone: readonly SequenceRange[],
  ): Promise<void>
}

const restoredAtOnce = 4
/** Pause between two steps, because a commit waits during each. */
const pauseMs = 4

export function createSegmentArchiving(
  store: FramedStore,
  storage: ArchiveStorage,
  clock: Clock,
): SegmentArchiving {
  const { journal, content } = store
  const writing = createSegmentWriting(store, storage)

  /** The frames in the database with bodies that a recorded segment around them does not have. */
  async function lackedBy(
    workspace: string,
    segment: ArchiveSegmentDocument,
  ): Promise<readonly Frame[]> {
    const frames = await framesIn(store, workspace, segment)
    // Of a file that was cut short, storage says only that it cannot be read.
    let checked = await writing.check(workspace, segment).catch(asFault)
    if (checked.fault !== undefined) {
      // The same frames make the same file.
      const before = beforeOf(segment)
      const again = makeSegment(frames, segment.ledgerId, { before })
      if (again?.document.file === segment.file)
        await storage.put(segment.file, again.content, true)
      checked = await writing.checked(workspace, segment)
    }
    return framesOutside(segment, checked.frames, frames)
  }

  async function dropFrames(workspace: string, { first, last }: SequenceRange): Promise<void> {
    for (let next = first; next <= last;) {
      next = 1 + (await content.dropBodies(workspace, { first: next, last }))
      await clock.sleep(pauseMs)
    }
  }

  return {
    async oldest(workspace, after) {
      const [frame] = await content.frames(workspace, after, 1)
      if (frame === undefined) return undefined
      const fields = parseRecord(await journal.records(workspace, frame.first, 1))
      return { first: frame.first, timeMs: fields?.timeMs ?? 0 }
    },
    async write(due) {
      const found = await findDueFrames(store, due)
      return found === undefined || "endsAt" in found ? found : writing.write(found)
    },
    async drop(workspace, segment, isChecked) {
      const staying = isChecked ? [] : await lackedBy(workspace, segment)
      let { first } = segment
      for (const { first: end, count } of staying) {
        await dropFrames(workspace, { first, last: end - 1 })
        first = end + count
      }
      await dropFrames(workspace, { first, last: segment.last })
      return staying.length > 0
    },
    async without(workspace, segment, gone) {
      const found = await writing.read(segment).catch(writing.unlessRestored(workspace, segment))
      if (found === undefined) return undefined
      const before = beforeOf(segment)
      const indexes = new Set<number>()
      for (const { first, last } of gone)
        for (let sequence = first; sequence <= last; sequence++) indexes.add(sequence - 1 - before)
      const made = await segmentWithout(segment, found, indexes, turn)
      if (made !== undefined && made.document !== segment) await writing.put(made, true)
      return made?.document
    },
    async restore(workspace, segment) {
      const checked = writing.checked(workspace, segment)
      const found = await checked.catch(writing.unlessRestored(workspace, segment))
      if (found === undefined) return
      for (let at = 0; at < found.frames.length; at += restoredAtOnce) {
        await content.putFrames(workspace, found.frames.slice(at, at + restoredAtOnce))
        await turn()
      }
    },
    files: (place) =>
      Array.fromAsync(storage.list(segmentPrefix(place).prefix, true), ({ name }) => name),
    async discard(files) {
      for (const file of files) await storage.delete(file)
    },
    discardStrays: (...asked) => discardStrays(store, storage, ...asked),
  }
}

async function discardStrays(
  { registry }: FramedStore,
  storage: ArchiveStorage,
  ...[workspace, { ledgerId, before }, gone]: Parameters<SegmentArchiving["discardStrays"]>
): Promise<void> {
  const directory = createSegmentDirectory(registry)
  const wasPut = (await directory.list(workspace)).some((one) => one.ledgerId === ledgerId)
  const files = await Array.fromAsync(storage.list(`${ledgerId}/`, wasPut))
  // Read after the files were listed, so that it names all of them that were recorded by then.
  const recorded = new Set((await directory.list(workspace)).map(({ file }) => file))
  const isGone = isWithin(gone)
  for (const file of files) {
    if (recorded.has(file.name)) continue
    if (await mayHaveBody(storage, file, (index) => isGone(index + 1 + before), turn))
      await storage.delete(file.name)
  }
}

function createSegmentWriting(store: FramedStore, storage: ArchiveStorage) {
  const { journal, registry } = store
  const requireArchive = createArchiveCheck(registry, storage)
  const failure = ({ file }: ArchiveSegmentDocument, fault: string) =>
    new ArchiveFailure(`${storage.name}: the segment ${file} ${fault}`)
  const check = (workspace: string, segment: ArchiveSegmentDocument): Promise<CheckedSegment> =>
    checkSegment(storage, segment, (first, count) => journal.records(workspace, first, count))
  const read = async (segment: ArchiveSegmentDocument): Promise<ReadSegment> => {
    const found = await readSegment(storage, segment)
    if (typeof found === "string") throw failure(segment, found)
    return found
  }
  const put = async ({ document, content }: MadeSegment, wasPut: boolean): Promise<void> => {
    await storage.put(document.file, content, wasPut)
    await read(document)
  }
  return {
    check,
    async checked(workspace: string, segment: ArchiveSegmentDocument): Promise<CheckedSegment> {
      const found = await check(workspace, segment)
      if (found.fault !== undefined) throw failure(segment, found.fault)
      return found
    },
    read,
    put,
    /** Handles a failure to read a segment. Rethrows it, unless a killed restore is the cause. */
    unlessRestored:
      (workspace: string, segment: ArchiveSegmentDocument) =>
      async (error: unknown): Promise<undefined> => {
        const isFailure = error instanceof ArchiveFailure
        if (!isFailure || !(await isRestored(store, storage, workspace, segment))) throw error
      },
    async write({ frames, ledger }: DueFrames): Promise<WrittenSegment> {
      const made = makeSegment(frames, ledger.ledgerId, ledger)
      assert(made !== undefined, "a frame that is kept has a body")
      await requireArchive()
      await put(made, ledger.hasSegments)
      const { document } = made
      const found = new Set(frames.flatMap(({ indexes }) => indexes))
      const missing: number[] = []
      for (let { first } = document; first <= document.last; first++)
        if (!found.has(first - 1 - ledger.before)) missing.push(first)
      return { document, missing }
    },
  }
}

function asFault(error: unknown): CheckedSegment {
  if (!(error instanceof ArchiveFailure)) throw error
  return { fault: error.message, frames: [] }
}

/**
 * Whether a restore was killed after it had deleted the file: there is none, and the database has
 * all of its bodies.
 */
async function isRestored(
  store: FramedStore,
  storage: ArchiveStorage,
  workspace: string,
  segment: ArchiveSegmentDocument,
): Promise<boolean> {
  if ((await storage.get(segment.file, { start: 0, end: 1 })) !== undefined) return false
  // A reader of the journal would also have archived bodies that it has cached.
  const frames = await framesIn(store, workspace, segment)
  const there = new Set(frames.flatMap(({ bytes }) => sequencesIn(bytes, segment) ?? []))
  const lacking: number[] = []
  for (let { first } = segment; first <= segment.last; first++)
    if (!there.has(first)) lacking.push(first)
  const goneAt = await readGone(store.registry, workspace, lacking)
  return lacking.every((sequence) => goneAt(sequence)?.what === "body")
}

/** The sequence before the first one of its ledger. */
function beforeOf(segment: ArchiveSegmentDocument): number {
  return segment.first - 1 - segmentPrefix(segment).index
}

/** Those frames in the database that end after a segment, or have bodies that its frames lack. */
function framesOutside(
  segment: ArchiveSegmentDocument,
  own: readonly Frame[],
  there: readonly Frame[],
): readonly Frame[] {
  const kept = new Set(own.flatMap(({ bytes }) => sequencesIn(bytes, segment) ?? []))
  const isKept = (sequence: number): boolean => kept.has(sequence)
  // Nobody can read the bodies of a damaged frame.
  return there.filter(
    ({ first, count, bytes }) =>
      first + count - 1 > segment.last || !(sequencesIn(bytes, segment) ?? [first]).every(isKept),
  )
}

/** The sequences of the bodies in a frame of a segment's ledger; undefined if it is damaged. */
function sequencesIn(
  bytes: Uint8Array,
  segment: ArchiveSegmentDocument,
): readonly number[] | undefined {
  const indexes = indexesOfFrame(bytes)
  const before = beforeOf(segment)
  return typeof indexes === "string" ? undefined : indexes.map((index) => index + 1 + before)
}

/** The frames of a segment's entries that the database still has. */
async function framesIn(
  { content }: FramedStore,
  workspace: string,
  { first, last }: ArchiveSegmentDocument,
): Promise<readonly Frame[]> {
  const frames: Frame[] = []
  for (let after = first - 1; ;) {
    const some = await content.frames(workspace, after, readBytes)
    const within = some.filter((frame) => frame.first <= last)
    frames.push(...within)
    if (within.length === 0 || within.length < some.length) return frames
    after = within.at(-1)?.first ?? last
    await turn()
  }
}
