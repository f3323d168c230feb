// Reads leaves of signed trees: all of a tile, or single ones. A thread has one of these.

import { equalBytes, hashBytes, tileWidth } from "@tallystick/proof"
import { createLru } from "../runtime/lru-cache.ts"
import type { Thread } from "../runtime/worker-thread.ts"
import type { Log } from "./epochs.ts"
import { createFewLeaves, type FewLeaves } from "./few-leaves.ts"
import type { Store } from "./store.ts"
import { readLeaves, rootOfTile, type SignedTree, type TreeStore } from "./tree-reads.ts"

export type LeafReader = Pick<Store, "leaves"> & { readonly fewLeaves: FewLeaves }

/** Verified tiles of level 1 in memory, 8 KiB each: those of 16 million entries. */
const upperTilesMax = 256

/**
 * Reads leaves like `readLeaves`, and caches the verified hashes of the level above: in signed
 * trees, which only grow, they never change. So a tile takes 255 hashes, instead of twice as many,
 * and a leaf of a full tile 38 (few-leaves.ts).
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
      const [leaves] = await kept.index.tiles(log.workspace, log.number, [{ level: 0, tile }])
      if (leaves?.length === tileWidth * hashBytes && equalBytes(rootOfTile(leaves), root))
        return leaves
    }
    return readLeaves(kept, log, tree, tile, (upper) => verified.set(keyOf(log, tile), upper))
  }
  return { leaves: leavesOf, fewLeaves: createFewLeaves(kept.index, leavesOf, knownRoot) }
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
