import assert from "node:assert/strict"
import test from "node:test"
import { onOwnServer, startOwnPostgres, startPostgres } from "../postgres-server.ts"
import { longRun } from "../promises/long-run.ts"
import { createChance, seedOf } from "../chance.ts"
import { takeDatabaseAway } from "./database-away.ts"
import { killUnderLoad, revokeAcross, writeAcross } from "./several-servers.ts"

// Promise 20 at length.

test("fifty thousand events through four servers", async (t) => {
  const chance = createChance(seedOf(t))
  await using server = await startPostgres()
  await longRun(t, { what: "events", wanted: 50_000, minutes: 5, floor: 10_000 }, async () => {
    const database = await server.createDatabase()
    const { written } = await writeAcross({ database, servers: 4, events: 10_000, chance })
    assert.ok(written >= 10_000)
    return written
  })
})

test("the database goes away a thousand times", onOwnServer, async (t) => {
  const chance = createChance(seedOf(t))
  await using database = await startOwnPostgres()
  await longRun(t, { what: "faults", wanted: 1000, minutes: 10, floor: 50 }, async () => {
    const faults = { terminations: 45, kills: 4, hangs: 1 }
    const { unavailable } = await takeDatabaseAway({ database, servers: 2, ...faults, chance })
    assert.ok(unavailable >= 50)
    return 50
  })
})

test("fifty servers are killed, and two hundred changes cross", async (t) => {
  const chance = createChance(seedOf(t))
  await using server = await startPostgres()
  await longRun(t, { what: "kills", wanted: 50, minutes: 8, floor: 5 }, async () => {
    const database = await server.createDatabase()
    await killUnderLoad({ database, workspaces: 6, chance })
    await revokeAcross(await server.createDatabase(), 1)
    return 1
  })
})
