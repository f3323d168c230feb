// Inclusion proofs for many entries. Neighbours share most siblings, so each tile is read once and
// each of its nodes hashed once.

import { inclusionNodes, inclusionProof, nodeHash, tileOf, tileWidth } from "@tallystick/proof"
import { createLru } from "../runtime/lru-cache.ts"
import { sha256 } from "../runtime/sha256.ts"
import type { Log } from "../store/epochs.ts"
import { readTile, type TreeStore } from "../store/tree-reads.ts"

export interface Inclusions {
  /** The siblings that prove the entry at `index` in the tree of `size`, from the leaf upwards. */
  prove(index: number, size: number): Promise<readonly Uint8Array[]>
}

/** A megabyte: enough for entries in the order of the chain, or nearly so. */
const tilesMax = 64
const hashBytes = 32

export function createInclusions(kept: TreeStore, log: Log): Inclusions {
  const tiles = createLru<Pyramid>(tilesMax)

  async function tileAt(level: number, index: number): Promise<Pyramid> {
    const name = `${level}/${index}`
    const known = tiles.get(name) ?? pyramidOf(await readTile(kept, log, level, index, tileWidth))
    tiles.set(name, known)
    return known
  }

  return {
    async prove(index, size) {
      const nodes = new Map<string, Uint8Array>()
      for (const { level, n } of inclusionNodes(index, size)) {
        const { level: tileLevel, index: tile, start, count } = tileOf(level, n)
        const node = (await tileAt(tileLevel, tile))[Math.log2(count)]?.[start / count]
        if (node === undefined)
          throw new Error(`the tree of ${log.workspace} lacks a node below its size`)
        nodes.set(`${level}/${n}`, node)
      }
      return inclusionProof(index, size, (level, n) => the(nodes.get(`${level}/${n}`)), sha256)
    },
  }
}

/** Rows of hashes: the tile's own, then those of each complete pair, and so on up to one hash. */
type Pyramid = readonly (readonly Uint8Array[])[]

function pyramidOf(tile: Uint8Array): Pyramid {
  const rows: Uint8Array[][] = [
    Array.from({ length: tile.length / hashBytes }, (_, at) =>
      tile.slice(at * hashBytes, (at + 1) * hashBytes),
    ),
  ]
  for (let below = rows[0] ?? []; below.length > 1; below = rows.at(-1) ?? []) {
    rows.push(
      Array.from({ length: Math.floor(below.length / 2) }, (_, at) =>
        nodeHash(the(below[2 * at]), the(below[2 * at + 1]), sha256),
      ),
    )
  }
  return rows
}

function the<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a node that was read is there")
  return value
}
