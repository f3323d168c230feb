// Reads proofs and tiles of a tree. A leaf is the hash of a record. The index stores the leaves
// too, as tiles of level 0, so the signed hash is known even if the record was changed.

import { hash } from "node:crypto"
import {
  AssertionError,
  consistencyNodes,
  consistencyProof,
  eventHash,
  hashBytes,
  inclusionNodes,
  inclusionProof,
  levelWidth,
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
  type TileSlice,
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

/** Returns the concatenated hashes of a tile, at least so many if it has them. */
type TileReader = (level: number, tile: number, hashes?: number) => Promise<Uint8Array>

/** As `nodeInTile`. */
export type NodeInTile = (tile: Uint8Array, start: number, count: number) => Uint8Array

const computed: NodeInTile = (tile, start, count) => nodeInTile(tile, start, count, sha256)

/** The siblings that prove a leaf, from the leaf upwards; undefined if a tile lacks a hash. */
export async function siblingsOf(
  index: number,
  size: number,
  read: TileReader,
  nodeIn = computed,
): Promise<readonly Uint8Array[] | undefined> {
  const nodes = await readNodes(inclusionNodes(index, size), read, nodeIn)
  return within(() => inclusionProof(index, size, nodes, sha256))
}

/** The same; undefined also if the hashes do not lead to the tree's root. */
export async function proveLeaf(
  { size, root }: SignedTree,
  index: number,
  leaf: Uint8Array,
  read: TileReader,
  nodeIn = computed,
): Promise<readonly Uint8Array[] | undefined> {
  const hashes = await siblingsOf(index, size, read, nodeIn)
  return hashes !== undefined && verifyInclusion(leaf, index, size, hashes, root, sha256)
    ? hashes
    : undefined
}

/**
 * The concatenated leaves of a tile of level 0 in a signed tree; undefined if neither the index nor
 * the records lead to its root. `onUpper` is given the verified hashes of the tile above a full one.
 */
export async function readLeaves(
  kept: TreeStore,
  log: Log,
  { size, root }: SignedTree,
  tile: number,
  onUpper: (hashes: Uint8Array) => void = () => {},
): Promise<Uint8Array | undefined> {
  const above = Math.floor(tile / tileWidth)
  const first = tile * tileWidth
  const width = Math.min(tileWidth, size - first)
  // The index is read first, because it has the signed hash even if the record was changed.
  for (const read of [keptTiles(kept, log), madeTiles(kept, log)]) {
    const leaves = (await read(0, tile)).subarray(0, width * hashBytes)
    if (width <= 0 || leaves.length < width * hashBytes) continue
    // Verify exactly the bytes that were read, because the file may change meanwhile.
    let upper: Uint8Array | undefined
    const nodes = await readNodes(inclusionNodes(first, size), async (level, n) => {
      if (level === 0 && n === tile) return leaves
      const hashes = await read(level, n)
      if (level === 1 && n === above) upper = hashes
      return hashes
    })
    // The proof of the tile's first leaf depends on all other leaves.
    const hashes = within(() => inclusionProof(first, size, nodes, sha256))
    if (
      hashes !== undefined &&
      verifyInclusion(leaves.subarray(0, hashBytes), first, size, hashes, root, sha256)
    ) {
      if (upper !== undefined && width === tileWidth)
        onUpper(verifiedUpper(upper.subarray(0, widthIn(above, size) * hashBytes), tile, leaves))
      return leaves
    }
  }
  return undefined
}

/** How many hashes a tile of level 1 has, in a tree of this size. */
function widthIn(upperTile: number, size: number): number {
  return Math.min(tileWidth, levelWidth(1, size) - upperTile * tileWidth)
}

/**
 * The proof of a leaf depends on every hash of the tile above except one, which is replaced by the
 * root of the leaf's own tile.
 */
function verifiedUpper(upper: Uint8Array, tile: number, leaves: Uint8Array): Uint8Array {
  const hashes = new Uint8Array(upper)
  hashes.set(rootOfTile(leaves), (tile % tileWidth) * hashBytes)
  return hashes
}

/**
 * The same result as `nodeInTile` for all hashes of a full tile, or for a power of two of them, in
 * half the time, because it allocates nothing for single hashes.
 */
export function rootOfTile(leaves: Uint8Array): Uint8Array {
  const nodes = Buffer.from(leaves)
  const preimage = Buffer.alloc(1 + 2 * hashBytes, 1)
  for (let count = leaves.length / hashBytes / 2; count >= 1; count /= 2)
    for (let at = 0; at < count; at++) {
      nodes.copy(preimage, 1, at * 2 * hashBytes, (at + 1) * 2 * hashBytes)
      nodes.latin1Write(hash("sha256", preimage, "latin1"), at * hashBytes)
    }
  return nodes.subarray(0, hashBytes)
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
  if (level === 0) return hashesOf(await readRecords(kept.journal, log, tile * tileWidth, width))
  return (await keptTiles(kept, log)(level, tile)).subarray(0, width * hashBytes)
}

function keptTiles({ index }: Pick<TreeStore, "index">, log: Log): TileReader {
  return async (level, tile) =>
    (await index.tiles(log.workspace, log.number, [{ level, tile }]))[0] ?? new Uint8Array()
}

/** Reads tiles from the index, and computes level 0 from the records. */
function madeTiles(kept: TreeStore, log: Log): TileReader {
  return (level, tile) => readTile(kept, log, level, tile, tileWidth)
}

/** The concatenated records of up to `count` leaves from an index on, within the epoch. */
export function readRecords(
  journal: TreeStore["journal"],
  { workspace, before, end = Infinity }: Log,
  index: number,
  count: number,
): Promise<Uint8Array> {
  const first = before + index + 1
  return journal.records(workspace, first, Math.max(0, Math.min(count, end - first + 1)))
}

/** Reads the tiles of these nodes, and returns a reader of the nodes. */
async function readNodes(
  nodes: readonly Subtree[],
  read: TileReader,
  nodeIn = computed,
): Promise<NodeReader> {
  const nameOf = ({ level, index }: TileSlice): string => `${level}/${index}`
  const wanted = Map.groupBy(
    nodes.map(({ level, n }) => tileOf(level, n)),
    nameOf,
  )
  const tiles = new Map(
    await Promise.all(
      [...wanted].map(async ([name, slices]): Promise<[string, Uint8Array]> => {
        const [{ level, index } = noSlice] = slices
        const hashes = Math.max(...slices.map(({ start, count }) => start + count))
        return [name, await read(level, index, hashes)]
      }),
    ),
  )
  return (level, n) => {
    const slice = tileOf(level, n)
    return nodeIn(tiles.get(nameOf(slice)) ?? noBytes, slice.start, slice.count)
  }
}

const noSlice = tileOf(0, 0)
const noBytes = new Uint8Array()

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
