import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test, { after } from "node:test"
import { defaultLimits } from "../../packages/server/src/limits.ts"
import { closing } from "../../packages/server/src/runtime/closing.ts"
import { write } from "../../packages/server/src/store/contract/written-entries.ts"
import { expectChain } from "../../packages/server/src/store/expect-chain.ts"
import { isPostgresInUse } from "../../packages/server/src/store/postgres/alone.ts"
import { addressOf, openDatabase } from "../../packages/server/src/store/postgres/connection.ts"
import { migrate } from "../../packages/server/src/store/postgres/migrate.ts"
import { openPostgres } from "../../packages/server/src/store/postgres/open-postgres.ts"
import { askDatabase, startPostgres } from "../postgres-server.ts"
import { eventually } from "../service.ts"

// A database that has fewer connections left than a server would open.

const postgres = await startPostgres()
after(() => postgres[Symbol.asyncDispose]())

const count = 20
const short = "SELECT 1 FROM pg_sleep(0.01)"
const asMany = (ask: () => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, () => ask()))

/** A URL whose user may have so many connections, and whose commits do not wait for the disk. */
async function limited(
  connections: number,
  whole?: string,
): Promise<AsyncDisposable & { readonly url: string; readonly role: string }> {
  const url = new URL(whole ?? (await postgres.createDatabase()))
  const role = `limited_${randomBytes(6).toString("hex")}`
  const admin = url.href
  await askDatabase(
    admin,
    `CREATE ROLE ${role} LOGIN PASSWORD 'few' CONNECTION LIMIT ${connections}`,
  )
  await askDatabase(admin, `ALTER ROLE ${role} SET synchronous_commit = off`)
  url.username = role
  url.password = "few"
  return {
    url: url.href,
    role,
    async [Symbol.asyncDispose]() {
      await askDatabase(admin, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
    },
  }
}

test("queries wait for a free connection", async () => {
  await using role = await limited(3)
  const { url } = role
  const other = openDatabase({ url, connections: 2 })
  await Promise.all([other.rows(short), other.rows(short)])
  // One connection is left, and ten would be made.
  const database = openDatabase({ url, connections: 10 })
  await asMany(() => database.rows(short))
  await asMany(() => database.within(({ rows }) => rows(short)))
  await Promise.all([database.close(), other.close()])
})

test("a query waits for the first connection", async () => {
  await using role = await limited(1)
  const { url } = role
  const other = openDatabase({ url, connections: 1 })
  await other.rows(short)
  const database = openDatabase({ url, connections: 2 })
  const waiting = database.rows(short)
  await other.rows("SELECT FROM pg_sleep(0.3)")
  await other.close()
  assert.equal((await waiting).length, 1)
  await database.close()
})

test("a database without a free connection refuses within seconds, and is not reported as away", async () => {
  await using role = await limited(1)
  const { url } = role
  const other = openDatabase({ url, connections: 1 })
  await other.rows(short)
  const database = openDatabase({ url, connections: 2 })
  await assert.rejects(database.rows(short), { code: "ledger_unavailable" })
  await other.close()
  assert.equal((await database.rows(short)).length, 1)
  await database.close()
})

test("a connection that could not be told to wait for the disk is not used", async () => {
  const url = await postgres.createDatabase()
  const waits = "SHOW synchronous_commit"
  await askDatabase(url, "REVOKE SELECT ON pg_extension FROM PUBLIC")
  await using role = await limited(2, url)
  const database = openDatabase({ url: role.url, connections: 2 })
  await assert.rejects(database.rows(waits), { code: "ledger_unavailable" })
  await askDatabase(url, "GRANT SELECT ON pg_extension TO PUBLIC")
  const [row] = await eventually("the database is back", () =>
    database.rows(waits).catch(() => undefined),
  )
  assert.equal(row?.[0], "on")
  await database.close()
})

test("parameters of the address replace no setting of ours, and commands still find the service", async () => {
  const url = new URL(await postgres.createDatabase())
  const setting = async (name: string): Promise<unknown> => {
    const [row] = await database.rows("SELECT current_setting($1)", [name])
    return row?.[0]
  }
  url.search =
    "application_name=mine&statement_timeout=0&options=-c%20work_mem=1234kB%20-c%20jit=on%20-c%20standard_conforming_strings=off%20-c%20idle_session_timeout=500"
  const database = openDatabase({ url: url.href, connections: 1 })
  assert.deepEqual(
    await Promise.all(
      [
        "work_mem",
        "jit",
        "standard_conforming_strings",
        "statement_timeout",
        "idle_session_timeout",
        "tcp_keepalives_idle",
      ].map(setting),
    ),
    ["1234kB", "off", "on", "6s", "0", "10"],
  )
  assert.equal(await isPostgresInUse(url.href), true)
  await database.close()
  for (const [given, read] of [
    ["sslmode=require", "verify-full"],
    ["sslmode=no-verify", "no-verify"],
    ["sslmode=require&uselibpqcompat=true", "require"],
  ]) {
    const { connectionString } = addressOf(`postgres://one/ledger?${given}`, "any")
    assert.equal(new URL(connectionString).searchParams.get("sslmode"), read)
  }
  // A command does not take itself for a service.
  url.search = "application_name=tallystick"
  await eventually("nobody uses it", async () => !(await isPostgresInUse(url.href)))
})

test("a role that may not write: a start names the tables, and a server refuses what was not recorded", async () => {
  const url = await postgres.createDatabase()
  await migrate(url)
  await using limit = await limited(20, url)
  await askDatabase(url, `ALTER ROLE ${limit.role} RESET synchronous_commit`)
  const open = () =>
    openPostgres(
      {
        databaseUrl: limit.url,
        limits: defaultLimits,
        archive: { kind: "folder", path: "/nowhere" },
      },
      assert.fail,
    )
  const inSchema = `ON ALL TABLES IN SCHEMA tallystick`
  await askDatabase(url, `GRANT SELECT, INSERT, UPDATE, DELETE ${inSchema} TO ${limit.role}`)
  await assert.rejects(open(), /lacks rights to audits, .*, uses in the schema tallystick: make it/)
  await askDatabase(url, `GRANT USAGE ON SCHEMA tallystick TO ${limit.role}`)
  await using store = closing(await open())
  await store.ready()
  await write(store, "acme", ["first"])
  for (const [lost, back, reason] of [
    [
      `REVOKE INSERT ON tallystick.entries FROM ${limit.role}`,
      `GRANT INSERT ON tallystick.entries TO ${limit.role}`,
      /lacks rights to entries in/,
    ],
    [
      `ALTER ROLE ${limit.role} SET default_transaction_read_only = on`,
      `ALTER ROLE ${limit.role} RESET default_transaction_read_only`,
      /is read-only, as a standby is/,
    ],
  ] as const) {
    await askDatabase(url, lost)
    await postgres.terminateBackends()
    await eventually("it says why, once it is connected again", () =>
      store.ready().then(
        () => false,
        (refusal: unknown) => reason.test(String(refusal)),
      ),
    )
    await assert.rejects(write(store, "acme", ["second"]), { code: "read_only" })
    await askDatabase(url, back)
    await postgres.terminateBackends()
    await eventually("it takes writes again", () =>
      store.ready().then(
        () => true,
        () => false,
      ),
    )
  }
  await write(store, "acme", ["second"])
  await expectChain(store.journal, "acme")
})
