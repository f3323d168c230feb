import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import {
  foldersOfServers,
  onOwnServer,
  startOwnPostgres,
  startPostgres,
} from "./postgres-server.ts"

// The PostgreSQL servers for tests do what they promise, and leave nothing behind.

async function connect(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(url)
  // The connections of a server that is killed end with it.
  client.on("error", () => {})
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

async function ask(url: string, sql: string): Promise<readonly unknown[]> {
  await using client = await connect(url)
  const { rows } = await client.query<Record<string, unknown>>(sql)
  return rows.map((row) => Object.values(row)[0])
}

test("each database is empty, and its clients can be cut off", async () => {
  await using server = await startPostgres()
  const [one, other] = [await server.createDatabase(), await server.createDatabase()]
  await ask(one, "CREATE TABLE kept (id text)")
  const tables = "SELECT count(*)::int FROM information_schema.tables WHERE table_name = 'kept'"
  assert.deepEqual(await ask(one, tables), [1])
  assert.deepEqual(await ask(other, tables), [0])

  await using client = await connect(one)
  const ended = new Promise((resolve) => client.once("end", resolve))
  await server.terminateBackends()
  await ended
  assert.deepEqual(await ask(one, tables), [1])
})

test("commits survive a kill, and no process does", onOwnServer, async () => {
  await using server = await startOwnPostgres({ settings: { work_mem: "5MB" } })
  const url = await server.createDatabase()
  assert.deepEqual(await ask(url, "SHOW work_mem"), ["5MB"])
  assert.deepEqual(await ask(url, "SHOW fsync"), ["on"])
  await ask(url, "CREATE TABLE kept (id text)")
  await ask(url, "INSERT INTO kept VALUES ('one')")
  await using _open = await connect(url)
  await server.kill()
  await assert.rejects(ask(url, "SELECT 1"), { code: "ECONNREFUSED" })
  await server.restart()
  assert.match(server.log(), /was not properly shut down/)
  assert.deepEqual(await ask(url, "SELECT id FROM kept"), ["one"])
  await server.stop()
  await server.restart()
  assert.deepEqual(await ask(url, "SELECT id FROM kept"), ["one"])
})

test("a server that does not start says why", onOwnServer, async () => {
  await assert.rejects(
    startOwnPostgres({ settings: { wal_level: "none" } }),
    /did not start:[^]*wal_level/,
  )
  assert.deepEqual(foldersOfServers(process.pid), [])
})

test("a commit waits for a standby, which can be promoted", onOwnServer, async () => {
  await using server = await startOwnPostgres()
  const url = await server.createDatabase()
  await using standby = await server.standby({ synchronous: true })
  await ask(url, "CREATE TABLE kept (id text)")
  await standby.stop()
  await using client = await connect(url)
  let done = false
  const kept = client.query("INSERT INTO kept VALUES ('one')").then(() => (done = true))
  const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
  while ((await ask(url, waiting)).length === 0) await sleep(10)
  assert.equal(done, false)
  await standby.restart()
  await kept
  await server.kill()

  const there = standby.url(new URL(url).pathname.slice(1))
  await assert.rejects(ask(there, "INSERT INTO kept VALUES ('two')"), /read-only/)
  await standby.promote()
  await ask(there, "INSERT INTO kept VALUES ('two')")
  assert.deepEqual(await ask(there, "SELECT id FROM kept"), ["one", "two"])
})

test(
  "a server ends with a test that is killed, and a later one removes its folder",
  {
    timeout: 120_000,
    skip:
      onOwnServer.skip ||
      (process.platform === "linux" ? false : "only Linux ends a process with its parent"),
  },
  async () => {
    const script = `
      import { startOwnPostgres } from ${JSON.stringify(join(import.meta.dirname, "postgres-server.ts"))}
      await startOwnPostgres()
      console.log("started")
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    await new Promise((resolve) => child.stdout.once("data", resolve))
    const [folder = ""] = foldersOfServers(child.pid)
    const file = join(folder, "data", "postmaster.pid")
    const postmaster = Number(readFileSync(file, "utf8").split("\n")[0])
    process.kill(postmaster, 0)
    child.kill("SIGKILL")
    // The postmaster removes this file as the last thing it does, when its processes have ended.
    while (existsSync(file)) await sleep(10)
    await using _later = await startOwnPostgres()
    assert.deepEqual(foldersOfServers(child.pid), [])
  },
)
