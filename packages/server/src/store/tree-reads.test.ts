import assert from "node:assert/strict"
import test from "node:test"
import { nodeInTile } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { readLeaves, rootOfTile } from "./tree-reads.ts"
import { createLeafReader } from "./leaf-reader.ts"
import { leafOf, log, openTree } from "./test-tree.ts"
import { flipped } from "../../../../test/flipped.ts"

const full = 256 * 32

test("both ways to compute the root of a full tile agree", () => {
  const leaves = Buffer.concat(Array.from({ length: 256 }, (_, at) => leafOf(at)))
  assert.deepEqual(rootOfTile(leaves), Buffer.from(nodeInTile(leaves, 0, 256, sha256)))
})

test("a reader returns the leaves of a growing tree, and reads the tile above once", async () => {
  const { kept, grow, read } = openTree()
  const { leaves: leavesOf } = createLeafReader(kept)
  for (const size of [200, 256, 700, 5000, 66_000, 67_000]) {
    const tree = grow(size)
    for (let tile = 0; tile * 256 < size + 256; tile += 5) {
      const width = Math.max(0, Math.min(256, size - tile * 256))
      const leaves = await leavesOf(log, tree, tile)
      assert.deepEqual(leaves, await readLeaves(kept, log, tree, tile))
      assert.equal(leaves?.length, width === 0 ? undefined : width * 32)
    }
  }
  read.length = 0
  assert.ok((await leavesOf(log, grow(67_000), 40)) !== undefined)
  assert.deepEqual(read, ["0/40"])
})

test("a leaf that does not lead to the root is never returned, after any earlier reads", async () => {
  // The proof of a tile needs all hashes of the tile above except its own.
  for (const [name, cold, warm] of [
    ["0/3", [false, true, true], [false, true, true]],
    ["0/7", [true, false, true], [true, false, true]],
    ["1/0", [true, false, false], [true, true, true]],
  ] as const) {
    const { kept, grow, tiles } = openTree()
    const { leaves: leavesOf } = createLeafReader(kept)
    const tree = grow(5000)
    const given = () =>
      Promise.all([3, 7, 8].map(async (tile) => (await leavesOf(log, tree, tile)) !== undefined))
    const genuine = tiles.get(name) ?? assert.fail("a tile")
    const changed = flipped(genuine, 3 * 32)
    tiles.set(name, changed)
    assert.deepEqual(await given(), cold, `of ${name}, before anything is remembered`)
    tiles.set(name, genuine)
    assert.equal((await leavesOf(log, tree, 1))?.length, full)
    tiles.set(name, changed)
    assert.deepEqual(await given(), warm, `of ${name}, after a neighbour was read`)
  }
})

test("hashes of an unsigned tree are not cached", async () => {
  const { kept, grow } = openTree()
  const { leaves: leavesOf } = createLeafReader(kept)
  const { size, root } = grow(5000)
  assert.equal(await leavesOf(log, { size, root: leafOf(1) }, 2), undefined)
  assert.equal(await leavesOf(log, { size, root: leafOf(1) }, 2), undefined)
  assert.equal((await leavesOf(log, { size, root }, 2))?.length, full)
  // Verified hashes stay valid.
  assert.equal((await leavesOf(log, { size, root: leafOf(1) }, 3))?.length, full)
})
