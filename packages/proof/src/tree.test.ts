import assert from "node:assert/strict"
import { createHash, hash as nodeHashOf } from "node:crypto"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import {
  consistencyNodes,
  consistencyProof,
  inclusionNodes,
  inclusionProof,
  rootNodes,
  rootOf,
  type NodeReader,
} from "./tree-proof.ts"
import {
  emptyRoot,
  leafHash,
  nodeHash,
  rootFromInclusion,
  verifyConsistency,
  verifyInclusion,
} from "./tree.ts"
import { flipped } from "../../../test/flipped.ts"

// Faster than the package's own, which the vectors use.
const hash = (bytes: Uint8Array) =>
  Uint8Array.from(Buffer.from(nodeHashOf("sha256", bytes, "latin1"), "latin1"))
const parent = (left: Uint8Array, right: Uint8Array) => nodeHash(left, right, hash)

const sizeMax = 130
const leaves = Array.from({ length: sizeMax }, (_, i) => leafHash(Uint8Array.of(i), hash))

/** The RFC's definitions, word for word, over a function that hashes a range of leaves. */
type RangeHash = (start: number, end: number) => Uint8Array

function split(n: number): number {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

function pathOf(mth: RangeHash, m: number, start: number, end: number): Uint8Array[] {
  if (end - start === 1) return []
  const k = start + split(end - start)
  return m < k
    ? [...pathOf(mth, m, start, k), mth(k, end)]
    : [...pathOf(mth, m, k, end), mth(start, k)]
}

function subproofOf(
  mth: RangeHash,
  m: number,
  start: number,
  end: number,
  whole: boolean,
): Uint8Array[] {
  if (m === end) return whole ? [] : [mth(start, end)]
  const k = start + split(end - start)
  return m <= k
    ? [...subproofOf(mth, m, start, k, whole), mth(k, end)]
    : [...subproofOf(mth, m, k, end, false), mth(start, k)]
}

const known = new Map<string, Uint8Array>()
function mth(start: number, end: number): Uint8Array {
  if (start === end) return new Uint8Array(createHash("sha256").digest())
  const leaf = leaves[start]
  if (end - start === 1 && leaf) return leaf
  const name = `${start}-${end}`
  const k = start + split(end - start)
  const root = known.get(name) ?? parent(mth(start, k), mth(k, end))
  known.set(name, root)
  return root
}

/** Reads only complete subtrees, and only those of the announced list. */
function reader(
  announced: readonly { level: number; n: number }[],
  mth: RangeHash,
  size: number,
): NodeReader {
  return (level, n) => {
    assert.ok(
      announced.some((one) => one.level === level && one.n === n),
      `subtree ${level}/${n} was not announced`,
    )
    const width = 2 ** level
    assert.ok((n + 1) * width <= size, `subtree ${level}/${n} is not complete in a tree of ${size}`)
    return mth(n * width, (n + 1) * width)
  }
}

test("leaves and nodes are hashed with their prefixes", () => {
  const sha256 = (...parts: (string | Uint8Array)[]) =>
    parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest()
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (entry) =>
      assert.deepEqual(leafHash(entry), new Uint8Array(sha256("\0", entry))),
    ),
  )
  const [left, right] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
  assert.deepEqual(nodeHash(left, right), new Uint8Array(sha256("\x01", left, right)))
  assert.deepEqual(emptyRoot, new Uint8Array(sha256()))
})

test(`the root of every tree up to ${sizeMax} leaves`, () => {
  for (let size = 0; size <= sizeMax; size++) {
    assert.deepEqual(
      rootOf(size, reader(rootNodes(size), mth, size), hash),
      mth(0, size),
      `size ${size}`,
    )
  }
})

test(`inclusion of every leaf of every tree up to ${sizeMax} leaves`, () => {
  let proofs = 0
  for (let size = 1; size <= sizeMax; size++) {
    const root = mth(0, size)
    for (let index = 0; index < size; index++) {
      const proof = inclusionProof(
        index,
        size,
        reader(inclusionNodes(index, size), mth, size),
        hash,
      )
      assert.deepEqual(proof, pathOf(mth, index, 0, size), `index ${index} of ${size}`)
      const leaf = mth(index, index + 1)
      assert.ok(verifyInclusion(leaf, index, size, proof, root, hash), `index ${index} of ${size}`)
      proofs++
    }
  }
  assert.equal(proofs, (sizeMax * (sizeMax + 1)) / 2)
})

test(`consistency of every two trees up to ${sizeMax} leaves`, () => {
  let proofs = 0
  for (let to = 0; to <= sizeMax; to++) {
    for (let from = 0; from <= to; from++) {
      const proof = consistencyProof(from, to, reader(consistencyNodes(from, to), mth, to), hash)
      assert.deepEqual(
        proof,
        from === 0 ? [] : subproofOf(mth, from, 0, to, true),
        `${from} to ${to}`,
      )
      assert.ok(
        verifyConsistency(from, mth(0, from), to, mth(0, to), proof, hash),
        `${from} to ${to}`,
      )
      proofs++
    }
  }
  assert.equal(proofs, ((sizeMax + 1) * (sizeMax + 2)) / 2)
})

/** The list of hashes with one change, for each kind of change. */
function* spoiled(proof: readonly Uint8Array[]): Generator<readonly Uint8Array[]> {
  for (let i = 0; i < proof.length; i++) {
    const sibling = proof[i] as Uint8Array
    for (const at of [0, 31]) yield proof.with(i, flipped(sibling, at))
    yield proof.with(i, sibling.subarray(1))
    yield proof.with(i, new Uint8Array([...sibling, 0]))
    yield proof.toSpliced(i, 1)
    yield proof.toSpliced(i, 0, sibling)
    if (i > 0) yield proof.with(i, proof[i - 1] as Uint8Array).with(i - 1, sibling)
  }
  yield [...proof, new Uint8Array(32)]
  yield [...proof, emptyRoot]
  yield [...proof, new Uint8Array(0)]
}

test("an inclusion proof with any change is rejected", () => {
  for (let size = 1; size <= 18; size++) {
    const root = mth(0, size)
    for (let index = 0; index < size; index++) {
      const leaf = mth(index, index + 1)
      const proof = pathOf(mth, index, 0, size)
      const where = `index ${index} of ${size}`
      for (const bad of spoiled(proof))
        assert.ok(!verifyInclusion(leaf, index, size, bad, root, hash), where)
      // All leaves of this tree differ, so a proof for one place is invalid for any other place or
      // shape.
      for (let other = 0; other < size; other++) {
        if (other !== index)
          assert.ok(!verifyInclusion(leaf, other, size, proof, root, hash), `${where}, as ${other}`)
      }
      assert.ok(!verifyInclusion(leaf, size, size, proof, root, hash))
      assert.ok(
        !verifyInclusion(leaf.with(5, (leaf[5] ?? 0) ^ 4), index, size, proof, root, hash),
        where,
      )
      assert.ok(
        !verifyInclusion(leaf, index, size, proof, root.with(9, (root[9] ?? 0) ^ 4), hash),
        where,
      )
    }
  }
})

test("the number of hashes depends only on index and size", () => {
  const any = new Uint8Array(32)
  for (let size = 1; size <= 40; size++) {
    for (let index = 0; index < size; index++) {
      const expected = pathOf(mth, index, 0, size).length
      for (let length = 0; length <= 8; length++) {
        const root = rootFromInclusion(any, index, size, Array<Uint8Array>(length).fill(any), hash)
        assert.equal(
          root !== undefined,
          length === expected,
          `${length} hashes for ${index} of ${size}`,
        )
      }
    }
  }
})

test("a consistency proof with any change is rejected", () => {
  for (let to = 1; to <= 18; to++) {
    for (let from = 0; from <= to; from++) {
      const [fromRoot, toRoot] = [mth(0, from), mth(0, to)]
      const proof = from === 0 ? [] : subproofOf(mth, from, 0, to, true)
      const where = `${from} to ${to}`
      for (const bad of spoiled(proof))
        assert.ok(!verifyConsistency(from, fromRoot, to, toRoot, bad, hash), where)
      assert.ok(!verifyConsistency(from, flipped(fromRoot, 0), to, toRoot, proof, hash), where)
      if (from > 0)
        assert.ok(!verifyConsistency(from, fromRoot, to, flipped(toRoot, 0), proof, hash), where)
      for (let other = 0; other <= to; other++) {
        if (other !== from)
          assert.ok(
            !verifyConsistency(other, fromRoot, to, toRoot, proof, hash),
            `${where}, as ${other}`,
          )
      }
      assert.ok(!verifyConsistency(to + 1, toRoot, to, toRoot, [], hash))
    }
  }
})

test("invalid sizes and hashes of other lengths are rejected", () => {
  const root = mth(0, 1)
  for (const bad of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
    assert.ok(!verifyInclusion(root, bad, 1, [], root, hash))
    assert.ok(!verifyInclusion(root, 0, bad, [], root, hash))
    assert.ok(!verifyConsistency(bad, root, 1, root, [], hash))
    assert.ok(!verifyConsistency(1, root, bad, root, [], hash))
  }
  const long = new Uint8Array(33)
  assert.ok(!verifyInclusion(long, 0, 1, [], long, hash))
  for (const sibling of [long, long.subarray(2), new Uint8Array()])
    assert.equal(rootFromInclusion(root, 0, 2, [sibling], hash), undefined)
  assert.ok(!verifyConsistency(1, long, 1, long, [], hash))
  assert.ok(!verifyConsistency(0, emptyRoot, 0, root, [], hash))
  assert.ok(!verifyConsistency(0, root, 0, root, [], hash))
})

test("no proof can be made for a leaf or size that does not exist", () => {
  const never = () => assert.fail("nothing is to be read")
  for (const [index, size] of [
    [0, 0],
    [1, 1],
    [-1, 1],
    [0.5, 1],
    [0, 2 ** 53],
  ] as const) {
    assert.throws(() => inclusionProof(index, size, never), AssertionError)
    assert.throws(() => inclusionNodes(index, size), AssertionError)
  }
  for (const [from, to] of [
    [2, 1],
    [-1, 1],
    [0, 2 ** 53],
  ] as const)
    assert.throws(() => consistencyProof(from, to, never), AssertionError)
  assert.throws(() => rootOf(-1, never), AssertionError)
})

/**
 * A tree of any size, in which all leaves are alike but one. Its hashes are computed in logarithmic
 * time, and a wrong place is noticed wherever the one leaf makes a difference.
 */
function treeWithOneOtherLeaf(special: number): RangeHash {
  const uniform = new Map<number, Uint8Array>()
  const alike = (count: number): Uint8Array => {
    const root =
      uniform.get(count) ??
      (count === 1 ? mth(0, 1) : parent(alike(split(count)), alike(count - split(count))))
    uniform.set(count, root)
    return root
  }
  return function range(start, end): Uint8Array {
    if (special < start || special >= end) return alike(end - start)
    if (end - start === 1) return mth(1, 2)
    const k = start + split(end - start)
    return parent(range(start, k), range(k, end))
  }
}

const around = (size: number) => [size - 2, size - 1, size, size + 1, size + 2]
const largeSizes = [
  ...[2 ** 8, 2 ** 16, 2 ** 31, 2 ** 32, 2 ** 32 + 2 ** 31].flatMap(around),
  2 ** 48 - 1,
  2 ** 53 - 2,
  Number.MAX_SAFE_INTEGER,
]

test("inclusion in trees of up to 2^53 - 1 leaves", () => {
  for (const size of largeSizes) {
    const half = split(size)
    for (const index of [0, 1, half - 1, half, size - 1, Math.floor(size / 3)]) {
      const range = treeWithOneOtherLeaf(index)
      const root = range(0, size)
      const proof = inclusionProof(
        index,
        size,
        reader(inclusionNodes(index, size), range, size),
        hash,
      )
      assert.deepEqual(proof, pathOf(range, index, 0, size))
      assert.ok(
        verifyInclusion(mth(1, 2), index, size, proof, root, hash),
        `index ${index} of ${size}`,
      )
      for (const other of [
        index - 1,
        index + 1,
        index - half,
        index + half,
        index - 2 ** 32,
        index + 2 ** 32,
        index - 2 ** 31,
      ]) {
        assert.ok(
          !verifyInclusion(mth(1, 2), other, size, proof, root, hash),
          `index ${index} of ${size}, as ${other}`,
        )
      }
      assert.deepEqual(rootOf(size, reader(rootNodes(size), range, size), hash), root)
    }
  }
})

test("consistency of trees of up to 2^53 - 1 leaves", () => {
  for (const to of largeSizes) {
    for (const from of [
      1,
      split(to) - 1,
      split(to),
      to - 1,
      to,
      Math.floor(to / 3),
      ...largeSizes.filter((size) => size < to),
    ]) {
      const range = treeWithOneOtherLeaf(from - 1)
      const [fromRoot, toRoot] = [range(0, from), range(0, to)]
      const proof = consistencyProof(from, to, reader(consistencyNodes(from, to), range, to), hash)
      assert.deepEqual(proof, subproofOf(range, from, 0, to, true))
      assert.ok(verifyConsistency(from, fromRoot, to, toRoot, proof, hash), `${from} to ${to}`)
      const middle = Math.floor(proof.length / 2)
      const spoiledHere = [
        proof.toSpliced(0, 1),
        proof.toSpliced(middle, 1, emptyRoot),
        proof.toSpliced(-1, 1, emptyRoot),
      ]
      for (const bad of proof.length === 0
        ? [[emptyRoot]]
        : [[...proof, emptyRoot], ...spoiledHere]) {
        assert.ok(!verifyConsistency(from, fromRoot, to, toRoot, bad, hash), `${from} to ${to}`)
      }
    }
  }
})
