import assert from "node:assert/strict"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { openForWriting } from "./database.ts"
import { rewriteDocuments } from "./sqlite-documents.ts"

test("former content of documents stays in the file until the documents are rewritten", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-documents-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, "journal.db")
  const journal = openForWriting(path, "journal", "full")
  const add = journal.prepare(
    "INSERT INTO documents (kind, workspace, id, version, value) VALUES ('log-key', ?, ?, 1, ?)",
  )
  const replace = journal.prepare("UPDATE documents SET version = 2, value = ? WHERE id = ?")
  journal.exec("BEGIN")
  for (let count = 0; count < 2400; count++)
    add.run(`ws-${count % 7}`, `id-${count}`, `former ${"x".repeat(count % 500)}`)
  for (let count = 2399; count >= 0; count -= 2)
    replace.run(`newest ${"y".repeat((count * 7) % 900)}`, `id-${count}`)
  for (let count = 0; count < 2400; count += 2)
    replace.run(`newest ${"z".repeat((count * 3) % 200)}`, `id-${count}`)
  journal.exec("DELETE FROM documents WHERE serial > 2390; COMMIT")
  const all = () => journal.prepare("SELECT * FROM documents ORDER BY serial").all()
  const schema = () => journal.prepare("SELECT * FROM sqlite_schema ORDER BY name").all().length
  const [before, statements] = [all(), schema()]
  const isLeft = () =>
    ["", "-wal"].some((ending) => readFileSync(path + ending, "latin1").includes("former "))
  journal.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  assert.ok(isLeft(), "there was nothing to take away")

  rewriteDocuments(journal)
  assert.ok(!isLeft(), "a part of what was replaced is still in the file")
  assert.deepEqual(all(), before)
  assert.equal(schema(), statements)
  // What was removed does not come back with its number.
  assert.equal(add.run("ws-1", "id-new", "").lastInsertRowid, 2401)
  journal.close()
})
