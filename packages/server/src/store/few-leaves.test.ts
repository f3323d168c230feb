import assert from "node:assert/strict"
import test from "node:test"
import { rootOfTile, type TreeStore } from "./tree-reads.ts"
import { createLeafReader } from "./leaf-reader.ts"
import { leafOf, log, openTree } from "./test-tree.ts"

const indexes = [0, 31, 32, 255, 256, 700, 701, 4860, 4863]
const expected = Buffer.concat(indexes.map(leafOf))

/** A reader that has verified the tile above. */
async function openReader(kept: TreeStore, tree: { size: number; root: Uint8Array }) {
  const reader = createLeafReader(kept)
  assert.ok((await reader.leaves(log, tree, 5)) !== undefined)
  return reader.fewLeaves
}

test("single leaves are read with the middles of their tiles, or without where these are missing or changed", async () => {
  const { kept, grow, tiles, read, flip } = openTree()
  const tree = grow(5000)
  const { fewLeaves: cold } = createLeafReader(kept)
  assert.deepEqual(await cold(log, tree, indexes), expected, "while nothing is remembered")
  const fewLeaves = await openReader(kept, tree)
  read.length = 0
  assert.deepEqual(await fewLeaves(log, tree, indexes), expected)
  const asked = [0, 64].flatMap((level) => [0, 1, 2, 18].map((tile) => `${level}/${tile}`))
  assert.deepEqual(read, asked, "every tile and its middle once")

  flip("64/0", 40)
  tiles.delete("64/2")
  const withoutMiddles = await openReader(kept, tree)
  assert.deepEqual(await withoutMiddles(log, tree, indexes), expected, "without some middles")
  // Leaf 100 is in a tile without a middle, and leaf 260 in the part of leaf 256.
  flip("0/0", 100 * 32)
  flip("0/1", 4 * 32)
  const unproven = [0, 31, 32, 255, 256]
  const damaged = await openReader(kept, tree)
  assert.deepEqual(
    await damaged(log, tree, indexes),
    Buffer.concat(indexes.map((at) => (unproven.includes(at) ? Buffer.alloc(32) : leafOf(at)))),
    "a leaf is given only if it is proven",
  )
})

test("a verified leaf is remembered, and the leaves around it are recognised unless they were changed", async () => {
  const { kept, grow, tiles, read, flip } = openTree()
  const tree = grow(5000)
  const fewLeaves = await openReader(kept, tree)
  assert.deepEqual(
    await fewLeaves(log, tree, [260, 300]),
    Buffer.concat([leafOf(260), leafOf(300)]),
  )
  read.length = 0
  assert.deepEqual(
    await fewLeaves(log, tree, [300, 260]),
    Buffer.concat([leafOf(300), leafOf(260)]),
  )
  assert.deepEqual(read, [], "neither is read again")

  // Nothing else can verify the other leaves of the tile now.
  tiles.delete("64/1")
  flip("0/1", 200 * 32)
  assert.deepEqual(await fewLeaves(log, tree, [261]), leafOf(261), "its part is recognised")
  assert.deepEqual(await fewLeaves(log, tree, [330]), Buffer.alloc(32), "its part is not")
  flip("0/1", 6 * 32)
  assert.deepEqual(await fewLeaves(log, tree, [263]), Buffer.alloc(32), "a neighbour was changed")
})

test("a middle that was verified is recognised, and another one proves nothing", async () => {
  const { kept, grow, tiles, flip } = openTree()
  const tree = grow(5000)
  const fewLeaves = await openReader(kept, tree)
  assert.deepEqual(await fewLeaves(log, tree, [260]), leafOf(260))
  const genuine = { leaves: tiles.get("0/1"), middle: tiles.get("64/1") }
  assert.ok(genuine.leaves !== undefined && genuine.middle !== undefined)
  // Leaf 300 is in the second part of its tile.
  flip("0/1", 44 * 32)
  assert.deepEqual(await fewLeaves(log, tree, [300]), Buffer.alloc(32), "another leaf")
  const middle = Buffer.from(genuine.middle)
  middle.set(rootOfTile((tiles.get("0/1") ?? Buffer.of()).subarray(32 * 32, 64 * 32)), 32)
  tiles.set("64/1", middle)
  assert.deepEqual(await fewLeaves(log, tree, [300]), Buffer.alloc(32), "and its own middle")
  tiles.set("0/1", genuine.leaves)
  assert.deepEqual(await fewLeaves(log, tree, [300]), leafOf(300), "by the whole tile")
  tiles.set("64/1", genuine.middle)
  assert.deepEqual(await fewLeaves(log, tree, [330]), leafOf(330), "by the middle")
})

test("leaves beside each other are recognised together, and none is given that was changed", async () => {
  const { kept, grow, tiles, read, flip } = openTree()
  const tree = grow(5000)
  const fewLeaves = await openReader(kept, tree)
  const together = [258, 259, 260, 261, 262, 290]
  const all = Buffer.concat(together.map(leafOf))
  assert.deepEqual(await fewLeaves(log, tree, together), all)
  tiles.delete("64/1")
  read.length = 0
  assert.deepEqual(await fewLeaves(log, tree, together), all, "the part is recognised")
  assert.deepEqual(read, ["0/1", "64/1"], "its tile was read again, and no other")
  flip("0/1", 30 * 32)
  const unproven = await fewLeaves(log, tree, together)
  assert.deepEqual(unproven, Buffer.concat([Buffer.alloc(5 * 32), leafOf(290)]))
})

test("leaves at the end of a growing tree are those of each size", async () => {
  const { kept, grow } = openTree()
  const { fewLeaves } = createLeafReader(kept)
  for (const size of [1, 2, 31, 33, 255, 256, 257, 600, 601, 5000]) {
    const tree = grow(size)
    const ends = [size - 1, size - 2, size - 40].filter((index) => index >= 0)
    assert.deepEqual(await fewLeaves(log, tree, ends), Buffer.concat(ends.map(leafOf)), `${size}`)
  }
  // The index is ahead of an older tree, and another root proves nothing.
  const { kept: ahead, grow: growAhead } = openTree()
  const older = growAhead(610)
  growAhead(700)
  const reader = createLeafReader(ahead)
  assert.deepEqual(await reader.fewLeaves(log, older, [609]), leafOf(609))
  const forged = { size: 610, root: leafOf(1) }
  assert.deepEqual(await reader.fewLeaves(log, forged, [580]), Buffer.alloc(32))
})
