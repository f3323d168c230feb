import assert from "node:assert/strict"
import test from "node:test"
import { AssertionError, concat, nodeInTile, verifyInclusion } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { leafOf, log, openTree } from "../store/test-tree.ts"
import { createProofs, createTileNodes } from "./tile-proofs.ts"
import { flipped } from "../../../../test/flipped.ts"

/** Proofs of a tree that grows. Only tiles above the leaves are among those that were read. */
function openProofs() {
  const tree = openTree()
  const prove = createProofs(tree.kept.index, async (_, __, tile) => tree.tiles.get(`0/${tile}`))
  return { ...tree, prove }
}

test("a leaf is proven in a tree of any size, and each tile above is read once while it is the same", async () => {
  const { grow, prove, read } = openProofs()
  for (const size of [1, 2, 255, 256, 257, 700, 65_536, 66_300]) {
    const tree = grow(size)
    const indexes = [0, 1, 254, 255, 256, 511, 40_000, size - 2, size - 1].filter(
      (at) => at >= 0 && at < size,
    )
    for (const at of indexes) {
      const hashes = (await prove(log, tree, tree, at, leafOf(at))) ?? assert.fail(`leaf ${at}`)
      assert.ok(verifyInclusion(leafOf(at), at, size, hashes, tree.root))
    }
    const before = read.length
    for (const at of indexes) await prove(log, tree, tree, at, leafOf(at))
    assert.equal(read.length, before, "nothing above was read again")
  }
  const tree = grow(66_300)
  assert.equal(await prove(log, tree, tree, 7, leafOf(8)), undefined, "another leaf")
})

test("a damaged tile proves nothing, and is read again once it was mended", async () => {
  const { tiles, grow, prove } = openProofs()
  const tree = grow(5000)
  const genuine = tiles.get("1/0") ?? assert.fail("a tile")
  const damaged = flipped(genuine, 3 * 32)
  const isProven = async (at: number) =>
    (await prove(log, tree, tree, at, leafOf(at))) !== undefined
  tiles.set("1/0", damaged)
  assert.equal(await isProven(700), false, "a proof that has the hash")
  assert.equal(await isProven(3 * 256), true, "the root of its own tile is in no proof")
  tiles.set("1/0", genuine)
  assert.equal(await isProven(700), true)
  tiles.set("1/0", damaged)
  assert.equal(await isProven(700), true, "what proved it is in memory")
})

test("every subtree of a tile is what nodeInTile computes, also when others were asked for meanwhile", () => {
  const nodeIn = createTileNodes()
  const tiles = [256, 255, 129, 3, 1, 0].map((width) =>
    concat(...Array.from({ length: width }, (_, at) => leafOf(at + width))),
  )
  const others = Array.from({ length: 300 }, (_, at) => concat(leafOf(at), leafOf(at + 1)))
  for (const tile of [...tiles, ...others, ...tiles])
    for (let count = 1; count <= 256; count *= 2)
      for (let start = 0; start < 256; start += count)
        if ((start + count) * 32 <= tile.length)
          assert.deepEqual(
            Buffer.from(nodeIn(tile, start, count)),
            Buffer.from(nodeInTile(tile, start, count, sha256)),
            `${count} hashes from ${start} of ${tile.length} bytes`,
          )
        else assert.throws(() => nodeIn(tile, start, count), AssertionError)
})
