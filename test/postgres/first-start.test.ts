import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import test from "node:test"
import { makeFolder } from "../folder.ts"
import { configOf } from "../../packages/server/src/cli/terminal.ts"
import { keepSecrets } from "../../packages/server/src/operator/secret-files.ts"
import { expectChain } from "../chain.ts"
import { onOwnServer, startOwnPostgres, startPostgres } from "../postgres-server.ts"
import { makeWorkspace, startService, writeMany } from "../service.ts"

test("of servers that begin a ledger at once, one makes a secret", onOwnServer, async () => {
  await using server = await startOwnPostgres()
  await using folder = await makeFolder()
  const url = await server.createDatabase()
  const folders = Array.from({ length: 4 }, (_, at) => join(folder.path, `server-${at}`))
  const begun = await Promise.allSettled(
    folders.map((data) =>
      keepSecrets(
        configOf({ environment: { TALLYSTICK_DATA: data, TALLYSTICK_DATABASE_URL: url } }),
      ),
    ),
  )
  const refused = begun.filter((one) => one.status === "rejected")
  assert.equal(refused.length, folders.length - 1)
  for (const { reason } of refused)
    assert.match(String(reason), /the ledger in the database has a secret already/)
  const made = folders.filter((data) => existsSync(join(data, "secret")))
  assert.equal(made.length, 1)
  assert.deepEqual(folders.filter(existsSync), made, "the others left nothing behind")
})

test("a server with another secret than the one that began the database does not start, also before the first workspace", async () => {
  await using server = await startPostgres()
  const database = await server.createDatabase()
  const start = (secret: string) =>
    startService({
      environment: { TALLYSTICK_DATABASE_URL: database, TALLYSTICK_SECRET: secret.repeat(32) },
    })
  const begun = await Promise.allSettled([start("ab"), start("cd")])
  await using services = new AsyncDisposableStack()
  const running = begun.flatMap((one) =>
    one.status === "fulfilled" ? [services.use(one.value)] : [],
  )
  const refused = begun.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []))
  const [first] = running
  assert.ok(first !== undefined && running.length === 1, refused.join("\n"))
  assert.match(
    refused.join(),
    /has begun this database with another TALLYSTICK_SECRET: start this one/,
  )
  const secret = begun[0]?.status === "fulfilled" ? "ab" : "cd"
  services.use(await start(secret))
  const workspace = await makeWorkspace(first)
  await expectChain(first.root, workspace.id, await writeMany(workspace, 3))
  // Now a key is sealed, which says the same.
  await assert.rejects(start("ef"), /is not the secret that this data was made with/)
})
