import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test, { type TestContext } from "node:test"
import { memoryHeads, openHeads, readHeads, type Heads, type SignedHead } from "./heads.ts"

const rootOf = (name: string) => createHash("sha256").update(name).digest()
const headOf = (size: number, name = `root ${size}`): SignedHead => ({ size, root: rootOf(name) })
const lineOf = (origin: string, { size, root }: SignedHead) =>
  `${origin} ${size} ${Buffer.from(root).toString("base64")}\n`

function freshPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, "data.heads")
}

async function expectForward(heads: Heads): Promise<void> {
  assert.equal(await heads.get("a.example/1"), undefined)
  assert.equal(await heads.advance("a.example/1", headOf(5)), true)
  assert.equal(await heads.advance("a.example/1", headOf(4)), false, "never back")
  assert.equal(
    await heads.advance("a.example/1", headOf(5, "another")),
    false,
    "never another tree of the same size",
  )
  assert.equal(await heads.advance("a.example/1", headOf(5)), true, "the same again is no change")
  assert.equal(await heads.advance("a.example/2", headOf(1)), true, "each origin for itself")
  assert.equal(await heads.advance("a.example/1", headOf(9)), true)
  assert.deepEqual(await heads.get("a.example/1"), headOf(9))
  assert.deepEqual(await heads.get("a.example/2"), headOf(1))
}

test("signed heads only move forward, in a file as in memory", async (t) => {
  await expectForward(memoryHeads())
  const path = freshPath(t)
  const heads = await openHeads(path)
  await expectForward(heads)
  heads.close()
  const again = await openHeads(path)
  assert.deepEqual(
    {
      ...(await again.get("a.example/1")),
      root: Buffer.from((await again.get("a.example/1"))?.root ?? []),
    },
    headOf(9),
  )
  assert.equal(await again.advance("a.example/1", headOf(8)), false)
  again.close()
  // The file format, which people and other programs may read.
  const expected = [
    lineOf("a.example/1", headOf(5)),
    lineOf("a.example/2", headOf(1)),
    lineOf("a.example/1", headOf(9)),
  ]
  assert.equal(readFileSync(path, "utf8"), expected.join(""))
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test("an incomplete last line after a crash is ignored and removed", async (t) => {
  const path = freshPath(t)
  const whole = lineOf("a.example/1", headOf(5)) + lineOf("a.example/2", headOf(7))
  const last = lineOf("a.example/1", headOf(6))
  for (let length = 1; length < last.length; length++) {
    writeFileSync(path, whole + last)
    truncateSync(path, whole.length + length)
    const heads = await openHeads(path)
    assert.equal((await heads.get("a.example/1"))?.size, 5, `cut to ${length}`)
    assert.equal(await heads.advance("a.example/1", headOf(6)), true)
    heads.close()
    assert.equal(readFileSync(path, "utf8"), whole + last, `cut to ${length}`)
  }
})

test("a file that cannot be looked up is not taken for one that is not there", async (t) => {
  const path = freshPath(t)
  // Fails for every user; a missing permission does not stop the superuser.
  symlinkSync("data.heads", path)
  await assert.rejects(readHeads(path), { code: "ELOOP" })
  rmSync(path)
  mkdirSync(path)
  await assert.rejects(readHeads(path), /data\.heads must be a file, and is a folder$/)
})

test("a complete but malformed line stops the start", async (t) => {
  const path = freshPath(t)
  const good = lineOf("a.example/1", headOf(5))
  for (const bad of [
    "a.example/1 6\n",
    "a.example/1 6 AAAA\n",
    `a.example/1 -6 ${rootOf("x").toString("base64")}\n`,
    "\n",
    good.replace(" ", "  "),
  ]) {
    for (const text of [bad, good + bad, bad + good]) {
      writeFileSync(path, text)
      await assert.rejects(
        openHeads(path),
        /has a line that is not "<origin> <size> <root>"/,
        JSON.stringify(text),
      )
      assert.equal(readFileSync(path, "utf8"), text, "and is left for a person to look at")
    }
  }
})

test("a start removes superseded lines in one step, and keeps the others", async (t) => {
  const path = freshPath(t)
  const lines = Array.from({ length: 10_003 }, (_, at) => lineOf("a.example/1", headOf(at + 1)))
  writeFileSync(path, lines.slice(0, 10_001).join(""))
  await openHeads(path).then((few) => few.close())
  assert.equal(statSync(path).size, lines.slice(0, 10_001).join("").length, "few enough to stay")
  // A crash while the file is rewritten leaves an incomplete new file behind.
  writeFileSync(`${path}.new`, "unfinished")
  appendFileSync(path, `${lines[10_001]}${lineOf("a.example/2", headOf(3))}${lines[10_002]}`)
  const heads = await openHeads(path)
  assert.equal(readFileSync(path, "utf8"), `${lines[10_002]}${lineOf("a.example/2", headOf(3))}`)
  assert.equal(existsSync(`${path}.new`), false)
  assert.equal(await heads.advance("a.example/1", headOf(10_004)), true)
  heads.close()
  assert.equal((await readHeads(path)).get("a.example/1")?.size, 10_004)
})

test("a service that runs for long removes superseded lines, and loses no head", async (t) => {
  const path = freshPath(t)
  const lines = Array.from({ length: 10_000 }, (_, at) => lineOf("a.example/1", headOf(at + 1)))
  writeFileSync(path, lineOf("a.example/2", headOf(3)) + lines.join(""))
  const heads = await openHeads(path)
  for (let size = 10_001; size <= 10_005; size++) {
    assert.equal(await heads.advance("a.example/1", headOf(size)), true)
    assert.equal((await readHeads(path)).get("a.example/1")?.size, size, "on the disk")
  }
  assert.equal(await heads.advance("a.example/1", headOf(10_004)), false)
  heads.close()
  assert.ok(statSync(path).size < 10 * lineOf("a.example/1", headOf(10_005)).length)
  const kept = await readHeads(path)
  assert.deepEqual([kept.get("a.example/1")?.size, kept.get("a.example/2")?.size], [10_005, 3])
  assert.equal(existsSync(`${path}.new`), false)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test("superseded lines that cannot be removed do not stop the signing", async (t) => {
  const path = freshPath(t)
  const lines = Array.from({ length: 10_001 }, (_, at) => lineOf("a.example/1", headOf(at + 1)))
  writeFileSync(path, lines.join(""))
  const heads = await openHeads(path)
  // Fails for every user, as a file that is mounted by itself does.
  mkdirSync(`${path}.new`)
  for (let size = 10_002; size <= 10_005; size++)
    assert.equal(await heads.advance("a.example/1", headOf(size)), true)
  heads.close()
  assert.equal((await readHeads(path)).get("a.example/1")?.size, 10_005)
})

test("a file that another program writes to or replaces is not written to, and loses no line", async (t) => {
  const path = freshPath(t)
  const [one, two] = [await openHeads(path), await openHeads(path)]
  assert.equal(await one.advance("a.example/1", headOf(5)), true)
  await assert.rejects(two.advance("a.example/2", headOf(3)), /was written to by another program/)
  one.close()
  two.close()
  assert.equal(readFileSync(path, "utf8"), lineOf("a.example/1", headOf(5)))
  const heads = await openHeads(path)
  rmSync(path)
  writeFileSync(path, lineOf("a.example/2", headOf(9)))
  await assert.rejects(heads.advance("a.example/1", headOf(6)), /was replaced by another program/)
  assert.equal((await heads.get("a.example/1"))?.size, 5)
  heads.close()
  assert.equal(readFileSync(path, "utf8"), lineOf("a.example/2", headOf(9)))
  // Moved aside, with another one in its place: the file still has a name, which no start reads.
  const again = await openHeads(path)
  renameSync(path, `${path}.aside`)
  writeFileSync(path, lineOf("a.example/2", headOf(9)))
  await assert.rejects(again.advance("a.example/2", headOf(10)), /was replaced by another program/)
  again.close()
  assert.equal(readFileSync(`${path}.aside`, "utf8"), lineOf("a.example/2", headOf(9)))
})

test("a file that is removed or moved away while it is open is written anew, with all heads", async (t) => {
  const path = freshPath(t)
  const heads = await openHeads(path)
  assert.equal(await heads.advance("a.example/1", headOf(5)), true)
  assert.equal(await heads.advance("a.example/2", headOf(3)), true)
  for (const [size, act] of [
    [6, () => rmSync(path)],
    [7, () => renameSync(path, `${path}.away`)],
  ] as const) {
    act()
    assert.equal(await heads.advance("a.example/1", headOf(size)), true)
    const kept = await readHeads(path)
    assert.deepEqual([kept.get("a.example/1")?.size, kept.get("a.example/2")?.size], [size, 3])
  }
  // As where its disk is not there any more.
  const folder = join(path, "..")
  renameSync(folder, `${folder}.away`)
  await assert.rejects(heads.advance("a.example/1", headOf(8)), { code: "ENOENT" })
  renameSync(`${folder}.away`, folder)
  assert.equal(await heads.advance("a.example/1", headOf(8)), true)
  heads.close()
  assert.equal((await readHeads(path)).get("a.example/1")?.size, 8)
  // Put back by its owner, who does not know that the service goes on.
  const again = await openHeads(path)
  renameSync(`${path}.away`, path)
  await assert.rejects(again.advance("a.example/1", headOf(9)), /was replaced by another program/)
  again.close()
})

test(
  "a partial write is an error, and the next one gets its own line",
  { skip: process.platform !== "linux" },
  async (t) => {
    const path = freshPath(t)
    // A limit on file sizes simulates a full disk: only 1024 bytes can be written until the limit
    // is lifted.
    const program = `
    import { execFileSync } from "node:child_process"
    import { openHeads } from ${JSON.stringify(join(import.meta.dirname, "heads.ts"))}
    const root = new Uint8Array(32)
    const heads = await openHeads(process.argv[1])
    let size = 0
    const advance = async () => { try { return await heads.advance("a.example/1", { size: size + 1, root }) && ++size } catch { return "refused" } }
    while (await advance() !== "refused" && size < 1000);
    const atLimit = [size, await advance(), (await heads.get("a.example/1")).size]
    execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=unlimited"])
    console.log(JSON.stringify([...atLimit, await advance()]))`
    const command = `trap "" XFSZ; ulimit -S -f 1; exec "$0" --input-type=module -e "$1" "$2"`
    const { stdout, stderr } = spawnSync("bash", ["-c", command, process.execPath, program, path], {
      encoding: "utf8",
    })
    const [size, refused, known, next] = JSON.parse(stdout || `["${stderr}"]`)
    assert.ok(size > 10 && size < 30, `${size} lines fit into 1024 bytes`)
    assert.deepEqual([refused, known, next], ["refused", size, size + 1])
    const heads = await openHeads(path)
    assert.equal((await heads.get("a.example/1"))?.size, size + 1)
    heads.close()
  },
)
