// The leaves of trees that were signed, 256 at a time. Each tile is held against its root once and remembered: a leaf that was signed never
// changes, so from then on checking an entry is its own hash and a comparison.

import { equalBytes, tileWidth } from "@tallystick/proof"
import type { Limits } from "../limits.ts"
import type { Log } from "../store/epochs.ts"
import type { Store } from "../store/store.ts"
import type { SignedTree } from "../store/tree-reads.ts"
import { createLru } from "../runtime/lru-cache.ts"

export interface Leaves {
  /** The leaves of a tile of a signed tree, end to end, at least as far as the tree has them; undefined when nothing leads to its root. */
  tile(log: Log, tree: SignedTree, tile: number): Promise<Uint8Array | undefined>
  at(log: Log, tree: SignedTree, index: number): Promise<Uint8Array | undefined>
}

const hashBytes = 32

export function createLeaves({ leaves: read }: Pick<Store, "leaves">, { verifiedTilesMax }: Pick<Limits, "verifiedTilesMax">): Leaves {
  const tiles = createLru<Uint8Array>(verifiedTilesMax)
  /** Whoever asks for a tile that is being read waits for it. */
  const reading = new Map<string, Promise<Uint8Array | undefined>>()

  async function readTile(log: Log, tree: SignedTree, tile: number): Promise<Uint8Array | undefined> {
    const leaves = await read(log, tree, tile)
    if (leaves !== undefined) tiles.set(`${log.workspace}/${log.number} ${tile}`, leaves)
    return leaves
  }

  async function tile(log: Log, tree: SignedTree, at: number): Promise<Uint8Array | undefined> {
    const known = tiles.get(`${log.workspace}/${log.number} ${at}`)
    // The last tile of a tree that grows is read again when the tree has more of it.
    if (known !== undefined && known.length >= Math.min(tileWidth, tree.size - at * tileWidth) * hashBytes) return known
    const key = `${log.workspace}/${log.number} ${at} ${tree.size}`
    const shared = reading.get(key) ?? readTile(log, tree, at).finally(() => reading.delete(key))
    reading.set(key, shared)
    return shared
  }

  return {
    tile,
    async at(log, tree, index) {
      const [of, at] = [Math.floor(index / tileWidth), (index % tileWidth) * hashBytes]
      const known = tiles.get(`${log.workspace}/${log.number} ${of}`)
      const leaves = known !== undefined && known.length > at ? known : await tile(log, tree, of)
      return leaves?.subarray(at, at + hashBytes)
    },
  }
}

/** Whether a hash is the leaf at an index. */
export async function isLeaf(leaves: Leaves, log: Log, tree: SignedTree, index: number, hash: Uint8Array): Promise<boolean> {
  const leaf = await leaves.at(log, tree, index)
  return leaf !== undefined && equalBytes(leaf, hash)
}
