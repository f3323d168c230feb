import assert from "node:assert/strict"
import test from "node:test"
import { openDatabase, type Database } from "../../packages/server/src/store/postgres/connection.ts"
import { createLeases, type OwnLeases } from "../../packages/server/src/store/postgres/leases.ts"
import { migrate } from "../../packages/server/src/store/postgres/migrate.ts"
import { systemClock } from "../../packages/server/src/clock.ts"
import { askDatabase, startPostgres } from "../postgres-server.ts"
import { eventually } from "../service.ts"

test("one process holds a lease that is taken while another gives it back", async () => {
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase()
  await migrate(url)
  const database = openDatabase({ url, connections: 2 })
  let isGiving = false
  const mayGo = Promise.withResolvers<void>()
  const isGone = Promise.withResolvers<void>()
  const slow: Database = {
    ...database,
    // The connection on which a lease is given back is slow.
    async rows(statement, values) {
      if (!statement.startsWith("DELETE FROM tallystick.leases"))
        return database.rows(statement, values)
      isGiving = true
      await mayGo.promise
      const rows = await database.rows(statement, values)
      isGone.resolve()
      return rows
    },
  }
  let elapsedMs = 0
  const clock = { ...systemClock, elapsed: () => elapsedMs, sleep: () => systemClock.sleep(10) }
  const leases: OwnLeases = createLeases(slow, "watch", clock)
  await using _ = {
    async [Symbol.asyncDispose]() {
      await leases.close()
      await database.close()
    },
  }
  assert.equal(await leases.hold("acme"), true)
  // Nobody has used the lease for a minute.
  elapsedMs = 60_000
  await eventually("the lease to be given back", async () => isGiving)
  const again = leases.hold("acme")
  // Asked on the other connection, it would be answered by then.
  setTimeout(mayGo.resolve, 200)
  assert.equal(await again, true)
  await isGone.promise
  const rows = () => askDatabase(url, "SELECT holder FROM tallystick.leases")
  assert.equal((await rows()).length, 1)
  await leases.close()
  assert.equal((await rows()).length, 0)
})

test("a workspace that was left is reported as soon as it is taken again", async () => {
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase()
  await migrate(url)
  const database = openDatabase({ url, connections: 2 })
  // No time passes, so a refusal stays fresh.
  const sleepers: (() => void)[] = []
  const sleep = () => new Promise<void>((wake) => sleepers.push(wake))
  const clock = { ...systemClock, elapsed: () => 0, sleep }
  const ours = createLeases(database, "file", clock)
  const others = createLeases(database, "file", clock)
  await using _ = {
    async [Symbol.asyncDispose]() {
      await Promise.all([ours.close(), others.close()])
      await database.close()
    },
  }
  let taken = 0
  ours.onTaken(() => (taken += 1))
  assert.equal(await others.hold("acme"), true)
  for (const turn of [1, 2]) {
    await eventually("the loss of the lease to be noticed", async () => {
      for (const wake of sleepers.splice(0)) wake()
      return (await ours.hold("acme")) === false
    })
    await ours.take("acme")
    assert.equal(taken, turn)
    await others.take("acme")
  }
})

test("a refusal that is answered late does not hide that the lease was taken since", async () => {
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase()
  await migrate(url)
  const database = openDatabase({ url, connections: 2 })
  const isRefused = Promise.withResolvers<void>()
  const mayAnswer = Promise.withResolvers<void>()
  const late: Database = {
    ...database,
    async rows(statement, values) {
      const rows = await database.rows(statement, values)
      if (!statement.startsWith("INSERT INTO tallystick.leases") || rows.length > 0) return rows
      isRefused.resolve()
      await mayAnswer.promise
      return rows
    },
  }
  const others = createLeases(database, "file", systemClock)
  const ours = createLeases(late, "file", systemClock)
  await using _ = {
    async [Symbol.asyncDispose]() {
      await Promise.all([ours.close(), others.close()])
      await database.close()
    },
  }
  assert.equal(await others.hold("acme"), true)
  const refused = ours.hold("acme")
  await isRefused.promise
  await ours.take("acme")
  mayAnswer.resolve()
  assert.equal(await refused, true)
})

test("a lease that was unused for long is not given back while it is taken again", async () => {
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase()
  await migrate(url)
  const database = openDatabase({ url, connections: 2 })
  let takes = 0
  const slow: Database = {
    ...database,
    async rows(statement, values) {
      const rows = await database.rows(statement, values)
      // Meanwhile unused leases are given back several times.
      if (statement.startsWith("INSERT") && ++takes === 2) await systemClock.sleep(200)
      return rows
    },
  }
  let elapsedMs = 0
  const clock = { ...systemClock, elapsed: () => elapsedMs, sleep: () => systemClock.sleep(10) }
  const leases = createLeases(slow, "file", clock)
  assert.equal(await leases.hold("acme"), true)
  elapsedMs = 60_000
  await leases.take("acme")
  assert.equal((await askDatabase(url, "SELECT holder FROM tallystick.leases")).length, 1)
  await database.within(({ rows }) => leases.requireOurs(rows, "acme"))
  await leases.close()
  await database.close()
})
