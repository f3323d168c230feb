import assert from "node:assert/strict"
import { setTimeout as sleep } from "node:timers/promises"
import test from "node:test"
import pg from "pg"
import { systemClock } from "../../packages/server/src/clock.ts"
import { memoryHeads } from "../../packages/server/src/store/heads.ts"
import { openDatabase } from "../../packages/server/src/store/postgres/connection.ts"
import { sharedHeads } from "../../packages/server/src/store/postgres/heads.ts"
import { migrate } from "../../packages/server/src/store/postgres/migrate.ts"
import { startPostgres } from "../postgres-server.ts"

const server = await startPostgres()
test.after(() => server[Symbol.asyncDispose]())

const origin = "a.example/1"
const rootOf = (letter: string) => Buffer.alloc(32, letter)

test("only one of two servers may sign a size, and both know the larger size", async () => {
  const { one, two, close } = await openTwo()
  assert.equal(await one.advance(origin, { size: 5, root: rootOf("a") }), true)
  assert.equal(await two.advance(origin, { size: 5, root: rootOf("b") }), false)
  assert.equal(await two.advance(origin, { size: 4, root: rootOf("a") }), false)
  assert.equal((await two.get(origin))?.size, 5)
  assert.equal(await two.advance(origin, { size: 7, root: rootOf("c") }), true)
  assert.deepEqual((await one.get(origin))?.root, rootOf("c"))
  await close()
})

test("a database that was put back to an older state learns what was signed, and so does every server", async () => {
  const { one, two, url, close } = await openTwo()
  assert.equal(await one.advance(origin, { size: 3, root: rootOf("a") }), true)
  assert.equal(await one.advance(origin, { size: 5, root: rootOf("b") }), true)
  // As after a failover to a standby that lacked the last five.
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query("UPDATE tallystick.signed_heads SET size = 3, root = $1", [rootOf("a")])
  await client.end()
  assert.equal((await one.get(origin))?.size, 5, "who has signed it knows it at once")
  while ((await two.get(origin))?.size !== 5) await sleep(50)
  assert.deepEqual((await two.get(origin))?.root, rootOf("b"))
  assert.equal(await two.advance(origin, { size: 5, root: rootOf("c") }), false)
  await close()
})

async function openTwo() {
  const url = await server.createDatabase()
  await migrate(url)
  const databases = [1, 2].map(() => openDatabase({ url, connections: 1 }))
  const [one, two] = databases.map((database) => sharedHeads(database, memoryHeads(), systemClock))
  assert.ok(one !== undefined && two !== undefined)
  const close = async (): Promise<void> => {
    one.close()
    two.close()
    for (const database of databases) await database.close()
  }
  return { one, two, url, close }
}
