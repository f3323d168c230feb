import assert from "node:assert/strict"
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import type { Draft } from "../ledger/ledger.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { reindex, type Progress } from "./reindex.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openWhole } from "../store/open-offline.ts"
import { openStore } from "../store/open.ts"
import type { Store } from "../store/store.ts"

const folders = new Set<string>()

test.afterEach(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
})

const limits = defaultLimits
const workspace = testWorkspace()

interface Serving {
  readonly folder: string
  readonly store: Store
  write(count: number): Promise<void>
}

async function openServing(folder = mkdtempSync(join(tmpdir(), "tallystick-"))): Promise<Serving> {
  folders.add(folder)
  const store = await openStore(
    { data: folder, limits: { ...defaultLimits, diskReserveBytes: 0 } },
    (cause) => assert.fail(cause),
  )
  const ledger = openTestLedger(store.journal)
  const isNew = (await store.journal.head("acme")) === undefined
  if (isNew)
    await ledger.record(
      workspace,
      [said(0)],
      [{ kind: "workspace", id: "acme", version: 0, value: workspace.value }],
    )
  return {
    folder,
    store,
    async write(count) {
      await ledger.record(
        workspace,
        Array.from({ length: count }, (_, at) => said(at)),
      )
    },
  }
}

function said(at: number): Draft {
  return testEvent({
    projectId: at % 2 === 0 ? "core" : "desk",
    actor: { id: `usr_${at % 5}`, type: "user", email: `user${at % 5}@example.com` },
    target: { id: `inv_${at}`, type: "invoice", name: `Invoice ${at}` },
    userVisible: true,
    metadata: { at },
  })
}

async function answersOf({ search, index }: Store) {
  const terms = [{ kind: "text", not: false, words: ["invoice", "1"], isPrefix: true }] as const
  return {
    position: await search.position("acme"),
    tree: await index.tree("acme", 1),
    tiles: await index.tiles("acme", 1, [{ level: 1, tile: 0 }]),
    all: await search.find("acme", { system: "without" }, 1e9, 1000),
    desk: await search.find("acme", { system: "without", projectIds: ["desk"] }, 1e9, 1000),
    text: await search.find("acme", { system: "without", query: { terms } }, 1e9, 1000),
    person: await search.find(
      "acme",
      { system: "without", subject: { id: "usr_3", types: ["user"] } },
      1e9,
      1000,
    ),
  }
}

test("reindex rebuilds all derived data with the same answers, and locks the folder", async () => {
  const serving = await openServing()
  await serving.write(4400)
  await assert.rejects(
    reindex({ data: serving.folder }, limits, () => {}),
    /another tallystick/,
  )
  await serving.store.close()
  const seen: Progress[] = []
  assert.deepEqual(
    await reindex({ data: serving.folder }, limits, (progress) => seen.push(progress)),
    [],
  )
  assert.deepEqual(seen, [
    { workspace: "acme", done: 4096, entries: 4401 },
    { workspace: "acme", done: 4352, entries: 4401 },
    { workspace: "acme", done: 4401, entries: 4401 },
  ])
  const answers = async () => {
    const { store } = await openServing(serving.folder)
    const found = await answersOf(store)
    await expectChain(store.journal, "acme")
    await store.close()
    return found
  }
  const before = await answers()
  assert.deepEqual(
    [
      before.position,
      before.tree?.size,
      before.all?.total,
      before.desk?.total,
      before.person?.total,
    ],
    [4401, 4401, 4401, 2200, 880],
  )
  assert.ok((before.text?.total ?? 0) > 100)
  for (const file of ["index.db", "search.db"]) rmSync(join(serving.folder, file))
  assert.deepEqual(await reindex({ data: serving.folder }, limits, () => {}), [])
  assert.deepEqual(await answers(), before)
})

test("reindex without a ledger creates nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  folders.add(folder)
  await assert.rejects(
    reindex({ data: folder }, limits, () => {}),
    /there is no ledger in/,
  )
})

test("a journal that cannot be read costs no index, which has signatures that nobody makes again", async () => {
  const { folder, store } = await openServing()
  await store.close()
  const journal = join(folder, "journal.db")
  const whole = readFileSync(journal)
  const spoil = [
    () => writeFileSync(journal, "no database ".repeat(1000)),
    () => withJournal(journal, "PRAGMA user_version = 99"),
    // As a crash of the file system leaves it.
    () => truncateSync(journal),
  ]
  for (const act of spoil) {
    act()
    const reindexing = reindex({ data: folder }, limits, () => {})
    await assert.rejects(reindexing, /is not a database|newer version|there is no ledger/)
    assert.deepEqual(
      ["index.db", "search.db"].filter((name) => existsSync(join(folder, name))),
      ["index.db", "search.db"],
    )
    writeFileSync(journal, whole)
  }
  assert.deepEqual(await reindex({ data: folder }, limits, () => {}), [])
})

test("a damaged index is no reason to restore a backup, and an empty one is as good as none", async () => {
  const { folder, store } = await openServing()
  await store.close()
  const index = join(folder, "index.db")
  const look = async () => {
    const whole = await openWhole({ data: folder }, { alone: true })
    await whole.close()
    return whole.index
  }
  writeFileSync(index, "no database ".repeat(1000))
  await assert.rejects(look(), /index\.db is not a database, or is damaged; run tallystick reindex/)
  truncateSync(index)
  assert.equal(await look(), undefined)
})

function withJournal(path: string, statements: string): void {
  using database = new DatabaseSync(path)
  database.exec(statements)
}
