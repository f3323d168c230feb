import assert from "node:assert/strict"
import { globSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { pathToFileURL } from "node:url"
import { expectChain } from "../chain.ts"
import { tallystick } from "../program.ts"
import { createChance, seedOf, type Chance } from "../promises/chance.ts"
import { eventually, makeWorkspace, settingsOf, writeMany, type Service } from "../service.ts"
import { startProgram } from "./programs.ts"

// Killed while entries move into the archive: nothing is lost, and every segment is recorded once.

const kills = 60
/** So many become a segment of the search, and are packed. */
const filed = 4096
const idle = { TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "3600000" }
/** Many small segments, as fast as they can be made. */
const busy = {
  TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "5",
  TALLYSTICK_LIMIT_ARCHIVE_PARTIAL_MS: "1",
  TALLYSTICK_LIMIT_ARCHIVE_ENTRIES_MAX: "64",
}
const lateSegments = pathToFileURL(join(import.meta.dirname, "late-segments.ts")).href

function filesOf(data: string): readonly string[] {
  return globSync("*/*.zst", { cwd: join(data, "archive") })
}

async function metric({ root }: Service, name: string): Promise<number> {
  return Number(new RegExp(`^${name} (.*)$`, "m").exec((await root.get("/metrics")).text)?.[1])
}

interface Archived {
  /** It runs, and has archived everything. */
  readonly last: Service
  readonly kills: number
}

interface Killing {
  readonly chance: Chance
  readonly most: number
  /** A multiple of what is filed at once. */
  readonly packed: number
  readonly environment: Readonly<Record<string, string>>
}

/** Kills a service that archives, so often at most, as long as it has something to archive. */
async function killArchiving(
  started: AsyncDisposableStack,
  { chance, most, packed, environment }: Killing,
): Promise<Archived> {
  const segments = packed / 64
  const first = started.use(await startProgram({ environment: idle }))
  const { data } = first
  // The first sweep of this service finds nothing that is due.
  const workspace = await makeWorkspace(first)
  const { id, path } = workspace
  const receipts = [...(await writeMany(workspace, packed + 50, { atOnce: 1000 }))]
  await eventually("the entries to be packed", async () =>
    (await metric(first, "tallystick_packed_entries_total")) === packed ? true : undefined,
  )
  assert.equal((await first.root.patch(path, { hotDays: 0 })).status, 200)
  await first.end("SIGKILL")
  let done = 0
  while (done < most && filesOf(data).length < segments) {
    await using service = await startProgram({ data, environment })
    const writer = service.client(workspace.writer.bearer)
    receipts.push(...(await writeMany({ id, writer }, 1)))
    // Until it is at work, and for a moment more.
    const before = filesOf(data).length
    await eventually("another segment", async () => filesOf(data).length > before || undefined)
    await sleep(chance.below(20))
    await service.end("SIGKILL")
    done += 1
  }
  const last = started.use(await startProgram({ data, environment: busy }))
  await eventually(
    "all to be archived",
    async () =>
      (await metric(last, "tallystick_archive_segments")) >= segments &&
      (await metric(last, "tallystick_archive_overdue_seconds")) === 0
        ? true
        : undefined,
    60_000,
  )
  await expectChain(last.root, id, receipts)
  return { last, kills: done }
}

test(
  `killed up to ${kills} times while entries are archived: nothing is lost, and nothing is there twice`,
  { timeout: 300_000 },
  async (t) => {
    await using started = new AsyncDisposableStack()
    const chance = createChance(seedOf(t))
    const killing = { chance, most: kills, packed: 2 * filed, environment: busy }
    const { last, kills: done } = await killArchiving(started, killing)
    t.diagnostic(`killed ${done} times`)
    assert.ok(done >= 10, "hardly any kill fell between two segments")
    const recorded = await metric(last, "tallystick_archive_segments")
    // The same frames make the same file, so a file that was not recorded is not left behind.
    assert.equal(filesOf(last.data).length, recorded)
    assert.equal(await last.end(), 0)
    const checked = await tallystick(["fsck"], settingsOf(last))
    assert.equal(checked.code, 0, checked.output + checked.errors)
  },
)

test("canary: bodies that are dropped before their segment is stored are found out", async (t) => {
  await using started = new AsyncDisposableStack()
  const environment = { ...busy, NODE_OPTIONS: `--import=${lateSegments}` }
  const killing = { chance: createChance(seedOf(t)), most: 2, packed: filed, environment }
  await assert.rejects(killArchiving(started, killing), /archive_unavailable/)
})
