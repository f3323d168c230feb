import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import { concat } from "./encoding.ts"
import {
  bundle,
  levelWidth,
  nodeInTile,
  parseBundle,
  parseTilePath,
  partialWidth,
  tileOf,
  tilePath,
  type Tile,
} from "./tile.ts"
import { leafHash, nodeHash } from "./tree.ts"

test("paths have groups of three digits, and partial tiles state their width", () => {
  const paths: [Tile["level"], number, number | undefined, string][] = [
    [0, 0, undefined, "tile/0/000"],
    [0, 999, 256, "tile/0/999"],
    [1, 1000, undefined, "tile/1/x001/000"],
    ["entries", 1234067, undefined, "tile/entries/x001/x234/067"],
    [0, 273, 112, "tile/0/273.p/112"],
    [63, 0, 1, "tile/63/000.p/1"],
    [3, Number.MAX_SAFE_INTEGER, 255, "tile/3/x009/x007/x199/x254/x740/991.p/255"],
  ]
  for (const [level, index, width, path] of paths) {
    assert.equal(tilePath(level, index, width), path)
    assert.deepEqual(parseTilePath(path), { level, index, width: width ?? 256 })
  }
})

test("a path parses back, and no other spelling parses", () => {
  const level = fc.oneof(fc.constant("entries" as const), fc.nat({ max: 63 }))
  fc.assert(
    fc.property(
      level,
      fc.oneof(fc.nat({ max: 2000 }), fc.maxSafeNat()),
      fc.integer({ min: 1, max: 256 }),
      (level, index, width) => {
        assert.deepEqual(parseTilePath(tilePath(level, index, width)), { level, index, width })
      },
    ),
  )
  let read = 0
  const part = fc.constantFrom(
    "tile/",
    "/tile/",
    "0/",
    "7",
    "/",
    "x",
    "001",
    "234",
    "000",
    "entries/",
    ".p/",
    "1",
    "256",
    "x001/",
    "-1",
    "64/",
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 7 }), (parts) => {
      for (const path of [parts.join(""), `tile/0/${parts.join("")}`]) {
        const tile = parseTilePath(path)
        if (!tile) continue
        read++
        assert.equal(tilePath(tile.level, tile.index, tile.width), path)
      }
    }),
    { numRuns: 2000 },
  )
  assert.ok(read > 10, `only ${read} were read`)
})

test("malformed paths are refused", () => {
  const bad = [
    "",
    "tile",
    "tile/0",
    "tile/0/",
    "/tile/0/000",
    "tile/0/000/",
    "tile/0/00",
    "tile/0/0000",
    "tile/0/0",
    "tile/0/x001",
    "tile/0/001/000",
    "tile/0/x000/001",
    "tile/0/X001/000",
    "tile/00/000",
    "tile/01/000",
    "tile/64/000",
    "tile/-1/000",
    "tile/entry/000",
    "tile/Entries/000",
    "tile/0/000.p/0",
    "tile/0/000.p/00",
    "tile/0/000.p/01",
    "tile/0/000.p/256",
    "tile/0/000.p/",
    "tile/0/000.p",
    "tile/0/000.p/1/",
    "tile/0/000.q/1",
    "tile/0/x009/x007/x199/x254/x740/992",
    "tile/0/x001/x000/x000/x000/x000/x000/000",
    "tile/0/000\n",
    "tile/0/٠٠٠",
    "tile/0/000.p/1\n",
  ]
  for (const path of bad) assert.equal(parseTilePath(path), undefined, path)
})

test("an impossible tile fails an assertion", () => {
  for (const [level, index, width] of [
    [64, 0, 1],
    [-1, 0, 1],
    [0, -1, 1],
    [0, 0, 0],
    [0, 0, 257],
    [0.5, 0, 1],
    [0, 2 ** 53, 1],
  ] as const) {
    assert.throws(() => tilePath(level, index, width), AssertionError)
  }
})

test("widths of the right edge, at any size", () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((level) => partialWidth(level, 70_000)),
    [112, 17, 1, 0],
  )
  assert.deepEqual(
    [0, 1, 2, 3].map((level) => levelWidth(level, 70_000)),
    [70_000, 273, 1, 0],
  )
  assert.equal(partialWidth(0, Number.MAX_SAFE_INTEGER), 255)
  assert.equal(partialWidth(6, Number.MAX_SAFE_INTEGER), 31)
  assert.equal(partialWidth(63, Number.MAX_SAFE_INTEGER), 0)
  assert.equal(partialWidth(4, 2 ** 32), 1)
})

test("the hash of every complete subtree is in a tile or computed from one", () => {
  const hashes = Array.from({ length: 256 }, (_, i) => leafHash(Uint8Array.of(i)))
  const tile = concat(...hashes)
  const expected = (start: number, count: number): Uint8Array =>
    count === 1
      ? (hashes[start] as Uint8Array)
      : nodeHash(expected(start, count / 2), expected(start + count / 2, count / 2))
  for (const [above, tileIndex] of [
    [0, 0],
    [0, 5],
    [8, 3],
    [16, 2 ** 20],
  ] as const) {
    for (let level = 0; level < 8; level++) {
      for (let n = 0; n < 256 / 2 ** level; n++) {
        const slice = tileOf(above + level, tileIndex * (256 / 2 ** level) + n)
        assert.deepEqual(slice, {
          level: above / 8,
          index: tileIndex,
          start: n * 2 ** level,
          count: 2 ** level,
        })
        if (tileIndex === 0)
          assert.deepEqual(
            nodeInTile(tile, slice.start, slice.count),
            expected(slice.start, slice.count),
          )
      }
    }
  }
  assert.deepEqual(tileOf(8, 0), { level: 1, index: 0, start: 0, count: 1 })
  assert.deepEqual(tileOf(52, 1), { level: 6, index: 0, start: 16, count: 16 })
  assert.deepEqual(tileOf(0, Number.MAX_SAFE_INTEGER - 1), {
    level: 0,
    index: 2 ** 45 - 1,
    start: 254,
    count: 1,
  })
  assert.throws(() => nodeInTile(tile.subarray(32), 255, 1), AssertionError)
  nodeInTile(tile, 0, 1).fill(0)
  assert.deepEqual(nodeInTile(tile, 0, 1), hashes[0], "what is returned is a copy")
})

test("a bundle is the length and bytes of each entry", () => {
  assert.deepEqual(
    bundle([Uint8Array.of(0x30), new Uint8Array(), new Uint8Array(0x0102)]).subarray(0, 7),
    Uint8Array.of(0, 1, 0x30, 0, 0, 1, 2),
  )
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }), (entries) => {
      const bytes = bundle(entries)
      assert.deepEqual(parseBundle(bytes), entries)
      for (const cut of [1, 2, 3]) {
        const shorter = bytes.subarray(0, Math.max(0, bytes.length - cut))
        const read = parseBundle(shorter)
        if (read) assert.deepEqual(bundle(read), shorter)
      }
    }),
  )
  const whole = bundle(Array.from({ length: 256 }, () => Uint8Array.of(1)))
  assert.equal(parseBundle(whole)?.length, 256)
  assert.equal(parseBundle(concat(whole, Uint8Array.of(0, 0))), undefined)
  for (const bytes of [[0], [0, 1], [0, 2, 1], [0, 0, 0]])
    assert.equal(parseBundle(Uint8Array.from(bytes)), undefined)
  assert.throws(() => bundle([new Uint8Array(65_536)]), AssertionError)
  assert.throws(() => bundle(Array.from({ length: 257 }, () => new Uint8Array())), AssertionError)
})
