import assert from "node:assert/strict"
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { createFrontier, eventHash, ledgerId, recordBytes, toHex } from "@tallystick/proof"
import { backUp, type BackupResult } from "./backup.ts"
import { copyLedger } from "./copy-ledger.ts"
import type { Draft } from "../ledger/ledger.ts"
import { openTestLedger, testEvent, testWorkspace } from "../ledger/test-ledger.ts"
import { defaultLimits } from "../limits.ts"
import { withOfflineStore } from "./offline-ledger.ts"
import { resume, type ResumeResult } from "./resume.ts"
import { sha256 } from "../runtime/sha256.ts"
import { expectChain } from "../store/expect-chain.ts"
import { archiveIn } from "../store/archive/open-archive.ts"
import { openHeads } from "../store/heads.ts"
import { openStore } from "../store/open.ts"
import { openSqliteSnapshot } from "../store/sqlite/offline.ts"
import type { Workspace } from "../store/documents.ts"
import type { Store } from "../store/store.ts"
import { dropTriggers } from "../../../../test/triggers.ts"

// Copies of a ledger during writes, and which of them can be resumed.

const folders = new Set<string>()

test.afterEach(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
})

const genesis = '{"v":1}'
const workspace = testWorkspace("acme", {
  genesis,
  ledgerId: toHex(ledgerId(genesis, sha256)),
  origin: "example.com/ledgers/acme",
})
const document = workspace.value

interface House extends AsyncDisposable {
  readonly data: string
  readonly headsPath: string
  readonly target: string
  readonly store: Store
  write(count: number, to?: Workspace): Promise<void>
  /** Notes these first entries as signed. */
  sign(size: number): Promise<void>
  close(): Promise<void>
  backUp(withSecrets?: boolean): Promise<BackupResult>
}

const secrets = { secret: new Uint8Array(32), previous: undefined }

async function openHouse(
  data = join(mkdtempSync(join(tmpdir(), "tallystick-")), "data"),
  headsPath = `${data}.heads`,
): Promise<House> {
  const folder = join(data, "..")
  folders.add(folder)
  const store = await openStore(
    { data, limits: { ...defaultLimits, diskReserveBytes: 0 } },
    (cause) => assert.fail(cause),
  )
  const ledger = openTestLedger(store.journal)
  const isNew = (await store.journal.head("acme")) === undefined
  if (isNew)
    await ledger.record(
      workspace,
      [said(0)],
      [{ kind: "workspace", id: "acme", version: 0, value: document }],
    )
  let closed: Promise<void> | undefined
  const close = () => (closed ??= store.close())
  const target = join(folder, "copy")
  return {
    data,
    headsPath,
    target,
    store,
    async write(count, to = workspace) {
      await ledger.record(
        to,
        Array.from({ length: count }, (_, at) => said(at)),
      )
    },
    async sign(size) {
      const heads = await openHeads(headsPath)
      await heads.advance(document.origin, {
        size,
        root: rootOf(await store.journal.records("acme", 1, size)),
      })
      heads.close()
    },
    close,
    [Symbol.asyncDispose]: close,
    backUp: (withSecrets = true) =>
      backUp({
        data,
        archive: archiveIn(data),
        heads: headsPath,
        target,
        withSecrets,
        withArchive: true,
        progress: never,
      }),
  }
}

function said(at: number): Draft {
  return testEvent({
    actor: { id: `usr_${at % 5}`, type: "user", email: `user${at % 5}@example.com` },
    target: { id: `inv_${at}`, type: "invoice", name: `Invoice ${at}` },
    userVisible: true,
    metadata: { at },
  })
}

function rootOf(records: Uint8Array): Uint8Array {
  const tree = createFrontier(undefined, sha256)
  for (let at = 0; at < records.length; at += recordBytes)
    tree.append(eventHash(records.subarray(at, at + recordBytes), sha256))
  return tree.root()
}

const never = (): void => {}

/** Checks the chain in the journal's file without a lock, and returns its size. */
async function expectKept(folder: string): Promise<number> {
  const snapshot = openSqliteSnapshot(folder)
  try {
    return (await expectChain(snapshot.journal, "acme")).size
  } finally {
    await snapshot.close()
  }
}

test("a copy is a snapshot, even during writes, and its file is marked as a copy", async () => {
  await using house = await openHouse()
  writeFileSync(join(house.data, "secret"), "a".repeat(64), { mode: 0o600 })
  await house.write(2000)
  await house.sign(1500)
  let going = true
  const writing = (async () => {
    while (going) await house.write(50)
  })()
  const copied = await house.backUp().finally(() => {
    going = false
  })
  await writing
  assert.ok(copied.entries >= 2001 && copied.workspaces === 1)
  assert.ok(
    ((await house.store.journal.head("acme"))?.sequence ?? 0) > copied.entries,
    "nothing was written meanwhile",
  )
  assert.deepEqual(copied.secrets, ["secret"])
  assert.deepEqual(readdirSync(house.target).toSorted(), ["index.db", "journal.db", "secret"])
  assert.equal(statSync(join(house.target, "secret")).mode & 0o777, 0o600)
  assert.equal(statSync(house.target).mode & 0o777, 0o700)
  assert.equal(await expectKept(house.target), copied.entries)
  assert.equal(house.store.readOnly, undefined)
  await house.close()

  const elsewhere = join(house.target, "..", "elsewhere")
  cpSync(join(house.target, "journal.db"), join(elsewhere, "journal.db"))
  await using alone = await openHouse(elsewhere)
  assert.match(alone.store.readOnly ?? "", /is a copy/)
  await alone.close()
})

test("a backup overwrites nothing, and leaves the secrets out if asked", async () => {
  await using house = await openHouse()
  writeFileSync(join(house.data, "secret"), "a".repeat(64))
  assert.deepEqual((await house.backUp(false)).secrets, [])
  assert.ok(!existsSync(join(house.target, "secret")))
  const before = readFileSync(join(house.target, "journal.db"))
  await house.write(10)
  await assert.rejects(house.backUp(), /exists already; a backup never overwrites anything/)
  assert.deepEqual(readFileSync(join(house.target, "journal.db")), before)
  await house.close()
})

test("a secret that cannot be looked up is not left out", async () => {
  await using house = await openHouse()
  symlinkSync("secret", join(house.data, "secret"))
  await assert.rejects(house.backUp(), { code: "ELOOP" })
  await house.close()
})

test("a copy needs no index, because it is rebuilt", async () => {
  await using house = await openHouse()
  await house.write(30)
  await house.close()
  writeFileSync(join(house.data, "index.db"), "this is no database".repeat(1000))
  assert.equal((await house.backUp()).entries, 31)
  assert.deepEqual(readdirSync(house.target), ["journal.db"])
  await using copy = await openHouse(house.target)
  assert.equal((await expectChain(copy.store.journal, "acme")).size, 31)
})

test("a backup of data that fails its integrity check, or differs from what was signed, is refused and leaves nothing", async () => {
  await using house = await openHouse()
  await house.write(30)
  await house.sign(31)
  await house.close()
  const good = join(house.data, "..", "good")
  cpSync(house.data, good, { recursive: true })
  const spoilt: readonly (readonly [what: RegExp, sql: string])[] = [
    [
      /entry 10 of workspace acme is not what was recorded/,
      "UPDATE entries SET salted = zeroblob(64) WHERE n = 10",
    ],
    [
      /entry 10 of workspace acme is not what was recorded/,
      "UPDATE entries SET record = zeroblob(118) WHERE sequence = 10",
    ],
    [
      /entry 11 of workspace acme is not what was recorded/,
      "DELETE FROM entries WHERE sequence = 11",
    ],
    [/ends at entry 20, and 31 were signed/, "DELETE FROM entries WHERE sequence > 20"],
  ]
  for (const [what, sql] of spoilt) {
    rmSync(house.data, { recursive: true })
    cpSync(good, house.data, { recursive: true })
    {
      using journal = new DatabaseSync(join(house.data, "journal.db"))
      dropTriggers(journal)
      assert.ok(journal.prepare(sql).run().changes > 0)
    }
    await assert.rejects(house.backUp(), what)
    assert.deepEqual(readdirSync(join(house.data, "..")).toSorted(), ["data", "data.heads", "good"])
  }
  await assert.rejects(
    backUp({
      data: join(house.data, "none"),
      archive: archiveIn(house.data),
      heads: house.headsPath,
      target: house.target,
      withSecrets: true,
      withArchive: true,
      progress: never,
    }),
    /there is no ledger in/,
  )
  writeFileSync(join(house.data, "journal.db"), "this is no database".repeat(1000))
  await assert.rejects(house.backUp(), /is not a database, or is damaged/)
})

/** As a command that was killed while it changed the file, which has no log before its first start. */
function interrupt(path: string): void {
  const half = `${path}-half`
  {
    using changing = new DatabaseSync(path)
    changing.exec("PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (bytes BLOB);")
    changing.exec("INSERT INTO half VALUES (zeroblob(1000000))")
    for (const end of ["", "-journal"]) cpSync(path + end, half + end)
  }
  for (const end of ["", "-journal"]) renameSync(half + end, path + end)
}

test("a copy continues in the same epoch only if it has exactly the signed entries, and otherwise in a new epoch", async () => {
  await using house = await openHouse()
  await house.write(30)
  await house.sign(31)
  await house.backUp()
  const { target, headsPath } = house
  const ask = (data: string, path: string, isTrial = false): Promise<ResumeResult> =>
    resume({
      data,
      heads: path,
      secrets,
      limits: { ...defaultLimits, diskReserveBytes: 0 },
      isTrial,
      progress: never,
    })
  await assert.rejects(ask(house.data, headsPath), /another tallystick is using/)
  await house.close()
  assert.deepEqual(await ask(house.data, headsPath), { kind: "needless", strangers: [] })

  // A mistyped setting. A new epoch cannot be taken back.
  const nowhere = ask(target, `${headsPath}-mistyped`)
  await assert.rejects(
    nowhere,
    /data\.heads-mistyped does not exist.*; if it is lost, make an empty/,
  )

  const headsOf = (name: string, lines: readonly string[]): string => {
    const path = `${headsPath}-${name}`
    writeFileSync(path, lines.map((line) => `${line}\n`).join(""))
    return path
  }
  const [line = ""] = readFileSync(headsPath, "utf8").split("\n")
  const [origin = "", , root = ""] = line.split(" ")
  const anything = Buffer.alloc(32, 7)
  const lossy: readonly (readonly [
    path: string,
    reason: RegExp,
    lost: readonly [number, Uint8Array] | undefined,
  ])[] = [
    [headsOf("none", []), /the heads file does not list workspace acme/, undefined],
    [
      headsOf("ahead", [`${origin} 32 ${root}`]),
      /ends at entry 31, and 32 were signed/,
      [32, Buffer.from(root, "base64")],
    ],
    [
      headsOf("older", [`${origin} 30 ${Buffer.from(rootAt(target, 30)).toString("base64")}`]),
      /has 31 entries, and the heads file lists 30/,
      undefined,
    ],
    [
      headsOf("other", [`${origin} 31 ${anything.toString("base64")}`]),
      /the first 31 entries of workspace acme are not those that were signed/,
      [31, anything],
    ],
  ]
  for (const [path, reason, lost] of lossy) {
    const copy = `${path}-copy`
    cpSync(target, copy, { recursive: true })
    interrupt(join(copy, "index.db"))
    const trial = await ask(copy, path, true)
    assert.ok(
      trial.kind === "resumed" && reason.test(trial.workspaces[0]?.because ?? ""),
      JSON.stringify(trial),
    )
    const made = await ask(copy, path)
    assert.ok(made.kind === "resumed")
    assert.deepEqual(
      made.workspaces.map(({ workspace, entries, epoch }) => [workspace, entries, epoch]),
      [["acme", 31, 2]],
    )
    assert.match(made.workspaces[0]?.origin ?? "", /^example\.com\/ledgers\/[0-9a-z]{22}$/)
    assert.deepEqual(
      await ask(copy, path),
      { kind: "needless", strangers: [] },
      "the new epoch is known at once",
    )

    await using again = await openHouse(copy, headsPath)
    assert.equal(again.store.readOnly, undefined)
    const found = await again.store.registry.get("workspace", "acme", "acme")
    assert.ok(found !== undefined)
    const { continues } = JSON.parse(found.value.genesis) as { continues: Record<string, unknown> } // what resume has just written
    const [lostSize, lostRoot] =
      lost === undefined ? [null, null] : [lost[0], Buffer.from(lost[1]).toString("hex")]
    const kept = {
      ledgerId: document.ledgerId,
      origin,
      size: 31,
      root: Buffer.from(rootAt(target, 31)).toString("hex"),
    }
    assert.deepEqual(continues, { ...kept, lostSize, lostRoot })
    await again.write(5, found)
    const chain = await expectChain(again.store.journal, "acme")
    assert.deepEqual(
      [chain.size, chain.epochs, chain.ledgerId],
      [31 + 1 + 5, [0, 31], found.value.ledgerId],
    )
    await again.close()
  }

  // Not a copy of the backup command, but like a restored disk. If it is behind the signed size, it
  // continues as a new epoch. If it is ahead, its end was not signed yet.
  const putBack = `${house.data}-put-back`
  cpSync(house.data, putBack, { recursive: true })
  assert.deepEqual(
    await ask(
      putBack,
      headsOf("older-still", [
        `${origin} 30 ${Buffer.from(rootAt(target, 30)).toString("base64")}`,
      ]),
    ),
    {
      kind: "needless",
      strangers: [],
    },
  )
  const behind = await ask(putBack, headsOf("behind", [`${origin} 40 ${root}`]))
  assert.ok(behind.kind === "resumed" && behind.workspaces[0]?.epoch === 2, JSON.stringify(behind))

  const strange = headsOf("strange", [
    line,
    `example.com/ledgers/later 4 ${anything.toString("base64")}`,
  ])
  const resumed = await ask(target, strange)
  const whole = { workspace: "acme", entries: 31, because: undefined, epoch: 1, origin }
  assert.deepEqual(resumed, {
    kind: "resumed",
    workspaces: [whole],
    strangers: ["example.com/ledgers/later"],
  })
  const { strangers } = resumed
  assert.deepEqual(await ask(target, strange), { kind: "needless", strangers })

  await using again = await openHouse(target)
  assert.equal(again.store.readOnly, undefined)
  await again.write(5)
  assert.equal((await expectChain(again.store.journal, "acme")).size, 36)
  await again.close()
})

test("a ledger is copied elsewhere only if something says what was signed", async () => {
  await using house = await openHouse()
  await house.write(3)
  await house.close()
  const { data, headsPath: heads, target } = house
  const limits = { ...defaultLimits, diskReserveBytes: 0 }
  const from = { data, heads }
  const to = { data: target, heads: `${target}.heads` }
  const copying = copyLedger({ from, to, secrets, limits, progress: never })
  await assert.rejects(
    copying,
    /nothing says what was signed of workspace acme: set TALLYSTICK_HEADS/,
  )
  assert.equal(existsSync(target), false)
})

test("half a copy does not start as an empty ledger, also with another heads file", async () => {
  await using house = await openHouse()
  await house.write(3)
  await house.sign(4)
  await house.close()
  const { data, headsPath: heads, target } = house
  const limits = { ...defaultLimits, diskReserveBytes: 0 }
  const to = { data: target, heads: `${target}.heads` }
  const copy = (progress: () => void) =>
    copyLedger({ from: { data, heads }, to, secrets, limits, progress })
  await assert.rejects(
    copy(() => assert.fail("killed")),
    /killed/,
  )
  const start = (path: string) =>
    withOfflineStore({ ...to, heads: path, limits, host: "example.com" }, async () => "started")
  await assert.rejects(start(to.heads), /nothing is recorded in the data folder/)
  await assert.rejects(start(`${heads}.other`), /has entries of no workspace.*tallystick copy/)
  await copy(never)
  assert.equal(await start(to.heads), "started")
})

test("data that fails its integrity check cannot be resumed, and a new epoch needs the secret", async () => {
  await using house = await openHouse()
  await house.write(3)
  await house.sign(4)
  await house.backUp()
  await house.close()
  const { target } = house
  const heads = `${house.headsPath}-none`
  writeFileSync(heads, "")
  const options = {
    data: target,
    heads,
    limits: { ...defaultLimits, diskReserveBytes: 0 },
    isTrial: false,
    progress: never,
  }
  await assert.rejects(
    resume({ ...options, secrets: { ...secrets, secret: undefined } }),
    /set TALLYSTICK_SECRET/,
  )
  using journal = new DatabaseSync(join(target, "journal.db"))
  dropTriggers(journal)
  journal.exec("UPDATE entries SET salted = zeroblob(40) WHERE n = 2")
  journal.close()
  const refused = await resume({ ...options, secrets })
  assert.match(
    refused.kind === "refused" ? refused.reasons.join() : "",
    /entry 2 of workspace acme is not what was recorded/,
  )
})

function rootAt(folder: string, size: number): Uint8Array {
  using journal = new DatabaseSync(join(folder, "journal.db"), { readOnly: true })
  const rows = journal.prepare("SELECT record FROM entries ORDER BY sequence LIMIT ?").all(size)
  return rootOf(Buffer.concat(rows.map(({ record }) => record as Uint8Array))) // the column holds bytes
}
