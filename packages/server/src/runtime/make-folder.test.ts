import assert from "node:assert/strict"
import { mkdtempDisposableSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { makeFolder } from "./make-folder.ts"

test("a folder is made with those above it, for its owner alone", () => {
  using place = mkdtempDisposableSync(join(tmpdir(), "tallystick-"))
  const path = join(place.path, "a", "b", "c")
  assert.equal(makeFolder(path), join(place.path, "a"), "the topmost one that was made")
  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.equal(makeFolder(path), undefined)
})

test("a folder that cannot be made is an error that names it", () => {
  using place = mkdtempDisposableSync(join(tmpdir(), "tallystick-"))
  const file = join(place.path, "file")
  writeFileSync(file, "")
  assert.throws(() => makeFolder(file), { code: "EEXIST", path: file })
  assert.throws(() => makeFolder(join(file, "a")), { code: "EEXIST", path: file })
  // Node's own recursive call does not return there.
  const below = process.platform === "linux" ? "/proc/tallystick" : "/dev/null/tallystick"
  assert.throws(() => makeFolder(join(below, "a")), /'\/(proc|dev)\//)
})
