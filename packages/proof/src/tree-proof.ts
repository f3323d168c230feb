import { assert } from "./assert.ts"
import { sha256, type Sha256 } from "./sha256.ts"
import { emptyRoot, isSize, nodeHash } from "./tree.ts"

/**
 * Proofs are made only from complete subtrees, which never change, so tiles can store them. Subtree
 * (level, n) covers the leaves from n * 2^level to (n + 1) * 2^level. If a proof contains an
 * incomplete subtree, which is always at the right edge, its hash is computed from the complete
 * ones in it.
 *
 * `inclusionNodes`, `consistencyNodes`, and `rootNodes` list the required nodes, so that a caller
 * can read all of them first.
 */
export type Subtree = { readonly level: number; readonly n: number }
export type NodeReader = (level: number, n: number) => Uint8Array

/** The siblings that prove the leaf at `index`, from the leaf upwards. */
export function inclusionProof(
  index: number,
  size: number,
  node: NodeReader,
  hash: Sha256 = sha256,
): Uint8Array[] {
  return inclusionRanges(index, size).map((range) => fold(range, node, hash))
}

/**
 * Proof that the tree of `from` leaves is the beginning of the tree of `to` leaves. Empty for an
 * empty tree.
 */
export function consistencyProof(
  from: number,
  to: number,
  node: NodeReader,
  hash: Sha256 = sha256,
): Uint8Array[] {
  return consistencyRanges(from, to).map((range) => fold(range, node, hash))
}

export function rootOf(size: number, node: NodeReader, hash: Sha256 = sha256): Uint8Array {
  assert(isSize(size), "a size is a safe integer")
  return size === 0 ? emptyRoot : fold({ start: 0, end: size }, node, hash)
}

export function inclusionNodes(index: number, size: number): Subtree[] {
  return inclusionRanges(index, size).flatMap(subtreesOf)
}

export function consistencyNodes(from: number, to: number): Subtree[] {
  return consistencyRanges(from, to).flatMap(subtreesOf)
}

/** Largest first: the order in which a frontier keeps them. */
export function rootNodes(size: number): Subtree[] {
  assert(isSize(size), "a size is a safe integer")
  return subtreesOf({ start: 0, end: size })
}

/**
 * Leaves `start` to `end`, without `end`. One node of the tree: `start` is a multiple of the least
 * power of two that holds the rest.
 */
type Range = { readonly start: number; readonly end: number }

function inclusionRanges(index: number, size: number): Range[] {
  assert(isSize(index) && isSize(size) && index < size, "the index is below the size")
  const siblings: Range[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const middle = start + powerBelow(end - start)
    if (index < middle) {
      siblings.push({ start: middle, end })
      end = middle
    } else {
      siblings.push({ start, end: middle })
      start = middle
    }
  }
  return siblings.reverse()
}

function consistencyRanges(from: number, to: number): Range[] {
  assert(isSize(from) && isSize(to) && from <= to, "the smaller tree comes first")
  if (from === 0 || from === to) return []
  const siblings: Range[] = []
  let [start, end] = [0, to]
  while (end > from) {
    const middle = start + powerBelow(end - start)
    if (from <= middle) {
      siblings.push({ start: middle, end })
      end = middle
    } else {
      siblings.push({ start, end: middle })
      start = middle
    }
  }
  // The last complete subtree of the smaller tree. If it is the whole tree, the verifier has its
  // hash.
  if (start > 0) siblings.push({ start, end })
  return siblings.reverse()
}

function subtreesOf({ start, end }: Range): Subtree[] {
  const subtrees: Subtree[] = []
  let at = start
  while (at < end) {
    const { level, width } = largestIn(end - at)
    subtrees.push({ level, n: at / width })
    at += width
  }
  return subtrees
}

function fold(range: Range, node: NodeReader, hash: Sha256): Uint8Array {
  const hashes = subtreesOf(range).map(({ level, n }) => node(level, n))
  return hashes.reduceRight((right, left) => nodeHash(left, right, hash))
}

/** The largest power of two below `count`, which is 2 or more. */
function powerBelow(count: number): number {
  return largestIn(count - 1).width
}

/** The largest power of two up to `count`, which is 1 or more. */
function largestIn(count: number): { level: number; width: number } {
  let level = 0
  let width = 1
  while (width * 2 <= count) {
    width *= 2
    level++
  }
  return { level, width }
}
