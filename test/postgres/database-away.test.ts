import assert from "node:assert/strict"
import { join } from "node:path"
import test from "node:test"
import { makeFolder } from "../folder.ts"
import { failedStart } from "../crash/programs.ts"
import { greet } from "../../packages/server/src/cli/greeting.ts"
import { configOf } from "../../packages/server/src/cli/terminal.ts"
import { createLog } from "../../packages/server/src/log.ts"
import { keepSecrets } from "../../packages/server/src/operator/secret-files.ts"
import { serve } from "../../packages/server/src/serve.ts"
import { systemClock } from "../../packages/server/src/clock.ts"
import { defaultLimits } from "../../packages/server/src/limits.ts"
import { openDatabase } from "../../packages/server/src/store/postgres/connection.ts"
import { openPostgres } from "../../packages/server/src/store/postgres/open-postgres.ts"
import {
  askDatabase,
  onOwnServer,
  startOwnPostgres,
  type OwnPostgresServer,
} from "../postgres-server.ts"
import { createChance, seedOf } from "../chance.ts"
import { metric } from "../metrics.ts"
import { eventually, type Service } from "../service.ts"
import { takeDatabaseAway } from "./database-away.ts"
import { startServers } from "./servers.ts"

// Promise 20: after any failure of the database, every acknowledged write is there once, and the
// servers continue by themselves.

test(
  "connections are cut, and the server killed and stopped, under load",
  onOwnServer,
  async (t) => {
    await using database = await startOwnPostgres()
    const away = await takeDatabaseAway({
      database,
      servers: 2,
      terminations: 4,
      kills: 1,
      hangs: 1,
      chance: createChance(seedOf(t)),
    })
    t.diagnostic(JSON.stringify(away))
    assert.ok(away.unavailable >= 10, "nobody has noticed")
  },
)

test("a database that does not wait for its disk is refused", onOwnServer, async () => {
  await using database = await startOwnPostgres({ settings: { synchronous_commit: "off" } })
  const url = await database.createDatabase()
  const { code, errors } = await failedStart({
    TALLYSTICK_DATABASE_URL: url,
    TALLYSTICK_DATA: "/nowhere/at/all",
    TALLYSTICK_SECRET: "00".repeat(32),
    TALLYSTICK_ROOT_KEY: "x".repeat(32),
  })
  assert.equal(code, 1)
  assert.match(errors, /^tallystick: the database has synchronous_commit = off, with which .*\n$/)
  // Switching it off later does not affect connections that acknowledge.
  for (const isDerived of [false, true]) {
    const one = openDatabase({ url, connections: 1, isDerived })
    const rows = await one.rows("SHOW synchronous_commit")
    assert.deepEqual(rows, [[isDerived ? "off" : "on"]])
    await one.close()
  }
})

async function openStore(database: Pick<OwnPostgresServer, "createDatabase">) {
  const databaseUrl = await database.createDatabase()
  const archive = { kind: "folder", path: "/nowhere" } as const
  const store = await openPostgres({ databaseUrl, limits: defaultLimits, archive }, assert.fail)
  return { ...store, [Symbol.asyncDispose]: () => store.close() }
}

test(
  "the database is asked for its state once, however many ask at the same time",
  onOwnServer,
  async () => {
    await using database = await startOwnPostgres({ settings: { log_statement: "all" } })
    await using store = await openStore(database)
    const asked = (): number => database.log().split("pg_is_in_recovery()").length - 1
    const before = asked()
    await Promise.all(Array.from({ length: 50 }, () => store.ready()))
    await eventually("it is logged", async () => asked() > before)
    assert.equal(asked() - before, 1)
  },
)

test(
  "a listener that begins while the database is away hears of all workspaces when it is back",
  onOwnServer,
  async () => {
    await using database = await startOwnPostgres()
    await using store = await openStore(database)
    await database.kill()
    await assert.rejects(store.ready())
    const over = new AbortController()
    const heard = store.grown(over.signal)[Symbol.asyncIterator]().next()
    await database.restart()
    assert.deepEqual(await heard, { done: false, value: [] })
    over.abort()
  },
)

test(
  "a listener that begins while the database is away ends when it is told to",
  onOwnServer,
  async () => {
    await using database = await startOwnPostgres()
    await using store = await openStore(database)
    await database.kill()
    await assert.rejects(store.ready())
    const over = new AbortController()
    const heard = Array.fromAsync(store.grown(over.signal))
    over.abort()
    const late = systemClock.sleep(3000).then(() => assert.fail("it still waits for the database"))
    assert.deepEqual((await Promise.race([heard, late])).flat(), [])
  },
)

test(
  "a database that goes away before the greeting does not end the start",
  onOwnServer,
  async () => {
    await using database = await startOwnPostgres()
    await using folder = await makeFolder()
    const config = configOf({
      environment: {
        TALLYSTICK_DATA: join(folder.path, "data"),
        TALLYSTICK_DATABASE_URL: await database.createDatabase(),
        TALLYSTICK_PORT: "0",
      },
    })
    const log = createLog("silent", [], () => {})
    const onFatal = (cause: Error) => assert.fail(cause)
    const running = await serve(config, await keepSecrets(config), {
      log,
      version: "0.0.0",
      onFatal,
    })
    let said = ""
    const greeting = {
      demo: true,
      rootKeyPath: undefined,
      say: (text: string) => void (said += text),
    }
    try {
      await database.kill()
      await greet(running, greeting)
      assert.match(said, /^tallystick listens on .*\n[^]*the next start prints the rest\.\n\n$/)
      await database.restart()
      await eventually("it serves", async () => {
        const { status } = await fetch(`${running.url}/readyz`)
        return status === 200
      })
      await greet(running, greeting)
      assert.match(said, /Write a first event[^]*ui\/setup\?first/)
    } finally {
      await running.close()
    }
  },
)

test(
  "a commit that hangs costs its own connection, and nothing else is refused",
  onOwnServer,
  async () => {
    await using server = await startOwnPostgres()
    const url = await server.createDatabase()
    await askDatabase(url, "CREATE TABLE written (n integer)")
    const database = openDatabase({ url, connections: 2 })
    const backend = async (): Promise<unknown> =>
      (await database.rows("SELECT pg_backend_pid()"))[0]
    await askDatabase(url, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    await askDatabase(url, "SELECT pg_reload_conf()")
    // Once the server has read that, a commit waits for a standby that does not come, which none of
    // its timeouts ends.
    const write = async (): Promise<never> => {
      for (;;) await database.unsafe("INSERT INTO written VALUES (1)", [])
    }
    const hung = assert.rejects(write(), /Query read timeout/)
    try {
      await eventually("a commit to wait", async () => {
        const waits = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        return (await askDatabase(url, waits)).length > 0
      })
      const before = await backend()
      await hung
      for (let asked = 0; asked < 20; asked++) {
        assert.deepEqual(await backend(), before)
        await systemClock.sleep(20)
      }
    } finally {
      await database.close()
    }
  },
)

test("a server says whether a standby confirms what it acknowledges", onOwnServer, async () => {
  await using database = await startOwnPostgres()
  await using servers = await startServers(await database.createDatabase(), 1)
  const [service] = servers.all as [Service]
  const expectStandbys = (detail: RegExp, count: number) =>
    eventually("the service to see its standbys", async () => {
      const { text: ready } = await service.client().get("/readyz?verbose")
      const standbys = await metric(service, "tallystick_database_synchronous_standbys")
      return detail.test(ready) && standbys === count
    })
  await expectStandbys(/PostgreSQL \d+.*; no synchronous standby: /, 0)
  await using standby = await database.standby({ synchronous: true })
  await expectStandbys(/PostgreSQL \d+.*; synchronous standbys: 1"/, 1)
  assert.match(standby.log(), /started streaming/)
  assert.deepEqual((await service.root.get("/v1/system")).json().data.engine, "postgres")
})

test("canary: commits that do not wait for the disk are detected", onOwnServer, async (t) => {
  await using database = await startOwnPostgres({ settings: { wal_writer_delay: "10s" } })
  const run = takeDatabaseAway({
    database,
    servers: 1,
    terminations: 0,
    kills: 3,
    hangs: 0,
    chance: createChance(seedOf(t)),
    fault: "commits without waiting",
  })
  await assert.rejects(
    run,
    /is lost|said to be new|there are not as many entries as keys|integrity_failure/,
  )
})
