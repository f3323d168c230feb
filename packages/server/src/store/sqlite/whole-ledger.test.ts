import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { defaultLimits } from "../../limits.ts"
import { write } from "../contract/written-entries.ts"
import type { Keyed, UnpackedContent } from "../whole-ledger.ts"
import { createContentKeeper } from "./content.ts"
import { openForWriting } from "./database.ts"
import { runEntries } from "./key-runs.ts"
import { openSqlite } from "./open-sqlite.ts"
import { openSqliteWhole } from "./whole-ledger.ts"

const entries = runEntries + 100
let folder = ""
test.beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tallystick-"))
})
test.afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = () =>
  openSqlite({ data: folder, limits: defaultLimits }, (cause) => assert.fail(cause))

/** Changes the journal like another program would. */
function alter(...statements: readonly string[]): void {
  using journal = new DatabaseSync(join(folder, "journal.db"))
  for (const statement of statements) journal.exec(statement)
}

/** Makes a ledger whose index has one complete run of entries with a receipt and a key each. */
async function fill(): Promise<void> {
  await (await open()).close()
  alter(
    "DROP TRIGGER entries_are_not_changed",
    "DROP TRIGGER entries_are_not_removed",
    "INSERT INTO workspaces (number, id) VALUES (1, 'acme'), (2, 'other')",
    `WITH RECURSIVE counted (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM counted WHERE value < ${entries})
     INSERT INTO entries (n, workspace, sequence, record, receipt, idem)
     SELECT value, 1 + value % 2, (value + 1) / 2, zeroblob(118), CAST(printf('%023d', value) AS BLOB),
       CAST(printf('%016d', value) AS BLOB) FROM counted`,
  )
  await (await open()).close()
}

async function keyed(): Promise<Keyed | undefined> {
  const whole = openSqliteWhole(folder, { alone: true })
  try {
    assert.deepEqual(await whole.index?.runs(), [0])
    return await whole.index?.keyed(0)
  } finally {
    await whole.close()
  }
}

test("a row that was removed is found in the index of keys, which has it", async () => {
  await fill()
  assert.deepEqual(await keyed(), { run: 0, wrong: undefined, isWhole: true })
  alter("CREATE TABLE kept AS SELECT * FROM entries WHERE n = 40000")
  alter("DELETE FROM entries WHERE n = 40000")
  const { wrong } = (await keyed()) ?? assert.fail("a run")
  assert.equal(wrong?.what, "keys")
  alter("INSERT INTO entries SELECT * FROM kept", "DROP TABLE kept")
  assert.deepEqual(await keyed(), { run: 0, wrong: undefined, isWhole: true })
})

test("a start puts the entries around a missing row into the index of keys", async () => {
  await fill()
  alter("DELETE FROM entries WHERE n = 40000")
  rmSync(join(folder, "index.db"))
  await (await open()).close()
  assert.deepEqual(await keyed(), { run: 0, wrong: undefined, isWhole: true })
})

/** Reads all entries, and then looks for packed content that is wrong; without what was right in the read. */
async function readAndChecked(asRight?: UnpackedContent) {
  const whole = openSqliteWhole(folder, { alone: true })
  try {
    for (let after = 0, some = 1; some > 0; after += some)
      some = (await whole.journal.after("acme", after, 64)).length
    const right = whole.unpacked()
    const whats = async (known?: UnpackedContent) =>
      (await whole.strays("journal", known))
        .map(({ what }) => what)
        .filter((what) => /bodies|disclosures/.test(what))
    assert.deepEqual(await whats(right), await whats())
    return { right, wrong: await whats(asRight ?? right) }
  } finally {
    await whole.close()
  }
}

test("packed content that a read has found to be right is not unpacked again, and other content is", async () => {
  const store = await open()
  await write(
    store,
    "acme",
    Array.from({ length: 200 }, (_, at) => `e${at}`),
  )
  await store.close()
  using journal = openForWriting(join(folder, "journal.db"), "journal", "normal")
  const content = createContentKeeper(journal)
  for (let after = 0; after < 192; after += 64) await content.pack("acme", after, 192)
  journal.close()
  const { right, wrong } = await readAndChecked()
  assert.deepEqual(wrong, [])
  assert.equal(right.frames.length, 3)

  alter(
    "DROP TRIGGER frames_are_not_changed",
    "UPDATE frames SET bytes = zeroblob(length(bytes)) WHERE first = 65 AND part = 0",
  )
  const damaged = await readAndChecked()
  assert.equal(damaged.right.frames.length, 2)
  assert.deepEqual(damaged.wrong, [
    "the frame with the bodies of entries 65 to 128 cannot be unpacked",
  ])
  assert.deepEqual((await readAndChecked(right)).wrong, [])
  // The bodies of other entries.
  alter("UPDATE frames SET first = CASE first WHEN 1 THEN -1 WHEN 129 THEN 1 ELSE first END")
  alter("UPDATE frames SET first = 129 WHERE first = -1")
  const swapped = await readAndChecked()
  assert.deepEqual(swapped.right.frames, [])
  assert.equal(swapped.wrong.length, 3)
})
