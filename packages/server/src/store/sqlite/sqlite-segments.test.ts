import assert from "node:assert/strict"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { defaultLimits } from "../../limits.ts"
import { contentContract } from "../contract/content-contract.ts"
import { segmentsContract, type OpenedFiling } from "../contract/segments-contract.ts"
import { write } from "../contract/written-entries.ts"
import { expectChain } from "../expect-chain.ts"
import { createSegmentBuilder } from "../search/segment-builder.ts"
import { packSegment } from "../search/segment-format.ts"
import { openSqlite, openSqliteFiling } from "./open-sqlite.ts"

const folders = new Set<string>()
/** A store that a failed test left open would keep this process alive. */
const opened = new Set<OpenedFiling>()

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  folders.add(folder)
  return folder
}

async function openFolder(folder: string): Promise<OpenedFiling> {
  const served = await openSqlite(
    { data: folder, limits: { ...defaultLimits, diskReserveBytes: 0 } },
    (cause) => assert.fail(cause),
  )
  const filing = openSqliteFiling(folder)
  const store: OpenedFiling = {
    served,
    filing,
    async close() {
      opened.delete(store)
      await filing.close()
      await served.close()
    },
    async reopen() {
      await store.close()
      return openFolder(folder)
    },
  }
  opened.add(store)
  return store
}

test.afterEach(async () => {
  for (const store of opened) await store.close()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
})

for (const contract of [segmentsContract, contentContract])
  contract("sqlite", () => openFolder(freshFolder()))

const small = { level: 0, k: 0 }
const entries = 256

/** A folder with as many entries as a small segment has, and that segment. */
async function filledFolder(lastName = "last"): Promise<string> {
  const folder = freshFolder()
  const { served, filing, close } = await openFolder(folder)
  await write(served, "acme", [
    ...Array.from({ length: entries - 1 }, (_, at) => `e${at}`),
    lastName,
  ])
  const builder = createSegmentBuilder(1, entries)
  for (const entry of await filing.journal.after("acme", 0, entries)) builder.add(entry)
  await filing.segments.put("acme", small, packSegment(builder.finish()), [])
  await close()
  return folder
}

/** The number of segments after a start. All entries must be found in any case. */
async function segmentsAfterStart(folder: string, written = entries): Promise<number> {
  const { served, filing, close } = await openFolder(folder)
  const { length } = await filing.segments.list("acme")
  const hits = await served.search.find("acme", { system: "with" }, 1e9, 10)
  assert.equal(hits?.total, written)
  await expectChain(served.journal, "acme")
  await close()
  return length
}

test("a start keeps the search file if it belongs to the journal, and otherwise replaces it", async () => {
  const folder = await filledFolder()
  assert.equal(await segmentsAfterStart(folder), 1)
  const shorter = freshFolder()
  const store = await openFolder(shorter)
  await write(store.served, "acme", ["e0", "e1"])
  await store.close()
  const other = await filledFolder("another")
  for (const [from, written] of [
    [shorter, 2],
    [other, entries],
  ] as const) {
    for (const end of ["", "-wal", "-shm"]) rmSync(join(from, `search.db${end}`), { force: true })
    cpSync(join(folder, "search.db"), join(from, "search.db"))
    assert.equal(await segmentsAfterStart(from, written), 0)
  }
  for (const damage of ["no database ".repeat(1000), ""]) {
    writeFileSync(join(folder, "search.db"), damage)
    assert.equal(await segmentsAfterStart(folder), 0)
  }
})

test("a search file of a former layout is replaced", async () => {
  const folder = await filledFolder()
  rmSync(join(folder, "search.db"))
  {
    using former = new DatabaseSync(join(folder, "search.db"))
    former.exec("CREATE TABLE filed (place INTEGER PRIMARY KEY); PRAGMA user_version = 2")
  }
  assert.equal(await segmentsAfterStart(folder), 0)
  using search = new DatabaseSync(join(folder, "search.db"), { readOnly: true })
  assert.equal(search.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'filed'").get(), undefined)
})

test("segments of a former layout have another form, and are made again", async () => {
  const folder = await filledFolder()
  {
    using former = new DatabaseSync(join(folder, "search.db"))
    former.exec("PRAGMA user_version = 6")
  }
  assert.equal(await segmentsAfterStart(folder), 0)
})

test("former content of segments is in no file once the log is cleared, even that of an older version", async () => {
  const folder = await filledFolder()
  const had = "what was found by once"
  const path = join(folder, "search.db")
  const found = () =>
    readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(had))
  {
    using search = new DatabaseSync(path)
    search.exec(`PRAGMA secure_delete = OFF; PRAGMA user_version = 6;
      PRAGMA wal_autocheckpoint = 0;`)
    const part = search.prepare("INSERT INTO parts VALUES (9, 0, 0, 0, ?)")
    part.run(Buffer.alloc(2e6, had))
    search.exec("DELETE FROM parts WHERE workspace = 9")
  }
  assert.deepEqual(found(), ["search.db"], "an older version leaves it in free pages")
  const store = await openFolder(folder)
  const { segments } = store.filing
  assert.equal(await segments.clearLog(), true)
  assert.deepEqual(found(), [])
  const header = Buffer.alloc(40, "h")
  await segments.put("acme", small, [header, Buffer.alloc(300_000, had)], [])
  assert.ok(found().length > 0)
  await segments.put("acme", small, [header, Buffer.alloc(300_000, "something else")], [])
  assert.ok(found().length > 0, "the log has former pages")
  assert.equal(await segments.clearLog(), true)
  assert.deepEqual(found(), [])
  await store.close()
  assert.deepEqual(found(), [])
})

test("a segment with entries that the journal lacks is dropped", async () => {
  const { served, filing } = await openFolder(freshFolder())
  await write(served, "acme", ["a", "b"])
  const builder = createSegmentBuilder(1, 2)
  builder.addMissing(2)
  await assert.rejects(
    filing.segments.put("acme", small, packSegment(builder.finish()), []),
    /the journal has the last entry/,
  )
  assert.deepEqual(await filing.segments.list("acme"), [])
  await expectChain(served.journal, "acme")
})

test("a segment whose last entry is missing in the journal survives a start", async () => {
  const folder = freshFolder()
  const { served, close } = await openFolder(folder)
  await write(
    served,
    "acme",
    Array.from({ length: entries + 1 }, (_, at) => `e${at}`),
  )
  await expectChain(served.journal, "acme")
  await close()
  {
    using journal = new DatabaseSync(join(folder, "journal.db"))
    journal.exec("DROP TRIGGER entries_are_not_removed")
    journal.exec(`DELETE FROM entries WHERE sequence = ${entries}`)
  }
  for (const start of [1, 2]) {
    const { filing, close: end } = await openFolder(folder)
    if (start === 1) {
      const builder = createSegmentBuilder(1, entries)
      for (const entry of await filing.journal.after("acme", 0, entries - 1)) builder.add(entry)
      builder.addMissing(entries)
      await filing.segments.put("acme", small, packSegment(builder.finish()), [])
    }
    assert.equal((await filing.segments.list("acme")).length, 1, `start ${start}`)
    await end()
  }
})

test("a segment that is listed under another name is reported as damaged, and never answers for it", async () => {
  const folder = await filledFolder()
  {
    const { served, filing, close } = await openFolder(folder)
    await write(
      served,
      "acme",
      Array.from({ length: entries }, (_, at) => `later ${at}`),
    )
    const builder = createSegmentBuilder(entries + 1, entries)
    for (const entry of await filing.journal.after("acme", entries, entries)) builder.add(entry)
    await filing.segments.put("acme", { level: 0, k: 1 }, packSegment(builder.finish()), [])
    await expectChain(served.journal, "acme")
    await close()
  }
  {
    using search = new DatabaseSync(join(folder, "search.db"))
    search.exec("UPDATE segments SET hash = (SELECT hash FROM segments WHERE k = 1)")
  }
  const { served } = await openFolder(folder)
  for (let time = 0; time < 2; time++) {
    const asked = served.search.find("acme", { system: "with", lane: "operations" }, 1e9, 10)
    await assert.rejects(asked, { code: "ledger_unavailable" })
  }
})

test("a damaged part is reported, and hides no entry", async () => {
  const folder = await filledFolder()
  {
    using search = new DatabaseSync(join(folder, "search.db"))
    search.exec("UPDATE parts SET bytes = zeroblob(length(bytes)) WHERE part > 0")
  }
  const { served } = await openFolder(folder)
  const asked = served.search.find("acme", { system: "with", lane: "data" }, 1e9, 10)
  await assert.rejects(asked, { code: "ledger_unavailable" })
})
