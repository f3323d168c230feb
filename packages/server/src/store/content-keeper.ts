// What happens to the content of entries after it was recorded. Records, receipts and keys stay
// where they are; bodies move into frames and later into an archive, and bodies and disclosures may
// be destroyed. The filing thread has it (threads/filing-thread.ts), because nothing here may make
// a commit wait: each call is one step that holds the database for some milliseconds at most.
//
// A call that returns a sequence has done its work up to and including it. The caller asks again
// for what follows. Each may be repeated, also after a crash: what is done already is passed over.

/** The bodies of `count` entries from the sequence `first` on, those that are left of them. */
export interface Frame {
  readonly first: number
  readonly count: number
  /** See body-frame.ts. */
  readonly bytes: Uint8Array
}

/** Sequences, both ends included. */
export interface SequenceRange {
  readonly first: number
  readonly last: number
}

export interface Packed {
  /** Entries up to here were packed or passed over. */
  readonly last: number
  /** How many were packed, and into how many bytes: none if the next entry cannot be. */
  readonly entries: number
  readonly bytes: number
}

export interface Remaining {
  readonly sequence: number
  /** In the form of `Stored.disclosures`. */
  readonly disclosures: string
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
   * The frames that begin after this sequence, in order: up to `bytesMax` of them, one at least,
   * none only if there are none.
   */
  frames(workspace: string, after: number, bytesMax: number): Promise<readonly Frame[]>
  /**
   * Removes the frames of these entries, which lie in an archive segment. No frame may lie partly
   * in the range. The removal may be undone by a power cut.
   */
  dropBodies(workspace: string, range: SequenceRange): Promise<number>
  /**
   * Puts frames back that were removed, after it has checked each body against its record.
   */
  putFrames(workspace: string, frames: readonly Frame[]): Promise<void>
  /** Destroys bodies, salts and disclosures. The ranges are in order and do not overlap. */
  destroyBodies(workspace: string, ranges: readonly SequenceRange[]): Promise<number>
  /**
   * Replaces the disclosures of each of these entries by those of them that remain, in the order of
   * their sequences.
   */
  keepDisclosures(workspace: string, remaining: readonly Remaining[]): Promise<number>
  /**
   * Removes what was destroyed from the engine's log of changes as well. Once it returns true, all
   * of it is destroyed after a power cut too. False while another connection reads an earlier state:
   * ask again.
   */
  clearLog(): Promise<boolean>
}

/** For the thread that serves: through the filing thread. */
export interface ContentKeeperBeside extends ContentKeeper {
  /** Whether this process is the one that changes the workspace's content. */
  isOurs(workspace: string): Promise<boolean>
}
