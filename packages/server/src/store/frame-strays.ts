// Finds frames that cannot be unpacked, or do not match the entries that they are stored for. The
// check of an entry also checks its body.

import { indexOfRecord } from "@tallystick/proof"
import { indexesOfFrame } from "./body-frame.ts"
import type { ContentKeeper, Frame } from "./content-keeper.ts"
import type { JournalReader } from "./store.ts"
import type { Stray } from "./whole-ledger.ts"

export interface FramedJournal {
  readonly journal: Pick<JournalReader, "recordsAt">
  readonly frames: (
    ...asked: Parameters<ContentKeeper["frames"]>
  ) => Promise<readonly FrameToCheck[]>
}

/** Without bytes, a read has found what is in it to be right. */
export type FrameToCheck = Omit<Frame, "bytes"> & { readonly bytes: Uint8Array | undefined }

/** Some hundred frames. */
const readBytes = 2 ** 20

export async function* frameStrays(
  store: FramedJournal,
  workspaces: readonly string[],
): AsyncGenerator<Stray> {
  for (const workspace of workspaces) {
    let [after, end] = [Number.MIN_SAFE_INTEGER, 0]
    for (;;) {
      const frames = await store.frames(workspace, after, readBytes)
      if (frames.length === 0) break
      for (const frame of frames) {
        const fault =
          frame.first <= end
            ? "has entries of another frame"
            : await faultOf(store, workspace, frame)
        after = frame.first
        end = frame.first + frame.count - 1
        if (fault !== undefined)
          yield {
            workspace,
            sequence: frame.first,
            what: `the frame with the bodies of entries ${frame.first} to ${end} ${fault}`,
          }
      }
    }
  }
}

async function faultOf(
  { journal }: FramedJournal,
  workspace: string,
  { first, count, bytes }: FrameToCheck,
): Promise<string | undefined> {
  if (bytes === undefined) return undefined
  const indexes = indexesOfFrame(bytes)
  if (typeof indexes === "string") return indexes
  // Entries between them that are missing are a fault of the chain.
  const ends = await journal.recordsAt(workspace, [first, first + count - 1])
  if (ends.includes(undefined)) return "is of entries that are not there"
  const [start, end] = ends.map((record) => record && indexOfRecord(record))
  const isOwn = (index: number): boolean => index >= (start ?? 0) && index <= (end ?? Infinity)
  return indexes.every(isOwn) ? undefined : "has a body of an entry that is not its own"
}
