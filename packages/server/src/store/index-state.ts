// What the index keeps of a workspace: its tree, what was signed of it, and how far the auditor has
// come.

/** The right edge of a workspace's tree: the roots of its complete subtrees, largest first. */
export interface Tree {
  readonly size: number
  readonly hashes: readonly Uint8Array[]
}

export interface TileName {
  readonly level: number
  readonly tile: number
}

/** Hashes that a tile gained: they stand in it from `offset` on, in place of what stood there. */
export interface TileGrowth extends TileName {
  readonly offset: number
  readonly hashes: Uint8Array
}

export interface Checkpoint {
  readonly size: number
  readonly root: Uint8Array
  /** The signed note, as it is published. */
  readonly note: string
  readonly signedMs: number
}

/** Something that the auditor found not to hold together. */
export interface Finding {
  readonly workspace: string
  /** The first entry that does not hold. */
  readonly sequence: number
  readonly detail: string
  readonly foundMs: number
}

/** How far the auditor has come in a workspace, so that a restart does not begin anew. */
export interface Audit {
  /** Counts from 1: one more than of what it replaces. */
  readonly version: number
  /** The round in which it was re-verified last; counts from 1. */
  readonly round: number
  /** When that round began, and the one before. */
  readonly startedMs: number
  readonly sinceMs: number
  /** Entries that were re-verified in it, and whether it is over for this workspace. */
  readonly entries: number
  readonly isDone: boolean
  /** Over the entries of an epoch that were re-verified. */
  readonly epoch: number
  readonly tree: Tree
  readonly finding?: Finding
}
