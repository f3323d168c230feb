import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { test, type TestContext } from "node:test"
import { compileCache } from "../program.ts"
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
