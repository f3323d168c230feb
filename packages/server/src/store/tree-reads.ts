// The tree as proofs and tiles need it. The hashes of its leaves are those of the records; the
// index keeps them too, as tiles of level 0: what was signed is then known also of a record that is
// not as it was.

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

/** The size and the root of a tree that was signed. */
export interface SignedTree {
  readonly size: number
  readonly root: Uint8Array
}

/** Gives the hashes that a tile has, end to end, as many as there are. */
type TileReader = (level: number, tile: number) => Promise<Uint8Array>

const hashBytes = 32

/**
 * The siblings of a leaf, made of leaves that are known to be of the tree and of the index's tiles;
 * undefined when they do not lead to its root.
 */
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
 * The hashes of all leaves that one tile of level 0 has in a signed tree, end to end; undefined
 * when nothing leads to its root.
 */
export async function readLeaves(
  kept: TreeStore,
  log: Log,
  { size, root }: SignedTree,
  tile: number,
): Promise<Uint8Array | undefined> {
  const first = tile * tileWidth
  const width = Math.min(tileWidth, size - first)
  // The kept hashes first: they say what was signed also of a record that is not as it was.
  for (const read of [keptTiles(kept, log), madeTiles(kept, log)]) {
    const leaves = (await read(0, tile)).subarray(0, width * hashBytes)
    if (width <= 0 || leaves.length < width * hashBytes) continue
    // What is compared is what was read: the file may be another by now.
    const nodes = await readNodes(inclusionNodes(first, size), async (level, n) =>
      level === 0 && n === tile ? leaves : read(level, n),
    )
    // The siblings of the tile's first leaf are made of all the others.
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

/** The root of the first `size` entries, also of a tree that has grown beyond them. */
export async function readRoot(kept: TreeStore, log: Log, size: number): Promise<Uint8Array> {
  return rootOf(size, await readNodes(rootNodes(size), madeTiles(kept, log)), sha256)
}

/**
 * The first `width` hashes of a tile, end to end; fewer where the tree has fewer. Those of level 0
 * are made of the records.
 */
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

/** As the index keeps them. */
function keptTiles({ index }: Pick<TreeStore, "index">, log: Log): TileReader {
  return async (level, tile) =>
    (await index.tiles(log.workspace, log.number, [{ level, tile }]))[0] ?? new Uint8Array()
}

/** Those of level 0 made of the records. */
function madeTiles(kept: TreeStore, log: Log): TileReader {
  return (level, tile) => readTile(kept, log, level, tile, tileWidth)
}

/**
 * The records of the first `width` leaves of a tile, end to end: those of the next epoch are not of
 * this tree.
 */
export function readRecords(
  journal: TreeStore["journal"],
  { workspace, before, end = Infinity }: Log,
  tile: number,
  width: number,
): Promise<Uint8Array> {
  const first = before + tile * tileWidth + 1
  return journal.records(workspace, first, Math.max(0, Math.min(width, end - first + 1)))
}

/** Reads the tiles in which these nodes are found, and answers for them. */
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

/** Undefined where a tile lacks a hash. */
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
