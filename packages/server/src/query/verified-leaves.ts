// The leaves of signed trees, in tiles of 256. A tile is verified against the signed root once and
// then remembered: signed leaves never change. After that, verifying an entry takes one hash and one
// comparison. Of a tile that few entries were read from, only their leaves are verified.

import { equalBytes, tileWidth } from "@tallystick/proof"
import type { Limits } from "../limits.ts"
import type { Log } from "../store/epochs.ts"
import type { LeafReader, SignedTree, TreeStore } from "../store/tree-reads.ts"
import { createLru } from "../runtime/lru-cache.ts"
import { createProofs, type Prove } from "./tile-proofs.ts"

export interface Leaves {
  /** Undefined if the stored hashes do not lead to the root of the tree. */
  at(log: Log, tree: SignedTree, index: number): Promise<Uint8Array | undefined>
  /** The same if it is in memory. */
  known(log: Log, index: number): Uint8Array | undefined
  /**
   * Reads these leaves of a tree, so that most of them are known for a while. Those that are not may
   * be damaged: `at` knows. `wholeTiles`: together with the other leaves of their tiles.
   */
  load(log: Log, tree: SignedTree, indexes: readonly number[], wholeTiles: boolean): Promise<void>
  readonly prove: Prove
}

const hashBytes = 32

/**
 * An entry needs two leaves, its own and the one before, and 38 hashes prove the 32 around them.
 * From five entries on, the whole tile is about as cheap.
 */
const fewMax = 8
/** Leaves that were read alone: those of some pages. */
const singlesMax = 2048
const unproven = Buffer.alloc(hashBytes)

export function createLeaves(
  { leaves: read, fewLeaves: readFew, index }: LeafReader & Pick<TreeStore, "index">,
  { verifiedTilesMax }: Pick<Limits, "verifiedTilesMax">,
): Leaves {
  const tiles = createLru<Uint8Array>(verifiedTilesMax)
  const singles = createLru<Uint8Array>(singlesMax)
  /** Tiles that a leaf was asked of. When the next one is, the whole tile is read. */
  const visited = createLru<true>(verifiedTilesMax)
  /** The tile that was used last: entries are mostly read in order. */
  let last: (Pick<Log, "workspace" | "number"> & { of: number; leaves: Uint8Array }) | undefined
  /** Concurrent requests for a tile share one read. */
  const reading = new Map<string, Promise<Uint8Array | undefined>>()

  async function readTile(
    log: Log,
    tree: SignedTree,
    tile: number,
  ): Promise<Uint8Array | undefined> {
    const leaves = await read(log, tree, tile)
    if (leaves !== undefined) tiles.set(`${log.workspace}/${log.number} ${tile}`, leaves)
    last = undefined
    return leaves
  }

  /** At least as many leaves as the tree has in the tile. */
  async function tile(log: Log, tree: SignedTree, at: number): Promise<Uint8Array | undefined> {
    const known = tiles.get(`${log.workspace}/${log.number} ${at}`)
    // The last tile of a growing tree is read again when the tree has more leaves in it.
    if (
      known !== undefined &&
      known.length >= Math.min(tileWidth, tree.size - at * tileWidth) * hashBytes
    )
      return known
    const key = `${log.workspace}/${log.number} ${at} ${tree.size}`
    const shared = reading.get(key) ?? readTile(log, tree, at).finally(() => reading.delete(key))
    reading.set(key, shared)
    return shared
  }

  function known({ workspace, number }: Log, index: number): Uint8Array | undefined {
    const [of, at] = [Math.floor(index / tileWidth), (index % tileWidth) * hashBytes]
    if (last?.of !== of || last.number !== number || last.workspace !== workspace) {
      const leaves = tiles.get(`${workspace}/${number} ${of}`)
      if (leaves === undefined) return singles.get(`${workspace}/${number} ${index}`)
      last = { workspace, number, of, leaves }
    }
    // The last tile of a growing tree may lack it.
    return last.leaves.length > at ? last.leaves.subarray(at, at + hashBytes) : undefined
  }

  /** Whether few leaves of a tile are asked for, which nobody has asked for others of. */
  function areFew(log: Log, tree: SignedTree, of: number, count: number): boolean {
    const key = `${log.workspace}/${log.number} ${of}`
    const isFirst = visited.get(key) === undefined
    visited.set(key, true)
    return isFirst && count <= fewMax && (of + 1) * tileWidth <= tree.size
  }

  async function loadFew(log: Log, tree: SignedTree, indexes: readonly number[]): Promise<void> {
    const leaves = await readFew(log, tree, indexes)
    for (const [at, index] of indexes.entries()) {
      const leaf = leaves.subarray(at * hashBytes, (at + 1) * hashBytes)
      if (!equalBytes(leaf, unproven)) singles.set(`${log.workspace}/${log.number} ${index}`, leaf)
    }
  }

  return {
    known,
    async load(log, tree, indexes, wholeTiles) {
      const asked = indexes.filter((index) => known(log, index) === undefined)
      const few: number[] = []
      const reads: Promise<unknown>[] = []
      for (const [of, some] of Map.groupBy(asked, (index) => Math.floor(index / tileWidth)))
        if (!wholeTiles && areFew(log, tree, of, some.length)) few.push(...some)
        else reads.push(tile(log, tree, of))
      if (few.length > 0) reads.push(loadFew(log, tree, few))
      await Promise.all(reads)
    },
    prove: createProofs(index, tile),
    async at(log, tree, index) {
      const leaf = known(log, index)
      if (leaf !== undefined) return leaf
      const at = (index % tileWidth) * hashBytes
      return (await tile(log, tree, Math.floor(index / tileWidth)))?.subarray(at, at + hashBytes)
    },
  }
}

export async function isLeaf(
  leaves: Leaves,
  log: Log,
  tree: SignedTree,
  index: number,
  hash: Uint8Array,
): Promise<boolean> {
  const leaf = leaves.known(log, index) ?? (await leaves.at(log, tree, index))
  return leaf !== undefined && equalBytes(leaf, hash)
}
