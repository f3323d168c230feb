import { assert } from "./assert.ts"
import { equalBytes, fromHex } from "./encoding.ts"
import { preimage } from "./preimage.ts"
import { sha256, type Sha256 } from "./sha256.ts"

/**
 * The Merkle tree of RFC 6962, section 2.1 (RFC 9162 keeps it):
 *
 *     MTH({})     = SHA-256( "" )
 *     MTH({d})    = SHA-256( 0x00 || d )                              a leaf
 *     MTH(D[0:n]) = SHA-256( 0x01 || MTH(D[0:k]) || MTH(D[k:n]) )     a node; k = the largest power of two below n
 *
 * Here are the hashes and the two checks; `frontier.ts` grows the tree and `tree-proof.ts` makes
 * the proofs.
 *
 * Sizes and indexes go up to 2^53 - 1, so no operator on bits is used on them: those see only the
 * lower 32.
 */
export function leafHash(entry: Uint8Array, hash: Sha256 = sha256): Uint8Array {
  return hash(preimage(leafPrefix, entry))
}

export function nodeHash(left: Uint8Array, right: Uint8Array, hash: Sha256 = sha256): Uint8Array {
  return hash(preimage(nodePrefix, left, right))
}

/** Whether the leaf is the one at `index` in the tree of `size` leaves with this root. */
export function verifyInclusion(
  leaf: Uint8Array,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
  root: Uint8Array,
  hash: Sha256 = sha256,
): boolean {
  const computed = rootFromInclusion(leaf, index, size, proof, hash)
  return computed !== undefined && equalBytes(computed, root)
}

/**
 * The only root that this proof can prove, by RFC 9162, 2.1.3.2: climb from the leaf, each time
 * joining the next sibling on its side. Index and size alone decide how many siblings there are;
 * any other number is no proof.
 */
export function rootFromInclusion(
  leaf: Uint8Array,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
  hash: Sha256 = sha256,
): Uint8Array | undefined {
  if (!isSize(index) || !isSize(size) || index >= size || !isHash(leaf) || !proof.every(isHash))
    return undefined
  // The node climbed to, and the last node, each by its position on its level.
  let position = index
  let last = size - 1
  let root = leaf
  for (const sibling of proof) {
    if (last === 0) return undefined
    if (isOdd(position) || position === last) {
      root = nodeHash(sibling, root, hash)
      // The last node of a level has no sibling at its right: it is the same node on the levels
      // above, until there is one at its left.
      while (!isOdd(position) && position !== 0) [position, last] = [half(position), half(last)]
    } else {
      root = nodeHash(root, sibling, hash)
    }
    position = half(position)
    last = half(last)
  }
  return last === 0 ? root : undefined
}

/**
 * Whether the tree of `from` leaves is the beginning of the tree of `to` leaves, by RFC 9162,
 * 2.1.4.2: the same climb, from the last node of the smaller tree, computing both roots. The empty
 * tree is the beginning of every tree, by an empty proof.
 */
export function verifyConsistency(
  from: number,
  fromRoot: Uint8Array,
  to: number,
  toRoot: Uint8Array,
  proof: readonly Uint8Array[],
  hash: Sha256 = sha256,
): boolean {
  if (
    !isSize(from) ||
    !isSize(to) ||
    from > to ||
    !isHash(fromRoot) ||
    !isHash(toRoot) ||
    !proof.every(isHash)
  )
    return false
  if (from === to)
    return (
      proof.length === 0 &&
      equalBytes(fromRoot, toRoot) &&
      (from > 0 || equalBytes(fromRoot, emptyRoot))
    )
  if (from === 0) return proof.length === 0 && equalBytes(fromRoot, emptyRoot)

  let position = from - 1
  let last = to - 1
  while (isOdd(position)) [position, last] = [half(position), half(last)]
  // If the smaller tree is one complete subtree of the larger, its root is where the climb begins,
  // and the proof does not repeat it.
  const [seed, ...siblings] = position === 0 ? [fromRoot, ...proof] : proof
  if (seed === undefined) return false

  let smaller = seed
  let larger = seed
  for (const sibling of siblings) {
    if (last === 0) return false
    if (isOdd(position) || position === last) {
      smaller = nodeHash(sibling, smaller, hash)
      larger = nodeHash(sibling, larger, hash)
      while (!isOdd(position) && position !== 0) [position, last] = [half(position), half(last)]
    } else {
      larger = nodeHash(larger, sibling, hash)
    }
    position = half(position)
    last = half(last)
  }
  return last === 0 && equalBytes(smaller, fromRoot) && equalBytes(larger, toRoot)
}

const leafPrefix = Uint8Array.of(0)
const nodePrefix = Uint8Array.of(1)

export const hashBytes = 32

// Marked as without effect, so that a bundle leaves it out where no tree can be empty.
export const emptyRoot: Uint8Array = /* @__PURE__ */ constantOf(
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
)

function constantOf(hex: string): Uint8Array {
  const bytes = fromHex(hex)
  assert(bytes !== undefined, "the constant is hex")
  return bytes
}

export function isHash(bytes: Uint8Array): boolean {
  return bytes.length === hashBytes
}

/** A number of leaves, or the place of one. */
export function isSize(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
}

export function isOdd(value: number): boolean {
  return value % 2 === 1
}

function half(value: number): number {
  return Math.floor(value / 2)
}
