import assert from "node:assert/strict"
import { hash } from "node:crypto"
import { existsSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import test from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { makeFolder } from "../folder.ts"
import { systemClock } from "../../packages/server/src/clock.ts"
import { defaultLimits } from "../../packages/server/src/limits.ts"
import { copyLedger } from "../../packages/server/src/operator/copy-ledger.ts"
import { fsck, passes, sentenceOf } from "../../packages/server/src/operator/fsck/fsck.ts"
import { closing } from "../../packages/server/src/runtime/closing.ts"
import { openOffline } from "../../packages/server/src/operator/offline-ledger.ts"
import { reindex } from "../../packages/server/src/operator/reindex.ts"
import { openAnew, openStopped, openWhole } from "../../packages/server/src/store/open-offline.ts"
import { requireNoCommand } from "../../packages/server/src/store/open.ts"
import { openTool } from "../../packages/server/src/store/postgres/connection.ts"
import { migrate } from "../../packages/server/src/store/postgres/migrate.ts"
import { expectChain, type MintedReceipt } from "../chain.ts"
import { busyArchiver, filed } from "../crash/archived-ledger.ts"
import { createChance, seedOf } from "../chance.ts"
import { metric } from "../metrics.ts"
import { onOwnServer, startPostgres } from "../postgres-server.ts"
import { tallystick } from "../program.ts"
import {
  eventFor,
  eventually,
  make,
  makeWorkspace,
  settingsOf,
  startService,
  writeMany,
  type Service,
  type Workspace,
  clockModule,
} from "../service.ts"
import { erase, setRetention } from "../until.ts"

// The commands that work on a ledger in PostgreSQL, each on a real server.

const server = await startPostgres()
test.after(() => server[Symbol.asyncDispose]())

const warnings: Error[] = []
process.on("warning", (warning) => warnings.push(warning))

/** Settings of a service, and of the commands for it. */
interface Place {
  readonly TALLYSTICK_DATA: string
  readonly TALLYSTICK_DATABASE_URL?: string
  readonly TALLYSTICK_ARCHIVE?: string
}

function start(place: Place, rootKey?: string): Promise<Service> {
  return startService({
    data: place.TALLYSTICK_DATA,
    environment: { ...place, ...(rootKey === undefined ? {} : { TALLYSTICK_ROOT_KEY: rootKey }) },
  })
}

/** Runs a command that must succeed. */
async function done(args: readonly string[], environment: Place): Promise<string> {
  const { code, output, errors } = await tallystick(args, { ...environment })
  assert.equal(code, 0, `${args.join(" ")}: ${output}${errors}`)
  return output
}

async function sql(
  url: string,
  text: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** Answers of a ledger that a copy must also give. */
async function answersOf(service: Service, workspace: Workspace, receipts: readonly string[]) {
  const { path } = workspace
  const reader = service.client(workspace.reader.bearer)
  const text = async (url: string) => {
    const { status, text } = await reader.get(url)
    assert.equal(status, 200, `${url}: ${text}`)
    return text
  }
  const answers: Record<string, string> = {}
  for (const one of [`${path}/tlog/checkpoint`, `${path}/tlog/log.vkey`, path])
    answers[one] = await text(one)
  for (const receipt of receipts)
    answers[receipt] = hash(
      "sha256",
      (await text(`${path}/receipts/${receipt}`)).replaceAll(service.url, ""),
    )
  const keys = await service.root.get(`${path}/api-keys`)
  assert.equal(keys.status, 200, keys.text)
  answers["keys"] = keys.text.replaceAll(/,"lastUsed\w*":("[^"]*"|null)/g, "")
  return answers
}

/** Waits until the newest entry is signed, so that a stopped service has nothing left to sign. */
async function signed(service: Service, { path, reader }: Workspace, entries: number) {
  await eventually("the last entry is signed", async () => {
    const note = await service.client(reader.bearer).get(`${path}/tlog/checkpoint`)
    return Number(note.text.split("\n")[1]) >= entries
  })
}

async function smallLedger(place: Place, entries: number) {
  const service = await start(place)
  const acme = await makeWorkspace(service)
  const other = await makeWorkspace(service)
  const receipts = await writeMany(acme, entries)
  await writeMany(other, 3)
  const { token } = await make(
    service.client(acme.reader.bearer),
    `${acme.path}/receipts/${receipts[0]?.receipt}/token`,
    {},
  )
  // Of the workspace, of each key, of the project and of the token.
  await signed(service, acme, entries + 5)
  return { service, acme, other, receipts, token: String(token) }
}

/** Another database with the same content. Nobody may use the first. */
async function twinOf(url: string, name: string): Promise<string> {
  const from = new URL(url).pathname.slice(1)
  await sql(server.url("postgres"), `CREATE DATABASE ${from}_${name} TEMPLATE ${from}`)
  return server.url(`${from}_${name}`)
}

test("a service does not start while a command has the database alone, nor another command", async () => {
  await using folder = await makeFolder()
  const url = await server.createDatabase()
  const place = { TALLYSTICK_DATA: join(folder.path, "data"), TALLYSTICK_DATABASE_URL: url }
  const first = await start(place)
  const { rootKey } = first
  assert.equal(await first.end(), 0)
  const stored = { data: place.TALLYSTICK_DATA, databaseUrl: url }
  for (const open of [
    () => openStopped(stored),
    () => openAnew(stored),
    () => openWhole(stored, { alone: true }),
    () => openOffline({ ...stored, limits: defaultLimits }),
  ]) {
    await using _alone = closing(await open())
    const refused = await tallystick(["serve"], { ...place, TALLYSTICK_PORT: "0" })
    assert.deepEqual([refused.code, refused.output], [1, ""])
    assert.match(refused.errors, /a command of tallystick has the database alone/)
  }
  {
    await using _alone = closing(await openStopped(stored))
    const other = await tallystick(["fsck"], place)
    assert.deepEqual([other.code, other.output], [1, ""])
    assert.match(other.errors, /another command of tallystick has the database alone/)
  }
  const service = await start(place, rootKey)
  assert.equal(await service.end(), 0)
})

test("a command has the database alone, and reads, for longer than the role's timeouts", async () => {
  await using folder = await makeFolder()
  const url = await server.createDatabase()
  const place = { TALLYSTICK_DATA: join(folder.path, "data"), TALLYSTICK_DATABASE_URL: url }
  const service = await start(place)
  assert.equal(await service.end(), 0)
  await sql(
    url,
    // Before PostgreSQL 17, there is no `transaction_timeout`.
    `DO $$ DECLARE name text; BEGIN
       FOR name IN SELECT s.name FROM pg_settings s
         WHERE s.name IN ('idle_in_transaction_session_timeout', 'transaction_timeout',
                          'idle_session_timeout', 'statement_timeout')
       LOOP EXECUTE format('ALTER DATABASE %I SET %I = 500', current_database(), name); END LOOP;
     END $$`,
  )
  const stored = { data: place.TALLYSTICK_DATA, databaseUrl: url }
  await using _alone = closing(await openStopped(stored))
  await using whole = closing(await openWhole(stored, { alone: false }))
  await using tool = closing(await openTool(url))
  await systemClock.sleep(1000)
  assert.equal(await whole.count(), 0)
  await tool.run("SELECT FROM pg_sleep(1)")
  const refused = await tallystick(
    ["serve"],
    { ...place, TALLYSTICK_PORT: "0" },
    { killAfterMs: 20_000 },
  )
  assert.match(refused.errors, /a command of tallystick has the database alone/)
})

test("a command that loses its lock ends before a service can start beside it", async () => {
  await using folder = await makeFolder()
  const url = await server.createDatabase()
  const place = { TALLYSTICK_DATA: join(folder.path, "data"), TALLYSTICK_DATABASE_URL: url }
  const service = await start(place)
  assert.equal(await service.end(), 0)
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query("BEGIN; LOCK TABLE tallystick.tiles")
  const running = tallystick(["reindex"], place)
  await eventually("it waits for the table, and loses its lock", async () => {
    const [ended] = await sql(
      url,
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'advisory' AND a.datname = current_database()
         AND EXISTS (SELECT FROM pg_locks WHERE NOT granted)`,
    )
    return ended
  })
  await Promise.race([running, systemClock.sleep(5000)])
  await holder.end()
  const { code, output, errors } = await running
  assert.deepEqual([code, output], [1, ""])
  assert.match(errors, /^tallystick: the connection .* was lost, .*run this again\n$/)
  await done(["reindex"], place)
})

test("a server without a secret makes none for a ledger that has one", async () => {
  await using folder = await makeFolder()
  const url = await server.createDatabase()
  const placeOf = (name: string): Place => ({
    TALLYSTICK_DATA: join(folder.path, name),
    TALLYSTICK_DATABASE_URL: url,
  })
  await using first = await start(placeOf("first"))
  const second = placeOf("second")
  await assert.rejects(
    start(second),
    /there is no .*secret: set it, or .* the ledger in the database has a secret/,
  )
  assert.equal(existsSync(second.TALLYSTICK_DATA), false)
  assert.equal(await first.end(), 0)
})

test("a service that was away for long does not come back while a command has the database alone", async () => {
  await using folder = await makeFolder()
  const url = await server.createDatabase()
  const place = { TALLYSTICK_DATA: join(folder.path, "data"), TALLYSTICK_DATABASE_URL: url }
  await using service = await start(place)
  const acme = await makeWorkspace(service)
  const receipts = await writeMany(acme, 3)
  const write = () => acme.writer.write(eventFor(acme.id))
  service.process.kill("SIGSTOP")
  // One that it had only begun to open is seen later.
  await eventually("its connections are gone", async () => {
    const ended = await sql(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'tallystick' AND datname = current_database()`,
    )
    return ended.length === 0
  })
  {
    // Its leases run out.
    await using _alone = closing(
      await openStopped({ data: place.TALLYSTICK_DATA, databaseUrl: url }),
    )
    service.process.kill("SIGCONT")
    const endMs = systemClock.elapsed() + 3000
    while (systemClock.elapsed() < endMs) {
      const refused = await write()
      assert.deepEqual([refused.status, refused.json().error], [503, "ledger_unavailable"])
      await systemClock.sleep(100)
    }
  }
  const later = await eventually("it to go on", async () => {
    const reply = await write()
    return reply.status === 202 ? reply.json<MintedReceipt>() : undefined
  })
  // Its threads have connections of their own.
  await eventually("it reads", async () => {
    const { status } = await acme.reader.get(`${acme.path}/receipts/${later.receipt}/proof`)
    return status === 200
  })
  await expectChain(acme.reader, acme.id, [...receipts, later])
})

test("a starting service and a command that begin at once do not both use the database", async (t) => {
  const url = await server.createDatabase()
  await migrate(url)
  const chance = createChance(seedOf(t))
  const place = { data: "", databaseUrl: url }
  let users = 0
  const use = async (open: () => Promise<{ close(): Promise<void> }>): Promise<number> => {
    await systemClock.sleep(chance.below(6))
    const opened = await open().catch(() => undefined)
    if (opened === undefined) return 0
    assert.equal(++users, 1, "one at a time")
    await systemClock.sleep(20)
    users -= 1
    await opened.close()
    return 1
  }
  let services = 0
  for (let round = 0; round < 30; round++) {
    const begun = [use(() => requireNoCommand(place)), use(() => openStopped(place))]
    const [service, command] = await Promise.all(begun)
    assert.equal(command, 1, "it waits for a connection that is closed in a moment")
    services += service ?? 0
  }
  t.diagnostic(`${services} services of 30 came first, or after the command`)
})

test("copy: there and back, everything is the same, works, and passes fsck", async () => {
  await using folder = await makeFolder()
  const origin: Place = { TALLYSTICK_DATA: join(folder.path, "data") }
  const { service, acme, receipts, token } = await smallLedger(origin, 2000)
  const some = receipts.filter((_, at) => at % 200 === 0).map(({ receipt }) => receipt)
  const before = await answersOf(service, acme, some)
  const rootKey = service.rootKey
  const busy = await tallystick([
    "copy",
    "--from",
    origin.TALLYSTICK_DATA,
    "--to",
    await server.createDatabase(),
  ])
  assert.deepEqual([busy.code, busy.output], [1, ""])
  assert.match(busy.errors, /another tallystick is using the data folder/)
  assert.equal(await service.end(), 0)

  const url = await server.createDatabase()
  const database: Place = { ...origin, TALLYSTICK_DATABASE_URL: url }
  const wrong = await tallystick(["copy", "--from", origin.TALLYSTICK_DATA, "--to", url], {
    TALLYSTICK_SECRET: "ab".repeat(32),
  })
  assert.deepEqual([wrong.code, wrong.output], [1, ""])
  assert.match(wrong.errors, /is not the secret that this data was made with/)
  const said = await done(["copy", "--from", origin.TALLYSTICK_DATA, "--to", url], origin)
  assert.match(said, /^Copied 2012 entries of 2 workspaces\.\n/)
  assert.match(said, /Everything is as it was written/)

  // The service goes on where the folder ended.
  await using moved = await start(database, rootKey)
  assert.deepEqual(await answersOf(moved, acme, some), before)
  const reply = await moved.client(token).get(`${acme.path}/receipts/${receipts[0]?.receipt}`)
  assert.equal(reply.status, 200, reply.text)
  const writer = moved.client(acme.writer.bearer)
  const repeated = await writer.write(eventFor(acme.id), "order-4711-made")
  assert.equal(repeated.status, 202, repeated.text)
  assert.equal((await writer.write(eventFor(acme.id), "order-4711-made")).text, repeated.text)
  const reader = moved.client(acme.reader.bearer)
  await expectChain(reader, acme.id, [...receipts.slice(0, 20), repeated.json()])
  const now = await answersOf(moved, acme, some)
  const inUse = await tallystick(["fsck"], { ...database })
  assert.deepEqual([inUse.code, inUse.output], [1, ""])
  assert.match(inUse.errors, /another tallystick is using the database/)
  assert.equal(await moved.end(), 0)
  assert.match(await done(["fsck"], database), /Everything is as it was written/)

  // The folder is older than what was signed by now.
  const older = await tallystick(["copy", "--from", origin.TALLYSTICK_DATA, "--to", url])
  assert.equal(older.code, 1)
  assert.match(older.errors, /the data is older than what was signed/)

  const back: Place = { TALLYSTICK_DATA: join(folder.path, "back") }
  await done(["copy", "--from", url, "--to", back.TALLYSTICK_DATA], origin)
  await using returned = await start(back, rootKey)
  assert.deepEqual(await answersOf(returned, acme, some), now)
  const again = await returned
    .client(acme.writer.bearer)
    .write(eventFor(acme.id), "order-4711-made")
  assert.equal(again.text.replaceAll(returned.url, ""), repeated.text.replaceAll(moved.url, ""))
  await expectChain(returned.client(acme.reader.bearer), acme.id, [repeated.json()])
  assert.equal(await returned.end(), 0)
  assert.match(await done(["fsck"], back), /Everything is as it was written/)
})

test("workspaces that are copied at once share a connection, and Node warns of nothing", async () => {
  await using tool = closing(await openTool(await server.createDatabase()))
  const rows = await Promise.all(
    ["1", "no such column", "2"].map((what) => tool.rows(`SELECT ${what}`).catch(() => "failed")),
  )
  assert.deepEqual(rows, [[[1]], "failed", [[2]]])
  await sleep(0)
  assert.deepEqual(warnings, [])
})

// Other servers do not read the folder of one, and backups of the database lack it.
test("archive: with a database nothing is archived until TALLYSTICK_ARCHIVE is set", async () => {
  await using folder = await makeFolder()
  const data = join(folder.path, "data")
  const place = { TALLYSTICK_DATA: data, TALLYSTICK_DATABASE_URL: await server.createDatabase() }
  const hasty = { ...busyArchiver, TALLYSTICK_LIMIT_PACK_AFTER_MS: "1" }
  await using service = await startService({ data, environment: { ...place, ...hasty } })
  const acme = await makeWorkspace(service, { hotDays: 0 })
  const receipts = await writeMany(acme, 130)
  const packed = async () => (await metric(service, "tallystick_packed_entries_total")) >= 128
  await eventually("what is due to be packed", packed)
  // The archiver would look ten times.
  await sleep(500)
  assert.deepEqual((await service.root.get(`${acme.path}/segments`)).json().segments, [])
  await expectChain(service.root, acme.id, receipts)
  assert.equal(await service.end(), 0)
  const settings = { ...settingsOf(service), ...place }
  const refused = await tallystick(["archive", "now"], settings)
  assert.equal(refused.code, 1)
  assert.match(refused.errors, /^tallystick: .* until TALLYSTICK_ARCHIVE is set\n$/)
  assert.match(await done(["doctor"], settings), /^ok {4}archive {8}none: with a database /m)
  assert.equal(existsSync(join(data, "archive")), false)
  const set = { ...settings, TALLYSTICK_ARCHIVE: join(folder.path, "archive") }
  assert.match(await done(["archive", "now"], set), /^Archived 1\d\d entries/)
})

/** Four days after the entries were recorded. */
const later = clockModule(4)

const someSegments = { ...busyArchiver, TALLYSTICK_LIMIT_ARCHIVE_ENTRIES_MAX: "512" }

/** Of ten people and five projects; some of it is archived, erased, expired and held. */
async function oldLedger(place: Place) {
  const first = await start(place)
  const acme = await makeWorkspace(first, { hotDays: 1 })
  const receipts = await writeMany(acme, filed + 60, {
    atOnce: 1000,
    changes: (at) => ({
      projectId: `p${at % 5}`,
      actor: { id: `usr_${at % 10}`, type: "user", email: `mail-${at % 10}@example.com` },
    }),
  })
  assert.equal(await first.end(), 0)
  const service = await startService({
    data: place.TALLYSTICK_DATA,
    environment: { ...place, ...someSegments, NODE_OPTIONS: `--import=${later}` },
  })
  await growOld(service, acme)
  return { service, acme, receipts: receipts.slice(0, 10).concat(receipts.slice(-10)) }
}

async function growOld(service: Service, acme: Workspace): Promise<void> {
  const { root } = service
  const { path } = acme
  await eventually("what is packed to be archived", async () => {
    const { segments } = (await root.get(`${path}/segments?limit=100`)).json()
    return segments.some((one: { lastSequence: number }) => one.lastSequence >= filed)
  })
  const hold = { name: "Case", reason: "a test", subject: { id: "usr_1" } }
  await make(root, `${path}/holds`, hold)
  await Promise.all([
    erase(root, path, { subject: { id: "usr_2" }, scope: "entries" }),
    erase(root, path, { subject: { id: "usr_3" }, scope: "fields" }),
  ])
  await setRetention(root, path, [{ projectId: "p1", days: 1 }])
  await eventually("what is due to expire", async () => {
    const run = await root.post(`${path}/retention/run`, {})
    return run.status === 200 && run.json().isRunning === false
  })
  await signed(service, acme, (await root.get(`${path}/integrity`)).json().size)
}

test("copy: archived, erased, expired and held entries are the same there and back", async () => {
  await using folder = await makeFolder()
  const archive = { TALLYSTICK_ARCHIVE: join(folder.path, "archive") }
  const origin: Place = { TALLYSTICK_DATA: join(folder.path, "data"), ...archive }
  const { acme, receipts, ...written } = await oldLedger(origin)
  await using service = written.service
  const some = receipts.map(({ receipt }) => receipt)
  const states = async ({ root }: Service) =>
    await Promise.all(
      some.map(async (receipt) => {
        const { entry } = (await root.get(`${acme.path}/receipts/${receipt}`)).json()
        return entry.integrity
      }),
    )
  const before = await answersOf(service, acme, [])
  const shown = await states(service)
  assert.deepEqual(new Set(shown), new Set(["erased", "expired", "verified"]))
  const rootKey = service.rootKey
  assert.equal(await service.end(), 0)

  const url = await server.createDatabase()
  await done(["copy", "--from", origin.TALLYSTICK_DATA, "--to", url], origin)
  const database: Place = { ...origin, TALLYSTICK_DATABASE_URL: url }
  assert.match(await done(["fsck"], database), /Everything is as it was written/)
  await using moved = await start(database, rootKey)
  assert.deepEqual(await answersOf(moved, acme, []), before)
  assert.deepEqual(await states(moved), shown)
  await expectChain(moved.client(acme.reader.bearer), acme.id, receipts)
  const asked = { subject: { id: "usr_1" }, scope: "entries", reason: "a test", dryRun: true }
  const preview = await moved.root.post(`${acme.path}/erasures`, asked)
  assert.equal(preview.json().holds.length, 1, preview.text)
  assert.equal(await moved.end(), 0)

  const back: Place = { TALLYSTICK_DATA: join(folder.path, "back"), ...archive }
  await done(["copy", "--from", url, "--to", back.TALLYSTICK_DATA], origin)
  assert.match(await done(["fsck"], back), /Everything is as it was written/)
  await using returned = await start(back, rootKey)
  assert.deepEqual(await states(returned), shown)
  await expectChain(returned.client(acme.reader.bearer), acme.id, receipts)
  assert.equal(await returned.end(), 0)
})

test("copy: killed again and again it goes on, and half a copy starts no service", async (t) => {
  const chance = createChance(seedOf(t))
  await using folder = await makeFolder()
  const origin: Place = { TALLYSTICK_DATA: join(folder.path, "data") }
  const { service, acme, receipts } = await smallLedger(origin, 2000)
  await service.end()
  const url = await server.createDatabase()
  const back: Place = { TALLYSTICK_DATA: join(folder.path, "back") }

  // It ends after its first thousand entries.
  const place = (data: string) => ({ data, databaseUrl: undefined, heads: `${data}.heads` })
  const secret = await readFile(join(origin.TALLYSTICK_DATA, "secret"), "utf8")
  const ended = copyLedger({
    from: place(origin.TALLYSTICK_DATA),
    to: { ...place(origin.TALLYSTICK_DATA), databaseUrl: url },
    secrets: { secret: Buffer.from(secret.trim(), "hex") },
    limits: defaultLimits,
    progress: (step) => {
      if (step.includes(`${acme.id}: 1000 of`)) throw new Error("enough")
    },
  })
  await assert.rejects(ended, /^Error: enough$/)
  const database: Place = { ...origin, TALLYSTICK_DATABASE_URL: url }
  await assert.rejects(start(database), /nothing is recorded .* something was signed/)

  for (const [from, to, environment] of [
    [origin.TALLYSTICK_DATA, url, origin],
    [url, back.TALLYSTICK_DATA, origin],
  ] as const) {
    const copy = ["copy", "--from", from, "--to", to]
    let killed = 0
    for (let round = 0; round < 2; round++) {
      const { code } = await tallystick(
        copy,
        { ...environment },
        { killAfterMs: 200 + chance.below(1200) },
      )
      if (code === null) killed += 1
    }
    t.diagnostic(`killed ${killed} of 2`)
    const said = await done(copy, environment)
    // There, a thousand were; on the way back, each try may have been killed at its beginning.
    const before =
      to === url
        ? /^Copied 2012 entries of 2 workspaces, [12]\d{3} of them before\.\n/
        : /^Copied 2012 entries of 2 workspaces/
    assert.match(said, before)
    assert.match(said, /Everything is as it was written/)
    // Again changes nothing.
    assert.match(await done(copy, environment), /, 2012 of them before\.\n/)
  }
  for (const one of [database, back]) {
    await using copied = await start(one, service.rootKey)
    await expectChain(copied.client(acme.reader.bearer), acme.id, receipts.slice(0, 50))
    assert.equal(await copied.end(), 0)
    if (one === database) break
  }
})

test(
  "fsck: names what was altered in the database, and reindex rebuilds derived data",
  onOwnServer,
  async () => {
    await using folder = await makeFolder()
    const url = await server.createDatabase()
    const place: Place = {
      TALLYSTICK_DATA: join(folder.path, "data"),
      TALLYSTICK_DATABASE_URL: url,
    }
    const { service, acme } = await smallLedger(place, 5000)
    await eventually("the first segment is filed", async () => {
      const found = await sql(url, "SELECT FROM tallystick.segments")
      return found.length > 0
    })
    await service.end()
    const of = `WHERE workspace_id = '${acme.id}'`
    const flip = (column: string, at: number) =>
      `${column} = set_byte(${column}, ${at}, get_byte(${column}, ${at}) # 1)`
    // Each round makes its changes together: none may hide another.
    const altered: readonly {
      readonly isDerived?: true
      readonly alterations: readonly (readonly [alter: string, fault: RegExp])[]
    }[] = [
      {
        alterations: [
          [
            `UPDATE tallystick.entries SET ${flip("record", 60)} ${of} AND sequence = 4000`,
            /entry 4000/,
          ],
          [
            `INSERT INTO tallystick.documents SELECT workspace_id, kind, 'AAAAAAAAAAAAA', version, created + 1, value, listed FROM tallystick.documents ${of} AND kind = 'api-key' LIMIT 1`,
            /API key AAAAAAAAAAAAA is in the registry, and no entry records it/,
          ],
          [
            `UPDATE tallystick.documents SET value = replace(value, '"read"', '"admin"') ${of} AND kind = 'api-key'`,
            /API key \w+ differs from what this entry recorded: scopes/,
          ],
          [
            "CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER t BEFORE INSERT ON tallystick.entries FOR EACH ROW EXECUTE FUNCTION public.f()",
            /the database has a trigger t/,
          ],
        ],
      },
      {
        alterations: [
          [
            `UPDATE tallystick.entries SET ${flip("salted", 100)} ${of} AND sequence = 4500`,
            /entry 4500/,
          ],
          [
            "UPDATE pg_proc SET prosrc = prosrc || ' ' WHERE proname = 'append_group'",
            /append_group as this program made it/,
          ],
        ],
      },
      {
        alterations: [
          [`DELETE FROM tallystick.entries ${of} AND sequence = 3000`, /entry 3000/],
          [
            `UPDATE tallystick.signed_heads SET ${flip("root", 0)}`,
            /the database has another root hash/,
          ],
        ],
      },
      {
        alterations: [
          [
            `DELETE FROM tallystick.entries ${of} AND sequence > 5000`,
            /entry 5001: it and all later entries are missing/,
          ],
        ],
      },
      {
        alterations: [
          [`UPDATE tallystick.entries SET sealed = '' ${of} AND sequence = 10`, /entry 10/],
          [
            `UPDATE tallystick.heads SET ${flip("hash", 0)} ${of}`,
            /entry 5005: the head has another hash/,
          ],
        ],
      },
      {
        alterations: [
          [
            `UPDATE tallystick.heads SET sequence = 5004 ${of}`,
            /the head says that it is the last entry, which is 5005/,
          ],
          [`UPDATE tallystick.checkpoints SET ${flip("root", 0)} ${of}`, /the stored checkpoint/],
        ],
      },
      {
        isDerived: true,
        alterations: [
          [
            `DELETE FROM tallystick.directory ${of} AND kind = 'token'`,
            /the directory does not lead to its token/,
          ],
          [
            `UPDATE tallystick.tiles SET ${flip("hashes", 5)} ${of} AND level = 0 AND tile = 2`,
            /tile 2 of level 0 in the index/,
          ],
          [
            `UPDATE tallystick.segments SET hash = 'a' || substr(hash, 2) ${of}; UPDATE tallystick.segments SET bytes = bytes + 1 ${of}`,
            /the search lists their segment with another hash/,
          ],
        ],
      },
      {
        isDerived: true,
        alterations: [
          [
            `UPDATE tallystick.trees SET ${flip("hashes", 5)} ${of}`,
            /the tree in the index is not the tree over them/,
          ],
          [
            `UPDATE tallystick.tiles SET ${flip("hashes", 5)} ${of} AND level = 64 AND tile = 3`,
            /tile 3 of level 64 in the index/,
          ],
          [
            `UPDATE tallystick.parts SET ${flip("bytes", 30)} ${of} AND part = 1`,
            /their segment in the search cannot be read/,
          ],
        ],
      },
    ]
    const look = async (databaseUrl: string) => {
      const data = place.TALLYSTICK_DATA
      const { faults } = await fsck({
        data,
        databaseUrl,
        heads: `${data}.heads`,
        workspaces: undefined,
        checkpoints: [],
        passes,
        threads: 0,
        progress: () => {},
      })
      return { faults, said: faults.map(sentenceOf).join("\n") }
    }
    assert.deepEqual((await look(url)).faults, [])
    for (const [at, { alterations, isDerived }] of altered.entries()) {
      const twin = await twinOf(url, `altered_${at}`)
      for (const [alter] of alterations) await sql(twin, alter)
      const { faults, said } = await look(twin)
      for (const [, fault] of alterations) assert.match(said, fault)
      assert.equal(
        faults.every((one) => one.isDerived),
        isDerived === true,
        said,
      )
      if (isDerived !== true) continue
      await reindex({ data: "", databaseUrl: twin }, defaultLimits, () => {})
      assert.equal((await look(twin)).said, "")
    }
  },
)

test("export, doctor, backup, secret rotate and root-key rotate on a database", async () => {
  await using folder = await makeFolder()
  const url = await server.createDatabase()
  const place: Place = {
    TALLYSTICK_DATA: join(folder.path, "data"),
    TALLYSTICK_DATABASE_URL: url,
  }
  const doctor = async (environment: Place) => {
    const { code, output } = await tallystick(["doctor", "--json"], { ...environment })
    const looks = JSON.parse(output) as readonly { name: string; state: string; found: string }[]
    const states = new Map(looks.map(({ name, state, found }) => [name, `${state} ${found}`]))
    return { code, states }
  }
  const { states: before } = await doctor(place)
  assert.equal(before.get("ledger"), "warn the database holds no ledger")
  const { service, acme, receipts } = await smallLedger(place, 300)
  const settings = { ...settingsOf(service), ...place }
  const exported = join(folder.path, "export")

  // While the service runs.
  const first = await done(["export", acme.id, exported], settings)
  assert.match(first, /^305 entries of .*, 305 of them new/)
  const { code, states } = await doctor(settings)
  for (const name of ["database", "keys", "chains", "checkpoints", "clock", "service"])
    assert.match(states.get(name) ?? "none", /^ok/, name)
  assert.equal(code, 0)
  const backup = await tallystick(["backup", join(folder.path, "monday")], settings)
  assert.deepEqual([backup.code, backup.output], [1, ""])
  assert.match(backup.errors, /pg_basebackup .* pg_dump/)
  for (const args of [["reindex"], ["secret", "rotate"], ["resume"]]) {
    const refused = await tallystick(args, settings)
    assert.deepEqual([refused.code, refused.output], [1, ""], args.join(" "))
    assert.match(refused.errors, /another tallystick is using the database/)
  }
  await signed(service, acme, 306)
  assert.equal(await service.end(), 0)

  // While none runs: the export is recorded in the database itself, which a standby would refuse.
  const readOnly = `${url}?options=-c%20default_transaction_read_only=on`
  const { errors } = await tallystick(["export", acme.id, exported], {
    ...settings,
    TALLYSTICK_DATABASE_URL: readOnly,
  })
  assert.match(errors, /^tallystick: the database takes no writes; nothing was recorded: .*\n$/)
  assert.match(
    await done(["export", acme.id, exported], settings),
    /^306 entries of .*, 1 of them new/,
  )
  assert.match(await done(["secret", "rotate"], settings), /The new secret is generation 2/)
  const rootKeys = {
    TALLYSTICK_ROOT_KEY: "another-root-key-of-thirty-two-characters",
    TALLYSTICK_ROOT_KEY_PREVIOUS: service.rootKey,
  }
  await done(["root-key", "rotate"], { ...place, ...rootKeys })
  assert.match(await done(["resume"], place), /There is nothing to resume/)
  assert.match(await done(["fsck"], place), /Everything is as it was written/)
  await using again = await startService({
    data: place.TALLYSTICK_DATA,
    environment: { ...place, ...rootKeys },
  })
  await expectChain(again.client(acme.reader.bearer), acme.id, receipts.slice(0, 20))
  assert.equal((await again.root.get(acme.path)).status, 200)
  assert.equal(await again.end(), 0)
})

test(
  "resume: a database that was restored to an older state continues in a new epoch",
  onOwnServer,
  async () => {
    await using folder = await makeFolder()
    const url = await server.createDatabase()
    const data = join(folder.path, "data")
    const newer: Place = { TALLYSTICK_DATA: data, TALLYSTICK_DATABASE_URL: url }
    const { service, acme, receipts } = await smallLedger(newer, 300)
    assert.equal(await service.end(), 0)
    const older = { ...newer, TALLYSTICK_DATABASE_URL: await twinOf(url, "older") }
    await using further = await start(newer, service.rootKey)
    const writer = { id: acme.id, writer: further.client(acme.writer.bearer) }
    await writeMany(writer, 7)
    await signed(further, acme, 312)
    assert.equal(await further.end(), 0)

    await using behind = await start(older, service.rootKey)
    const refused = await behind.client(acme.writer.bearer).write(eventFor(acme.id))
    assert.equal(refused.json().error, "read_only")
    assert.equal(await behind.end(), 0)
    // A server whose own file lists nothing knows it from the database too.
    const elsewhere = { ...older, TALLYSTICK_HEADS: join(folder.path, "elsewhere.heads") }
    await writeFile(elsewhere.TALLYSTICK_HEADS, "")
    assert.match(
      await done(["resume", "--check"], elsewhere),
      new RegExp(`${acme.id}: .* and 312 were signed; it would continue in a new epoch, 2`),
    )
    const { code, output } = await tallystick(["doctor"], { ...elsewhere, TALLYSTICK_PORT: "1" })
    assert.equal(code, 1)
    assert.match(output, /^bad +checkpoints .* and 312 were signed$/m)
    const said = await done(["resume"], older)
    assert.match(said, new RegExp(`${acme.id}: .* and 312 were signed; it continues in epoch 2`))
    await using resumed = await start(older, service.rootKey)
    const reply = await resumed.client(acme.writer.bearer).write(eventFor(acme.id))
    assert.equal(reply.status, 202, reply.text)
    await expectChain(resumed.client(acme.reader.bearer), acme.id, [
      ...receipts.slice(0, 1),
      reply.json(),
    ])
    assert.equal(await resumed.end(), 0)
    assert.match(await done(["fsck"], older), /Everything is as it was written/)
  },
)
