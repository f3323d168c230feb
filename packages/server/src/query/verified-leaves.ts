// The leaves of signed trees, in tiles of 256. A tile is verified against the signed root once and
// then remembered: signed leaves never change. After that, verifying an entry takes one hash and one
// comparison. Entries that lie far apart come with their leaves (../store/held-entries.ts).

import { equalBytes, hashBytes, tileWidth } from "@tallystick/proof"
import type { Limits } from "../limits.ts"
import type { Log } from "../store/epochs.ts"
import type { SignedTree, TreeStore } from "../store/tree-reads.ts"
import type { LeafReader } from "../store/leaf-reader.ts"
import { createLru } from "../runtime/lru-cache.ts"
import { createProofs, type Prove } from "./tile-proofs.ts"

export interface Leaves {
  /** Undefined if the stored hashes do not lead to the root of the tree. */
  at(log: Log, tree: SignedTree, index: number): Promise<Uint8Array | undefined>
  /** The same if it is in memory. */
  known(log: Log, index: number): Uint8Array | undefined
  /**
   * Reads the tiles of these leaves, so that most of them are known for a while. Those that are not
   * may be damaged: `at` knows.
   */
  load(log: Log, tree: SignedTree, indexes: readonly number[]): Promise<void>
  readonly prove: Prove
}

export function createLeaves(
  { leaves: read, index }: Pick<LeafReader, "leaves"> & Pick<TreeStore, "index">,
  { verifiedTilesMax }: Pick<Limits, "verifiedTilesMax">,
): Leaves {
  const tiles = createLru<Uint8Array>(verifiedTilesMax)
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
      if (leaves === undefined) return undefined
      last = { workspace, number, of, leaves }
    }
    // The last tile of a growing tree may lack it.
    return last.leaves.length > at ? last.leaves.subarray(at, at + hashBytes) : undefined
  }

  return {
    known,
    async load(log, tree, indexes) {
      const unknown = indexes.filter((index) => known(log, index) === undefined)
      const wanted = new Set(unknown.map((index) => Math.floor(index / tileWidth)))
      await Promise.all([...wanted].map((of) => tile(log, tree, of)))
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
