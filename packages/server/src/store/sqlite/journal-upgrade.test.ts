import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { cpSync, existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { StartError } from "../../error.ts"
import { entriesAfter, genesisOf, plain } from "../contract/written-entries.ts"
import { expectChain } from "../expect-chain.ts"
import type { JournalReader } from "../store.ts"
import { createContentKeeper } from "./content.ts"
import { openStill } from "./copy.ts"
import { openForWriting } from "./database.ts"
import { readFormerJournal, upgradeJournal } from "./journal-upgrade.ts"
import { packReceipt } from "./packed-text.ts"
import { journalReads, readerOf } from "./reads.ts"
import { lockFolder } from "./lock.ts"
import { openSqliteWhole } from "./whole-ledger.ts"
import { dropTriggers } from "../../../../../test/triggers.ts"

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

  test("a journal without frames can be read, and is upgraded in place", async (t) => {
    const folder = folderOf(t)
    upgradeJournal(folder)
    const path = join(folder, "journal.db")
    {
      // In the layout before frames, with the same rows.
      using journal = new DatabaseSync(path)
      for (const table of ["stretches", "disclosures", "places", "frames"])
        journal.exec(`DROP TABLE ${table}`)
      bringBack(journal, folder, 4)
    }
    const before = await readAll(folder)
    assert.ok(before.entries.length > 120)
    assert.equal(layout(folder), 4)
    openForWriting(path, "journal", "full").close()
    assert.equal(layout(folder), 7)
    assert.deepEqual(await readAll(folder), before)
    const whole = openSqliteWhole(folder, { alone: true })
    assert.deepEqual(await whole.strays("journal"), [])
    await whole.close()
    await expectWhole(folder)
  })

  test("rows of packed entries move into stretches unchanged, also after a killed start", async (t) => {
    const folder = await packedFolder(t)
    const { entries: before } = await readAll(folder)
    assert.equal(before.length, 310)
    const whole = openSqliteWhole(folder, { alone: true })
    assert.deepEqual(await whole.strays("journal"), [], "what reads the former layout")
    await whole.close()
    let kills = 0
    for (let reached = 0; reached < 256; kills++) {
      const { signal, stderr } = spawnSync(
        process.execPath,
        [import.meta.filename, "upgrade and be killed", folder, "50"],
        { encoding: "utf8" },
      )
      assert.equal(signal, "SIGKILL", stderr)
      assert.equal(layout(folder), 6)
      const moved = packedIn(folder)
      assert.ok(moved > reached, "it goes on")
      reached = moved
      assert.deepEqual((await readAll(folder)).entries, before)
    }
    assert.ok(kills > 3)
    const said: number[] = []
    upgradeJournal(folder, (done) => said.push(done))
    assert.ok(said.length > 0)
    assert.equal(layout(folder), 7)
    assert.deepEqual((await readAll(folder)).entries, before)
    const checked = openSqliteWhole(folder, { alone: true })
    assert.deepEqual(await checked.strays("journal"), [])
    await checked.close()
    assert.deepEqual(left(folder), [])
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

/** Rows and rules of an older layout, in a file whose rows of entries have its form. */
function bringBack(journal: DatabaseSync, folder: string, to: number): void {
  using before = openForWriting(join(folder, "before.db"), "journal", "full", to)
  dropTriggers(journal)
  const known = journal.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?")
  const made = before
    .prepare(
      "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type = 'trigger'",
    )
    .all()
  for (const { name, sql } of made)
    if (known.get(String(name)) === undefined) journal.exec(String(sql))
  journal.exec(`PRAGMA user_version = ${to}`)
}

/** In the layout with rows of packed entries: 256 of them in frames, some of other forms. */
async function packedFolder(t: test.TestContext): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, "journal.db")
  using journal = openForWriting(path, "journal", "full")
  fill(journal)
  const rows = journal.prepare("SELECT * FROM entries WHERE n <= 256").all()
  const content = createContentKeeper(journal)
  for (let after = 0; after < 256; after += 64) await content.pack("acme", after, 256)
  const tables = ["stretches", "disclosures", "places"]
  dropTriggers(journal)
  for (const table of tables) journal.exec(`DROP TABLE ${table}`)
  bringBack(journal, folder, 5)
  const settle = journal.prepare("INSERT INTO settled VALUES (?, ?, ?, ?, ?, ?, ?)")
  for (const { n, workspace, sequence, receipt, idem, record, sealed } of rows)
    settle.run(
      n ?? null,
      workspace ?? null,
      sequence ?? null,
      receipt ?? null,
      idem ?? null,
      record ?? null,
      sealed ?? null,
    )
  // The bodies of some are in the archive.
  journal.exec("DELETE FROM frames WHERE first = 65")
  return folder
}

/** Entries of one workspace, one after another; of each third one receipt and key are texts. */
function fill(journal: DatabaseSync): void {
  journal.exec("INSERT INTO workspaces VALUES (1, 'acme')")
  const add = journal.prepare("INSERT INTO entries VALUES (?, 1, ?, ?, ?, ?, ?, ?)")
  const { entries } = entriesAfter("acme", genesisOf("acme"), namesUpTo(310))
  for (const [place, { receipt, record, body, bodySalt }] of entries.entries()) {
    const n = place + 1
    const packed = n % 3 > 0
    add.run(
      n,
      n,
      packed ? Uint8Array.from(Buffer.from(packReceipt(Buffer.from(receipt)))) : `text ${n}`,
      n % 5 === 0 ? null : packed ? randomBytes(16) : `key ${n}`,
      record,
      n % 4 === 0 ? null : n % 4 === 1 ? "no base64!" : Buffer.from(`["salt ${n}","name"]`),
      Buffer.concat([bodySalt, body]),
    )
  }
}

function namesUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, place) => `entry ${place + 1}`)
}

function packedIn(folder: string): number {
  using journal = new DatabaseSync(join(folder, "journal.db"))
  return Number(
    journal.prepare("SELECT total(count) AS count FROM stretches WHERE part = 0").get()?.["count"],
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
