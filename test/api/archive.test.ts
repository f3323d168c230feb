import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { verifyArchive } from "../../packages/server/src/operator/archive.ts"
import { databaseOf, engineSettings } from "../engine.ts"
import { metric } from "../metrics.ts"
import { program, tallystick } from "../program.ts"
import { damage } from "../promises/damaged.ts"
import {
  clockAhead,
  eventually,
  makeWorkspace,
  settingsOf,
  startService,
  writeMany,
  type Service,
  type Workspace,
  clockModule,
} from "../service.ts"

// Old entries move into the archive while the service runs, and are read from it as before.

/** The archiver looks often, and makes small segments at once. */
const hasty = {
  TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "20",
  TALLYSTICK_LIMIT_ARCHIVE_PARTIAL_MS: "1",
}
/** A segment of the search, and some that are in none. */
const count = 4096 + 100

function filesOf({ data }: Service): readonly string[] {
  return readdirSync(join(data, "archive"), { recursive: true })
    .map(String)
    .filter((name) => name.includes("/"))
}

test("old entries are archived and read as before; without the archive, reads answer 503", async () => {
  await using service = await startService({ environment: hasty })
  const workspace = await makeWorkspace(service, { hotDays: 0 })
  const { id, path } = workspace
  const receipts = await writeMany(workspace, count, {
    atOnce: 1000,
    changes: (place) => (place < 60 ? { action: "ledger.test.old" } : {}),
  })
  const bytesOf = () =>
    filesOf(service).reduce(
      (sum, name) => sum + statSync(join(service.data, "archive", name)).size,
      0,
    )
  await eventually(
    "all packed entries to be archived, and counted",
    async () =>
      (await metric(service, "tallystick_packed_entries_total")) >= 4032 &&
      (await metric(service, "tallystick_archive_overdue_seconds")) === 0 &&
      (await metric(service, "tallystick_archive_segments")) === filesOf(service).length &&
      (await metric(service, "tallystick_archive_bytes")) === bytesOf(),
  )
  const page = () =>
    service.root.get(`${path}/events?storage=archive&limit=50&query=action:ledger.test.old`)
  const read = await page()
  assert.equal(read.status, 200, read.text)
  const { events } = read.json<{ events: readonly { integrity: string; storageTier: string }[] }>()
  assert.equal(events.length, 50)
  assert.ok(events.every((one) => one.integrity === "verified" && one.storageTier === "archive"))
  await expectChain(service.root, id, receipts)

  const { segments } = (await service.root.get(`${path}/segments?limit=100`)).json<{
    segments: readonly { file: string; bytes: number }[]
  }>()
  assert.deepEqual(segments.map(({ file }) => file).toSorted(), filesOf(service).toSorted())

  renameSync(join(service.data, "archive"), join(service.data, "away"))
  await service.end("SIGKILL")
  await using later = await startService({ data: service.data, environment: hasty })
  const first = receipts[0]?.receipt ?? ""
  for (const asked of [
    `${path}/events?storage=archive&limit=50&query=action:ledger.test.old`,
    `${path}/receipts/${first}`,
  ]) {
    const reply = await later.root.get(asked)
    assert.deepEqual([reply.status, reply.json().error], [503, "archive_unavailable"])
  }
  const after = await writeMany({ id, writer: later.client(workspace.writer.bearer) }, 3)
  renameSync(join(service.data, "away"), join(service.data, "archive"))
  await expectChain(later.root, id, [...receipts, ...after])
  assert.equal(await later.end(), 0)
  const settings = { ...settingsOf(later), ...(await engineSettings(later.data)) }
  const { code, output, errors } = await tallystick(["fsck"], settings)
  assert.equal(code, 0, output + errors)

  const derived = () =>
    readdirSync(later.data)
      .filter((name) => /^(index|search)\.db$/.test(name))
      .map((name) => statSync(join(later.data, name)).size)
  const sizes = derived()
  renameSync(join(later.data, "archive"), join(later.data, "away"))
  const reindexed = await tallystick(["reindex"], settings)
  renameSync(join(later.data, "away"), join(later.data, "archive"))
  assert.deepEqual([reindexed.code, derived()], [1, sizes], "reindex removes nothing then")
  assert.match(
    reindexed.errors,
    /^tallystick: .*archive.*verify names everything that is missing$/m,
  )

  const archive = (...words: readonly string[]) => tallystick(["archive", ...words], settings)
  const verified = await archive("verify")
  assert.deepEqual([verified.code, verified.errors], [0, ""], verified.output)
  assert.match(
    (await archive("status")).output,
    new RegExp(`^${id}: \\d+ entries in (1 segment|\\d+ segments), `, "m"),
  )
  const restored = await archive("restore")
  assert.equal(restored.code, 0, restored.errors)
  assert.deepEqual(filesOf(later), [])
  const now = await archive("now")
  assert.match(now.output, /^Archived \d{4} entries/, now.errors)
  assert.equal(now.code, 0, now.errors)
  assert.equal((await tallystick(["fsck"], settings)).code, 0)
  // A file that was changed is named with its entries, by both.
  const [file = ""] = filesOf(later)
  writeFileSync(join(later.data, "archive", file), "this is no segment".repeat(1000))
  const damaged = await archive("verify")
  assert.equal(damaged.code, 1)
  assert.match(
    damaged.output,
    /^Of \d+ segments?, 1 cannot be read, or differ from what was recorded\.\n$/,
  )
  assert.match(damaged.errors, /the segment of entries \d+ to \d+ (is not the file|cannot be read)/)
  assert.notEqual((await tallystick(["fsck"], settings)).code, 0)
})

const threeDaysLater = clockModule(3)

test("small workspaces are archived too: whole stretches by the service, the rest by the command", async () => {
  await using service = await startService()
  const small = await makeWorkspace(service, { hotDays: 0 })
  const tiny = await makeWorkspace(service, { hotDays: 0 })
  const changes = (place: number) => (place % 100 === 0 ? { action: "ledger.test.rare" } : {})
  const receipts = await writeMany(small, 400, { atOnce: 100, changes })
  const few = await writeMany(tiny, 5, { changes })
  assert.equal(await service.end(), 0)

  const environment = { ...hasty, NODE_OPTIONS: `--import=${threeDaysLater}` }
  await using later = await startService({ data: service.data, environment })
  await eventually(
    "whole stretches to be archived",
    async () => (await lastArchived(later, small)) >= 384,
  )
  assert.equal(await lastArchived(later, tiny), 0)
  await expectFound(later, small, 4)
  await expectChain(later.root, small.id, receipts)
  assert.equal(await later.end(), 0)

  const settings = { ...settingsOf(later), ...(await engineSettings(later.data)) }
  const now = await tallystick(["archive", "now"], settings)
  assert.match(now.output, /^Archived \d+ entries/, now.errors)
  const checked = await tallystick(["fsck"], settings)
  assert.equal(checked.code, 0, checked.output + checked.errors)
  const { data } = service
  await using last = await startService({ data })
  // They are in no segment of the search, so a search reads them from the archive.
  renameSync(join(data, "archive"), join(data, "away"))
  const refused = await last.root.get(`${tiny.path}/events?storage=all`)
  assert.deepEqual([refused.status, refused.json().error], [503, "archive_unavailable"])
  renameSync(join(data, "away"), join(data, "archive"))
  assert.ok((await lastArchived(last, small)) > 400)
  assert.ok((await lastArchived(last, tiny)) >= 5)
  await expectFound(last, small, 4)
  await expectFound(last, tiny, 1)
  await expectChain(last.root, small.id, receipts)
  await expectChain(last.root, tiny.id, few)
})

test("archive verify: what is archived or restored meanwhile is no fault, and no file to delete", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service, { hotDays: 0 })
  const before = await writeMany(workspace, 100)
  assert.equal(await service.end(), 0)
  const { data } = service
  const settings = { ...settingsOf(service), ...(await engineSettings(data)) }
  assert.equal((await tallystick(["archive", "now"], settings)).code, 0)
  renameSync(join(data, "archive"), join(data, "away"))
  const unmounted = await tallystick(["doctor"], settings)
  renameSync(join(data, "away"), join(data, "archive"))
  assert.match(unmounted.output, /^bad {3}segments .* has none of the segments that are recorded/m)
  assert.doesNotMatch((await tallystick(["doctor"], settings)).output, /segments/)
  await using later = await startService({ data })
  const writer = later.client(workspace.writer.bearer)
  const receipts = [...before, ...(await writeMany({ ...workspace, writer }, 100))]
  assert.equal(await later.end(), 0)

  /** Verifies, and runs another command after the first segment. */
  const verifiedDuring = async (command: string) => {
    const environment = { PATH: process.env["PATH"], ...settings }
    return verifyArchive({ data, databaseUrl: await databaseOf(data) }, (_, segments) => {
      if (segments > 1) return
      const { status } = spawnSync(process.execPath, [program, "archive", command], {
        env: environment,
      })
      assert.equal(status, 0)
    })
  }
  const none = { faults: [], strays: [], isInUse: false }
  assert.deepEqual(await verifiedDuring("now"), { ...none, segments: 1 })
  assert.equal(filesOf(service).length, 2)
  assert.deepEqual(await verifiedDuring("restore"), { ...none, segments: 1 })
  assert.deepEqual(filesOf(service), [])

  // A killed write leaves a file.
  await using last = await startService({ data })
  const { ledgerId } = (await last.root.get(workspace.path)).json<{ ledgerId: string }>()
  const stray = `${ledgerId}/${"0".repeat(12)}-${"0".repeat(64)}.jsonl.zst`
  mkdirSync(join(data, "archive", ledgerId), { recursive: true })
  writeFileSync(join(data, "archive", stray), "")
  const running = await tallystick(["archive", "verify"], settings)
  assert.deepEqual(
    [running.code, running.errors.includes(`${stray} yet; before you delete it,`)],
    [0, true],
    running.errors,
  )
  await expectChain(last.root, workspace.id, receipts)
  assert.equal(await last.end(), 0)
  const stopped = await tallystick(["archive", "verify"], settings)
  assert.match(stopped.errors, /; you may delete it before the next start/)
})

test("archive now: what is due and stays is counted, and damage is no success", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service, { hotDays: 0 })
  const receipts = await writeMany(workspace, 100)
  assert.equal(await service.end(), 0)
  const settings = { ...settingsOf(service), ...(await engineSettings(service.data)) }
  const now = () => tallystick(["archive", "now"], settings)
  // It also removes the checkpoints.
  assert.equal((await tallystick(["reindex"], settings)).code, 0)
  const unsigned = await now()
  assert.deepEqual([unsigned.code, unsigned.output], [0, "Archived 0 entries.\n"])
  assert.match(
    unsigned.errors,
    new RegExp(`: ${workspace.id}: no checkpoint covers 10\\d due entries yet;`),
  )

  await using again = await startService({ data: service.data })
  await expectChain(again.root, workspace.id, receipts)
  assert.equal(await again.end(), 0)
  damage(service.data, receipts[50]?.receipt ?? "", "a byte of the body")
  const damaged = await tallystick(["archive", "now"], {
    ...settings,
    TALLYSTICK_LIMIT_RECHECK_ENTRIES: "1",
  })
  assert.equal(damaged.code, 1)
  assert.match(damaged.output, /^Archived 1\d\d entries/)
  assert.match(damaged.errors, new RegExp(`: ${workspace.id}: 1 entry cannot be archived`))
})

test("archive now: entries that were packed with newer ones wait for them, and are not damaged", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service, { hotDays: 2 })
  const receipts = [...(await writeMany(workspace, 40))]
  assert.equal(await service.end(), 0)
  const clock = clockAhead(3)
  const environment = { ...clock, TALLYSTICK_LIMIT_PACK_AFTER_MS: "1" }
  await using later = await startService({ data: service.data, environment })
  const writer = later.client(workspace.writer.bearer)
  receipts.push(...(await writeMany({ ...workspace, writer }, 100)))
  await eventually(
    "a whole stretch to be packed",
    async () => (await metric(later, "tallystick_packed_entries_total")) >= 64,
  )
  assert.equal(await later.end(), 0)

  const settings = { ...settingsOf(later), ...(await engineSettings(later.data)) }
  const archive = (days: number) =>
    tallystick(["archive", "now"], { ...settings, ...clockAhead(days) })
  assert.deepEqual(await archive(3), { code: 0, output: "Archived 0 entries.\n", errors: "" })
  const rest = await archive(6)
  assert.match(rest.output, /^Archived 1[45]\d entries/)
  assert.deepEqual([rest.code, rest.errors], [0, ""])
  await using last = await startService({ data: service.data, environment: clockAhead(6) })
  await expectChain(last.root, workspace.id, receipts)
})

test("a copy archives and restores what was archived in segments that are not full", async () => {
  await using service = await startService()
  const workspace = await makeWorkspace(service, { hotDays: 0 })
  const receipts = [...(await writeMany(workspace, 100))]
  const { data } = service
  const settings = { ...settingsOf(service), ...(await engineSettings(data)) }
  const done = async (args: readonly string[], environment: object): Promise<string> => {
    const ended = await tallystick(args, { ...settings, ...environment })
    assert.equal(ended.code, 0, `${args.join(" ")}: ${ended.errors}`)
    return ended.output
  }
  const write = async (): Promise<void> => {
    await using again = await startService({ data })
    const writer = again.client(workspace.writer.bearer)
    receipts.push(...(await writeMany({ ...workspace, writer }, 100)))
    await expectChain(again.root, workspace.id, receipts)
    assert.equal(await again.end(), 0)
  }
  await expectChain(service.root, workspace.id, receipts)
  assert.equal(await service.end(), 0)
  for (let segments = 0; segments < 2; segments++) {
    await done(["archive", "now"], {})
    await write()
  }

  const copy = join(data, "..", "copy")
  const archive = { TALLYSTICK_ARCHIVE: join(data, "..", "copied") }
  cpSync(join(data, "archive"), archive.TALLYSTICK_ARCHIVE, { recursive: true })
  await done(["copy", "--from", data, "--to", copy], archive)
  const there = { ...archive, TALLYSTICK_DATA: copy, TALLYSTICK_HEADS: `${copy}.heads` }
  assert.match(await done(["archive", "now"], there), /^Archived 10\d entries/)
  const { segments } = await verifyArchive(
    {
      data: copy,
      databaseUrl: undefined,
      archive: { kind: "folder", path: archive.TALLYSTICK_ARCHIVE },
    },
    () => {},
  )
  assert.equal(segments, 3)
  assert.match(await done(["archive", "restore"], there), /^The bodies of 3\d\d entries/)
  assert.match(await done(["archive", "now"], there), /^Archived 3\d\d entries/)
  await done(["fsck"], there)
  const environment = { ...archive, TALLYSTICK_ROOT_KEY: service.rootKey }
  await using last = await startService({ data: copy, environment })
  await expectChain(last.root, workspace.id, receipts)
})

/** The last sequence in a segment; 0 if there is none. */
async function lastArchived({ root }: Service, { path }: Workspace): Promise<number> {
  const { segments } = (await root.get(`${path}/segments?limit=100`)).json<{
    segments: readonly { lastSequence: number }[]
  }>()
  return Math.max(0, ...segments.map(({ lastSequence }) => lastSequence))
}

/** A search finds the rare entries, whole. */
async function expectFound({ root }: Service, { path }: Workspace, count: number): Promise<void> {
  const found = await root.get(`${path}/events?storage=all&query=action:ledger.test.rare`)
  const { events } = found.json<{ events: readonly { integrity: string }[] }>()
  assert.deepEqual(
    events.map(({ integrity }) => integrity),
    Array.from({ length: count }, () => "verified"),
  )
}
