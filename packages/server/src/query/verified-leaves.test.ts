import assert from "node:assert/strict"
import test from "node:test"
import { concat, createFrontier } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { openMemory } from "../store/memory.ts"
import { leafOf, log } from "../store/test-tree.ts"
import { createLeaves } from "./verified-leaves.ts"
import { flipped } from "../../../../test/flipped.ts"

const sizes = [1, 2, 255, 256, 257, 511, 512, 700, 1000, 3000]

/** An index with the tiles of a growing tree, and how often tiles were read. */
async function openTree() {
  const { watched, served } = openMemory()
  const tree = createFrontier(undefined, sha256)
  let asked = 0
  const grow = async (size: number): Promise<{ size: number; root: Uint8Array }> => {
    const from = tree.size
    const tiles = new Map<
      string,
      { level: number; tile: number; offset: number; hashes: Uint8Array }
    >()
    while (tree.size < size)
      tree.append(leafOf(tree.size), (level, n, hash) => {
        if (level % 8 !== 0 && level !== 5) return
        const width = level === 5 ? 8 : 256
        const [tile, offset] = [Math.floor(n / width), n % width]
        const known = tiles.get(`${level} ${tile}`) ?? {
          level: level === 5 ? 64 : level / 8,
          tile,
          offset,
          hashes: new Uint8Array(),
        }
        tiles.set(`${level} ${tile}`, { ...known, hashes: concat(known.hashes, hash) })
      })
    assert.ok(
      await watched.index.growTree("acme", 1, from, { size, hashes: [] }, [...tiles.values()]),
    )
    return { size, root: tree.root() }
  }
  const kept = {
    index: served.index,
    leaves: (...given: Parameters<typeof served.leaves>) => (asked++, served.leaves(...given)),
  }
  return { watched, kept, grow, asked: () => asked }
}

test("a leaf is that of the signed tree, each tile is read once, and the last one again when it has grown", async () => {
  const { kept, grow, asked } = await openTree()
  const leaves = createLeaves(kept, { verifiedTilesMax: 100 })
  for (const size of sizes) {
    const tree = await grow(size)
    for (const at of [0, size - 1, Math.floor(size / 2), 255, 256].filter((one) => one < size))
      assert.deepEqual(
        Buffer.from((await leaves.at(log, tree, at)) ?? []),
        Buffer.from(leafOf(at)),
        `leaf ${at} of ${size}`,
      )
    const before = asked()
    await Promise.all(Array.from({ length: size }, (_, at) => leaves.at(log, tree, at)))
    const tiles = Math.ceil(size / 256)
    assert.ok(asked() - before <= tiles, "whoever asks for a tile that is being read waits for it")
    for (let at = 0; at < size; at += 37) await leaves.at(log, tree, at)
    assert.ok(asked() - before <= tiles, "it is remembered")
  }
})

test("the cache of tiles is bounded, and never returns a leaf of another tree or tile", async () => {
  const { kept, watched, grow, asked } = await openTree()
  const tree = await grow(1000)
  const another = { size: 1000, root: leafOf(0) }
  assert.equal(await createLeaves(kept, { verifiedTilesMax: 2 }).at(log, another, 5), undefined)
  const leaves = createLeaves(kept, { verifiedTilesMax: 2 })
  const before = asked()
  for (const at of [0, 300, 600, 0]) assert.ok((await leaves.at(log, tree, at)) !== undefined)
  assert.equal(asked() - before, 4, "the first one was given up for the third")

  const [tile] = await watched.index.tiles("acme", 1, [{ level: 0, tile: 1 }])
  const hashes = flipped(tile, 40)
  await watched.index.growTree("acme", 1, 1000, { size: 1000, hashes: [] }, [
    { level: 0, tile: 1, offset: 0, hashes },
  ])
  const fresh = createLeaves(kept, { verifiedTilesMax: 2 })
  assert.equal(await fresh.at(log, tree, 300), undefined, "a bit of a neighbour is another")
  assert.deepEqual(Buffer.from((await fresh.at(log, tree, 5)) ?? []), Buffer.from(leafOf(5)))
})

test("leaves are loaded with the others of their tiles, each tile once", async () => {
  const { kept, watched, grow, asked } = await openTree()
  const tree = await grow(1000)
  const leaves = createLeaves(kept, { verifiedTilesMax: 10 })
  const load = async (indexes: readonly number[]) => {
    const before = asked()
    await leaves.load(log, tree, indexes)
    for (const at of indexes)
      assert.deepEqual(Buffer.from(leaves.known(log, at) ?? []), Buffer.from(leafOf(at)))
    return asked() - before
  }
  assert.deepEqual(await load([0, 1, 300, 301]), 2)
  assert.deepEqual(await load([1, 2, 511]), 0, "others of these tiles are known")
  assert.deepEqual(await load([999]), 1, "the last tile is not full")

  const [tile] = await watched.index.tiles("acme", 1, [{ level: 0, tile: 1 }])
  const hashes = flipped(tile, 60 * 32)
  await watched.index.growTree("acme", 1, 1000, { size: 1000, hashes: [] }, [
    { level: 0, tile: 1, offset: 0, hashes },
  ])
  const fresh = createLeaves(kept, { verifiedTilesMax: 10 })
  await fresh.load(log, tree, [256 + 33])
  assert.equal(fresh.known(log, 256 + 33), undefined, "its tile is damaged")
  assert.equal(await fresh.at(log, tree, 256 + 33), undefined, "no record leads to the root here")
})
