import assert from "node:assert/strict"
import { existsSync, statSync } from "node:fs"
import { appendFile, cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { makeFolder } from "../folder.ts"
import { audit } from "../promises/audit.ts"
import { expectChain } from "../chain.ts"
import { createChance, seedOf } from "../chance.ts"
import { flipped } from "../flipped.ts"
import { listening } from "../listening.ts"
import { damage } from "../promises/damaged.ts"
import { consentWrite, eventWrite, note, send, type Write } from "../promises/writes.ts"
import { tallystick, type Ended } from "../program.ts"
import {
  eventFor,
  eventually,
  makeKey,
  makeWorkspace,
  type Reply,
  type Service,
  type Workspace,
} from "../service.ts"
import { failedStart, startProgram } from "./programs.ts"

// How the service starts on data of an earlier one; and that it refuses wrong data or settings with
// a sentence that an operator can act upon.

test("without its index and search the service starts with the same answers", async (t) => {
  const chance = createChance(seedOf(t))
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  const writes = await writeSome(first, workspace, 80)
  const before = await answersOf(first, workspace, writes)
  assert.equal(await first.end(), 0)

  const derived = ["index", "search"].flatMap((name) =>
    ["", "-wal", "-shm"].map((ending) => `${name}.db${ending}`),
  )
  await Promise.all(derived.map((file) => rm(join(first.data, file), { force: true })))
  await using again = await startProgram({ data: first.data })
  const after = await eventually("the tree to be as large as it was", async () => {
    const now = await answersOf(again, workspace, writes)
    return now[0] === before[0] ? now : undefined
  })
  assert.deepEqual(after, before)
  await audit(again, { workspaces: [workspace], writes, chance })
})

test("a first start that is cut short, at any moment, does not prevent the next one", async (t) => {
  const chance = createChance(seedOf(t))
  await using folder = await makeFolder()
  const data = join(folder.path, "data")
  for (let kill = 0; kill < 8; kill++)
    await failedStart({ TALLYSTICK_DATA: data }, 1 + chance.below(800))
  await using service = await startProgram({
    data,
    environment: { TALLYSTICK_ROOT_KEY: undefined },
  })
  const workspace = await makeWorkspace(service)
  const writes = await writeSome(service, workspace, 10)
  await audit(service, { workspaces: [workspace], writes, chance })
})

test("every start says where the instance key is, because the start that made it may have failed", async () => {
  await using folder = await makeFolder()
  await using other = await startProgram()
  const data = join(folder.path, "data")
  const taken = { TALLYSTICK_PORT: new URL(other.url).port }
  assert.equal((await failedStart({ TALLYSTICK_DATA: data, ...taken })).code, 1)
  const environment = { TALLYSTICK_ROOT_KEY: undefined }
  await using service = await startProgram({ data, environment })
  const said = `The instance key is in ${join(data, "root-key")}\n`
  await eventually("the place is told", async () => service.output().includes(said))
})

test("compiled code is cached while the service runs, so the next start after a kill has it", async () => {
  await using folder = await makeFolder()
  await using _ = await startProgram({ environment: { NODE_COMPILE_CACHE: folder.path } })
  await eventually("compiled code to be kept", async () => {
    const files = await readdir(folder.path, { recursive: true, withFileTypes: true })
    // Node renames each file once it is written, so one may be gone by now.
    const sizes = files.map(
      (file) => statSync(join(file.parentPath, file.name), { throwIfNoEntry: false })?.size ?? 0,
    )
    const bytes = sizes.reduce((sum, each) => sum + each, 0)
    return bytes > 500_000
  })
})

test("after a clean stop all of the journal is in one file, which is a backup by itself", async (t) => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  const writes = await writeSome(first, workspace, 50)
  assert.equal(await first.end(), 0)
  await using folder = await makeFolder()
  for (const file of ["journal.db", "secret"])
    await cp(join(first.data, file), join(folder.path, "data", file))
  await cp(`${first.data}.heads`, join(folder.path, "data.heads"))
  await using copy = await startProgram({ data: join(folder.path, "data") })
  const reader = copy.client(workspace.reader.bearer)
  for (const { receipt } of writes)
    assert.equal(
      (await reader.get(`${workspace.path}/receipts/${idOf(receipt)}`)).json().verified,
      true,
    )
  t.diagnostic(`${writes.length} receipts`)
})

test("a second service on the same data is refused, and the first one keeps running", async () => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  const second = await failedStart({
    TALLYSTICK_DATA: first.data,
    TALLYSTICK_ROOT_KEY: first.rootKey,
  })
  expectSentence(second, /another tallystick is using the data folder/)
  assert.ok(second.errors.includes(first.data), "the sentence names the folder")
  const before = await readdir(first.data)
  const third = await failedStart({ TALLYSTICK_DATA: first.data })
  expectSentence(third, /another tallystick is using the data folder/)
  assert.deepEqual(await readdir(first.data), before, "it leaves no instance key behind")
  assert.equal((await workspace.writer.write(eventFor(workspace.id))).status, 202)
  assert.equal((await first.client().get("/readyz")).status, 200)
})

test("data whose secret is missing gets no other one", async () => {
  await using first = await startProgram()
  await makeWorkspace(first)
  assert.equal(await first.end(), 0)
  const secret = join(first.data, "secret")
  const kept = await readFile(secret)
  await rm(secret)
  const before = await readdir(first.data)
  const settings = { TALLYSTICK_DATA: first.data, TALLYSTICK_ROOT_KEY: first.rootKey }
  expectSentence(
    await failedStart(settings),
    /^tallystick: TALLYSTICK_SECRET is not set, and there is no \S+\/secret: set it, or bring the file back; this data was made with it$/m,
  )
  assert.deepEqual(await readdir(first.data), before)
  await writeFile(secret, kept)
  await using again = await startProgram({ data: first.data })
  assert.equal(await again.end(), 0)
})

test("data that lacks exactly the last entry that was signed is not written to", async () => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  const written = await writeSome(first, workspace, 3)
  const last = idOf(written.at(-1)?.receipt)
  assert.equal((await workspace.reader.get(`${workspace.path}/receipts/${last}/proof`)).status, 200)
  assert.equal(await first.end(), 0)
  const { sequence } = damage(first.data, last, "the entry and all that follow it")
  await using cut = await startProgram({ data: first.data })
  const ready = await cut.client().get("/readyz")
  expectReadOnly(ready, 503)
  assert.match(
    ready.json().reason,
    new RegExp(`ends at entry ${sequence - 1}, and ${sequence} were signed`),
  )
  assert.equal(await cut.end(), 0)
})

test("data older than what was signed is read-only", async () => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  const admin = await makeKey(first, workspace.id, { scopes: ["admin"] })
  const { keyId } = (
    await first.root.post(`${workspace.path}/api-keys`, { name: "one more", scopes: ["read"] })
  ).json()
  const old = await writeSome(first, workspace, 20)
  assert.equal(await first.end(), 0)
  const copy = `${first.data}-copy`
  await cp(first.data, copy, { recursive: true })
  await using second = await startProgram({ data: first.data })
  const lost = await writeSome(second, workspace, 20)
  assert.equal(await second.end(), 0)
  await rm(first.data, { recursive: true })
  await cp(copy, first.data, { recursive: true })

  await using restored = await startProgram({ data: first.data })
  const reader = restored.client(workspace.reader.bearer)
  for (const { receipt } of old)
    expectReadOnly(await reader.get(`${workspace.path}/receipts/${idOf(receipt)}`), 200)
  for (const { receipt } of lost)
    expectReadOnly(await reader.get(`${workspace.path}/receipts/${idOf(receipt)}`), 404)
  const proof = `${workspace.path}/receipts/${idOf(old[0]?.receipt)}/proof`
  for (const path of [
    workspace.path,
    proof,
    `${workspace.path}/tlog/checkpoint`,
    `${workspace.path}/tlog/log.vkey`,
  ])
    expectReadOnly(await reader.get(path), 200)
  expectReadOnly(await restored.client().get("/healthz"), 200)
  const ready = await restored.client().get("/readyz")
  expectReadOnly(ready, 503)
  assert.match(ready.json().reason, /older than what was signed/)

  const writer = restored.client(workspace.writer.bearer)
  const [again] = old
  assert.ok(again !== undefined)
  const refused = [
    ["an event", await writer.write(eventFor(workspace.id))],
    ["a replay", await writer.post(again.route, again.body, { "idempotency-key": again.key })],
    [
      "a batch",
      await writer.post("/v1/events/batch", {
        events: [{ idempotencyKey: "some-other-key", ...eventFor(workspace.id) }],
      }),
    ],
    [
      "a consent",
      await send(writer, [consentWrite(workspace.id, "some-other-key", createChance(1))]),
    ],
    ["a workspace", await restored.root.post("/v1/workspaces", { id: "another" })],
    ["a setting", await restored.client(admin.bearer).patch(workspace.path, { hotDays: 1 })],
    ["a project", await restored.root.post(`${workspace.path}/projects`, { id: "another" })],
    [
      "a project's setting",
      await restored.root.patch(`${workspace.path}/projects/core`, { receipts: "public" }),
    ],
    [
      "a key",
      await restored.root.post(`${workspace.path}/api-keys`, { name: "another", scopes: ["read"] }),
    ],
    [
      "an invitation",
      await restored.root.post(`${workspace.path}/members`, {
        email: "ada@example.com",
        role: "viewer",
      }),
    ],
    [
      "a sign-in",
      await restored
        .client()
        .post("/v1/session", { email: "ada@example.com", password: "a long password" }),
    ],
    ["a revocation", await restored.root.delete(`${workspace.path}/api-keys/${keyId}`)],
  ] as const
  for (const [what, reply] of refused) {
    expectReadOnly(reply, 503, what)
    assert.equal(reply.json().error, "read_only", what)
    assert.ok(reply.headers.has("retry-after"), what)
  }
  assert.doesNotMatch(restored.output(), /tsx_/, "nobody can be set up")
  assert.equal(await restored.end(), 0)
})

test("an unknown or wrong setting stops the start, which names it", async () => {
  const rows = [
    [
      { TALLYSTICK_DATA: "/proc/tallystick" },
      /^tallystick: TALLYSTICK_DATA names a folder that cannot be made: .*'\/proc/,
    ],
    [
      { TALLYSTICK_DATA: join(fileURLToPath(import.meta.url), "data") },
      /^tallystick: TALLYSTICK_DATA names a folder that cannot be made: /,
    ],
    [{ TALLYSTICK_DATE: "/tmp" }, /^tallystick: TALLYSTICK_DATE /],
    [{ TALLYSTICK_PORT: "http" }, /^tallystick: TALLYSTICK_PORT /],
    [{ TALLYSTICK_SECRET: "hunter2" }, /^tallystick: TALLYSTICK_SECRET /],
    [{ TALLYSTICK_ROOT_KEY: "hunter2" }, /^tallystick: TALLYSTICK_ROOT_KEY /],
    [{ TALLYSTICK_ROOT_KEY_FILE: "/nowhere/at/all" }, /^tallystick: TALLYSTICK_ROOT_KEY_FILE /],
    [{ TALLYSTICK_LIMIT_EVENT_BYTES_MAX: "-1" }, /^tallystick: TALLYSTICK_LIMIT_EVENT_BYTES_MAX /],
  ] as const
  await using folder = await makeFolder()
  await together(2, rows, async ([environment, sentence]) => {
    const ended = await failedStart({ TALLYSTICK_DATA: join(folder.path, "data"), ...environment })
    expectSentence(ended, sentence)
    assert.ok(!ended.errors.includes("hunter2"), "a secret is not repeated")
  })
})

test("a missing signed ledger is logged, and the others start", async () => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  await writeSome(first, workspace, 3)
  assert.equal(await first.end(), 0)
  const root = Buffer.alloc(32, 7).toString("base64")
  await appendFile(`${first.data}.heads`, `ledger.example/ledgers/elsewhere 12 ${root}\n`)
  await using again = await startProgram({ data: first.data })
  const [warning] = again
    .log()
    .split("\n")
    .filter((line) => line.includes("ledger.example/ledgers/elsewhere"))
  assert.match(
    warning ?? "",
    /"level":40.*"ledgers":1.*ledgers that were signed are not in this data/,
  )
  await writeSome(again, workspace, 3)
  await expectChain(again.client(workspace.reader.bearer), workspace.id)
  assert.equal(await again.end(), 0)
})

test("data without its heads file is read-only until its operator makes an empty one", async () => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  await writeSome(first, workspace, 3)
  assert.equal(await first.end(), 0)
  // As with a mistyped setting: nobody would notice that the data is older than what was signed.
  const heads = `${first.data}.elsewhere`
  const environment = { TALLYSTICK_HEADS: heads }
  await using mistyped = await startProgram({ data: first.data, environment })
  const refused = await mistyped.client(workspace.writer.bearer).write(eventFor(workspace.id))
  expectReadOnly(refused, 503)
  assert.match(refused.text, /elsewhere does not exist.*; if it is lost, make an empty file/)
  assert.equal(await mistyped.end(), 0)
  const checked = await tallystick(["fsck"], { TALLYSTICK_DATA: first.data, ...environment })
  assert.equal(checked.code, 0)
  assert.match(
    checked.errors,
    /elsewhere does not exist, so nothing was compared with what was signed/,
  )
  assert.equal(existsSync(heads), false)
  await writeFile(heads, "")
  await using again = await startProgram({ data: first.data, environment })
  await writeSome(again, workspace, 3)
  await expectChain(again.client(workspace.reader.bearer), workspace.id)
  assert.equal(await again.end(), 0)
})

test("a start that fails says why in one sentence", async () => {
  await using folder = await makeFolder()
  await using good = await startProgram()
  await writeSome(good, await makeWorkspace(good), 20)
  assert.equal(await good.end(), 0)
  await using taken = await listening(createServer())

  /** The expected sentence, and how the data is damaged. */
  const rows: readonly (readonly [
    RegExp,
    (data: string) => unknown,
    Readonly<Record<string, string>>?,
  ])[] = [
    [
      /^tallystick: port \d+ of 127\.0\.0\.1 is in use; .* set TALLYSTICK_PORT to another one/m,
      () => {},
      { TALLYSTICK_PORT: String(taken.port) },
    ],
    [
      /^tallystick: 192\.0\.2\.1 is not an address of this machine; set TALLYSTICK_HOST/m,
      () => {},
      { TALLYSTICK_HOST: "192.0.2.1" },
    ],
    [
      /^tallystick: TALLYSTICK_DATA must name a folder, and .* is none$/m,
      async (data) => [
        await rm(data, { recursive: true }),
        await writeFile(data, "a file, no folder"),
      ],
    ],
    [
      /journal\.db is not a database/,
      (data) => writeFile(join(data, "journal.db"), "no database ".repeat(1000)),
    ],
    [
      /journal.*newer version/,
      (data) => within(join(data, "journal.db"), "PRAGMA user_version = 99"),
    ],
    [
      /heads.*line/,
      (data) => writeFile(`${data}.heads`, "ledger.example/ledgers/abc twelve what\n"),
    ],
    [/heads/, () => {}, { TALLYSTICK_HEADS: join(folder.path, "nowhere", "heads") }],
    [
      /^tallystick: TALLYSTICK_HEADS must name a file/m,
      () => {},
      { TALLYSTICK_HEADS: folder.path },
    ],
    [
      /^tallystick: TALLYSTICK_ARCHIVE must name a folder, and .* is none$/m,
      () => {},
      { TALLYSTICK_ARCHIVE: fileURLToPath(import.meta.url) },
    ],
    [
      /^tallystick: nothing is recorded .*\.heads says that something was signed/,
      async (data) => [await rm(data, { recursive: true }), await mkdir(data)],
    ],
    [/secret/i, (data) => writeFile(join(data, "secret"), "no secret\n")],
    [
      /^tallystick: .*secret must be a file, and is a folder$/m,
      async (data) => [await rm(join(data, "secret")), await mkdir(join(data, "secret"))],
    ],
    [/entry \d+ of workspace ws-\w+ is not what was recorded/, (data) => changeBit(data, "salted")],
    [/entry \d+ of workspace ws-\w+ is not what was recorded/, (data) => changeBit(data, "record")],
  ]
  await together(2, rows, async ([sentence, spoil, environment], place) => {
    const data = join(folder.path, `data-${place}`)
    await cp(good.data, data, { recursive: true })
    await cp(`${good.data}.heads`, `${data}.heads`)
    await spoil(data)
    expectSentence(await failedStart({ TALLYSTICK_DATA: data, ...environment }), sentence)
  })
})

function within(path: string, statements: string): void {
  using database = new DatabaseSync(path)
  database.exec(statements)
}

/** Flips one bit of an entry near the end; the triggers are dropped for it. */
function changeBit(data: string, column: "record" | "salted"): void {
  using journal = new DatabaseSync(join(data, "journal.db"))
  const { n, bytes } = journal
    .prepare(`SELECT n, ${column} AS bytes FROM entries ORDER BY n DESC LIMIT 1 OFFSET 5`)
    .get() as {
    n: number
    bytes: Uint8Array
  }
  journal.exec("DROP TRIGGER entries_are_not_changed")
  journal.prepare(`UPDATE entries SET ${column} = ? WHERE n = ?`).run(flipped(bytes, 20), n)
}

/** Expects one line on standard error, none on standard output, and a quick end. */
function expectSentence({ code, output, errors }: Ended, sentence: RegExp): void {
  assert.match(errors, sentence)
  assert.match(errors, /^tallystick: \S[^\n]*\n$/, "it is one sentence")
  assert.doesNotMatch(errors, /Error:|node:internal|\.ts:\d/, "it is for an operator")
  assert.equal(code, 1)
  assert.equal(output, "")
}

function expectReadOnly(reply: Reply, status: number, what = reply.text): void {
  assert.equal(reply.status, status, what)
  assert.equal(reply.headers.get("ledger-state"), "read-only", what)
}

async function writeSome(
  service: Service,
  { id, writer }: Workspace,
  count: number,
): Promise<readonly Write[]> {
  const chance = createChance(count)
  const writes = Array.from({ length: count }, (_, place) =>
    eventWrite(id, `${service.url}-${performance.now()}-${place}`, chance),
  )
  const sending = writes as [Write, ...Write[]] // one or more
  note(sending, await send(service.client(writer.bearer), sending, true), true)
  return writes
}

/** The service's current checkpoint, and its answer for each receipt. */
async function answersOf(
  service: Service,
  { path, reader }: Workspace,
  writes: readonly Write[],
): Promise<readonly string[]> {
  const client = service.client(reader.bearer)
  await client.get(`${path}/receipts/${idOf(writes.at(-1)?.receipt)}/proof`)
  const last = `${path}/receipts/${idOf(writes.at(-1)?.receipt)}`
  await eventually(
    "everything to be in the index",
    async () => (await client.get(last)).json().receipt.queued === false,
  )
  const paths = [
    `${path}/tlog/checkpoint`,
    ...writes.map(({ receipt }) => `${path}/receipts/${idOf(receipt)}`),
  ]
  return await Promise.all(paths.map(async (one) => (await client.get(one)).text))
}

function idOf(receipt: string | undefined): string {
  return (JSON.parse(receipt ?? "{}") as { readonly receipt: string }).receipt
}

/** All of them, a few at a time. */
async function together<T>(
  lanes: number,
  all: readonly T[],
  each: (one: T, place: number) => Promise<void>,
): Promise<void> {
  const waiting = all.entries()
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const [place, one] of waiting) await each(one, place)
    }),
  )
}
