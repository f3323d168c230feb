import assert from "node:assert/strict"
import test from "node:test"
import { crc32 as nodeCrc32 } from "node:zlib"
import fc from "fast-check"
import { unzipSync, zipSync } from "fflate"
import { concat, utf8 } from "./encoding.ts"
import { crc32, isZipName, readZip, zipBytes, zipDirectory, zipFileHeader } from "./zip.ts"

function zip(contents: readonly (readonly [name: string, content: Uint8Array])[]): Uint8Array {
  const files = contents.map(([name, content]) => ({ name, size: content.length, crc: crc32(content) }))
  const archive = concat(...files.flatMap((file, at) => [zipFileHeader(file), contents[at]?.[1] ?? utf8("")]), zipDirectory(files))
  assert.equal(archive.length, zipBytes(files))
  return archive
}

const small = zip([
  ["README.txt", utf8("read me\n")],
  ["empty", utf8("")],
  ["folder/000.jsonl", utf8("{}\n")],
])
const name = fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,12}(?:\/[a-z0-9]{1,5})?$/)
const contents = fc
  .dictionary(name, fc.uint8Array({ maxLength: 300 }), { maxKeys: 20, noNullPrototype: true })
  .map((files) => Object.entries(files).toSorted(byName))

test("what is written is read back, and read the same by a program that is not ours", () => {
  fc.assert(
    fc.property(contents, (files) => {
      const archive = zip(files)
      assert.deepEqual([...(readZip(archive) ?? [])].map(plain), files.map(plain))
      assert.deepEqual(Object.entries(unzipSync(archive)).toSorted(byName).map(plain), files.map(plain))
    }),
    { numRuns: 300 },
  )
})

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function plain([path, content]: readonly [string, Uint8Array]): [string, string] {
  return [path, Buffer.from(content).toString("hex")]
}

test("the checksum is the one of every ZIP, in pieces too", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (a, b) => {
      assert.equal(crc32(a), nodeCrc32(a))
      assert.equal(crc32(b, crc32(a)), nodeCrc32(Buffer.concat([a, b])))
    }),
  )
})

test("an archive with any bit changed, a byte less or a byte more is refused", () => {
  assert.ok(readZip(small))
  for (let at = 0; at < small.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = small.slice()
      changed[at] = (changed[at] ?? 0) ^ (1 << bit)
      assert.equal(readZip(changed), undefined, `bit ${bit} of byte ${at}`)
    }
    assert.equal(readZip(small.subarray(0, at)), undefined, `cut at ${at}`)
    assert.equal(readZip(concat(small.subarray(0, at), utf8("\0"), small.subarray(at))), undefined, `one more at ${at}`)
  }
  assert.equal(readZip(concat(small, utf8("x"))), undefined)
})

test("an archive of another form is refused, though it says the same", () => {
  const text = utf8("text")
  const unsorted = [["b", text] as const, ["a", text] as const]
  assert.equal(readZip(zip(unsorted)), undefined, "the order")
  assert.equal(readZip(zip([["a", text] as const, ["a", text] as const])), undefined, "a name twice")
  assert.equal(readZip(zipSync({ a: text }, { level: 0, mtime: "1980-01-01T00:00:00" })), undefined, "another program's headers")
  assert.equal(readZip(zipSync({ a: text })), undefined, "compressed")
  assert.deepEqual(readZip(zip([])), new Map(), "nothing in it")
})

test("names that lead elsewhere, or that a system would read differently, are none", () => {
  for (const bad of ["", "/a", "a/", "../a", "a/../b", "a//b", ".", "..", "./a", "a\\b", "C:a", "a b", "ä", "a\0", "a\n", "x".repeat(256)])
    assert.ok(!isZipName(bad), JSON.stringify(bad))
  for (const good of ["a", "log.vkey", "bodies/000.jsonl", "policies/a..b/1.json", "x".repeat(255)]) assert.ok(isZipName(good), good)
})

test("no text makes the reader fail otherwise", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(small.length), (bytes, at) => {
      assert.equal(readZip(concat(small.subarray(0, at), bytes, utf8("!"))), undefined)
    }),
    { numRuns: 2000 },
  )
})
