// Makes archive segments of the oldest packed entries, and changes those that are there: the part
// of archiving that takes time, for the filing thread. Nothing here records anything, and nothing
// is dropped before it was read back from storage and every body hashed against its record.

import { parseRecord } from "@tallystick/proof"
import type { Clock } from "../clock.ts"
import type { ArchiveStorage } from "../store/archive/archive-storage.ts"
import { ArchiveFailure } from "../store/archive/archive-storage.ts"
import {
  checkSegment,
  makeSegment,
  segmentPrefix,
  type CheckedSegment,
} from "../store/archive/archive-segment.ts"
import type { Frame } from "../store/content-keeper.ts"
import type { ArchiveSegmentDocument } from "../store/documents.ts"
import { frameWithout } from "../store/stretch.ts"
import {
  findDueFrames,
  readBytes,
  recordsOf,
  type ArchivedLedger,
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
  /** The oldest frame that is still in the database. */
  oldest(workspace: string): Promise<OldestFrame | undefined>
  /** Writes the next segment that is due, and reads it back. Undefined: none is due. */
  write(due: DueSegment): Promise<WrittenSegment | StillPacked | undefined>
  /**
   * Writes a recorded segment again where storage has lost it and the database has its frames; then
   * drops those, in steps. Throws if storage does not have it.
   */
  drop(workspace: string, segment: ArchiveSegmentDocument, isChecked: boolean): Promise<void>
  /**
   * Writes a segment anew without the bodies of these entries. Undefined if none is left, and the
   * same segment if it has none of them.
   */
  without(
    workspace: string,
    segment: ArchiveSegmentDocument,
    gone: readonly number[],
  ): Promise<WrittenSegment | undefined>
  /** Checks a segment, and puts its frames back into the database. */
  restore(workspace: string, segment: ArchiveSegmentDocument): Promise<void>
  /** Deletes all files of this segment's place but the recorded one, if there is one. */
  clean(place: ArchiveSegmentDocument, recorded: ArchiveSegmentDocument | undefined): Promise<void>
}

const restoredAtOnce = 4
/** Between two steps that make a commit wait. */
const pauseMs = 4

export function createSegmentArchiving(
  store: FramedStore,
  storage: ArchiveStorage,
  clock: Clock,
): SegmentArchiving {
  const { journal, content } = store
  const writing = createSegmentWriting(store, storage)
  return {
    async oldest(workspace) {
      const [frame] = await content.frames(workspace, 0, 1)
      if (frame === undefined) return undefined
      const fields = parseRecord(await journal.records(workspace, frame.first, 1))
      return { first: frame.first, timeMs: fields?.timeMs ?? 0 }
    },
    async write(due) {
      const found = await findDueFrames(store, due)
      return found === undefined || "endsAt" in found
        ? found
        : writing.put(due.workspace, found.frames, found.ledger)
    },
    async drop(workspace, segment, isChecked) {
      if (!isChecked && (await writing.check(workspace, segment)).fault !== undefined) {
        // The same frames make the same file.
        const again = makeSegment(
          await framesIn(store, workspace, segment),
          segment.ledgerId,
          ledgerOf(segment),
        )
        if (again?.document.file === segment.file) await storage.put(segment.file, again.content)
        await writing.checked(workspace, segment)
      }
      for (let { first } = segment; first <= segment.last;) {
        first = 1 + (await content.dropBodies(workspace, { first, last: segment.last }))
        await clock.sleep(pauseMs)
      }
    },
    async without(workspace, segment, gone) {
      const { frames, missing } = await writing.checked(workspace, segment)
      const [isGone, absent] = [new Set(gone), new Set(missing)]
      if (gone.every((sequence) => absent.has(sequence))) return { document: segment, missing }
      const left: Frame[] = []
      for (const frame of frames) {
        const entries = await recordsOf(journal, workspace, frame)
        const isHit = entries.some(({ sequence }) => isGone.has(sequence))
        left.push(isHit ? frameWithout(frame, entries, (one) => isGone.has(one)) : frame)
        await turn()
      }
      return writing.put(workspace, left, ledgerOf(segment))
    },
    async restore(workspace, segment) {
      const { frames } = await writing.checked(workspace, segment)
      for (let at = 0; at < frames.length; at += restoredAtOnce) {
        await content.putFrames(workspace, frames.slice(at, at + restoredAtOnce))
        await turn()
      }
    },
    async clean(place, recorded) {
      for await (const { name } of storage.list(segmentPrefix(place).prefix))
        if (name !== recorded?.file) await storage.delete(name)
    },
  }
}

function createSegmentWriting({ journal }: FramedStore, storage: ArchiveStorage) {
  const check = (workspace: string, segment: ArchiveSegmentDocument): Promise<CheckedSegment> =>
    checkSegment(storage, segment, async (first, count) =>
      (await recordsOf(journal, workspace, { first, count })).map(({ record }) => record),
    )
  async function checked(
    workspace: string,
    segment: ArchiveSegmentDocument,
  ): Promise<CheckedSegment> {
    const found = await check(workspace, segment)
    if (found.fault !== undefined)
      throw new ArchiveFailure(`${storage.name}: the segment ${segment.file} ${found.fault}`)
    return found
  }
  return {
    check,
    checked,
    /** Undefined if the frames have no body. */
    async put(
      workspace: string,
      frames: readonly Frame[],
      { ledgerId, before }: Pick<ArchivedLedger, "ledgerId" | "before">,
    ): Promise<WrittenSegment | undefined> {
      const made = makeSegment(frames, ledgerId, { before })
      if (made === undefined) return undefined
      await storage.put(made.document.file, made.content)
      const { missing } = await checked(workspace, made.document)
      return { document: made.document, missing }
    },
  }
}

function ledgerOf(segment: ArchiveSegmentDocument): Pick<ArchivedLedger, "ledgerId" | "before"> {
  return { ledgerId: segment.ledgerId, before: segment.first - 1 - segmentPrefix(segment).index }
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
