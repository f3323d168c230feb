import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { configOf } from "../../packages/server/src/cli/terminal.ts"
import { keepSecrets } from "../../packages/server/src/operator/secret-files.ts"
import { onOwnServer, startOwnPostgres } from "../postgres-server.ts"

test("of servers that begin a ledger at once, one makes a secret", onOwnServer, async () => {
  await using server = await startOwnPostgres()
  await using folder = await mkdtempDisposable(join(tmpdir(), "tallystick-"))
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
