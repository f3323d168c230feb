import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test, type TestContext } from "node:test"
import { StartError } from "../error.ts"
import { erasuresPath, openErasuresFile, readErasures, type ErasedBlock } from "./erasures-file.ts"

function freshPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, "data.erasures")
}

const linux =
  process.platform === "linux" ? {} : { skip: "only Linux counts the bytes that a process reads" }

const block = (id: string, origin = "ledger.example/a"): ErasedBlock => ({
  origin,
  id,
  bodies: [{ index: 3, hash: "aGFzaA==" }],
  // A digest may end like the line that ends a block.
  fields: [{ index: 4, digests: ["one-end", "two"] }],
})

test("the erasures file is next to the heads file", () => {
  assert.equal(erasuresPath("/srv/data.heads"), "/srv/data.erasures")
  assert.equal(erasuresPath("/srv/heads"), "/srv/heads.erasures")
})

test("an added erasure is read back once, also by a later start", (t) => {
  const path = freshPath(t)
  assert.deepEqual([...readErasures(path)], [])
  const file = openErasuresFile(path)
  for (const _ of [1, 2]) file.add([block("era_1")])
  file.add([block("era_1"), block("era_1", "ledger.example/b")])
  assert.deepEqual([file.has("era_1"), file.has("era_2")], [true, false])
  const later = openErasuresFile(path)
  later.add([block("era_1")])
  later.add([block("era_2")])
  const expected = [block("era_1"), block("era_1", "ledger.example/b"), block("era_2")]
  assert.deepEqual([...readErasures(path)], expected)
})

test("after a crash, an erasure of two epochs is listed with both or not at all", (t) => {
  const path = freshPath(t)
  const before = block("era_1")
  openErasuresFile(path).add([before])
  const { length } = readFileSync(path)
  const both = [block("era_2"), block("era_2", "ledger.example/b")]
  openErasuresFile(path).add(both)
  const whole = readFileSync(path)
  for (let cut = length; cut <= whole.length; cut++) {
    writeFileSync(path, whole.subarray(0, cut))
    const listed = openErasuresFile(path).has("era_2")
    assert.equal(listed, cut === whole.length)
    assert.deepEqual(
      [...readErasures(path)],
      listed ? [before, ...both] : [before],
      `cut at ${cut}`,
    )
  }
})

test("an incomplete block after a crash is removed, and an unknown line is refused", (t) => {
  const path = freshPath(t)
  openErasuresFile(path).add([block("era_1")])
  const whole = readFileSync(path, "utf8")
  for (let length = 1; length < whole.length; length += 7) {
    writeFileSync(path, whole + whole.slice(0, whole.length - length).replace("era_1", "era_9"))
    assert.deepEqual([...readErasures(path)], [block("era_1")])
    openErasuresFile(path).add([block("era_2")])
    assert.deepEqual([...readErasures(path)], [block("era_1"), block("era_2")])
  }
  appendFileSync(path, "erasure a b\nbody x y\nend\n")
  assert.throws(() => [...readErasures(path)], StartError)
})

test("a file that cannot be looked up is not taken for one that is not there", (t) => {
  const path = freshPath(t)
  // Fails for every user; a missing permission does not stop the superuser.
  symlinkSync("data.erasures", path)
  assert.throws(() => [...readErasures(path)], { code: "ELOOP" })
  assert.throws(() => openErasuresFile(path), { code: "ELOOP" })
})

test("an erasure is added to a long file without reading all of it again", linux, (t) => {
  const path = freshPath(t)
  const bodies = Array.from({ length: 10_000 }, (_, index) => ({ index, hash: "aGFzaA==" }))
  const file = openErasuresFile(path)
  const ids = Array.from({ length: 20 }, (_, at) => `era_${at}`)
  for (const id of ids) file.add([{ ...block(id), bodies }])
  const before = readBytes()
  file.add([block("era_last")])
  assert.ok(readBytes() - before < 10_000, `of ${statSync(path).size} bytes`)
  assert.deepEqual(
    Array.from(readErasures(path), ({ id, ...one }) => [id, one.bodies.length]),
    [...ids.map((id) => [id, bodies.length]), ["era_last", 1]],
  )
})

function readBytes(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1])
}

test("a file that is removed or replaced while it is open is continued where it ends", (t) => {
  const path = freshPath(t)
  const file = openErasuresFile(path)
  file.add([block("era_1")])
  rmSync(path)
  file.add([block("era_2")])
  assert.deepEqual([...readErasures(path)], [block("era_2")])
  assert.equal(file.has("era_1"), false, "its owner lists it again")
  file.add([block("era_1")])
  const both = readFileSync(path, "utf8")
  writeFileSync(path, `${both}${both.replace("era_2", "era_4")}erasure incomplete`)
  file.add([block("era_3")])
  const ids = Array.from(readErasures(path), ({ id }) => id)
  assert.deepEqual(ids, ["era_2", "era_1", "era_4", "era_1", "era_3"])
})

test("a block that the disk has no room for is refused, and a later one takes its place", (t) => {
  const path = freshPath(t)
  openErasuresFile(path).add([block("era_1")])
  const bodies = Array.from({ length: 1000 }, (_, index) => ({ index, hash: "aGFzaA==" }))
  const large = { ...block("era_2"), bodies }
  const program = `
    const { openErasuresFile } = await import(${JSON.stringify(import.meta.resolve("./erasures-file.ts"))})
    openErasuresFile(${JSON.stringify(path)}).add([${JSON.stringify(large)}])`
  // No file of that process may have more than 8 KiB: its write is cut short there.
  const node = [process.execPath, "--input-type=module", "--eval", program]
  const { status, stderr } = spawnSync("sh", ["-c", 'ulimit -f 16; exec "$@"', "sh", ...node], {
    encoding: "utf8",
  })
  assert.notEqual(status, 0)
  assert.match(stderr, /EFBIG/)
  assert.deepEqual([...readErasures(path)], [block("era_1")])
  openErasuresFile(path).add([large])
  assert.deepEqual([...readErasures(path)], [block("era_1"), large])
})
