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

test("of servers with different secrets, the one that is late makes no workspace", async () => {
  await using server = await startPostgres()
  const database = await server.createDatabase()
  const start = (secret: string) =>
    startService({
      environment: { TALLYSTICK_DATABASE_URL: database, TALLYSTICK_SECRET: secret.repeat(32) },
    })
  await using first = await start("ab")
  await using late = await start("cd")
  const workspace = await makeWorkspace(first)
  const refused = await late.root.post("/v1/workspaces", { id: "late" })
  assert.deepEqual([refused.status, refused.json().error], [503, "ledger_unavailable"])
  assert.match(refused.json().detail, /another secret/)
  assert.equal((await first.root.get("/v1/workspaces/late")).status, 404)
  // It cannot sign for a workspace whose lease it has got.
  assert.equal(await late.end(), 0)
  await expectChain(first.root, workspace.id, await writeMany(workspace, 3))
})
