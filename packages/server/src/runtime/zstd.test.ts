import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test from "node:test"
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { packZstd, unpacksTo, unpackZstd } from "./zstd.ts"

const most = 64 * 1024 * 1024

function byZlib(bytes: Uint8Array, level: number): Buffer {
  return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level } })
}

test("zlib unpacks the packed bytes of each length and level", () => {
  for (const length of [0, 1, 100, 131_072, 131_073, 1_048_576, 1_048_577, 3_000_000])
    for (const level of [1, 3, 1]) {
      const half = length >>> 1
      for (const bytes of [
        randomBytes(length),
        Buffer.concat([randomBytes(half), Buffer.alloc(length - half, "abc")]),
      ]) {
        const packed = packZstd(bytes, level)
        assert.ok(zstdDecompressSync(packed).equals(bytes), `${length} bytes at level ${level}`)
        assert.ok(unpackZstd(packed, most).equals(bytes))
        assert.ok(unpacksTo(packed, bytes))
        if (length > 0) {
          bytes[half] = (bytes[half] ?? 0) ^ 1
          assert.ok(!unpacksTo(packed, bytes), "another text")
        }
        assert.ok(packed.length <= byZlib(bytes, level).length + 16, "at the level that is asked")
      }
    }
})

test("cut, damaged or too long input is refused as by zlib, and the next call works", () => {
  const text = Buffer.from(`${randomBytes(800).toString("hex")}${"more ".repeat(8000)}`)
  const packed = byZlib(text, 1)
  const outcomeOf = (unpack: () => Buffer): string => {
    try {
      return unpack().toString("base64")
    } catch (error) {
      // What zlib throws is an error with a code.
      return (error as NodeJS.ErrnoException).code ?? "no code"
    }
  }
  const damaged = Array.from({ length: packed.length }, (_, at) => {
    const other = Buffer.from(packed)
    other[at] = (other[at] ?? 0) ^ 0x55
    return other
  })
  const cut = Array.from({ length: packed.length }, (_, at) => packed.subarray(0, at))
  const long = [packed, Buffer.concat([packed, packed]), Buffer.concat([packed, text])]
  let refused = 0
  for (const bytes of [...cut, ...damaged, ...long])
    for (const maxOutputLength of [most, text.length, text.length - 1]) {
      const expected = outcomeOf(() => zstdDecompressSync(bytes, { maxOutputLength }))
      assert.equal(
        outcomeOf(() => unpackZstd(bytes, maxOutputLength)),
        expected,
      )
      if (expected.startsWith("Z") || expected.startsWith("ERR")) refused += 1
      assert.ok(unpackZstd(packed, most).equals(text), "the next")
    }
  // Node 24 lets some pass that are cut, and so must we.
  assert.ok(refused > 900, `${refused} were refused`)
})

test("an unpacked buffer does not change when others are unpacked", () => {
  const [one, other] = [Buffer.from("a".repeat(5000)), Buffer.from("b".repeat(5000))]
  const opened = unpackZstd(byZlib(one, 1), most)
  unpackZstd(byZlib(other, 1), most)
  assert.ok(opened.equals(one))
})
