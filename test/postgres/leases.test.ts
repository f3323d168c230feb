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
  await eventually("the lease to be given back", async () => isGiving || undefined)
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
