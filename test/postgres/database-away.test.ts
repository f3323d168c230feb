import assert from "node:assert/strict"
import test from "node:test"
import { startInVain } from "../crash/programs.ts"
import { onOwnServer, startOwnPostgres } from "../postgres-server.ts"
import { createChance, seedOf } from "../promises/chance.ts"
import { takeDatabaseAway } from "./database-away.ts"

// Promise 20: whatever happens to the database, what was acknowledged is there, once, and the
// servers go on by themselves.

test(
  "connections are cut, and the server killed and stopped, under load",
  onOwnServer,
  async (t) => {
    await using database = await startOwnPostgres()
    const away = await takeDatabaseAway({
      database,
      servers: 2,
      terminations: 46,
      kills: 4,
      hangs: 1,
      chance: createChance(seedOf(t)),
    })
    t.diagnostic(JSON.stringify(away))
    assert.ok(away.unavailable >= 50, "nobody has noticed")
  },
)

test("a database that does not wait for its disk is refused", onOwnServer, async () => {
  await using database = await startOwnPostgres({ settings: { synchronous_commit: "off" } })
  const { code, errors } = await startInVain({
    TALLYSTICK_DATABASE_URL: await database.createDatabase(),
    TALLYSTICK_DATA: "/nowhere/at/all",
    TALLYSTICK_SECRET: "00".repeat(32),
    TALLYSTICK_ROOT_KEY: "x".repeat(32),
  })
  assert.equal(code, 1)
  assert.match(errors, /^tallystick: the database has synchronous_commit = off, with which .*\n$/)
})

test("canary: commits that do not wait for the disk are found out", onOwnServer, async (t) => {
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
