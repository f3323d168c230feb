import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { defaultLimits } from "../../limits.ts"
import { workspaceNamed, write } from "../../store/contract/written-entries.ts"
import { openSqlite } from "../../store/sqlite/open-sqlite.ts"
import { fsck, sentenceOf } from "./fsck.ts"

const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
test.after(() => rmSync(folder, { recursive: true, force: true }))

/** One part of the index has 65,536, and these entries are in none. */
const [inIndex, behind] = [65_536, 100]

/** Changes the journal, or the index, like another program would. */
function alter(statements: readonly string[], file = "journal.db"): void {
  using database = new DatabaseSync(join(folder, file))
  for (const statement of statements) database.exec(statement)
}

async function open() {
  return openSqlite({ data: folder, limits: defaultLimits }, (cause) => assert.fail(cause))
}

/** Two workspaces whose entries follow each other in turns; each has a receipt and a key. */
async function fill(): Promise<void> {
  const store = await open()
  await write(store, "acme", ["a"], [workspaceNamed("acme")])
  await write(store, "other", ["a"], [workspaceNamed("other")])
  await store.close()
  alter([
    "DROP TRIGGER entries_are_not_changed",
    `WITH RECURSIVE counted (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM counted WHERE n < ${inIndex + behind})
     INSERT INTO entries (n, workspace, sequence, record, receipt, idem)
     SELECT n, number, (n + 1) / 2, zeroblob(118), CAST(printf('%022d ', n) AS BLOB), CAST(printf('%016d', n) AS BLOB)
     FROM counted JOIN workspaces ON id = CASE n % 2 WHEN 1 THEN 'acme' ELSE 'other' END`,
  ])
}

/** What fsck says of receipts and keys, and whether it used the index for it. */
async function repeated(): Promise<readonly string[]> {
  const { faults } = await fsck({
    data: folder,
    databaseUrl: undefined,
    archive: { kind: "folder", path: join(folder, "archive") },
    heads: `${folder}.heads`,
    workspaces: undefined,
    checkpoints: [],
    passes: ["index"],
    threads: 0,
    progress: () => {},
  })
  return faults.map(sentenceOf).filter((sentence) => /the same|index of/.test(sentence))
}

/** Gives an entry a name of another one; the numbers are those across both workspaces. */
const takes = (n: number, column: "receipt" | "idem", of: number): string =>
  `UPDATE entries SET ${column} = (SELECT ${column} FROM entries WHERE n = ${of}) WHERE n = ${n}`

test("a receipt and a key that an earlier entry has are found, with and without an index of them", async () => {
  await fill()
  const odd = 2001
  const given = [
    // In the index, behind it, and from one to the other. Of the first workspace with an odd number.
    takes(20_001, "receipt", odd),
    takes(inIndex + 1, "receipt", odd),
    takes(inIndex + 5, "idem", inIndex + 3),
    takes(inIndex + 8, "idem", 4),
    // Another workspace may have the same.
    takes(3002, "receipt", 3001),
    takes(inIndex + 10, "idem", 3001),
    // What ends as another one, and is not the same; and texts, as somebody else may write them.
    takes(7, "receipt", 5),
    "UPDATE entries SET receipt = CAST('x' || substr(receipt, 2) AS BLOB) WHERE n = 7",
    "UPDATE entries SET receipt = 'short' WHERE n IN (32, 30, 34)",
  ]
  alter(given)
  const expected = [
    "workspace acme, entry 10001: an earlier entry has the same receipt",
    `workspace acme, entry ${(inIndex + 6) / 2}: an earlier entry has the same idempotency key`,
    "workspace other, entry 16: an earlier entry has the same receipt",
    `workspace other, entry ${(inIndex + 8) / 2}: an earlier entry has the same idempotency key`,
  ]
  assert.deepEqual(await repeated(), expected)
  // A start puts them into the index.
  await (await open()).close()
  assert.deepEqual(await repeated(), expected)
  // A wrong index is not believed.
  alter(["UPDATE buckets SET keys = '', receipts = ''"], "index.db")
  const found = await repeated()
  assert.deepEqual(
    found.filter((sentence) => sentence.includes("the same")),
    expected,
  )
  assert.equal(found.length, expected.length + 1)
})
