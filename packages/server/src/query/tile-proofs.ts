// Inclusion proofs of single leaves. Most of a proof is the same for all leaves of a tile, and its
// upper half for all of a log, so the tiles that were used last and their subtrees are in memory.

import { hash } from "node:crypto"
import { hashBytes, nodeInTile, tileWidth } from "@tallystick/proof"
import { createLru } from "../runtime/lru-cache.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { Log } from "../store/epochs.ts"
import { proveLeaf, type NodeInTile, type SignedTree, type TreeStore } from "../store/tree-reads.ts"

/**
 * The inclusion proof of a leaf in the tree of a checkpoint; undefined if the stored hashes do not
 * lead to its root. `tree` has its leaves.
 */
export type Prove = (
  log: Log,
  tree: SignedTree,
  checkpoint: SignedTree,
  index: number,
  leaf: Uint8Array,
) => Promise<readonly Uint8Array[] | undefined>

const noBytes = new Uint8Array()
/** Tiles above the leaves in memory, 8 KiB each: those of 16 million entries. */
const upperTilesMax = 256
/** Tiles whose subtrees are in memory, 16 KiB each. */
const innerTilesMax = 256

/** `leavesOf`: the leaves of a tile of a signed tree. */
export function createProofs(
  index: TreeStore["index"],
  leavesOf: (log: Log, tree: SignedTree, tile: number) => Promise<Uint8Array | undefined>,
): Prove {
  const nodeIn = createTileNodes()
  let uppers = createLru<Uint8Array>(upperTilesMax)

  /** Nobody verified it. The proof that is made of it is verified. */
  async function upper(
    { workspace, number }: Log,
    level: number,
    tile: number,
    hashes: number,
  ): Promise<Uint8Array> {
    const key = `${workspace}/${number} ${level} ${tile}`
    const known = uppers.get(key)
    // The last one of a level grows.
    if (known !== undefined && known.length >= hashes * hashBytes) return known
    const [stored = noBytes] = await index.tiles(workspace, number, [{ level, tile }])
    uppers.set(key, stored)
    return stored
  }

  return async (log, tree, checkpoint, at, leaf) => {
    const read = async (level: number, tile: number, hashes = tileWidth): Promise<Uint8Array> =>
      level > 0 ? upper(log, level, tile, hashes) : ((await leavesOf(log, tree, tile)) ?? noBytes)
    const proven = await proveLeaf(checkpoint, at, leaf, read, nodeIn)
    if (proven !== undefined) return proven
    // A tile in memory may have been damaged when it was read.
    uppers = createLru<Uint8Array>(upperTilesMax)
    return proveLeaf(checkpoint, at, leaf, read, nodeIn)
  }
}

/** As `nodeInTile`, with the subtrees of the tiles that were used last. A tile may not change. */
export function createTileNodes(): NodeInTile {
  const inner = createLru<Uint8Array, Uint8Array>(innerTilesMax)
  return (tile, start, count) => {
    const known = inner.get(tile)
    const nodes = known ?? subtreesOf(tile)
    if (known === undefined) inner.set(tile, nodes)
    const at = (tileWidth / count + start / count) * hashBytes
    const isWhole = (start + count) * hashBytes <= tile.length
    return isWhole
      ? new Uint8Array(nodes.subarray(at, at + hashBytes))
      : nodeInTile(tile, start, count, sha256)
  }
}

/** Every whole subtree, where a heap has it: the tile's root at 1, and what is below n at 2n and 2n + 1. */
function subtreesOf(tile: Uint8Array): Uint8Array {
  const nodes = Buffer.alloc(2 * tileWidth * hashBytes)
  nodes.set(tile.subarray(0, tileWidth * hashBytes), tileWidth * hashBytes)
  const preimage = Buffer.alloc(1 + 2 * hashBytes, 1)
  let whole = Math.min(tileWidth, tile.length / hashBytes)
  for (let first = tileWidth / 2; first >= 1; first /= 2) {
    whole = Math.floor(whole / 2)
    for (let at = first; at < first + whole; at++) {
      nodes.copy(preimage, 1, 2 * at * hashBytes, 2 * (at + 1) * hashBytes)
      nodes.latin1Write(hash("sha256", preimage, "latin1"), at * hashBytes)
    }
  }
  return nodes
}
