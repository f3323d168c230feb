// Reads single leaves of signed trees, for entries that lie far apart: a tile of 256 leaves is read,
// and only the 32 around a leaf are verified, by the middle of the tile (index-state.ts).

import { hash } from "node:crypto"
import { equalBytes, hashBytes, tileWidth } from "@tallystick/proof"
import { createLru } from "../runtime/lru-cache.ts"
import type { Log } from "./epochs.ts"
import { middleLeaves, middleLevel, middlesPerTile } from "./index-state.ts"
import type { Store } from "./store.ts"
import { rootOfTile, type SignedTree, type TreeStore } from "./tree-reads.ts"

/** Leaves of a signed tree, concatenated. Those that the stored hashes do not prove are zeros. */
export type FewLeaves = (
  log: Log,
  tree: SignedTree,
  indexes: readonly number[],
) => Promise<Uint8Array>

const noBytes = new Uint8Array()
/** Verified leaves in memory, 150 bytes each: those of a hundred pages. */
const leavesMax = 8192
/** So many leaves of a part are read and recognised in less time than they are remembered. */
const togetherMin = 4
/** Tiles that are recognised when they are read again, a third of a kilobyte each. */
const recognisedMax = 8192

/**
 * `leavesOf` has all leaves of a tile verified. `knownRoot` is the root of a full tile if it was
 * verified already.
 */
export function createFewLeaves(
  index: TreeStore["index"],
  leavesOf: Store["leaves"],
  knownRoot: (log: Log, tree: SignedTree, tile: number) => Uint8Array | undefined,
): FewLeaves {
  // In strings of one byte a character, which take a third of the memory of byte arrays.
  const known = createLru<string>(leavesMax)
  /** For each part of a tile that was verified, a digest of its leaves; behind them, of its middle. */
  const recognised = createLru<string[]>(recognisedMax)

  /** Undefined if the part does not lead to the root of the tree. */
  async function provenPart(
    log: Log,
    tree: SignedTree,
    { tile, leaves, middle }: StoredTile,
    part: number,
  ): Promise<Uint8Array | undefined> {
    const name = `${log.workspace}/${log.number} ${tile}`
    const digests = recognised.get(name) ?? []
    let hashes = partIn(leaves, part)
    if (hashes.length > 0 && digestOf(hashes) === digests[part]) return hashes
    const root = knownRoot(log, tree, tile)
    const ownDigest = digestOf(middle)
    const isKnown = ownDigest === digests[middlesPerTile]
    if (isKnown || (root !== undefined && isMiddle(middle, root))) {
      if (!isPartOf(middle, part, hashes)) return undefined
      digests[middlesPerTile] = ownDigest
    } else {
      const whole = await leavesOf(log, tree, tile)
      if (whole === undefined) return undefined
      hashes = partIn(whole, part)
    }
    digests[part] = digestOf(hashes)
    recognised.set(name, digests)
    return hashes
  }

  return async (log, tree, indexes) => {
    const found = Buffer.alloc(indexes.length * hashBytes)
    const keyOf = (leaf: number): string => `${log.workspace}/${log.number} ${leaf}`
    const unknown: { readonly leaf: number; readonly place: number }[] = []
    const inPart = countsOf(indexes.map((leaf) => Math.floor(leaf / middleLeaves)))
    const isAlone = (leaf: number): boolean =>
      (inPart.get(Math.floor(leaf / middleLeaves)) ?? 0) < togetherMin
    for (const [place, leaf] of indexes.entries()) {
      const hashes = isAlone(leaf) ? known.get(keyOf(leaf)) : undefined
      if (hashes === undefined) unknown.push({ leaf, place })
      else found.latin1Write(hashes, place * hashBytes)
    }
    const tiles = await readTiles(index, log, tree, unknown)
    const parts = new Map<number, Uint8Array | undefined>()
    for (const { leaf, place } of unknown) {
      const [tile, number] = [
        tiles.get(Math.floor(leaf / tileWidth)),
        Math.floor(leaf / middleLeaves),
      ]
      if (tile === undefined) continue
      if (!parts.has(number))
        parts.set(number, await provenPart(log, tree, tile, number % middlesPerTile))
      const hashes = leafIn(parts.get(number) ?? noBytes, leaf % middleLeaves)
      if (hashes.length === 0) continue
      found.set(hashes, place * hashBytes)
      if (isAlone(leaf))
        known.set(keyOf(leaf), found.latin1Slice(place * hashBytes, (place + 1) * hashBytes))
    }
    return found
  }
}

function countsOf(numbers: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1)
  return counts
}

interface StoredTile {
  readonly tile: number
  /** As many as the tree has, at most. */
  readonly leaves: Uint8Array
  /** Empty if there is none. */
  readonly middle: Uint8Array
}

async function readTiles(
  index: TreeStore["index"],
  log: Log,
  { size }: SignedTree,
  leaves: readonly { readonly leaf: number }[],
): Promise<ReadonlyMap<number, StoredTile>> {
  if (leaves.length === 0) return new Map()
  const tiles = [...new Set(leaves.map(({ leaf }) => Math.floor(leaf / tileWidth)))]
  const names = [0, middleLevel].flatMap((level) => tiles.map((tile) => ({ level, tile })))
  const stored = await index.tiles(log.workspace, log.number, names)
  return new Map(
    tiles.map((tile, at) => {
      // The index may be ahead of the tree.
      const own = stored[at]?.subarray(0, (size - tile * tileWidth) * hashBytes) ?? noBytes
      return [tile, { tile, leaves: own, middle: stored[tiles.length + at] ?? noBytes }]
    }),
  )
}

function isMiddle(middle: Uint8Array, root: Uint8Array): boolean {
  return middle.length === middlesPerTile * hashBytes && equalBytes(rootOfTile(middle), root)
}

function isPartOf(middle: Uint8Array, part: number, hashes: Uint8Array): boolean {
  const isWhole = hashes.length === middleLeaves * hashBytes
  return isWhole && equalBytes(rootOfTile(hashes), leafIn(middle, part))
}

/** Up to 32 leaves of a tile. */
function partIn(leaves: Uint8Array, part: number): Uint8Array {
  const bytes = middleLeaves * hashBytes
  return leaves.subarray(part * bytes, (part + 1) * bytes)
}

function leafIn(hashes: Uint8Array, place: number): Uint8Array {
  return hashes.subarray(place * hashBytes, (place + 1) * hashBytes)
}

/** Equal only for equal leaves. */
function digestOf(hashes: Uint8Array): string {
  return hash("sha256", hashes, "latin1")
}
