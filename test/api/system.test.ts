import assert from "node:assert/strict"
import { statfsSync, statSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, test } from "node:test"
import { tallystick } from "../program.ts"
import { eventually, makeWorkspace, writeEvent } from "../service.ts"
import { startWatched } from "./watched.ts"

// GET /v1/system: what an operator looks at first. permissions.test.ts has who may.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)

test("an operator sees the service's data, its commits, and its settings without secrets", async () => {
  const ask = async () => (await service.root.get("/v1/system")).json()
  const before = await ask()
  const startedAt = Date.parse(before.startedAt)
  assert.ok(startedAt <= Date.now() && startedAt > Date.now() - 600_000)
  for (let written = 0; written < 5; written++) await writeEvent(acme)
  const now = await ask()
  assert.deepEqual([now.startedAt, now.version], [before.startedAt, before.version])
  assert.equal(now.node, process.versions.node)

  const sizes = new Map<string, number>(
    now.data.files.map(({ name, bytes }: { name: string; bytes: number }) => [name, bytes]),
  )
  for (const name of ["journal.db", "index.db", "search.db"]) {
    const { size } = statSync(join(service.data, name))
    const told = sizes.get(name) ?? 0
    assert.ok(told > 0 && told <= size, `${name}: ${told} of ${size} bytes`)
  }
  assert.equal(
    now.data.bytes,
    sizes.values().reduce((sum, bytes) => sum + bytes, 0),
  )
  const { bavail, bsize } = statfsSync(service.data)
  assert.ok(Math.abs(now.data.freeBytes / (bavail * bsize) - 1) < 0.2)

  const { commits, medianUs, p99Us, queued, queuedMax } = now.writing
  assert.ok(commits >= before.writing.commits + 5, `${commits} commits`)
  assert.ok(medianUs > 0 && medianUs <= p99Us && p99Us < 60_000_000, `${medianUs} ${p99Us}`)
  assert.deepEqual([queued, queuedMax, now.broken], [0, 5000, []])
  assert.deepEqual(now.followers.map(({ follower }: { follower: string }) => follower).toSorted(), [
    "auditor",
    "checkpointer",
    "filing",
  ])
  const settings = new Map(
    now.settings.map(({ name, value }: { name: string; value: string }) => [name, value]),
  )
  assert.equal(settings.get("TALLYSTICK_DATA"), service.data)
  assert.equal(settings.get("TALLYSTICK_LIMIT_EVENT_BYTES_MAX"), "262144")
  assert.match(String(settings.get("TALLYSTICK_ROOT_KEY")), /^\(not shown\)$|^kept in /)
  assert.ok(!JSON.stringify(now).includes(String(service.root.bearer)))
  await eventually("the auditor has begun", async () => (await ask()).audit?.round >= 1)
})

test("the last backup is shown, and an invalid file is ignored", async () => {
  const lastBackup = async () => (await service.root.get("/v1/system")).json().data.lastBackup
  assert.equal(await lastBackup(), undefined)
  const before = Date.now()
  const made = await tallystick(["backup", join(service.data, "..", "monday")], {
    TALLYSTICK_DATA: service.data,
  })
  assert.equal(made.code, 0, made.errors)
  const { at, entries } = await lastBackup()
  assert.ok(Date.parse(at) >= before && Date.parse(at) <= Date.now(), at)
  assert.equal(made.output.match(/Copied (\d+) entries/)?.[1], String(entries))
  for (const text of ["", "{", "7", '{"at":"soon","entries":1}', '{"at":"2026-01-01T00:00:00Z"}']) {
    await writeFile(join(service.data, "last-backup.json"), text)
    assert.equal(await lastBackup(), undefined, text)
  }
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
