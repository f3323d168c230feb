// Inclusion proofs for many entries. Neighbours share most siblings, so each tile is read once.

import { assert, tileWidth } from "@tallystick/proof"
import { createLru } from "../runtime/lru-cache.ts"
import type { Log } from "../store/epochs.ts"
import { readTile, siblingsOf, type TreeStore } from "../store/tree-reads.ts"
import { createTileNodes } from "./tile-proofs.ts"

export interface Inclusions {
  /** The siblings that prove the entry at `index` in the tree of `size`, from the leaf upwards. */
  prove(index: number, size: number): Promise<readonly Uint8Array[]>
}

/** Enough for entries in the order of the chain, or nearly so. */
const tilesMax = 64

export function createInclusions(kept: TreeStore, log: Log): Inclusions {
  const tiles = createLru<Uint8Array>(tilesMax)
  const nodeIn = createTileNodes()

  async function tileAt(level: number, index: number): Promise<Uint8Array> {
    const name = `${level}/${index}`
    const known = tiles.get(name) ?? (await readTile(kept, log, level, index, tileWidth))
    tiles.set(name, known)
    return known
  }

  return {
    async prove(index, size) {
      const siblings = await siblingsOf(index, size, tileAt, nodeIn)
      assert(siblings !== undefined, `the tree of ${log.workspace} has all nodes below its size`)
      return siblings
    },
  }
}
