import assert from "node:assert/strict"
import { globSync, unlinkSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { test } from "node:test"
import { expectChain } from "../chain.ts"
import { tallystick } from "../program.ts"
import { createChance, seedOf } from "../promises/chance.ts"
import { eventually, makeWorkspace, settingsOf, writeMany, type Service } from "../service.ts"
import { startProgram } from "./programs.ts"

// Killed while entries move into the archive: nothing is lost, and every segment is recorded once.

const kills = 40
/** The last kills find nothing left to archive. */
const atWorkMs = 1000
/** A segment of the search, and some that are in none. */
const count = 4096 + 50
const idle = { TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "3600000" }
/** Many small segments, as fast as they can be made. */
const busy = {
  TALLYSTICK_LIMIT_ARCHIVE_EVERY_MS: "5",
  TALLYSTICK_LIMIT_ARCHIVE_PARTIAL_MS: "1",
  TALLYSTICK_LIMIT_ARCHIVE_ENTRIES_MAX: "64",
}

function filesOf(data: string): readonly string[] {
  return globSync("*/*.zst", { cwd: join(data, "archive") })
}

async function metric({ root }: Service, name: string): Promise<number> {
  return Number(new RegExp(`^${name} (.*)$`, "m").exec((await root.get("/metrics")).text)?.[1])
}

test(
  `killed ${kills} times while entries are archived: nothing is lost, and nothing is there twice`,
  { timeout: 300_000 },
  async (t) => {
    const chance = createChance(seedOf(t))
    const first = await startProgram({ environment: idle })
    const { data } = first
    await using _ = first
    // The first sweep of this service finds nothing that is due.
    const workspace = await makeWorkspace(first)
    const { id, path } = workspace
    const receipts = [...(await writeMany(workspace, count, { atOnce: 1000 }))]
    await eventually("the entries to be packed", async () =>
      (await metric(first, "tallystick_packed_entries_total")) >= 4032 ? true : undefined,
    )
    assert.equal((await first.root.patch(path, { hotDays: 0 })).status, 200)
    await first.end("SIGKILL")
    const numbers = new Set<number>()
    for (let kill = 0; kill < kills; kill++) {
      await using service = await startProgram({ data, environment: busy })
      const writer = service.client(workspace.writer.bearer)
      receipts.push(...(await writeMany({ id, writer }, 1)))
      // Until it is at work, and for a moment more.
      const before = filesOf(data).length
      const lookUntil = performance.now() + atWorkMs
      while (filesOf(data).length === before && performance.now() < lookUntil) await sleep(2)
      await sleep(chance.below(20))
      await service.end("SIGKILL")
      numbers.add(filesOf(data).length)
    }
    assert.ok(numbers.size > 5, "hardly any kill fell between two segments")
    await using last = await startProgram({ data, environment: busy })
    await eventually(
      "all to be archived",
      async () =>
        (await metric(last, "tallystick_archive_segments")) >= 60 &&
        (await metric(last, "tallystick_archive_overdue_seconds")) === 0
          ? true
          : undefined,
      60_000,
    )
    await expectChain(last.root, id, receipts)
    const recorded = await metric(last, "tallystick_archive_segments")
    const files = filesOf(data)
    // The same frames make the same file, so a file that was not recorded is not left behind.
    assert.deepEqual([files.length, new Set(files).size], [recorded, recorded])
    t.diagnostic(`${recorded} segments`)
    assert.equal(await last.end(), 0)
    const checked = await tallystick(["fsck"], settingsOf(last))
    assert.equal(checked.code, 0, checked.output + checked.errors)

    // Canary: a segment that was not on the disk when its bodies were dropped is found out.
    unlinkSync(join(data, "archive", files[chance.below(files.length)] ?? ""))
    const lost = await tallystick(["fsck"], settingsOf(last))
    assert.notEqual(lost.code, 0)
    assert.match(lost.output + lost.errors, /archive/)
  },
)
