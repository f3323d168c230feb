import assert from "node:assert/strict"
import { copyFile, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { expectChain } from "./chain.ts"
import { openArchivedLedger, segmentFiles } from "./crash/archived-ledger.ts"
import { failedStart, startProgram } from "./crash/programs.ts"
import { filesWith } from "./personal-files.ts"
import { tallystick } from "./program.ts"
import { make, makeWorkspace, settingsOf, startService, writeEvent } from "./service.ts"
import { erase } from "./until.ts"

// A copy from before an erasure is erased again before it is served.

const ada = { id: "usr_ada", type: "user", email: "ada.lovelace@example.com" }
const whole = { id: "usr_in_the_body", type: "user", email: "whole@example.com" }

test("a copy from before an erasure is not served until it is erased again, and stays provable", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service)
  const { id, path } = workspace
  const kept = await writeEvent(workspace)
  const receipts = [
    await writeEvent(workspace, { actor: ada }),
    await writeEvent(workspace, { actor: whole }),
  ]
  for (const { receipt } of receipts) await service.root.get(`${path}/receipts/${receipt}/proof`)
  // Documents that name a person lose the name in the copy, too.
  const subject = { id: whole.id }
  await service.root.patch(`${path}/projects/core`, { activityLinks: true })
  const link = await make(service.root, `${path}/activity/token`, { projectId: "core", subject })
  const hold = { name: "A case", reason: "a test", subject }
  const { holdId } = await make(service.root, `${path}/holds`, hold)
  await service.root.ask("DELETE", `${path}/holds/${holdId}`, { body: { reason: "a test" } })
  await erase(service.root, path, { subject })
  const copy = join(service.data, "..", "copy")
  const made = await tallystick(["backup", copy], settingsOf(service))
  assert.equal(made.code, 0, made.errors)
  await writeEvent(workspace, { actor: ada })
  await erase(service.root, path, { subject: { id: ada.id } })
  await erase(service.root, path, { subject, scope: "entries" })
  assert.equal(await service.end(), 0)
  const personal = [ada.email, whole.email, whole.id]
  assert.deepEqual(await filesWith(service.data, personal), [])
  assert.ok((await filesWith(copy, personal)).includes("journal.db"))

  const heads = join(copy, "..", "newest.heads")
  await copyFile(`${service.data}.heads`, heads)
  await copyFile(`${service.data}.erasures`, join(copy, "..", "newest.erasures"))
  const listed = await readFile(`${service.data}.erasures`, "utf8")
  assert.ok(personal.every((text) => !listed.includes(text)))
  const settings = {
    TALLYSTICK_DATA: copy,
    TALLYSTICK_HEADS: heads,
    TALLYSTICK_ROOT_KEY: service.rootKey,
  }
  const refused = await failedStart(settings)
  assert.match(refused.errors, /was erased since it was made.*it is not served/s)
  assert.ok((await filesWith(copy, personal)).includes("journal.db"), "and nothing was changed")

  const resumed = await tallystick(["resume"], settings)
  assert.equal(resumed.code, 0, resumed.errors)
  const environment = { TALLYSTICK_HEADS: heads, TALLYSTICK_ROOT_KEY: service.rootKey }
  await using again = await startService({ data: copy, environment })
  assert.deepEqual(await filesWith(copy, personal), [])
  const { erasures } = (await again.root.get(`${path}/erasures`)).json()
  assert.deepEqual(
    erasures.map(({ state, entries }: Record<string, unknown>) => [state, entries]),
    [
      ["done", 4],
      ["done", 1],
      ["done", 1],
    ],
  )
  assert.equal((await again.client(link.token).get(`${path}/activity`)).status, 401)
  for (const { receipt } of receipts) await again.root.get(`${path}/receipts/${receipt}/proof`)
  await expectChain(again.root, id, [kept, ...receipts])
  assert.equal(await again.end(), 0)

  // The next start has nothing to do, and the ledger explains itself.
  await using third = await startService({ data: copy, environment })
  assert.equal((await third.root.get(`${path}/erasures`)).json().erasures.length, 3)
  assert.equal(await third.end(), 0)
  const checked = await tallystick(["fsck"], settings)
  assert.equal(checked.code, 0, checked.output + checked.errors)
})

test("a copy whose segments are from before an erasure erases them, too, and names one that is missing", async () => {
  const changes = (place: number) => (place === 100 || place === 4100 ? { actor: whole } : {})
  const { first, workspace, receipts } = await openArchivedLedger(4096 + 50, changes)
  await using _ = first
  const { id, path } = workspace
  const without = join(first.data, "..", "without")
  const listing = await tallystick(["backup", without, "--without-archive"], settingsOf(first))
  assert.equal(listing.code, 0, listing.errors)
  assert.match(
    listing.output,
    /needs 64 segments of the archive, which \S+ names\. Copy them: rsync /,
  )
  const listed = (await readFile(join(without, "archive-files"), "utf8")).trimEnd().split("\n")
  assert.deepEqual(listed.toSorted(), [...segmentFiles(first.data)].toSorted())
  assert.deepEqual(segmentFiles(without), [])
  const copy = join(first.data, "..", "copy")
  const made = await tallystick(["backup", copy], settingsOf(first))
  assert.equal(made.code, 0, made.errors)
  assert.match(made.output, /includes 64 segments of the archive\./)
  assert.deepEqual(segmentFiles(copy).toSorted(), [...segmentFiles(first.data)].toSorted())
  await using service = await startProgram({ data: first.data })
  await erase(service.root, path, { subject: { id: whole.id }, scope: "entries" })
  assert.equal(await service.end(), 0)
  const personal = [whole.email, whole.id]
  assert.deepEqual(await filesWith(first.data, personal), [])
  assert.ok((await filesWith(copy, personal)).some((name) => name.includes(".zst")))

  const heads = join(copy, "..", "newest.heads")
  await copyFile(`${first.data}.heads`, heads)
  await copyFile(`${first.data}.erasures`, join(copy, "..", "newest.erasures"))
  const settings = {
    TALLYSTICK_DATA: copy,
    TALLYSTICK_HEADS: heads,
    TALLYSTICK_ROOT_KEY: first.rootKey,
  }
  const resumed = await tallystick(["resume"], settings)
  assert.equal(resumed.code, 0, resumed.errors)
  await using again = await startProgram({ data: copy, environment: settings })
  assert.deepEqual(await filesWith(copy, personal), [])
  await expectChain(again.root, id, receipts)
  assert.equal(await again.end(), 0)
  assert.equal((await tallystick(["fsck"], settings)).code, 0)

  const [missing = ""] = segmentFiles(copy)
  await rm(join(copy, "archive", missing))
  for (const command of [
    ["fsck"],
    ["backup", join(copy, "..", "another")],
    ["archive", "verify"],
  ]) {
    const { code, errors } = await tallystick(command, settings)
    assert.equal(code, 1, `${command[0]}: ${errors}`)
    assert.ok(errors.includes(missing), `${command[0]}: ${errors}`)
  }
})
