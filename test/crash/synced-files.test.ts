import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { test, type TestContext } from "node:test"
import { expectChain } from "../chain.ts"
import { compileCache } from "../program.ts"
import { untilSigned } from "../until.ts"
import { makeWorkspace, startService, writeMany } from "../service.ts"
import { skipUnlessStrict } from "./strict.ts"
import { noTracer } from "./tracer.ts"

// Files are synced, and so are the folders that name them. The heads file has what is signed: if
// its sync fails, nothing may be signed.

const skip = skipUnlessStrict(noTracer())

const sources = join(import.meta.dirname, "..", "..", "packages", "server", "src")

const opening = `
import { openHeads } from ${JSON.stringify(join(sources, "store", "heads.ts"))}
const root = new Uint8Array(32)
try {
  const heads = await openHeads(process.argv[1])
  process.stdout.write("opened ")
  process.stdout.write(await heads.advance("a.example/1", { size: 1_000_000, root }) ? "advanced" : "refused")
} catch (error) {
  process.stdout.write(error.code)
}`

const replacing = `
import { replaceFile } from ${JSON.stringify(join(sources, "runtime", "durable-file.ts"))}
try {
  replaceFile(process.argv[1], "new")
  process.stdout.write("replaced")
} catch (error) {
  process.stdout.write(error.code)
}`

const erasing = `
import { openErasuresFile } from ${JSON.stringify(join(sources, "store", "erasures-file.ts"))}
const block = { origin: "a.example/1", id: "era_1", bodies: [], fields: [] }
try {
  openErasuresFile(process.argv[1]).add([block])
  process.stdout.write("listed")
} catch (error) {
  process.stdout.write(error.code)
}`

const erasingTwice = `
import { openErasuresFile } from ${JSON.stringify(join(sources, "store", "erasures-file.ts"))}
const block = { origin: "a.example/1", id: "era_1", bodies: [], fields: [] }
const file = openErasuresFile(process.argv[1])
for (const _ of [1, 2])
  try {
    file.add([block])
    process.stdout.write("listed ")
  } catch (error) {
    process.stdout.write(error.code + " ")
  }`

const archiving = `
import { join } from "node:path"
import { openFolderStorage } from ${JSON.stringify(join(sources, "store", "archive", "folder-storage.ts"))}
const storage = openFolderStorage(process.argv[1])
for (const _ of [1, 2])
  try {
    await storage.put("ledger/1.seg", new Uint8Array(9))
    process.stdout.write("stored ")
  } catch (error) {
    process.stdout.write(error.cause.code + " ")
  }`

/** Opens a heads file and advances it. */
function openAndAdvance(path: string, failing: string | undefined): string {
  return run(opening, path, failing)
}

/** The output of a program while every sync of this file or folder fails. */
function run(program: string, path: string, failing: string | undefined): string {
  const inject =
    failing === undefined ? [] : ["-P", failing, "-e", "inject=fsync,fdatasync:error=EIO"]
  const { stdout, stderr } = spawnSync(
    "strace",
    [
      "-f",
      "-qq",
      "-o",
      "/dev/null",
      "-e",
      "trace=fsync,fdatasync",
      ...inject,
      process.execPath,
      "--input-type=module",
      "-e",
      program,
      path,
    ],
    { encoding: "utf8", env: { ...process.env, NODE_COMPILE_CACHE: compileCache } },
  )
  assert.ok(stdout !== "", stderr)
  return stdout
}

function freshPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, "data.heads")
}

test(
  "an export has no checkpoint before the names of its files are on the disk",
  { skip },
  async (t) => {
    await using service = await startService()
    const acme = await makeWorkspace(service)
    const receipts = await writeMany(acme, 3)
    await untilSigned(acme.reader, acme.path)
    await expectChain(acme.reader, acme.id, receipts)
    assert.equal(await service.end(), 0)
    const exporting = `
import { exportLedger } from ${JSON.stringify(join(sources, "operator", "export.ts"))}
try {
  await exportLedger({
    data: ${JSON.stringify(service.data)},
    workspace: ${JSON.stringify(acme.id)},
    folder: process.argv[1],
    announce: async () => {},
    progress() {},
  })
  process.stdout.write("exported")
} catch (error) {
  process.stdout.write(error.code)
}`
    const folder = join(freshPath(t), "..", "export")
    for (const unsynced of ["bodies", "disclosures", "tile/0", "tile/entries", "."]) {
      assert.equal(run(exporting, folder, join(folder, unsynced)), "EIO", unsynced)
      assert.equal(existsSync(join(folder, "checkpoint")), false, unsynced)
    }
    assert.equal(run(exporting, folder, undefined), "exported", "the canary: nothing fails")
  },
)

test("restored bodies are on the disk before their archive is deleted", { skip }, async () => {
  await using service = await startService()
  const acme = await makeWorkspace(service)
  const receipts = await writeMany(acme, 100)
  await expectChain(acme.reader, acme.id, receipts)
  assert.equal(await service.end(), 0)
  const opening = `
import { openSqliteFiling } from ${JSON.stringify(join(sources, "store", "sqlite", "open-sqlite.ts"))}
const { content } = openSqliteFiling(process.argv[1])`
  const packing = `${opening}
await content.pack(${JSON.stringify(acme.id)}, 0, 64, true)
process.stdout.write("packed")`
  assert.equal(run(packing, service.data, undefined), "packed")
  // Those that are there may be of a restore that was killed before they were on the disk.
  const restoring = `${opening}
const frames = await content.frames(${JSON.stringify(acme.id)}, 0, 1_000_000)
try {
  await content.putFrames(${JSON.stringify(acme.id)}, frames)
  process.stdout.write("restored")
} catch (error) {
  process.stdout.write(error.message)
}`
  const log = join(service.data, "journal.db-wal")
  assert.equal(run(restoring, service.data, log), "disk I/O error")
  assert.equal(run(restoring, service.data, undefined), "restored", "the canary: nothing fails")
})

test("nothing is signed that the heads file could not be synced for", { skip }, (t) => {
  const path = freshPath(t)
  assert.equal(openAndAdvance(path, undefined), "opened advanced", "the canary: nothing fails")
  rmSync(path)
  assert.equal(
    openAndAdvance(path, dirname(path)),
    "EIO",
    "the name of a new file is not on the disk",
  )
  assert.equal(openAndAdvance(path, path), "opened EIO", "a line is not on the disk")

  const line = (size: number): string =>
    `a.example/1 ${size} ${Buffer.alloc(32).toString("base64")}\n`
  const stale = Array.from({ length: 10_002 }, (_, at) => line(at + 1)).join("")
  writeFileSync(path, stale)
  assert.equal(
    openAndAdvance(path, `${path}.new`),
    "EIO",
    "the file that takes its place is not on the disk",
  )
  writeFileSync(path, stale)
  assert.equal(openAndAdvance(path, dirname(path)), "EIO", "its new name is not on the disk")
  assert.equal(openAndAdvance(path, undefined), "opened advanced")
})

test("a file is replaced only if it and its folder could be synced", { skip }, (t) => {
  const path = freshPath(t)
  assert.equal(run(replacing, path, undefined), "replaced", "the canary: nothing fails")
  assert.equal(run(replacing, path, `${path}.new`), "EIO", "its content is not on the disk")
  assert.equal(run(replacing, path, dirname(path)), "EIO", "its new name is not on the disk")
})

test(
  "an erasure is listed only if the file and its folder could be synced, also at a second attempt",
  { skip },
  (t) => {
    const path = freshPath(t)
    assert.equal(run(erasingTwice, path, dirname(path)), "EIO EIO ", "its name is not on the disk")
    assert.equal(run(erasing, path, dirname(path)), "EIO", "nor after another start")
    assert.equal(run(erasing, path, path), "EIO", "its content is not on the disk")
    assert.equal(run(erasing, path, undefined), "listed", "the canary: nothing fails")
  },
)

test(
  "a file of the archive is stored only if all its folders could be synced, also at a second attempt",
  { skip },
  (t) => {
    const path = join(freshPath(t), "archive")
    for (const unsynced of [dirname(dirname(path)), dirname(path), path, join(path, "ledger")])
      assert.equal(run(archiving, path, unsynced), "EIO EIO ", unsynced)
    assert.equal(run(archiving, path, undefined), "stored stored ", "the canary: nothing fails")
  },
)
