// Reads proofs and tiles of a tree. A leaf is the hash of a record. The index stores the leaves
// too, as tiles of level 0, so the signed hash is known even if the record was changed.

import {
  AssertionError,
  consistencyNodes,
  consistencyProof,
  eventHash,
  inclusionNodes,
  inclusionProof,
  nodeInTile,
  recordBytes,
  rootNodes,
  rootOf,
  tileOf,
  tileWidth,
  verifyConsistency,
  verifyInclusion,
  type NodeReader,
  type Subtree,
} from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import type { Log } from "./epochs.ts"
import type { IndexReader, JournalReader } from "./store.ts"

export interface TreeStore {
  readonly journal: Pick<JournalReader, "records">
  readonly index: Pick<IndexReader, "tiles">
}

export interface SignedTree {
  readonly size: number
  readonly root: Uint8Array
}

/** Returns the concatenated hashes of a tile. */
type TileReader = (level: number, tile: number) => Promise<Uint8Array>

const hashBytes = 32

/** The inclusion proof of a leaf; undefined if the hashes do not lead to the tree's root. */
export async function proveLeaf(
  kept: Pick<TreeStore, "index">,
  log: Log,
  { size, root }: SignedTree,
  index: number,
  leaf: Uint8Array,
  leavesOf: (tile: number) => Promise<Uint8Array | undefined>,
): Promise<readonly Uint8Array[] | undefined> {
  const keptTile = keptTiles(kept, log)
  const nodes = await readNodes(inclusionNodes(index, size), async (level, tile) =>
    level > 0 ? keptTile(level, tile) : ((await leavesOf(tile)) ?? new Uint8Array()),
  )
  const hashes = within(() => inclusionProof(index, size, nodes, sha256))
  return hashes !== undefined && verifyInclusion(leaf, index, size, hashes, root, sha256)
    ? hashes
    : undefined
}

/**
 * The concatenated leaves of a tile of level 0 in a signed tree; undefined if neither the index nor
 * the records lead to its root.
 */
export async function readLeaves(
  kept: TreeStore,
  log: Log,
  { size, root }: SignedTree,
  tile: number,
): Promise<Uint8Array | undefined> {
  const first = tile * tileWidth
  const width = Math.min(tileWidth, size - first)
  // The index first: it has the signed hash even of a record that was changed.
  for (const read of [keptTiles(kept, log), madeTiles(kept, log)]) {
    const leaves = (await read(0, tile)).subarray(0, width * hashBytes)
    if (width <= 0 || leaves.length < width * hashBytes) continue
    // Verify the bytes that were read: the file may change meanwhile.
    const nodes = await readNodes(inclusionNodes(first, size), async (level, n) =>
      level === 0 && n === tile ? leaves : read(level, n),
    )
    // The proof of the tile's first leaf depends on all other leaves.
    const hashes = within(() => inclusionProof(first, size, nodes, sha256))
    if (
      hashes !== undefined &&
      verifyInclusion(leaves.subarray(0, hashBytes), first, size, hashes, root, sha256)
    )
      return leaves
  }
  return undefined
}

/** Whether a tree is the beginning of a larger one. */
export async function isPrefix(
  kept: TreeStore,
  log: Log,
  first: SignedTree,
  whole: SignedTree,
): Promise<boolean> {
  if (first.size > whole.size) return false
  for (const read of [keptTiles(kept, log), madeTiles(kept, log)]) {
    const nodes = await readNodes(consistencyNodes(first.size, whole.size), read)
    const hashes = within(() => consistencyProof(first.size, whole.size, nodes, sha256))
    if (
      hashes !== undefined &&
      verifyConsistency(first.size, first.root, whole.size, whole.root, hashes, sha256)
    )
      return true
  }
  return false
}

/** The root of the first `size` entries. The tree may be larger. */
export async function readRoot(kept: TreeStore, log: Log, size: number): Promise<Uint8Array> {
  return rootOf(size, await readNodes(rootNodes(size), madeTiles(kept, log)), sha256)
}

/** The first `width` hashes of a tile. Level 0 is computed from the records. */
export async function readTile(
  kept: TreeStore,
  log: Log,
  level: number,
  tile: number,
  width: number,
): Promise<Uint8Array> {
  if (level === 0) return hashesOf(await readRecords(kept.journal, log, tile, width))
  return (await keptTiles(kept, log)(level, tile)).subarray(0, width * hashBytes)
}

/** Reads tiles from the index. */
function keptTiles({ index }: Pick<TreeStore, "index">, log: Log): TileReader {
  return async (level, tile) =>
    (await index.tiles(log.workspace, log.number, [{ level, tile }]))[0] ?? new Uint8Array()
}

/** Reads tiles from the index, and computes level 0 from the records. */
function madeTiles(kept: TreeStore, log: Log): TileReader {
  return (level, tile) => readTile(kept, log, level, tile, tileWidth)
}

/** The concatenated records of the first `width` leaves of a tile, within the epoch. */
export function readRecords(
  journal: TreeStore["journal"],
  { workspace, before, end = Infinity }: Log,
  tile: number,
  width: number,
): Promise<Uint8Array> {
  const first = before + tile * tileWidth + 1
  return journal.records(workspace, first, Math.max(0, Math.min(width, end - first + 1)))
}

/** Reads the tiles of these nodes, and returns a reader of the nodes. */
async function readNodes(nodes: readonly Subtree[], read: TileReader): Promise<NodeReader> {
  const wanted = new Map(
    nodes
      .map(({ level, n }) => tileOf(level, n))
      .map((slice) => [`${slice.level}/${slice.index}`, slice]),
  )
  const tiles = new Map(
    await Promise.all(
      [...wanted].map(async ([key, { level, index }]): Promise<[string, Uint8Array]> => [
        key,
        await read(level, index),
      ]),
    ),
  )
  return (level, n) => {
    const slice = tileOf(level, n)
    return nodeInTile(
      tiles.get(`${slice.level}/${slice.index}`) ?? new Uint8Array(),
      slice.start,
      slice.count,
      sha256,
    )
  }
}

/** Undefined if a tile lacks a hash. */
function within(prove: () => readonly Uint8Array[]): readonly Uint8Array[] | undefined {
  try {
    return prove()
  } catch (error) {
    if (error instanceof AssertionError) return undefined
    throw error
  }
}

function hashesOf(records: Uint8Array): Uint8Array {
  const hashes = new Uint8Array((records.length / recordBytes) * hashBytes)
  for (let at = 0, place = 0; at < records.length; at += recordBytes, place += hashBytes) {
    hashes.set(eventHash(records.subarray(at, at + recordBytes), sha256), place)
  }
  return hashes
}
