import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import {
  AssertionError,
  concat,
  createFrontier,
  nodeInTile,
  verifyInclusion,
} from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import type { Log } from "../store/epochs.ts"
import { createProofs, createTileNodes } from "./tile-proofs.ts"

const log: Log = { workspace: "acme", number: 1, before: 0, end: undefined }
const leafOf = (at: number): Uint8Array => createHash("sha256").update(`leaf ${at}`).digest()

/** The tiles of a tree that grows, and how often those above the leaves were read. */
function openTree() {
  const frontier = createFrontier(undefined, sha256)
  const tiles = new Map<string, Buffer>()
  let reads = 0
  const grow = (size: number) => {
    while (frontier.size < size)
      frontier.append(leafOf(frontier.size), (level, n, hash) => {
        const name = `${level / 8}/${Math.floor(n / 256)}`
        if (level % 8 === 0)
          tiles.set(name, Buffer.concat([tiles.get(name) ?? Buffer.alloc(0), hash]))
      })
    return { size, root: frontier.root() }
  }
  const prove = createProofs(
    {
      tiles: async (_, __, names) =>
        names.map(({ level, tile }) => (reads++, tiles.get(`${level}/${tile}`) ?? Buffer.alloc(0))),
    },
    async (_, __, tile) => tiles.get(`0/${tile}`),
  )
  return { tiles, grow, prove, reads: () => reads }
}

test("a leaf is proven in a tree of any size, and each tile above is read once while it is the same", async () => {
  const { grow, prove, reads } = openTree()
  for (const size of [1, 2, 255, 256, 257, 700, 65_536, 66_300]) {
    const tree = grow(size)
    const indexes = [0, 1, 254, 255, 256, 511, 40_000, size - 2, size - 1].filter(
      (at) => at >= 0 && at < size,
    )
    for (const at of indexes) {
      const hashes = (await prove(log, tree, tree, at, leafOf(at))) ?? assert.fail(`leaf ${at}`)
      assert.ok(verifyInclusion(leafOf(at), at, size, hashes, tree.root))
    }
    const before = reads()
    for (const at of indexes) await prove(log, tree, tree, at, leafOf(at))
    assert.equal(reads(), before, "nothing above was read again")
  }
  const tree = grow(66_300)
  assert.equal(await prove(log, tree, tree, 7, leafOf(8)), undefined, "another leaf")
})

test("a damaged tile proves nothing, and is read again once it was mended", async () => {
  const { tiles, grow, prove } = openTree()
  const tree = grow(5000)
  const genuine = tiles.get("1/0") ?? assert.fail("a tile")
  const damaged = Buffer.from(genuine)
  damaged[3 * 32] = (damaged[3 * 32] ?? 0) ^ 1
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
