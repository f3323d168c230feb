import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { constants, DatabaseSync } from "node:sqlite"
import test from "node:test"
import { recordBytes } from "@tallystick/proof"
import { LedgerError } from "../../error.ts"
import { defaultLimits } from "../../limits.ts"
import { indexContract } from "../contract/index-contract.ts"
import { journalContract } from "../contract/journal-contract.ts"
import { registryContract } from "../contract/registry-contract.ts"
import type { OpenedStore } from "../contract/stories.ts"
import {
  entriesAfter,
  genesisOf,
  project,
  receiptNamed,
  usedOf,
  write,
} from "../contract/written-entries.ts"
import { expectChain } from "../expect-chain.ts"
import { openForReading, openForWriting } from "./database.ts"
import { openSqlite, openSqliteWatched } from "./open-sqlite.ts"
import { bucketOf, runEntries } from "./key-runs.ts"
import { documentReads, journalReads } from "./reads.ts"
import { openSqliteWhole } from "./whole-ledger.ts"

/** Open stores and folders, to be cleaned up after each test. */
const openStores = new Set<OpenedStore>()
const folders = new Set<string>()

// This file is two programs: the tests, and the one that a test kills, which appends until it is
// killed.
const [, , role, folderOfRole = ""] = process.argv
if (role === "append for ever") await appendForEver(folderOfRole)
else tests()

async function openFolder(folder: string, reserveBytes = 0): Promise<OpenedStore> {
  const served = await openSqlite(
    { data: folder, limits: { ...defaultLimits, diskReserveBytes: reserveBytes } },
    (cause) => assert.fail(cause),
  )
  const watched = openSqliteWatched(folder)
  const store: OpenedStore = {
    served,
    watched,
    async reopen() {
      await store.close()
      return openFolder(folder, reserveBytes)
    },
    async close() {
      if (!openStores.delete(store)) return
      await watched.close()
      await served.close()
    },
  }
  openStores.add(store)
  return store
}

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  folders.add(folder)
  return folder
}

function tests(): void {
  test.afterEach(async () => {
    for (const store of openStores) await store.close()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    folders.clear()
  })

  for (const contract of [journalContract, registryContract, indexContract])
    contract("sqlite", () => openFolder(freshFolder()))

  test("large entries are read a few at a time, and all of them", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder)
    await write(store.served, "acme", ["a", "b", "c"])
    // Not the hashed body, but one as large as in a batch. Nothing here checks hashes.
    alter(folder, "journal.db", "DROP TRIGGER entries_are_not_changed")
    alter(folder, "journal.db", "UPDATE entries SET salted = zeroblob(5000016)")
    const { journal } = store.served
    assert.deepEqual(
      (await journal.after("acme", 0, 1000)).map(({ sequence }) => sequence),
      [1, 2],
    )
    assert.deepEqual(
      (await journal.after("acme", 2, 1000)).map(({ sequence }) => sequence),
      [3],
    )
    assert.deepEqual(await journal.after("acme", 3, 1000), [])
  })

  test("a start that cannot read the last entries fails, and leaves no thread and no lock behind", async () => {
    const folder = freshFolder()
    await (await openFolder(folder)).close()
    fill(folder, 500, 1)
    const pageBytes = 16_384
    const page = firstPageOfEntries(folder)
    const file = openSync(join(folder, "journal.db"), "r+")
    writeSync(file, Buffer.alloc(pageBytes, 0xff), 0, pageBytes, (page - 1) * pageBytes)
    closeSync(file)
    const before = threadsOf()
    for (let time = 0; time < 2; time++)
      await assert.rejects(openFolder(folder), /database disk image is malformed/)
    assert.equal(threadsOf(), before)
  })

  test("an incomplete run is not put into the index, and the key of its missing entry is known after a restart", async () => {
    const folder = freshFolder()
    await (await openFolder(folder)).close()
    fill(folder, runEntries - 1, 1)
    let store = await openFolder(folder)
    await write(store.served, "acme", ["last"])
    await store.close()
    store = await openFolder(folder)
    assert.deepEqual(await usedOf(store.served, "acme", ["last"]), [["last", 1]])
    assert.equal((await store.served.journal.byReceipt("acme", receiptNamed("last")))?.sequence, 1)
    await write(store.served, "acme", ["next"])
    await store.close()
    store = await openFolder(folder)
    assert.deepEqual(await usedOf(store.served, "acme", ["last", "next", "new"]), [
      ["last", 1],
      ["next", 2],
    ])
    await expectChain(store.served.journal, "acme")
  })

  test("every key and receipt is found exactly, before, during and after runs move into the index", async () => {
    const folder = freshFolder()
    let store = await openFolder(folder)
    // The first receipt of its bucket. A text that only begins like a receipt must not match it.
    const beginning = "rcp_ZZZZZZZZZZZZZZZZ"
    const ends = Array.from(
      { length: 10_000 },
      (_, at) => `${beginning}0000${String(at).padStart(16, "0")}`,
    )
    const x = ends.find((receipt) => bucketOf(receipt) === bucketOf(beginning)) ?? ""
    await write(store.served, "acme", [x])
    await store.close()
    // Almost two runs of entries with only a key and a receipt, and then real ones beyond the end
    // of the run.
    const fillers = 2 * runEntries - 150
    fill(folder, fillers, 2)
    store = await openFolder(folder)
    const names = Array.from({ length: 300 }, (_, place) => `e${place}`)
    await write(store.served, "acme", names)

    // Around the edge of the first run, and some between.
    const sample = Array.from({ length: fillers }, (_, at) => at + 1).filter(
      (value) => value % 2999 === 0 || Math.abs(value - runEntries) < 4,
    )
    const expectExact = async (when: string) => {
      assert.equal((await store.served.journal.byReceipt("acme", x))?.sequence, 1)
      assert.equal(await store.served.journal.byReceipt("acme", beginning), undefined, when)
      assert.deepEqual(
        await usedOf(store.served, "acme", [x, "new", ...names]),
        [[x, 1], ...names.map((name, place): [string, number] => [name, place + 2])],
        when,
      )
      const { entries } = entriesAfter("filler", genesisOf("filler"), [
        "new",
        ...sample.map(String),
      ])
      const keyed = entries.map((entry, place) =>
        place === 0 ? entry : { ...entry, idem: sample[place - 1]?.toString(16).padStart(22, "0") },
      )
      const outcome = await store.served.journal.append({
        workspace: "filler",
        from: genesisOf("filler"),
        entries: keyed,
      })
      assert.ok(outcome.kind === "used", when)
      const found = outcome.keys
        .toSorted((a, b) => a.place - b.place)
        .map(({ sequence }) => sequence)
      assert.deepEqual(found, sample, when)
      assert.deepEqual(await usedOf(store.served, "other", names), [], when)
      for (const value of sample) {
        const receipt = `rcp_${value.toString(16).toUpperCase().padStart(36, "0")}`
        assert.equal(
          (await store.served.journal.byReceipt("filler", receipt))?.sequence,
          value,
          when,
        )
        assert.equal(await store.served.journal.byReceipt("acme", receipt), undefined, when)
      }
      for (const [place, name] of names.entries()) {
        if (place % 10 === 0)
          assert.equal(
            (await store.served.journal.byReceipt("acme", receiptNamed(name)))?.sequence,
            place + 2,
            when,
          )
      }
    }
    const runs = () => {
      using index = new DatabaseSync(join(folder, "index.db"), { readOnly: true })
      return index.prepare("SELECT count(*) AS runs FROM runs").get()?.["runs"]
    }
    assert.equal(runs(), 1)
    await expectExact("one run in the index, one in memory")

    // A conflicting row blocks the second run, and is then removed: the transaction is rolled back,
    // and memory answers meanwhile.
    alter(folder, "index.db", "INSERT INTO buckets VALUES (1, 200, '', '')")
    const grow = (from: number) =>
      store.watched.index.growTree("acme", 1, from, { size: from + 1, hashes: [] }, [])
    await assert.rejects(grow(0), /UNIQUE/)
    await expectExact("a run that could not be put into the index")
    alter(folder, "index.db", "DELETE FROM buckets WHERE run = 1")
    await grow(1)
    assert.equal(runs(), 2)
    await expectExact("both in the index, one still in memory")
    await write(store.served, "acme", ["settles the run"])
    await expectExact("both in the index")

    store = (await store.reopen?.()) ?? store
    await expectExact("opened again")
    await store.close()
    for (const file of ["index.db", "index.db-wal", "index.db-shm"])
      rmSync(join(folder, file), { force: true })
    store = await openFolder(folder)
    assert.equal(runs(), 2)
    assert.equal(await store.served.index.tree("acme", 1), undefined)
    await expectExact("made again")
    assert.equal((await expectChain(store.served.journal, "acme")).size, 302)
  })

  test("a journal that ends with a complete run opens with all its entries", async () => {
    const folder = freshFolder()
    let store = await openFolder(folder)
    await write(store.served, "acme", ["a"])
    await store.close()
    alter(folder, "journal.db", `INSERT INTO workspaces (number, id) VALUES (7, 'filler')`)
    alter(
      folder,
      "journal.db",
      `WITH RECURSIVE counted (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM counted WHERE value < ${runEntries - 1})
       INSERT INTO entries (n, workspace, sequence, record, receipt, idem)
       SELECT value + 1, 7, value, zeroblob(118), printf('rcp_%036X', value), NULL FROM counted`,
    )
    store = await openFolder(folder)
    await write(store.served, "acme", ["b"])
    assert.deepEqual(await usedOf(store.served, "acme", ["a", "b", "c"]), [
      ["a", 1],
      ["b", 2],
    ])
    store = (await store.reopen?.()) ?? store
    assert.deepEqual(await usedOf(store.served, "acme", ["a", "b", "c"]), [
      ["a", 1],
      ["b", 2],
    ])
    assert.equal((await expectChain(store.served.journal, "acme")).size, 2)
  })

  test("an index that is newer than its journal is refused", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder)
    await write(store.served, "acme", ["a"])
    await store.close()
    alter(
      folder,
      "index.db",
      "INSERT INTO runs (run, lowest_receipt, highest_receipt, filter) VALUES (0, 'a', 'b', x'00')",
    )
    await assert.rejects(
      openFolder(folder),
      /index\.db .* is of a later journal than journal\.db; remove it, and it is made again/,
    )
  })

  test("acknowledged entries survive kill -9, once each, in an intact chain", async () => {
    const folder = freshFolder()
    let acknowledged = 0
    for (const kills of [1, 2, 3]) {
      const child = spawn(process.execPath, [import.meta.filename, "append for ever", folder], {
        stdio: ["ignore", "pipe", "inherit"],
      })
      // The child is killed during a commit, because it continues while its output is read.
      const enough = acknowledged + 10 * kills
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged = Math.max(acknowledged, Number(line))
        if (acknowledged >= enough) child.kill("SIGKILL")
      }
      const [, signal] =
        child.exitCode === null && child.signalCode === null
          ? await once(child, "exit")
          : [null, child.signalCode]
      assert.equal(signal, "SIGKILL")

      const store = await openFolder(folder)
      const { size } = await expectChain(store.served.journal, "acme")
      assert.ok(
        size >= acknowledged && acknowledged >= enough,
        `${acknowledged} were acknowledged, ${size} are there`,
      )
      const names = Array.from({ length: size }, (_, place) => `e${place}`)
      assert.deepEqual(
        await usedOf(store.served, "acme", ["new", ...names]),
        names.map((name, place) => [name, place + 1]),
      )
      const counter = await store.served.registry.get("project", "acme", "counter")
      assert.equal(
        counter?.value.name,
        `${size}`,
        "the document that each commit changes is that of the last commit",
      )
      await store.close()
    }
  })

  test("an error in the writer thread rejects the append and stores nothing, and the next one is exact", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder)
    const head = await write(store.served, "acme", ["a"], [project("p", 0, "before")])
    // Where `c` is to be, in the middle of its group.
    const fault =
      "CREATE TRIGGER fault BEFORE INSERT ON entries WHEN new.sequence = 3 BEGIN SELECT raise(ABORT, 'a fault'); END"
    alter(folder, "journal.db", fault)
    const group = (workspace: string, from = genesisOf(workspace), names = [workspace]) => ({
      workspace,
      from,
      entries: entriesAfter(workspace, from, names).entries,
      changes: [project("p", workspace === "acme" ? 1 : 0, "after")],
    })
    const groups = [group("before"), group("acme", head, ["b", "c", "d"]), group("behind")]
    const appendAll = () =>
      Promise.allSettled(groups.map((one) => store.served.journal.append(one)))
    for (const _ of [1, 2])
      for (const one of await appendAll())
        assert.ok(one.status === "rejected" && /a fault/.test(String(one.reason)))
    for (const workspace of ["before", "behind"])
      assert.equal(await store.served.journal.head(workspace), undefined)
    assert.equal((await expectChain(store.served.journal, "acme")).size, 1)
    assert.deepEqual(await usedOf(store.served, "acme", ["a", "b", "c", "d"]), [["a", 1]])
    assert.equal((await store.served.registry.get("project", "acme", "p"))?.value.name, "before")

    alter(folder, "journal.db", "DROP TRIGGER fault")
    for (const one of await appendAll())
      assert.ok(one.status === "fulfilled" && one.value.kind === "done")
    for (const workspace of ["before", "acme", "behind"])
      await expectChain(store.served.journal, workspace)
    assert.equal((await store.served.registry.get("project", "acme", "p"))?.value.name, "after")
  })

  test("a writer that cannot reopen its file retries, and recovers with the file", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder)
    await write(store.served, "acme", ["a"])
    alter(
      folder,
      "journal.db",
      "CREATE TRIGGER fault BEFORE INSERT ON entries BEGIN SELECT raise(ABORT, 'a fault'); END; PRAGMA user_version = 99",
    )
    await assert.rejects(write(store.served, "acme", ["b"]), /a fault/)
    for (const _ of [1, 2])
      await assert.rejects(write(store.served, "acme", ["b"]), /newer version/)
    alter(folder, "journal.db", "DROP TRIGGER fault; PRAGMA user_version = 7")
    await write(store.served, "acme", ["b"])
    assert.equal((await expectChain(store.served.journal, "acme")).size, 2)
  })

  test("nothing is acknowledged into a journal that was removed or replaced meanwhile", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder)
    await write(store.served, "acme", ["a"])
    const journal = join(folder, "journal.db")
    const aside = `${journal}.aside`
    renameSync(journal, aside)
    await assert.rejects(write(store.served, "acme", ["b"]), /was removed or replaced/)
    // Such as a backup that is put in place.
    cpSync(aside, journal)
    for (const _ of [1, 2])
      await assert.rejects(write(store.served, "acme", ["b"]), /was removed or replaced/)
    renameSync(aside, journal)
    await write(store.served, "acme", ["b"])
    assert.equal((await expectChain(store.served.journal, "acme")).size, 2)
  })

  test("a second process that finds no lock has the folder alone", async () => {
    const folder = freshFolder()
    const first = await openFolder(folder)
    await write(first.served, "acme", ["a"])
    rmSync(join(folder, "lock"))
    await assert.rejects(write(first.served, "acme", ["b"]), /lock in .* was removed or replaced/)
    const second = await openFolder(folder)
    await write(second.served, "acme", ["b"])
    await assert.rejects(write(first.served, "acme", ["c"]), /lock in .* was removed or replaced/)
    assert.equal((await expectChain(second.served.journal, "acme")).size, 2)
  })

  test("a credential is looked up by its id as fast as by its workspace too, however many there are", () => {
    const folder = freshFolder()
    openForWriting(join(folder, "journal.db"), "journal", "full").close()
    alter(
      folder,
      "journal.db",
      `WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
       INSERT INTO documents (kind, workspace, id, version, value, created)
       SELECT 'api-key', 'acme', 'key' || i, 1, '{}', i FROM n`,
    )
    using journal = openForReading(join(folder, "journal.db"))
    const { get, workspaceOf } = documentReads(journal)
    assert.equal(workspaceOf("api-key", "key9999"), "acme")
    const timeOf = (read: (id: string) => unknown): number => {
      const beganMs = performance.now()
      for (let at = 1; at <= 500; at++) read(`other${at}`)
      return performance.now() - beganMs
    }
    const byBoth = timeOf((id) => get("api-key", "acme", id))
    const byId = timeOf((id) => workspaceOf("api-key", id))
    assert.ok(byId < 20 * byBoth, `by its id in ${byId} ms, by its workspace too in ${byBoth} ms`)
  })

  test("other reads do not wait while very many documents are counted", async () => {
    const folder = freshFolder()
    const { registry } = (await openFolder(folder)).served
    alter(
      folder,
      "journal.db",
      `WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
       INSERT INTO documents (kind, workspace, id, version, value, created)
       SELECT 'token', iif(i % 5, 'acme', 'other'), 'token' || i, 1, '{}', i FROM n`,
    )
    const answered: string[] = []
    const counting = registry.count("token", "acme").then((count) => {
      answered.push("counted")
      return count
    })
    const found = await registry.workspaceOf("token", "token7")
    answered.push("read")
    assert.deepEqual([found, await counting], ["acme", 20_000])
    assert.deepEqual(answered, ["read", "counted"])
  })

  test("a full disk causes a refusal before anything is written", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder, Number.MAX_SAFE_INTEGER)
    const full = (error: unknown) => error instanceof LedgerError && error.code === "storage_full"
    await assert.rejects(write(store.served, "acme", ["a"]), full)
    await assert.rejects(store.served.ready(), full)
    assert.equal(await store.served.journal.head("acme"), undefined)
    await store.close()
    const roomy = await openFolder(folder)
    await roomy.served.ready()
    assert.deepEqual(await usedOf(roomy.served, "acme", ["a"]), [])
    await write(roomy.served, "acme", ["a"])
    await expectChain(roomy.served.journal, "acme")
    await roomy.close()
    // Both share a commit.
    const { served } = await openFolder(folder, Number.MAX_SAFE_INTEGER)
    const again = usedOf(served, "acme", ["a"])
    await assert.rejects(usedOf(served, "other", ["b"]), full)
    assert.deepEqual(await again, [["a", 1]], "what was recorded is answered")
  })

  test("only one program can use a data folder, in this process or another, also after a restart", async () => {
    const folder = freshFolder()
    const refused = /another tallystick is using the data folder .*; stop it first/
    // The first program creates the lock file, which stays.
    for (const name of ["a", "b"]) {
      const store = await openFolder(folder)
      await assert.rejects(openFolder(folder), refused)
      const child = spawn(process.execPath, [import.meta.filename, "append for ever", folder], {
        stdio: ["ignore", "ignore", "pipe"],
      })
      let said = ""
      for await (const chunk of child.stderr) said += String(chunk)
      assert.match(said, refused)
      await write(store.served, "acme", [name])
      await store.close()
    }
    const { served } = await openFolder(folder)
    assert.equal((await expectChain(served.journal, "acme")).size, 2)
  })

  test("the journal refuses to change or remove an entry, whoever asks", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder)
    await write(store.served, "acme", ["a"])
    for (const statement of [
      "UPDATE entries SET idem = NULL",
      "DELETE FROM entries",
      "UPDATE entries SET salted = zeroblob(16)",
    ]) {
      assert.throws(() => alter(folder, "journal.db", statement), /is never (changed|removed)/)
    }
    await expectChain(store.served.journal, "acme")
  })

  test("keys and receipts are read from columns of bytes and of text", async () => {
    const folder = freshFolder()
    const names = ["a", "-b", "c", "d"]
    const { served } = await openFolder(folder)
    await write(served, "acme", names)
    const expected = (await served.journal.after("acme", 0, 10)).map(
      ({ workspace, sequence, receipt, idem }, place) => ({
        n: place + 1,
        workspace,
        sequence,
        receipt,
        idem,
      }),
    )
    assert.equal(expected[1]?.idem, undefined)
    using journal = openForReading(join(folder, "journal.db"))
    const keys = (after = 0, limit = 10) => [...journalReads(journal).places(after, limit)]
    assert.deepEqual(keys(), expected)
    assert.deepEqual(keys(1, 2), expected.slice(1, 3))
    assert.equal((await expectChain(served.journal, "acme")).size, names.length)
    alter(folder, "journal.db", "DROP TRIGGER entries_are_not_changed")
    const [, , third, fourth] = expected
    for (const [sequence, change, read] of [
      [4, "receipt = 'rcp_text', idem = 'text'", { ...fourth, receipt: "rcp_text", idem: "text" }],
      [3, "receipt = CAST(receipt || x'00' AS BLOB)", third],
    ] as const) {
      alter(folder, "journal.db", `UPDATE entries SET ${change} WHERE sequence = ${sequence}`)
      assert.deepEqual(keys()[sequence - 1], read)
      assert.deepEqual(keys().slice(0, 2), expected.slice(0, 2))
    }
  })

  test("records are read up to one that is missing or has another length", async () => {
    const folder = freshFolder()
    const { served } = await openFolder(folder)
    await write(served, "acme", ["a", "b", "c", "d", "e"])
    assert.equal((await expectChain(served.journal, "acme")).size, 5)
    const whole = await served.journal.records("acme", 1, 5)
    assert.equal(whole.length, 5 * recordBytes)
    const read = async (first: number, count: number) =>
      Buffer.from(await served.journal.records("acme", first, count)).toString("hex")
    const expected = (first: number, last: number) =>
      Buffer.from(whole).toString("hex", (first - 1) * recordBytes, last * recordBytes)
    alter(
      folder,
      "journal.db",
      `DROP TRIGGER entries_are_not_changed; PRAGMA ignore_check_constraints = on;
       UPDATE entries SET record = CAST(record || x'00' AS BLOB) WHERE sequence = 4;
       UPDATE entries SET record = substr(record, 1, 117) WHERE sequence = 5`,
    )
    assert.equal(await read(1, 5), expected(1, 3), "two that are as long as two records")
    assert.equal(await read(5, 1), "")
    alter(
      folder,
      "journal.db",
      "DROP TRIGGER entries_are_not_removed; DELETE FROM entries WHERE sequence = 2",
    )
    assert.equal(await read(1, 3), expected(1, 1))
    assert.equal(await read(2, 2), "")
    assert.equal(await read(3, 1), expected(3, 3))
  })

  test("a statement is planned once, also with different limits", async () => {
    const folder = freshFolder()
    const { served } = await openFolder(folder)
    await write(served, "acme", ["a", "b", "c"])
    using journal = openForReading(join(folder, "journal.db"))
    const reads = journalReads(journal)
    const read = (limit: number) => [
      reads.after("acme", 0, limit).length,
      reads.linked("acme", 0, limit)[0]?.sequences.length,
      [...reads.places(0, limit)].length,
      reads.records("acme", 1, limit).length / recordBytes,
    ]
    let planned = 0
    // SQLite calls it for each table and column when it plans a statement.
    journal.setAuthorizer(() => {
      planned += 1
      return constants.SQLITE_OK
    })
    read(1)
    assert.notEqual(planned, 0)
    planned = 0
    for (const limit of [1, 2, 3]) assert.deepEqual(read(limit), Array(4).fill(limit))
    assert.equal(planned, 0)
    assert.equal((await expectChain(served.journal, "acme")).size, 3)
  })

  test("body and disclosures of one entry can be overwritten in place, so that nothing of them stays in the file", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder)
    const { entries } = entriesAfter("acme", genesisOf("acme"), ["a", "b", "c", "d", "e"])
    const secrets = entries.map((_, place) => `secret of ${"abcde"[place]} `)
    // The fourth takes many pages.
    const texts = secrets.map((secret, place) => secret.repeat(place === 3 ? 5000 : 5))
    const sealed = entries.map((entry, place) => ({
      ...entry,
      body: Buffer.concat([entry.body, Buffer.from(texts[place] ?? "")]),
      disclosures: Buffer.from(texts[place] ?? "").toString("base64url"),
    }))
    const group = { workspace: "acme", from: genesisOf("acme"), entries: sealed }
    assert.deepEqual(await store.served.journal.append(group), { kind: "done" })
    await store.close()
    const isKept = (secret: string): boolean =>
      ["", "-wal"].some((end) => {
        const path = join(folder, `journal.db${end}`)
        return existsSync(path) && readFileSync(path, "latin1").includes(secret)
      })
    assert.ok(secrets.every(isKept))
    alter(
      folder,
      "journal.db",
      `PRAGMA secure_delete = ON; DROP TRIGGER entries_are_not_changed;
       UPDATE entries SET sealed = zeroblob(length(sealed)), salted = zeroblob(length(salted))
       WHERE sequence IN (2, 4); PRAGMA wal_checkpoint(TRUNCATE)`,
    )
    assert.deepEqual(secrets.map(isKept), [true, false, true, false, true])
  })

  test("a file that does not accept the required settings is refused", () => {
    const folder = freshFolder()
    const journal = openForWriting(join(folder, "journal.db"), "journal", "full")
    const index = openForWriting(join(folder, "index.db"), "index", "normal")
    const setting = (database: DatabaseSync, name: string) =>
      Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
    assert.deepEqual(
      [
        setting(journal, "journal_mode"),
        setting(journal, "synchronous"),
        setting(journal, "busy_timeout"),
      ],
      ["wal", 2, 10_000],
    )
    assert.deepEqual(
      [
        setting(index, "journal_mode"),
        setting(index, "synchronous"),
        setting(index, "busy_timeout"),
      ],
      ["wal", 1, 10_000],
    )
    journal.close()
    index.close()
    // A database in memory cannot have a write-ahead log.
    assert.throws(
      () => openForWriting(":memory:", "journal", "full"),
      /journal must be in WAL mode/,
    )
  })

  test("a file that cannot be looked up is not taken for one that is not there", async () => {
    const folder = freshFolder()
    await (await openFolder(folder)).close()
    rmSync(join(folder, "index.db"))
    symlinkSync("index.db", join(folder, "index.db"))
    assert.throws(() => openSqliteWhole(folder, { alone: true }), { code: "ELOOP" })
  })

  test("a file of a newer version is refused and not changed", async () => {
    const folder = freshFolder()
    const store = await openFolder(folder)
    await write(store.served, "acme", ["a"])
    await store.close()
    for (const [file, known] of [
      ["journal", 7],
      ["index", 6],
    ] as const) {
      alter(folder, `${file}.db`, `PRAGMA user_version = ${known + 1}`)
      await assert.rejects(
        openFolder(folder),
        new RegExp(
          `the ${file} file was written by a newer version of tallystick \\(layout ${known + 1}, this one knows ${known}\\)`,
        ),
      )
      alter(folder, `${file}.db`, `PRAGMA user_version = ${known}`)
    }
    const again = await openFolder(folder)
    assert.equal((await expectChain(again.served.journal, "acme")).size, 1)
  })
}

/**
 * Adds `count` entries with only a key and a receipt to a separate workspace. The first one has the
 * number `firstN`.
 */
function fill(folder: string, count: number, firstN: number): void {
  alter(folder, "journal.db", `INSERT INTO workspaces (number, id) VALUES (7, 'filler')`)
  alter(
    folder,
    "journal.db",
    `WITH RECURSIVE counted (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM counted WHERE value < ${count})
     INSERT INTO entries (n, workspace, sequence, record, receipt, idem)
     SELECT value + ${firstN} - 1, 7, value, CAST(printf('%0118d', value) AS BLOB), printf('rcp_%036X', value), printf('%022x', value) FROM counted`,
  )
}

function firstPageOfEntries(folder: string): number {
  using journal = new DatabaseSync(join(folder, "journal.db"), { readOnly: true })
  const first =
    "SELECT pageno FROM dbstat WHERE name = 'entries' AND pagetype = 'leaf' ORDER BY path"
  return Number(journal.prepare(first).get()?.["pageno"])
}

/** How many ports to threads keep this process alive. */
function threadsOf(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length
}

/** Changes a file like a fault or another program would. */
function alter(folder: string, file: string, statement: string): void {
  using database = new DatabaseSync(join(folder, file), { timeout: 5000 })
  database.exec(statement)
}

/**
 * Makes commits of one to three entries, which also count in a document. Prints the state on the
 * disk after each.
 */
async function appendForEver(folder: string): Promise<void> {
  const { served } = await openFolder(folder)
  for (;;) {
    const head = (await served.journal.head("acme")) ?? genesisOf("acme")
    const names = Array.from(
      { length: 1 + (head.sequence % 3) },
      (_, place) => `e${head.sequence + place}`,
    )
    const version = (await served.registry.get("project", "acme", "counter"))?.version ?? 0
    const { sequence } = await write(served, "acme", names, [
      project("counter", version, `${head.sequence + names.length}`),
    ])
    writeSync(1, `${sequence}\n`)
  }
}
