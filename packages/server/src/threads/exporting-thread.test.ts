import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { defaultLimits } from "../limits.ts"
import { firstKeyring } from "../secrets/keyring.ts"
import { openStore } from "../store/open.ts"
import { exportBeside } from "./exporting-thread.ts"

test("a thread that could not start is not used again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tallystick-"))
  const place = { data: join(folder, "data") }
  const unexpected = (cause: unknown): never => assert.fail(String(cause))
  const keyring = firstKeyring(new Uint8Array(32))
  const options = { place, keyring, limits: defaultLimits }
  const exporting = exportBeside(options, () => new Map(), unexpected, unexpected)
  // There are no files yet.
  await assert.rejects(exporting.head("parquet"))
  const store = await openStore({ ...place, limits: defaultLimits }, unexpected)
  assert.deepEqual(Buffer.from(await exporting.head("parquet")).toString(), "PAR1")
  await exporting.close()
  await store.close()
  await rm(folder, { recursive: true })
})
