import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { randomInt } from "node:crypto"
import test from "node:test"
import { zstdCompressSync, zstdDecompressSync } from "node:zlib"
import type { ByteRange } from "./archive-storage.ts"
import { formatSegment, frameOf, readFramePlaces, type SegmentFrame } from "./segment-file.ts"

function framesOf(first: number, count: number): readonly SegmentFrame[] {
  return Array.from({ length: count }, (_, at) => {
    const text = Buffer.from(`frame ${at}\n`.repeat(1 + (at % 7)))
    return { index: first + 64 * at, bytes: zstdCompressSync(text), textBytes: text.length }
  })
}

const reading = (file: Uint8Array) => {
  const asked: ByteRange[] = []
  return {
    asked,
    read: async (range: ByteRange) => {
      asked.push(range)
      assert.ok(range.start >= 0 && range.end <= file.length && range.start <= range.end)
      return file.subarray(range.start, range.end)
    },
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

test("the bytes of a segment are those of docs/format.md", () => {
  const bytes = (text: string): Uint8Array => Buffer.from(text)
  const file = formatSegment(128, [
    { index: 128, bytes: bytes("one"), textBytes: 7 },
    { index: 192, bytes: bytes("three"), textBytes: 9 },
  ])
  assert.equal(
    hex(file),
    [
      hex(bytes("onethree")),
      "5d2a4d1808000000" + "00000000" + "40000000",
      "5e2a4d1821000000" + "0300000007000000" + "0500000009000000" + "1000000000000000",
      "0300000000b1ea928f",
    ].join(""),
  )
})

test("places of all frames are found from the end, by one read or two", async () => {
  for (const [count, reads] of [
    [1, 1],
    [256, 1],
    [5000, 2],
  ] as const) {
    const frames = framesOf(640, count)
    const file = formatSegment(640, frames)
    const { asked, read } = reading(file)
    const places = await readFramePlaces(640, file.length, read)
    assert.ok(typeof places !== "string")
    assert.equal(asked.length, reads)
    assert.equal(places.length, count)
    for (const [at, { index, range, textBytes }] of places.entries()) {
      const text = zstdDecompressSync(file.subarray(range.start, range.end))
      assert.equal(text.length, textBytes)
      assert.ok(text.toString().startsWith(`frame ${at}\n`))
      assert.equal(index, 640 + 64 * at)
      assert.equal(frameOf(places, index)?.index, index)
      assert.equal(frameOf(places, index + 63)?.index, index)
    }
    assert.equal(frameOf(places, 639), undefined)
  }
})

test("any zstd decoder reads a segment as the text of its frames", (context) => {
  const frames = framesOf(0, 300)
  const file = formatSegment(0, frames)
  const text = Buffer.concat(frames.map(({ bytes }) => zstdDecompressSync(bytes)))
  assert.ok(zstdDecompressSync(file).equals(text))
  const { status, stdout, error } = spawnSync("zstd", ["-dc"], { input: file })
  if (error !== undefined) return context.skip("zstd is not installed here")
  assert.deepEqual([status, stdout.equals(text)], [0, true])
})

test("malformed ends of a file give a fault, without a read beyond the file and without an exception", async () => {
  const file = formatSegment(0, framesOf(0, 40))
  const places = await readFramePlaces(0, file.length, reading(file).read)
  assert.ok(typeof places !== "string")
  const refused = async (bytes: Uint8Array): Promise<void> => {
    const found = await readFramePlaces(0, bytes.length, reading(bytes).read)
    assert.equal(typeof found, "string")
  }
  for (let length = 0; length < 40; length++) await refused(file.subarray(0, length))
  for (let cut = 1; cut < 700; cut++) {
    await refused(file.subarray(cut))
    await refused(file.subarray(0, -cut))
  }
  // A changed bit in the last two frames is found, with two exceptions: the length of a frame's
  // text, which is checked when the frame is unpacked, and a later first index, which then matches
  // no line.
  const from = places.at(-1)?.range.end ?? 0
  let believed = 0
  for (let at = from; at < file.length; at++) {
    const changed = Uint8Array.from(file)
    changed[at] = (changed[at] ?? 0) ^ (1 << randomInt(8))
    const found = await readFramePlaces(0, changed.length, reading(changed).read)
    if (typeof found === "string") continue
    believed += 1
    assert.deepEqual(
      found.map(({ range }) => range),
      places.map(({ range }) => range),
    )
  }
  assert.ok(believed < (file.length - from) / 2 + 40, String(believed))
  // Numbers that would need much memory.
  for (const [at, value] of [
    [9, 0xffffffff],
    [9, 16_386],
    [9, 1],
    [9, 0],
  ] as const) {
    const changed = Buffer.from(file)
    changed.writeUInt32LE(value, changed.length - at)
    await refused(changed)
  }
})
