import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"

// scripts/ready.mjs in a tree of its own, where only the pages are to be built.

const scripts = join(import.meta.dirname, "..", "scripts")

/** A build that ends well once its parent has touched the lock, and fails after five seconds. */
const slowBuild = `
import { statSync, writeFileSync } from "node:fs"
const touchedMs = () => statSync(".ready.lock").mtimeMs
const [first, endMs] = [touchedMs(), Date.now() + 5000]
const timer = setInterval(() => {
  if (touchedMs() === first && Date.now() < endMs) return
  clearInterval(timer)
  if (touchedMs() === first) process.exit(1)
  writeFileSync("built", "")
}, 50)
`

test("the lock is touched while the pages are built, so that a long build is not taken for a dead one", (t) => {
  const root = mkdtempSync(join(tmpdir(), "tallystick-ready-"))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const put = (path: string, text: string): void => writeFileSync(join(root, path), text)
  for (const folder of ["scripts", "node_modules/.bin"])
    mkdirSync(join(root, folder), { recursive: true })
  cpSync(join(scripts, "ready.mjs"), join(root, "scripts", "ready.mjs"))
  put(
    "scripts/pages-sources.mjs",
    'import { existsSync } from "node:fs"\nexport const pagesAreBuilt = () => existsSync("built")\n',
  )
  put("scripts/pages.mjs", slowBuild)
  put("package-lock.json", "{}")
  const hash = createHash("sha256").update("{}").digest("hex")
  put("node_modules/.ready", `${hash} ${process.platform}-${process.arch}\n`)
  symlinkSync(process.execPath, join(root, "node_modules", ".bin", "node"))

  const run = () =>
    spawnSync(process.execPath, ["scripts/ready.mjs"], { cwd: root, encoding: "utf8" })
  const first = run()
  assert.deepEqual([first.status, first.stdout], [0, ""], first.stderr)
  assert.match(first.stderr, /^ready: building the pages/)
  const again = run()
  assert.deepEqual([again.status, again.stderr], [0, ""], "nothing is left to do, nor is the lock")
})
