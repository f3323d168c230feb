import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { StartError } from "../../error.ts"
import { plain } from "../contract/written-entries.ts"
import { expectChain } from "../expect-chain.ts"
import type { JournalReader } from "../store.ts"
import { openStill } from "./copy.ts"
import { openForWriting } from "./database.ts"
import { readFormerJournal, upgradeJournal } from "./journal-upgrade.ts"
import { journalReads, readerOf } from "./reads.ts"
import { lockFolder } from "./lock.ts"

// The folder that a version with three rows for an entry wrote (test/vectors/write-folder.ts).
const former = join(import.meta.dirname, "../../../../../test/vectors/layout-3")
const workspaces = ["acme", "globex"]

// This file is two programs: the tests, and the one that kills itself while it copies.
const [, , role, folderOfRole = "", killedAt = ""] = process.argv
if (role === "upgrade and be killed") upgradeUntilKilled(folderOfRole, Number(killedAt))
else tests()

function tests(): void {
  test("a journal of the former layout is upgraded with every entry and document unchanged", async (t) => {
    const folder = folderOf(t)
    const before = await readAll(folder)
    assert.ok(before.entries.length > 120 && before.documents.length > 4)
    const said: number[] = []
    upgradeJournal(folder, (done) => said.push(done), 50)
    assert.deepEqual(said.slice(0, 3), [0, 50, 100])
    assert.equal(said.at(-1), before.entries.length)
    assert.equal(layout(folder), 7)
    assert.deepEqual(await readAll(folder), before)
    await expectWhole(folder)
    assert.deepEqual(left(folder), [])
    upgradeJournal(folder, () => assert.fail("it is done"))
  })

  test("a journal of another older layout, and one of a newer, is refused and not changed", (t) => {
    const folder = folderOf(t)
    const path = join(folder, "journal.db")
    for (const [other, age] of [
      [2, "an older"],
      [4, "an older"],
      [6, "an older"],
      [8, "a newer"],
    ] as const) {
      {
        using journal = new DatabaseSync(path)
        journal.exec(`PRAGMA user_version = ${other}`)
      }
      const refusal = new RegExp(
        `written by ${age} version of tallystick \\(layout ${other}, this one knows 7\\)`,
      )
      upgradeJournal(folder, () => assert.fail("it is not copied"))
      assert.throws(() => openForWriting(path, "journal", "full"), refusal)
      using read = openStill(path)
      assert.throws(() => readFormerJournal(read), refusal)
      assert.equal(layout(folder), other)
    }
  })

  test("an upgrade that is killed at any step continues where it was", async (t) => {
    const folder = folderOf(t)
    const before = await readAll(folder)
    let steps = 0
    for (let reached = 0; reached < before.entries.length; steps++) {
      const { signal, stdout, stderr } = spawnSync(
        process.execPath,
        [import.meta.filename, "upgrade and be killed", folder, String(reached + 20)],
        { encoding: "utf8" },
      )
      assert.equal(signal, "SIGKILL", stderr)
      const [first, ...more] = stdout.trimEnd().split("\n").map(Number)
      assert.equal(first, reached, "what was copied is not copied again")
      reached = more.at(-1) ?? 0
      assert.equal(layout(folder), 3)
    }
    assert.ok(steps > 5)
    assert.deepEqual(await readAll(folder), before, "the original is what it was")
    upgradeJournal(folder)
    assert.equal(layout(folder), 7)
    assert.deepEqual(await readAll(folder), before)
    await expectWhole(folder)
  })

  test("writes of an older version after the beginning of a copy are copied too", async (t) => {
    const folder = folderOf(t)
    upgradeJournal(folder)
    // Complete, but not in its place: as if the process had been killed before its last step.
    cpSync(join(folder, "journal.db"), join(folder, "journal.db.next"))
    cpSync(join(former, "journal.db"), join(folder, "journal.db"))
    {
      using journal = new DatabaseSync(join(folder, "journal.db"))
      journal.exec(
        `INSERT INTO workspaces VALUES (7, 'later');
         INSERT INTO entries SELECT max(n) + 1, 7, 1, record, 'rcp_later', NULL FROM entries;
         DELETE FROM documents WHERE kind = 'api-key'`,
      )
    }
    const before = await readAll(folder)
    assert.ok(before.entries.some((line) => line.includes("rcp_later")))
    upgradeJournal(folder)
    assert.deepEqual(await readAll(folder), before)
  })

  test("an incomplete copy of another journal, or a damaged one, is begun anew", async (t) => {
    for (const spoil of [
      (next: string) => writeFileSync(next, "no database ".repeat(1000)),
      (next: string) => {
        using copy = openForWriting(next, "journal", "full")
        copy.exec(
          "INSERT INTO entries VALUES (5, 1, 5, 'rcp_other', NULL, zeroblob(118), NULL, NULL)",
        )
      },
    ]) {
      const folder = folderOf(t)
      const before = await readAll(folder)
      spoil(join(folder, "journal.db.next"))
      upgradeJournal(folder)
      assert.deepEqual(await readAll(folder), before)
      assert.deepEqual(left(folder), [])
    }
  })

  test("without disk space for the copy nothing is begun", async (t) => {
    const folder = folderOf(t)
    truncateSync(join(folder, "journal.db"), 2 ** 43)
    const said =
      /needs 8388\d\d\d MiB of free space in .*; \d+ MiB are free. The journal is unchanged$/
    assert.throws(
      () => upgradeJournal(folder),
      (error) => error instanceof StartError && said.test(error.message),
    )
    assert.deepEqual(left(folder), [])
    cpSync(join(former, "journal.db"), join(folder, "journal.db"))
    upgradeJournal(folder)
    await expectWhole(folder)
  })

  test("while another program reads the journal it is not replaced", async (t) => {
    const folder = folderOf(t)
    const reader = openStill(join(folder, "journal.db"))
    assert.throws(
      () => upgradeJournal(folder),
      /is being read by another program, such as a backup/,
    )
    assert.equal(layout(folder), 3)
    reader.close()
    upgradeJournal(folder)
    await expectWhole(folder)
  })
}

function upgradeUntilKilled(folder: string, at: number): void {
  lockFolder(folder)
  upgradeJournal(
    folder,
    (done, entries) => {
      process.stdout.write(`${done}\n`)
      if (done >= Math.min(at, entries)) process.kill(process.pid, "SIGKILL")
    },
    7,
  )
}

function folderOf(t: test.TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(join(former, "journal.db"), join(folder, "journal.db"))
  return folder
}

function layout(folder: string): unknown {
  using journal = new DatabaseSync(join(folder, "journal.db"))
  return journal.prepare("PRAGMA user_version").get()?.["user_version"]
}

/** Files that an upgrade must not leave next to the journal. */
function left(folder: string): readonly string[] {
  return ["next", "next-wal", "next-shm", "journal"].filter((end) =>
    existsSync(join(folder, `journal.db.${end}`)),
  )
}

/** All data of the journal and the registry, independent of the layout. */
async function readAll(folder: string) {
  using journal = openStill(join(folder, "journal.db"))
  readFormerJournal(journal)
  const ids = journal.prepare("SELECT number, id FROM workspaces ORDER BY number").all()
  const reader = readerOf(journalReads(journal))
  const entries: string[] = []
  for (const { id } of ids)
    entries.push(
      ...(await reader.after(String(id), 0, 1000)).map((one) => JSON.stringify(plain(one))),
    )
  const documents = journal.prepare("SELECT * FROM documents ORDER BY serial").all()
  const counters = journal.prepare("SELECT * FROM sqlite_sequence").all()
  return { ids, entries, documents, counters }
}

async function expectWhole(folder: string): Promise<void> {
  using journal = openStill(join(folder, "journal.db"))
  const reader: JournalReader = readerOf(journalReads(journal))
  for (const workspace of workspaces) assert.ok((await expectChain(reader, workspace)).size > 0)
}
