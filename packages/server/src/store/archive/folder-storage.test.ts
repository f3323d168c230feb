import assert from "node:assert/strict"
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { archiveContract } from "../contract/archive-contract.ts"
import { openFolderStorage } from "./folder-storage.ts"

const all = { start: 0, end: 4 }

function temporary(): { readonly path: string; readonly remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "tallystick-archive-"))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

archiveContract("folder", async () => {
  const { path, remove } = temporary()
  const reopen = () => openFolderStorage(join(path, "deep", "archive"))
  return { storage: reopen(), reopen, close: async () => remove() }
})

test("an error names a read-only folder, which can still be read", async (context) => {
  const { path, remove } = temporary()
  context.after(remove)
  const storage = openFolderStorage(join(path, "archive"))
  await storage.put("a/1", Buffer.from("text"))
  // A file in the place of a folder refuses root as well, which no mode does.
  writeFileSync(join(path, "archive", "b"), "")
  await assert.rejects(storage.put("b/1", Buffer.from("text")), {
    name: "ArchiveFailure",
    message: /^the archive folder .* cannot be written to: .*\/archive\/b/,
  })
  if (process.getuid?.() !== 0) {
    chmodSync(join(path, "archive", "a"), 0o500)
    await assert.rejects(storage.put("a/2", Buffer.from("text")), { name: "ArchiveFailure" })
    chmodSync(join(path, "archive", "a"), 0o700)
  }
  assert.equal(String(await storage.get("a/1", all)), "text")
})

test("a file that cannot be finished leaves nothing behind", async (context) => {
  const { path, remove } = temporary()
  context.after(remove)
  const storage = openFolderStorage(path)
  // A folder in its place.
  mkdirSync(join(path, "a", "1"), { recursive: true })
  await assert.rejects(storage.put("a/1", Buffer.from("text")), { name: "ArchiveFailure" })
  assert.deepEqual(readdirSync(join(path, "a")), ["1"])
})

test("links to a disk and to single segments are followed, and never written through", async (context) => {
  const { path, remove } = temporary()
  context.after(remove)
  mkdirSync(join(path, "disk"))
  symlinkSync(join(path, "disk"), join(path, "archive"))
  const storage = openFolderStorage(join(path, "archive"))
  await storage.put("a/1", Buffer.from("text"))
  assert.deepEqual(readdirSync(join(path, "disk")), ["a"])
  renameSync(join(path, "disk", "a", "1"), join(path, "elsewhere"))
  symlinkSync(join(path, "elsewhere"), join(path, "disk", "a", "1"))
  assert.equal(String(await storage.get("a/1", all)), "text")
  assert.deepEqual(await Array.fromAsync(storage.list("a/")), [{ name: "a/1", bytes: 4 }])
  await storage.put("a/1", Buffer.from("new!"))
  assert.equal(readFileSync(join(path, "elsewhere"), "utf8"), "text")
  assert.equal(String(await storage.get("a/1", all)), "new!")
})

test("remains of a killed writer are listed and can be deleted", async (context) => {
  const { path, remove } = temporary()
  context.after(remove)
  const storage = openFolderStorage(path)
  await storage.put("a/1", Buffer.from("text"))
  writeFileSync(join(path, "a", "2.0123456789abcdef.new"), "half")
  const names = async () => (await Array.fromAsync(storage.list("a/"))).map(({ name }) => name)
  assert.deepEqual(await names(), ["a/1", "a/2.0123456789abcdef.new"])
  await storage.delete("a/2.0123456789abcdef.new")
  assert.deepEqual(await names(), ["a/1"])
})
