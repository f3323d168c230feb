import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import test from "node:test"
import { defaultLimits } from "../../limits.ts"
import { plain, write } from "../contract/written-entries.ts"
import { expectChain } from "../expect-chain.ts"
import { compactJournal } from "./compact-journal.ts"
import { createContentKeeper } from "./content.ts"
import { emptyLog, openForReading, openForWriting } from "./database.ts"
import { movedInJournal, overwritingCopies } from "./moved-rows.ts"
import { openSqlite } from "./open-sqlite.ts"
import { journalReads, readerOf } from "./reads.ts"

// This file is three programs: the tests, and two that kill themselves while they pack or compact.
const [, , role, folderOfRole = "", killedAt = ""] = process.argv
if (role === "pack" || role === "pack without care") await packUntilKilled(folderOfRole, role)
else if (role === "compact") compactUntilKilled(folderOfRole)
else tests()

function tests(): void {
  const cycles = 12
  const entries = 700

  test(`after ${cycles} kills during packing no body is lost`, async (t) => {
    const entries = 1400
    const folder = await filledFolder(t, entries)
    const before = await readAll(folder)
    let [kills, packed] = [0, 0]
    for (let cycle = 1; cycle <= cycles; cycle++) {
      kills += runUntilKilled("pack", folder, 1 + ((cycle * 7) % 24))
      assert.deepEqual(await readAll(folder), before)
      packed = packedIn(folder)
      assert.equal(packed + count(folder, "entries"), entries)
    }
    assert.equal(kills, cycles)
    assert.ok(packed > 0)
    assert.equal(runUntilKilled("pack", folder, Infinity), 0)
    assert.equal(packedIn(folder), 21 * 64)
    assert.deepEqual(await readAll(folder), before)
  })

  test("canary: a packer that deletes before the frame is in loses bodies when it is killed", async (t) => {
    const folder = await filledFolder(t, entries)
    const before = await readAll(folder)
    // After the stretch is in and the rows were deleted, and before the frame is in.
    assert.equal(runUntilKilled("pack without care", folder, 7), 1)
    assert.notDeepEqual(await readAll(folder, false), before)
  })

  const compactions = 8

  test(`after ${compactions} kills, compaction continues where it was and loses nothing`, async (t) => {
    const folder = await filledFolder(t, entries)
    using journal = openForWriting(join(folder, "journal.db"), "journal", "full")
    const content = createContentKeeper(journal)
    for (let after = 0; after < 320; after += 64) await content.pack("acme", after, 320)
    journal.close()
    const before = await readAll(folder)
    const size = statSync(join(folder, "journal.db")).size
    const copies = () => readdirSync(folder).filter((name) => name.includes("compact"))
    for (let cycle = 1; cycle <= compactions; cycle++) {
      assert.equal(runUntilKilled("compact", folder, cycle * 50), 1)
      assert.deepEqual(await readAll(folder), before)
      // Later writes are in the next copy.
      if (cycle === 4) {
        const { served, close } = await openFolder(folder)
        // It would keep what is destroyed from now on.
        assert.deepEqual(copies(), [], "a start removes the copy")
        await write(served, "acme", ["between"])
        await close()
        before.push(...(await readAll(folder)).slice(entries))
      }
    }
    const begun: number[] = []
    compactJournal(folder, (done) => begun.push(done))
    assert.ok((begun[0] ?? 0) > 0, "it goes on")
    assert.deepEqual(await readAll(folder), before)
    assert.ok(statSync(join(folder, "journal.db")).size < size)
    assert.deepEqual(copies(), [])
    const { served, close } = await openFolder(folder)
    await write(served, "acme", ["after"])
    assert.equal((await expectChain(served.journal, "acme")).size, entries + 2)
    await close()
  })

  test("once the log is empty, a power cut cannot bring destroyed content back", async (t) => {
    const folder = await filledFolder(t, 200)
    const path = join(folder, "journal.db")
    using journal = openForWriting(path, "journal", "normal")
    const content = createContentKeeper(journal)
    for (let after = 0; after < 128; after += 64) await content.pack("acme", after, 128)
    assert.equal(await content.clearLog(), true)
    assert.equal(await content.destroyBodies("acme", [{ first: 60, last: 150 }]), 150)
    const rest = mkdtempSync(join(tmpdir(), "tallystick-"))
    t.after(() => rmSync(rest, { recursive: true }))
    /** The number of bodies in the file without its log, because a power cut may lose the log. */
    const left = async (): Promise<number> => {
      copyFileSync(path, join(rest, "journal.db"))
      using file = openForReading(join(rest, "journal.db"))
      const entries = await readerOf(journalReads(file)).after("acme", 0, 1000)
      return entries.filter(({ body }) => body !== undefined).length
    }
    assert.equal(await left(), 200, "before that it may")
    assert.equal(await content.clearLog(), true)
    assert.equal(await left(), 200 - 91)
  })

  test("destroyed content is in no unused part of the file, where SQLite left it when it moved rows", async (t) => {
    const folder = await filledFolder(t, 0)
    const { served, close } = await openFolder(folder)
    t.after(close)
    const places = Array.from({ length: 300 }, (_, place) => place)
    for (const place of places) {
      await write(served, "acme", [`first ${place}`, `second ${place}`])
      await write(served, "kept", [`third ${place}`])
    }
    const path = join(folder, "journal.db")
    using journal = openForWriting(path, "journal", "normal")
    const content = createContentKeeper(journal)
    const texts = () => readFileSync(path, "latin1").split('"workspaceId":"kept"').length - 1
    assert.equal(emptyLog(journal, 0), true)
    assert.equal(texts(), 300)
    for (let after = 0; after < 576; after += 64) await content.pack("acme", after, 600)
    const last = { first: 1, last: 300 }
    for (let from = 1; from <= 300;)
      from = 1 + (await content.destroyBodies("kept", [{ ...last, first: from }]))
    assert.equal(emptyLog(journal, 0), true)
    assert.ok(texts() > 0, "canary: SQLite left some")
    for (let calls = 0; !(await content.overwriteCopies()); calls++) assert.ok(calls < 100)
    assert.equal(texts(), 0)
    assert.equal(journal.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok")
    assert.equal((await expectChain(served.journal, "acme")).size, 600)
    const emptied = await served.journal.after("kept", 0, 1000)
    assert.equal(emptied.filter(({ body }) => body === undefined).length, 300)
  })

  test("copies of moved frames and documents are overwritten, and the rows stay as they are", async (t) => {
    const folder = await filledFolder(t, 1)
    const path = join(folder, "journal.db")
    using journal = openForWriting(path, "journal", "normal")
    const filler = (place: number) => `text of ${place % 3} `.repeat(60 + ((place * 37) % 80))
    const frame = journal.prepare(
      "INSERT INTO frames (workspace, first, part, count, bytes) VALUES (9, ?, 0, 64, ?)",
    )
    const document = journal.prepare(
      "INSERT INTO documents (kind, workspace, id, version, value) VALUES ('x', 'x', ?, 1, ?)",
    )
    for (let place = 0; place < 3000; place++) {
      frame.run(64 * place, Buffer.from(filler(place)))
      document.run(`${place}`, filler(place))
    }
    const overwritten = overwritingCopies(journal, movedInJournal)
    for (const table of ["frames", "documents"]) {
      const rows = () => journal.prepare(`SELECT * FROM ${table} ORDER BY rowid`).all()
      // One by one, as they are destroyed. Those of 0 are moved by it.
      for (const gone of [1, 2, 0])
        for (let place = gone === 0 ? 1500 : 0; place < 3000; place++)
          if (place % 3 === gone)
            journal.exec(
              table === "frames"
                ? `DELETE FROM frames WHERE workspace = 9 AND first = ${64 * place}`
                : `DELETE FROM documents WHERE kind = 'x' AND id = '${place}'`,
            )
      const kept = rows()
      assert.equal(emptyLog(journal, 0), true)
      const texts = () => readFileSync(path, "latin1").split("text of 0 ").length - 1
      const inRows = () =>
        ["CAST(bytes AS TEXT) AS text FROM frames", "value AS text FROM documents"]
          .flatMap((from) => journal.prepare(`SELECT ${from}`).all())
          .reduce((sum, { text }) => sum + String(text).split("text of 0 ").length - 1, 0)
      assert.ok(texts() > inRows(), `canary: SQLite left some of ${table}`)
      for (let calls = 0; !overwritten(); calls++) assert.ok(calls < 100)
      assert.equal(texts(), inRows())
      assert.deepEqual(rows(), kept)
    }
    assert.equal(journal.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok")
    assert.equal((await readAll(folder)).length, 1)
  })

  test("a forged count of entries breaks neither reads nor a start", async (t) => {
    const folder = await filledFolder(t, 130)
    using journal = openForWriting(join(folder, "journal.db"), "journal", "normal")
    const content = createContentKeeper(journal)
    for (let after = 0; after < 128; after += 64) await content.pack("acme", after, 128)
    journal.exec("DROP TRIGGER places_are_not_changed; DROP TRIGGER places_are_not_removed")
    for (const [count, removed] of [
      [2 ** 52, 0],
      [0, 0],
      [-1000, 1],
    ] as const) {
      journal.exec(`UPDATE places SET count = ${count} WHERE n = 65`)
      journal.exec(`DELETE FROM places WHERE n = ${removed}`)
      const places = [...journalReads(journal).places(0, 1000)]
      const found = places.map(({ n }) => n)
      assert.deepEqual(found, [...new Set(found)], "each once")
      assert.ok(found.includes(130), "up to the last")
    }
  })
}

/** Runs the other program until it is done. Returns how often it has killed itself. */
function runUntilKilled(what: string, folder: string, at: number): number {
  const { signal, status, stderr } = spawnSync(
    process.execPath,
    [import.meta.filename, what, folder, String(at)],
    { encoding: "utf8" },
  )
  assert.ok(signal === "SIGKILL" || status === 0, stderr)
  return signal === "SIGKILL" ? 1 : 0
}

async function packUntilKilled(folder: string, how: string): Promise<void> {
  const journal = openForWriting(join(folder, "journal.db"), "journal", "normal")
  const content = createContentKeeper(killing(journal, Number(killedAt), how === "pack"))
  for (let after = 0; ;) {
    const packed = await content.pack("acme", after, Number.MAX_SAFE_INTEGER)
    if (packed === undefined) return
    after = packed.last
  }
}

function compactUntilKilled(folder: string): void {
  compactJournal(
    folder,
    (done) => {
      if (done >= Number(killedAt)) process.kill(process.pid, "SIGKILL")
    },
    20,
  )
}

/**
 * A database that kills its process before the statement with this number. If it is not careful, it
 * commits each statement separately, and the frame last.
 */
function killing(journal: DatabaseSync, at: number, isCareful: boolean): DatabaseSync {
  let ran = 0
  const late: (() => void)[] = []
  const act = <T>(run: () => T): T => {
    if (++ran >= at) process.kill(process.pid, "SIGKILL")
    return run()
  }
  const statement = (it: StatementSync, sql: string): StatementSync =>
    new Proxy(it, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== "function") return value
        if (name !== "run") return value.bind(target)
        return (...values: unknown[]) => {
          const run = () => value.apply(target, values)
          if (isCareful || !sql.startsWith("INSERT INTO frames")) return act(run)
          late.push(run)
          return undefined
        }
      },
    })
  return new Proxy(journal, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => statement(target.prepare(sql), sql)
      if (name === "exec")
        return (sql: string) => {
          if (isCareful) return act(() => target.exec(sql))
          if (sql === "COMMIT") for (const run of late.splice(0)) act(run)
        }
      const value: unknown = Reflect.get(target, name)
      return typeof value === "function" ? value.bind(target) : value
    },
  })
}

async function openFolder(folder: string) {
  const limits = { ...defaultLimits, diskReserveBytes: 0 }
  const served = await openSqlite({ data: folder, limits }, (cause) => assert.fail(cause))
  return { served, close: () => served.close() }
}

async function filledFolder(t: test.TestContext, count: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { served, close } = await openFolder(folder)
  await write(
    served,
    "acme",
    Array.from({ length: count }, (_, place) => `entry ${place + 1}`),
  )
  await close()
  assert.ok(existsSync(join(folder, "journal.db")))
  return folder
}

function count(folder: string, table: string): number {
  return valueOf(folder, `SELECT count(*) AS value FROM ${table}`)
}

function packedIn(folder: string): number {
  return valueOf(folder, "SELECT total(count) AS value FROM stretches WHERE part = 0")
}

function valueOf(folder: string, statement: string): number {
  using journal = openForReading(join(folder, "journal.db"))
  return Number(journal.prepare(statement).get()?.["value"])
}

/** All entries. Fails unless they form a chain. */
async function readAll(folder: string, isWhole = true): Promise<unknown[]> {
  using journal = openForReading(join(folder, "journal.db"))
  const reader = readerOf(journalReads(journal))
  if (isWhole) await expectChain(reader, "acme")
  return (await reader.after("acme", 0, 10_000)).map(plain)
}
