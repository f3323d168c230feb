import assert from "node:assert/strict"
import { once } from "node:events"
import test from "node:test"
import { Worker } from "node:worker_threads"
import { crc32 as nodeCrc32 } from "node:zlib"
import fc from "fast-check"
import { unzipSync, zipSync } from "fflate"
import { concat, utf8 } from "./encoding.ts"
import { crc32, isZipName, readZip, zipBytes, zipDirectory, zipFileHeader } from "./zip.ts"

function zip(contents: readonly (readonly [name: string, content: Uint8Array])[]): Uint8Array {
  const files = contents.map(([name, content]) => ({
    name,
    size: content.length,
    crc: crc32(content),
  }))
  const parts = [
    ...files.flatMap((file, at) => [zipFileHeader(file), contents[at]?.[1] ?? utf8("")]),
    zipDirectory(files),
  ]
  const archive = new Uint8Array(Buffer.concat(parts))
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

test("our reader and another program read the same files from our archive", () => {
  fc.assert(
    fc.property(contents, (files) => {
      const archive = zip(files)
      assert.deepEqual([...(readZip(archive) ?? [])].map(plain), files.map(plain))
      assert.deepEqual(
        Object.entries(unzipSync(archive)).toSorted(byName).map(plain),
        files.map(plain),
      )
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

test("sizes beyond the archive, overlapping files and a wrong number of files are refused", () => {
  const at = (offset: number, value: number, width: 2 | 4): Uint8Array => {
    const changed = small.slice()
    const view = new DataView(changed.buffer)
    if (width === 2) view.setUint16(offset, value, true)
    else view.setUint32(offset, value, true)
    return changed
  }
  const directory = small.length - 22 - (3 * 46 + "README.txtemptyfolder/000.jsonl".length)
  assert.deepEqual([...small.subarray(directory, directory + 4)], [0x50, 0x4b, 1, 2])
  for (const size of [0xffffffff, 0x7fffffff, small.length, 0])
    assert.equal(readZip(at(18, size, 4)), undefined, `size ${size}`)
  for (const length of [0xffff, 255, 0])
    assert.equal(readZip(at(26, length, 2)), undefined, `a name of ${length}`)
  // The second file's place in the directory is the first one's.
  assert.equal(readZip(at(directory + 46 + "README.txt".length + 42, 0, 4)), undefined)
  for (const count of [0, 2, 4, 0xffff])
    assert.equal(readZip(at(small.length - 12, count, 2)), undefined, `${count} files`)
})

test("the largest number of files needs no more stack than one file", async () => {
  const files = Array.from(
    { length: 65_534 },
    (_, file) => [String(file).padStart(5, "0"), utf8("")] as const,
  )
  const program = `
    const { parentPort, workerData } = require("node:worker_threads")
    import(workerData.zip).then(({ readZip }) => parentPort.postMessage(readZip(workerData.archive)?.size))
  `
  const workerData = { zip: new URL("./zip.ts", import.meta.url).href, archive: zip(files) }
  const worker = new Worker(program, {
    eval: true,
    workerData,
    resourceLimits: { stackSizeMb: 0.5 },
  })
  const [size] = (await once(worker, "message")) as [number]
  assert.equal(size, files.length)
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
    assert.equal(
      readZip(concat(small.subarray(0, at), utf8("\0"), small.subarray(at))),
      undefined,
      `one more at ${at}`,
    )
  }
  assert.equal(readZip(concat(small, utf8("x"))), undefined)
})

test("an archive of another form is refused, even with the same content", () => {
  const text = utf8("text")
  const unsorted = [["b", text] as const, ["a", text] as const]
  assert.equal(readZip(zip(unsorted)), undefined, "the order")
  assert.equal(
    readZip(zip([["a", text] as const, ["a", text] as const])),
    undefined,
    "a name twice",
  )
  assert.equal(
    readZip(zipSync({ a: text }, { level: 0, mtime: "1980-01-01T00:00:00" })),
    undefined,
    "another program's headers",
  )
  assert.equal(readZip(zipSync({ a: text })), undefined, "compressed")
  assert.deepEqual(readZip(zip([])), new Map(), "nothing in it")
})

test("names that lead elsewhere, or that systems read differently, are refused", () => {
  for (const bad of [
    "",
    "/a",
    "a/",
    "../a",
    "a/../b",
    "a//b",
    ".",
    "..",
    "./a",
    "a\\b",
    "C:a",
    "a b",
    "ä",
    "a\0",
    "a\n",
    "x".repeat(256),
  ])
    assert.ok(!isZipName(bad), JSON.stringify(bad))
  for (const good of ["a", "log.vkey", "bodies/000.jsonl", "policies/a..b/1.json", "x".repeat(255)])
    assert.ok(isZipName(good), good)
})

test("any other input gives a refusal, not an exception", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(small.length), (bytes, at) => {
      assert.equal(readZip(concat(small.subarray(0, at), bytes, utf8("!"))), undefined)
    }),
    { numRuns: 2000 },
  )
})
