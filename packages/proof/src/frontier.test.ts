import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import { createFrontier, emptyFrontier } from "./frontier.ts"
import { rootNodes, rootOf } from "./tree-proof.ts"
import { emptyRoot, leafHash, nodeHash } from "./tree.ts"

const leafAt = (i: number) => leafHash(Uint8Array.of(i % 256, Math.floor(i / 256)))

test("a frontier reports each subtree once, when it is complete, and gives the root over all of them", () => {
  const frontier = createFrontier()
  const reported = new Map<string, Uint8Array>()
  const node = (level: number, n: number) => {
    const hash = reported.get(`${level}/${n}`)
    assert.ok(hash, `subtree ${level}/${n} was not reported`)
    return hash
  }
  assert.deepEqual(frontier.root(), emptyRoot)
  for (let size = 1; size <= 300; size++) {
    const order: number[] = []
    frontier.append(leafAt(size - 1), (level, n, hash) => {
      order.push(level)
      assert.equal((n + 1) * 2 ** level, size, "it ends at the right edge")
      assert.ok(!reported.has(`${level}/${n}`), `subtree ${level}/${n} was reported before`)
      if (level === 0) assert.deepEqual(hash, leafAt(n))
      else assert.deepEqual(hash, nodeHash(node(level - 1, 2 * n), node(level - 1, 2 * n + 1)))
      reported.set(`${level}/${n}`, hash)
    })
    assert.deepEqual(
      order,
      order.map((_, i) => i),
      "from the leaf upwards",
    )
    assert.equal(frontier.size, size)
    assert.deepEqual(frontier.root(), rootOf(size, node))
    assert.deepEqual(
      frontier.save().hashes,
      rootNodes(size).map(({ level, n }) => node(level, n)),
    )
  }
})

test("a frontier continues from a saved one, and does not change the saved one", () => {
  fc.assert(
    fc.property(fc.nat({ max: 70 }), fc.nat({ max: 70 }), (first, second) => {
      const through = createFrontier()
      for (let i = 0; i < first; i++) through.append(leafAt(i))
      const saved = through.save()
      const rootThen = through.root()
      const resumed = createFrontier(saved)
      for (let i = first; i < first + second; i++) {
        through.append(leafAt(i))
        resumed.append(leafAt(i))
      }
      assert.equal(resumed.size, first + second)
      assert.deepEqual(resumed.root(), through.root())
      assert.deepEqual(createFrontier(saved).root(), rootThen)
    }),
    { numRuns: 50 },
  )
})

test("a frontier grows across 2^8, 2^16, 2^31, 2^32, and up to 2^53 - 1 leaves", () => {
  // All leaves alike, so that a subtree of any level is one of 54 hashes.
  const levels = [leafAt(7)]
  for (let level = 1; level <= 53; level++)
    levels.push(nodeHash(levels[level - 1] as Uint8Array, levels[level - 1] as Uint8Array))
  const node = (level: number) => levels[level] as Uint8Array
  for (const edge of [
    2 ** 8,
    2 ** 16,
    2 ** 31,
    2 ** 32,
    3 * 2 ** 31,
    Number.MAX_SAFE_INTEGER - 3,
  ]) {
    const size = edge - 3
    const frontier = createFrontier({
      size,
      hashes: rootNodes(size).map(({ level }) => node(level)),
    })
    for (let next = size; next < edge + 3; next++) {
      let above = 0
      frontier.append(node(0), (level, n, hash) => {
        assert.equal((n + 1) * 2 ** level, next + 1)
        assert.deepEqual(hash, node(level))
        above = level
      })
      assert.ok(
        (next + 1) % 2 ** above === 0 && (next + 1) % 2 ** (above + 1) !== 0,
        `${next + 1} leaves, up to level ${above}`,
      )
      assert.deepEqual(frontier.root(), rootOf(next + 1, node))
    }
  }
  const full = createFrontier({
    size: Number.MAX_SAFE_INTEGER,
    hashes: levels.slice(0, 53).toReversed(),
  })
  assert.throws(() => full.append(node(0)), AssertionError)
})

test("an impossible frontier or leaf fails an assertion", () => {
  const hash = leafAt(0)
  for (const saved of [
    { size: 0, hashes: [hash] },
    { size: 1, hashes: [] },
    { size: 3, hashes: [hash] },
    { size: 1, hashes: [hash.slice(1)] },
    { size: -1, hashes: [] },
    { size: 0.5, hashes: [hash] },
  ]) {
    assert.throws(() => createFrontier(saved), AssertionError)
  }
  assert.throws(() => createFrontier(emptyFrontier).append(new Uint8Array(31)), AssertionError)
})
