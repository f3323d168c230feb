// Reads proofs and tiles of a tree. A leaf is the hash of a record. The index stores the leaves
// too, as tiles of level 0, so the signed hash is known even if the record was changed.

import { hash } from "node:crypto"
import {
  AssertionError,
  consistencyNodes,
  consistencyProof,
  equalBytes,
  eventHash,
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
import { createLru } from "../runtime/lru-cache.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { Thread } from "../runtime/worker-thread.ts"
import type { Log } from "./epochs.ts"
import { middleLeaves, middleLevel, middlesPerTile } from "./index-state.ts"
import type { IndexReader, JournalReader, Store } from "./store.ts"

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

const hashBytes = 32

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

export type LeafReader = Pick<Store, "leaves" | "fewLeaves">

/** Verified tiles of level 1 in memory, 8 KiB each: those of 16 million entries. */
const upperTilesMax = 256

/**
 * Reads leaves like `readLeaves`, and caches the verified hashes of the level above: in signed
 * trees, which only grow, they never change. So a tile takes 255 hashes, instead of twice as many,
 * and a leaf of a full tile 38 (`middleLevel`).
 */
export function createLeafReader(kept: TreeStore): LeafReader {
  const verified = createLru<Uint8Array>(upperTilesMax)
  const keyOf = (log: Log, tile: number): string =>
    `${log.workspace}/${log.number} ${Math.floor(tile / tileWidth)}`
  const knownRoot = (log: Log, tree: SignedTree, tile: number): Uint8Array | undefined => {
    const at = (tile % tileWidth) * hashBytes
    const isFull = (tile + 1) * tileWidth <= tree.size
    const root = isFull ? verified.get(keyOf(log, tile))?.subarray(at, at + hashBytes) : undefined
    return root?.length === hashBytes ? root : undefined
  }
  const leavesOf = async (
    log: Log,
    tree: SignedTree,
    tile: number,
  ): Promise<Uint8Array | undefined> => {
    const root = knownRoot(log, tree, tile)
    if (root !== undefined) {
      const leaves = await keptTiles(kept, log)(0, tile)
      if (leaves.length === tileWidth * hashBytes && equalBytes(rootOfTile(leaves), root))
        return leaves
    }
    return readLeaves(kept, log, tree, tile, (upper) => verified.set(keyOf(log, tile), upper))
  }
  return {
    leaves: leavesOf,
    async fewLeaves(log, tree, indexes) {
      const found = Buffer.alloc(indexes.length * hashBytes)
      const places = Map.groupBy(indexes.keys(), (at) => tileOf(0, indexes[at] ?? 0).index)
      const names = [...places.keys()].flatMap((tile) => [
        { level: 0, tile },
        { level: middleLevel, tile },
      ])
      const stored = await kept.index.tiles(log.workspace, log.number, names)
      for (const [at, [tile, wanted]] of [...places].entries()) {
        const [leaves = noBytes, middle = noBytes] = stored.slice(2 * at, 2 * at + 2)
        const root = knownRoot(log, tree, tile)
        const leafAt =
          root !== undefined && isMiddle(middle, root)
            ? provenBy(middle, leaves)
            : leafIn((await leavesOf(log, tree, tile)) ?? noBytes)
        for (const place of wanted)
          found.set(leafAt((indexes[place] ?? 0) % tileWidth) ?? noBytes, place * hashBytes)
      }
      return found
    },
  }
}

/** Asks the leaf reader of another thread, and sends it only what it needs of a log. */
export function leavesFrom(thread: Thread<LeafReader>): LeafReader {
  return {
    leaves: ({ workspace, number, before, end }, ...asked) =>
      thread.ask("leaves", { workspace, number, before, end }, ...asked),
    fewLeaves: ({ workspace, number, before, end }, ...asked) =>
      thread.ask("fewLeaves", { workspace, number, before, end }, ...asked),
  }
}

const noBytes = new Uint8Array()

function isMiddle(middle: Uint8Array, root: Uint8Array): boolean {
  return middle.length === middlesPerTile * hashBytes && equalBytes(rootOfTile(middle), root)
}

/** The leaf at a place of a tile whose leaves are verified. */
function leafIn(leaves: Uint8Array): (place: number) => Uint8Array {
  return (place) => leaves.subarray(place * hashBytes, (place + 1) * hashBytes)
}

/** The same where only the middle is verified; undefined if it does not prove the leaf. */
function provenBy(
  middle: Uint8Array,
  leaves: Uint8Array,
): (place: number) => Uint8Array | undefined {
  const proven = new Map<number, boolean>()
  return (place) => {
    const part = Math.floor(place / middleLeaves)
    const from = part * middleLeaves * hashBytes
    const hashes = leaves.subarray(from, from + middleLeaves * hashBytes)
    const isProven =
      proven.get(part) ??
      (hashes.length === middleLeaves * hashBytes &&
        equalBytes(rootOfTile(hashes), leafIn(middle)(part)))
    proven.set(part, isProven)
    return isProven ? leafIn(leaves)(place) : undefined
  }
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

/** Reads tiles from the index. */
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
