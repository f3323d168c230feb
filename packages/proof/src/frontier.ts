import { assert } from "./assert.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { emptyRoot, isHash, isOdd, isSize, nodeHash } from "./tree.ts"

/**
 * The right edge of a tree: enough to add leaves and to compute the root. It consists of the
 * complete subtrees whose sizes are the binary digits of the tree's size, so at most 53 hashes,
 * largest first. Also known as a compact range.
 */
export type Frontier = {
  readonly size: number
  /**
   * Adds a leaf. Reports each subtree that it completes, from the leaf itself (level 0) upwards;
   * tiles consist of these.
   */
  append(leaf: Uint8Array, completed?: (level: number, n: number, hash: Uint8Array) => void): void
  root(): Uint8Array
  /** A copy that `createFrontier` can continue from. Later leaves do not change it. */
  save(): SavedFrontier
}

export type SavedFrontier = { readonly size: number; readonly hashes: readonly Uint8Array[] }

export const emptyFrontier: SavedFrontier = { size: 0, hashes: [] }

export function createFrontier(
  saved: SavedFrontier = emptyFrontier,
  hash: Sha256 = sha256,
): Frontier {
  assert(
    isSize(saved.size) && saved.hashes.length === onesIn(saved.size),
    "a frontier has one hash for each 1 bit of its size",
  )
  assert(saved.hashes.every(isHash), "a hash has 32 bytes")
  let size = saved.size
  const hashes = [...saved.hashes]

  return {
    get size() {
      return size
    },
    append(leaf, completed) {
      assert(isHash(leaf) && isSize(size + 1), "a leaf has 32 bytes, and the tree has room for it")
      let level = 0
      let n = size
      let subtree = leaf
      completed?.(level, n, subtree)
      while (isOdd(n)) {
        const left = hashes.pop()
        assert(left !== undefined, "an odd position has a left neighbour")
        subtree = nodeHash(left, subtree, hash)
        n = (n - 1) / 2
        level++
        completed?.(level, n, subtree)
      }
      hashes.push(subtree)
      size++
    },
    root: () =>
      size === 0 ? emptyRoot : hashes.reduceRight((right, left) => nodeHash(left, right, hash)),
    save: () => ({ size, hashes: [...hashes] }),
  }
}

function onesIn(size: number): number {
  let ones = 0
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) ones += rest % 2
  return ones
}
