import assert from "node:assert/strict"
import test from "node:test"
import { failedStart } from "../crash/programs.ts"
import { firstToken, goodPassword } from "../people.ts"
import { askDatabase, startPostgres } from "../postgres-server.ts"
import { createChance, seedOf } from "../chance.ts"
import {
  eventFor,
  eventually,
  makeWorkspace,
  writeEvent,
  writeMany,
  type Service,
} from "../service.ts"
import { startServers } from "./servers.ts"
import { killUnderLoad, revokeAcross, writeAcross } from "./several-servers.ts"

// Promise 20: several servers on one database are one ledger.

const server = await startPostgres()
test.after(() => server[Symbol.asyncDispose]())

for (const servers of [2, 4])
  test(`${servers} servers write one chain, and each takes part`, async (t) => {
    const across = await writeAcross({
      database: await server.createDatabase(),
      servers,
      events: 500,
      chance: createChance(seedOf(t)),
    })
    t.diagnostic(JSON.stringify(across))
    assert.ok(across.written >= 500 && across.replayed >= 10, "too little was written")
  })

test("when one server is killed under load, the other continues the work of both", async (t) => {
  const killed = await killUnderLoad({
    database: await server.createDatabase(),
    workspaces: 6,
    chance: createChance(seedOf(t)),
  })
  t.diagnostic(JSON.stringify(killed))
  assert.ok(killed.cut >= 1, "the server had nothing to do")
})

test("what one server revokes or changes, the other knows within five seconds", async (t) => {
  const late = await revokeAcross(await server.createDatabase(), 1)
  t.diagnostic(JSON.stringify(late))
})

test("no server writes to a chain that another has found broken", async () => {
  const database = await server.createDatabase()
  await using servers = await startServers(database, 2)
  const [one, other] = servers.all as [Service, Service]
  const { id, path, writer, reader } = await makeWorkspace(one)
  const [broken] = await writeMany({ id, writer }, 5)
  assert.ok(broken !== undefined)
  await askDatabase(
    database,
    `UPDATE tallystick.entries SET salted = set_byte(salted, 20, get_byte(salted, 20) # 1)
     WHERE workspace_id = $1 AND receipt = $2`,
    [id, broken.receipt],
  )
  const shown = await one.client(reader.bearer).get(`${path}/receipts/${broken.receipt}`)
  assert.equal(shown.json().entry.integrity, "broken", shown.text)
  await eventually("both to refuse writes", async () => {
    const replies = [one, other].map((each) => each.client(writer.bearer).write(eventFor(id)))
    return (await Promise.all(replies)).every(({ status }) => status === 503)
  })
  await writeEvent(await makeWorkspace(other))
})

test("two servers that start at once share an empty database, and make one first admin", async () => {
  const database = await server.createDatabase()
  await using servers = await startServers(database, 2)
  const [one, other] = servers.all as [Service, Service]
  const tokens = await Promise.all([firstToken(one), firstToken(other)])
  assert.notEqual(tokens[0], tokens[1])
  const setUp = (service: Service, token: string, name: string) =>
    service
      .client()
      .post("/v1/setup", { token, email: `${name}@example.com`, password: goodPassword })
  const [first, second] = await Promise.all([
    setUp(one, tokens[0], "ada"),
    setUp(other, tokens[1], "grace"),
  ])
  assert.equal(first.status + second.status, 200 + 401, first.text + second.text)
  for (const again of [await setUp(one, tokens[0], "eve"), await setUp(other, tokens[1], "eve")])
    assert.equal(again.status, 401, again.text)
  const members = await one.root.get("/v1/workspaces/instance/members")
  assert.equal(members.json().members.length, 1, members.text)
})

test("a database of a newer version is refused with a sentence", async () => {
  const database = await server.createDatabase()
  await using servers = await startServers(database, 1)
  await servers.all[0]?.end()
  await askDatabase(database, "UPDATE tallystick.layout SET number = number + 1")
  const { code, errors } = await failedStart({
    TALLYSTICK_DATABASE_URL: database,
    TALLYSTICK_DATA: "/nowhere/at/all",
    TALLYSTICK_SECRET: "00".repeat(32),
    TALLYSTICK_ROOT_KEY: "x".repeat(32),
  })
  assert.equal(code, 1)
  assert.match(
    errors,
    /^tallystick: the database was written by a newer version of tallystick .*\n$/,
  )
})
