// The tests that every driver's index must pass.

import { strict as assert } from "node:assert"
import type { TileGrowth } from "../index-state.ts"
import type { WatchedStore } from "../store.ts"
import { storiesOf, type Open } from "./stories.ts"
import { digest, usedOf, workspaceNamed, write } from "./written-entries.ts"

export function indexContract(name: string, open: Open): void {
  const story = storiesOf(name, open)

  story(
    "a tree and a checkpoint are replaced only if the named size is the current one",
    async ({ served, watched }) => {
      const tree = (size: number) => ({ size, hashes: [digest(`tree ${size}`)] })
      const signed = (size: number) => ({
        size,
        root: digest(`root ${size}`),
        note: `size ${size} — \u2014\n`,
        signedMs: size * 1000,
      })
      const { index } = watched
      assert.equal(await index.tree("acme", 1), undefined)
      assert.equal(await index.growTree("acme", 1, 1, tree(2), []), false)
      assert.equal(await index.growTree("acme", 1, 0, tree(2), []), true)
      assert.equal(await index.growTree("acme", 1, 0, tree(1), [growth(1, 0, 1)]), false)
      assert.equal(await index.growTree("acme", 1, 1, tree(3), [growth(1, 0, 1)]), false)
      assert.equal(await index.growTree("acme", 1, 2, tree(4), []), true)
      for (const reader of [index, served.index]) {
        const found = await reader.tree("acme", 1)
        assert.deepEqual(
          [found?.size, found?.hashes.map((hash) => Buffer.from(hash).toString("hex"))],
          [4, [digest("tree 4").toString("hex")]],
        )
        assert.equal((await reader.tiles("acme", 1, [{ level: 1, tile: 0 }]))[0]?.length, 0)
        assert.equal(await reader.tree("other", 1), undefined)
        assert.equal(await reader.tree("acme", 2), undefined)
      }
      assert.equal(await index.checkpoint("acme", 1), undefined)
      assert.equal(await index.putCheckpoint("acme", 1, 1, signed(2)), false)
      assert.equal(await index.putCheckpoint("acme", 1, 0, signed(2)), true)
      assert.equal(await index.putCheckpoint("acme", 1, 0, signed(3)), false)
      assert.equal(await index.putCheckpoint("acme", 1, 2, signed(4)), true)
      assert.equal(await index.putCheckpoint("acme", 1, 2, signed(5)), false)
      // An epoch has a tree of its own, and a checkpoint.
      assert.equal(await index.growTree("acme", 2, 0, tree(7), []), true)
      assert.equal(await index.putCheckpoint("acme", 2, 0, signed(7)), true)
      assert.deepEqual(
        [(await index.tree("acme", 1))?.size, (await served.index.tree("acme", 2))?.size],
        [4, 7],
      )
      for (const reader of [index, served.index]) {
        const found = await reader.checkpoint("acme", 1)
        assert.deepEqual({ ...found, root: Buffer.from(found?.root ?? []) }, signed(4))
        assert.equal(await reader.checkpoint("other", 1), undefined)
      }
    },
  )

  story(
    "a listener gets all workspaces, then those that have grown, several at once",
    async ({ served }) => {
      await write(served, "acme", ["a"], [workspaceNamed("acme")])
      const end = new AbortController()
      const heard = served.grown(end.signal)[Symbol.asyncIterator]()
      const hear = async (): Promise<readonly string[] | undefined> =>
        (await heard.next()).value as readonly string[] | undefined
      assert.deepEqual(await hear(), ["acme"])
      const next = hear()
      await write(served, "acme", ["b"])
      assert.deepEqual(await next, ["acme"])
      for (const [workspace, name] of [
        ["acme", "c"],
        ["other", "d"],
        ["acme", "e"],
      ] as const)
        await write(served, workspace, [name])
      assert.deepEqual((await hear())?.toSorted(), ["acme", "other"])
      await usedOf(served, "acme", ["a"])
      await write(served, "other", ["f"])
      end.abort()
      assert.deepEqual(
        await hear(),
        ["other"],
        "what was refused has not grown, and what is left is told at the end",
      )
      assert.equal(await hear(), undefined)
    },
  )

  story(
    "the auditor's position is replaced only if the named version is the current one",
    async (store) => {
      const { index } = store.watched
      assert.equal(await index.audit("acme"), undefined)
      const finding = {
        workspace: "acme",
        sequence: 7,
        detail: "entry 7: the body has another hash",
        foundMs: 5,
      }
      const hashes = [digest("left"), digest("right")].map((hash) => new Uint8Array(hash))
      const first = {
        version: 1,
        round: 2,
        startedMs: 4,
        sinceMs: 3,
        entries: 9,
        isDone: false,
        epoch: 1,
        tree: { size: 3, hashes },
        checked: [],
      }
      assert.equal(await index.putAudit("acme", { ...first, version: 2 }), false)
      assert.equal(await index.putAudit("acme", first), true)
      assert.equal(await index.putAudit("acme", first), false)
      assert.equal(await index.putAudit("other", first), true)
      const last = {
        ...first,
        version: 2,
        entries: 12,
        isDone: true,
        tree: { size: 6, hashes },
        checked: [
          { to: 6, sinceMs: 4 },
          { to: 9, sinceMs: 1 },
        ],
        finding,
      }
      assert.equal(await index.putAudit("acme", last), true)
      for (const version of [1, 2, 4])
        assert.equal(await index.putAudit("acme", { ...first, version }), false)
      const again = (await store.reopen?.()) ?? store
      const kept = await again.watched.index.audit("acme")
      assert.deepEqual(
        {
          ...kept,
          tree: { size: 6, hashes: kept?.tree.hashes.map((hash) => new Uint8Array(hash)) },
        },
        last,
      )
      assert.equal((await again.watched.index.audit("other"))?.version, 1)
      assert.deepEqual((await again.served.index.audit("acme"))?.checked, last.checked)
      return again
    },
  )

  story(
    "the last use of a credential is kept, and an earlier one changes nothing",
    async (store) => {
      const { index } = store.watched
      const used = { id: "a-key", atMs: 5, from: "192.0.2.1" }
      await index.putUses([used, { id: "a-token", atMs: 7, from: "" }])
      await index.putUses([
        { ...used, atMs: 4, from: "192.0.2.2" },
        { id: "a-token", atMs: 8, from: "" },
      ])
      const again = (await store.reopen?.()) ?? store
      for (const { index: kept } of [again.watched, again.served])
        assert.deepEqual(await kept.uses(["never", "a-token", "a-key"]), [
          { id: "a-token", atMs: 8, from: "" },
          used,
        ])
      return again
    },
  )

  story("tiles grow to their full width and beyond, on both levels", async (store) => {
    const { watched } = store
    const sizes = [
      1, 255, 256, 257, 511, 513, 1000, 65_535, 65_536, 65_537, 65_792, 131_328, 200_000,
    ]
    let size = 0
    for (const next of sizes) {
      assert.equal(
        await watched.index.growTree(
          "acme",
          1,
          size,
          { size: next, hashes: [digest("edge")] },
          grown(size, next),
        ),
        true,
      )
      size = next
      for (const level of [1, 2]) await expectTiles(watched, level, size)
    }
    const again = (await store.reopen?.()) ?? store
    for (const level of [1, 2]) await expectTiles(again.watched, level, size)
    // A tile that would have a hole is refused.
    await assert.rejects(
      again.watched.index.growTree("acme", 1, size, { size: size + 1, hashes: [] }, [
        growth(2, 7, 5),
      ]),
    )
    assert.equal((await again.watched.index.tree("acme", 1))?.size, size)
    return again
  })
}

function nodeNamed(level: number, n: number): Buffer {
  return digest(`node ${level}/${n}`)
}

function growth(level: number, tile: number, offset: number): TileGrowth {
  return { level, tile, offset, hashes: nodeNamed(level, tile * 256 + offset) }
}

/** What each tile gains between two sizes of a tree. */
function grown(from: number, to: number): TileGrowth[] {
  const gains = new Map<string, TileGrowth>()
  for (const level of [1, 2]) {
    for (let n = Math.floor(from / 256 ** level); n < Math.floor(to / 256 ** level); n++) {
      const key = `${level}/${Math.floor(n / 256)}`
      const before = gains.get(key)
      const here = growth(level, Math.floor(n / 256), n % 256)
      gains.set(
        key,
        before === undefined
          ? here
          : { ...before, hashes: Buffer.concat([before.hashes, here.hashes]) },
      )
    }
  }
  return [...gains.values()]
}

async function expectTiles({ index }: WatchedStore, level: number, size: number): Promise<void> {
  const nodes = Math.floor(size / 256 ** level)
  const wanted = Array.from({ length: Math.ceil(nodes / 256) + 1 }, (_, tile) => ({ level, tile }))
  const tiles = await index.tiles("acme", 1, wanted)
  for (const [tile, hashes] of tiles.entries()) {
    const width = Math.min(Math.max(nodes - tile * 256, 0), 256)
    const expected = Buffer.concat(
      Array.from({ length: width }, (_, place) => nodeNamed(level, tile * 256 + place)),
    )
    assert.equal(
      Buffer.from(hashes).toString("hex"),
      expected.toString("hex"),
      `tile ${level}/${tile} at size ${size}`,
    )
  }
}
