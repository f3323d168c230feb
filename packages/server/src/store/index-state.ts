// The data of the index: trees, last checkpoints, the auditor's positions, and last uses of
// credentials.

/** The right edge of a workspace's tree: the roots of its complete subtrees, largest first. */
export interface Tree {
  readonly size: number
  readonly hashes: readonly Uint8Array[]
}

export interface TileName {
  readonly level: number
  readonly tile: number
}

/**
 * Beside the tiles of the tree, whose levels end at 63, the index keeps the middle of each full tile
 * of leaves, with the number of that tile: the roots of its eight subtrees of 32 leaves. With them
 * one leaf takes 38 hashes to verify, and 255 without. An index of an older version lacks some.
 */
export const middleLevel = 64
/** The level of the subtrees in the tree, how many leaves each has, and how many a tile has. */
export const [middleHeight, middleLeaves, middlesPerTile] = [5, 32, 8] as const

/** New hashes of a tile. They replace what the tile had from `offset` on. */
export interface TileGrowth extends TileName {
  readonly offset: number
  readonly hashes: Uint8Array
}

export interface Checkpoint {
  readonly size: number
  readonly root: Uint8Array
  /** The published signed note. */
  readonly note: string
  readonly signedMs: number
}

/** The last use of an API key or a scoped token, by the id of the credential. */
export interface CredentialUse {
  readonly id: string
  readonly atMs: number
  /** The address of the client; empty if it is not kept. */
  readonly from: string
}

/** A broken entry that the auditor found. */
export interface Finding {
  readonly workspace: string
  /** The first broken entry. */
  readonly sequence: number
  readonly detail: string
  readonly foundMs: number
}

/** The entries from the first to this one were verified at this time or later. */
export interface Checked {
  readonly to: number
  readonly sinceMs: number
}

/** The auditor's position in a workspace, so that a restart does not begin anew. */
export interface Audit {
  /** Counts from 1. */
  readonly version: number
  /** The last round that verified the workspace. Counts from 1. */
  readonly round: number
  /** When that round began, and when the round before began. */
  readonly startedMs: number
  readonly sinceMs: number
  /** Entries verified in that round, and whether it is over for this workspace. */
  readonly entries: number
  readonly isDone: boolean
  /** The tree over the verified entries of this epoch. */
  readonly epoch: number
  readonly tree: Tree
  /**
   * The verified ranges of this and earlier rounds, newest first. Each reaches further than those
   * before it.
   */
  readonly checked: readonly Checked[]
  readonly finding?: Finding
}
