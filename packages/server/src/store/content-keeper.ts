// Moves and destroys the content of recorded entries. Records, receipts and keys stay where they
// are. Bodies move into frames and later into an archive, and bodies and disclosures may be
// destroyed. It runs in the filing thread (threads/filing-thread.ts), because it must not make
// commits wait: each call is one step that locks the database for some milliseconds at most.
//
// A call that returns a sequence has done its work up to and including it. The caller calls again
// for the rest. Every call is idempotent, also after a crash: finished work is skipped.

import { assert } from "@tallystick/proof"
import type { SequenceRange } from "@tallystick/proof"

/** The remaining bodies of `count` entries from the sequence `first` on. */
export interface Frame {
  readonly first: number
  readonly count: number
  /** See body-frame.ts. */
  readonly bytes: Uint8Array
}

export interface Packed {
  /** Entries up to this sequence were packed or skipped. */
  readonly last: number
  /**
   * The number of packed entries, and the bytes of the frame. 0 if the next entry cannot be packed.
   */
  readonly entries: number
  readonly bytes: number
}

export interface Remaining {
  readonly sequence: number
  /** In the form of `Stored.disclosures`. */
  readonly disclosures: string
}

/**
 * Whether fewer disclosures remain, both in the form of `Stored.disclosures`. Asserts that no new one
 * appears. One whose disclosures were destroyed gets none back.
 */
export function isLess(before: string, after: string): boolean {
  if (before === "") return false
  const [all, some] = [before.split("~"), after === "" ? [] : after.split("~")]
  const areThere = some.every((one) => all.includes(one))
  assert(areThere, "only disclosures that the entry has can remain")
  return some.length < all.length
}

export interface ContentKeeper {
  /**
   * Packs the bodies of the next stretch of entries after `after`, up to `upTo` at most and never
   * the last entry of the chain. Undefined if a stretch is not complete yet, or with `mayBePart` if
   * there is no entry.
   */
  pack(
    workspace: string,
    after: number,
    upTo: number,
    mayBePart?: boolean,
  ): Promise<Packed | undefined>
  /**
   * The frames that begin after this sequence, in order: up to `bytesMax` bytes, but at least one
   * frame if there is one.
   */
  frames(workspace: string, after: number, bytesMax: number): Promise<readonly Frame[]>
  /**
   * Removes the frames of these entries, which are in an archive segment. No frame may be partly in
   * the range. A power cut may undo the removal.
   */
  dropBodies(workspace: string, range: SequenceRange): Promise<number>
  /**
   * Restores removed frames, after checking each body against its record. Bodies that are in rows or
   * in other frames stay there. All are on the disk on return.
   */
  putFrames(workspace: string, frames: readonly Frame[]): Promise<void>
  /** Destroys bodies, salts and disclosures. The ranges are in order and do not overlap. */
  destroyBodies(workspace: string, ranges: readonly SequenceRange[]): Promise<number>
  /**
   * Replaces the disclosures of each of these entries by the remaining ones. The entries are in
   * order. One whose disclosures were destroyed meanwhile gets none back.
   */
  keepDisclosures(workspace: string, remaining: readonly Remaining[]): Promise<number>
  /**
   * Removes destroyed content from the engine's write-ahead log as well. Once it returns true, the
   * content stays destroyed even after a power cut. Returns false while another connection reads an
   * earlier state: call again.
   */
  clearLog(): Promise<boolean>
  /**
   * Overwrites copies of destroyed content that the engine keeps in unused parts of its files. Returns
   * false if it has to be called again.
   */
  overwriteCopies(): Promise<boolean>
}

/** For the serving thread: it calls the filing thread. */
export interface ContentKeeperBeside extends ContentKeeper {
  /** Whether this process is the one that changes the workspace's content. */
  isOurs(workspace: string): Promise<boolean>
}
