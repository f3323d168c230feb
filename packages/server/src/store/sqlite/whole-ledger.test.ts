import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { defaultLimits } from "../../limits.ts"
import type { Keyed } from "../whole-ledger.ts"
import { runEntries } from "./key-runs.ts"
import { openSqlite } from "./open-sqlite.ts"
import { openSqliteWhole } from "./whole-ledger.ts"

const entries = runEntries + 100
const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
test.after(() => rmSync(folder, { recursive: true, force: true }))

/** Changes the journal like another program would. */
function alter(...statements: readonly string[]): void {
  using journal = new DatabaseSync(join(folder, "journal.db"))
  for (const statement of statements) journal.exec(statement)
}

/** Makes a ledger whose index has one complete run of entries with a receipt and a key each. */
async function fill(): Promise<void> {
  const open = async () =>
    (
      await openSqlite({ data: folder, limits: defaultLimits }, (cause) => assert.fail(cause))
    ).close()
  await open()
  alter(
    "DROP TRIGGER entries_are_not_changed",
    "DROP TRIGGER entries_are_not_removed",
    "INSERT INTO workspaces (number, id) VALUES (1, 'acme'), (2, 'other')",
    `WITH RECURSIVE counted (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM counted WHERE value < ${entries})
     INSERT INTO entries (n, workspace, sequence, record, receipt, idem)
     SELECT value, 1 + value % 2, (value + 1) / 2, zeroblob(118), CAST(printf('%023d', value) AS BLOB),
       CAST(printf('%016d', value) AS BLOB) FROM counted`,
  )
  await open()
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
