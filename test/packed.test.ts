import assert from "node:assert/strict"
import { cpSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import test from "node:test"
import { expectChain } from "./chain.ts"
import { startProgram } from "./crash/programs.ts"
import { metric } from "./metrics.ts"
import { tallystick } from "./program.ts"
import { eventually, makeWorkspace, writeMany } from "./service.ts"
import { untilSigned } from "./until.ts"

// Packing the bodies changes nothing else about a ledger.

/** More than a segment of the search, so that the service packs 4,096 of them. */
const entries = 4300

test("a packed ledger survives a kill and works with every command", async (t) => {
  await using first = await startProgram()
  const workspace = await makeWorkspace(first)
  const { id, path } = workspace
  const receipts = await writeMany(workspace, entries)
  await eventually(
    "all that can be packed is packed",
    async () => (await metric(first, "tallystick_packed_entries_total")) === 4096,
    60_000,
  )
  const some = [receipts[5], receipts[1000], receipts[4000], receipts[4299]].flatMap(
    (receipt) => receipt ?? [],
  )
  await expectChain(workspace.reader, id, some)
  const page = (await workspace.reader.get(`${path}/events?limit=100&order=asc`)).json()
  assert.equal(await first.end("SIGKILL"), null)

  const { data } = first
  const run = async (...args: readonly string[]) => {
    const ended = await tallystick(args, {
      TALLYSTICK_DATA: data,
      TALLYSTICK_HEADS: `${data}.heads`,
    })
    assert.equal(ended.code, 0, `${args.join(" ")}: ${ended.output}${ended.errors}`)
    return ended.output
  }
  assert.deepEqual([packedRows(data), rowsIn(data, "entries") < 300], [4096, true])
  await run("fsck")
  const folder = `${data}-beside`
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await run("export", id, join(folder, "export"))
  const exported = await tallystick(["verify", join(folder, "export")])
  assert.match(exported.output, /everything agrees, but no key.*\n +bodies: 43\d\d\n/s)
  await run("backup", join(folder, "copy"))
  assert.equal(packedRows(join(folder, "copy")), 4096)
  await run("reindex")
  await run("compact")
  assert.match(await run("fsck"), /Everything is as it was written/)
  assert.match(
    await run("fsck", "--pass", "chain"),
    /\nWhat was checked is as it was written\. Not checked: contents, index\.\n$/,
  )
  {
    await using again = await startProgram({ data })
    const reader = again.client(workspace.reader.bearer)
    await untilSigned(reader, path)
    await expectChain(reader, id, some)
    assert.deepEqual(
      (await reader.get(`${path}/events?limit=100&order=asc`)).json().events,
      page.events,
    )
    assert.equal(await again.end(), 0)
  }

  // The backup goes on as the ledger, with the heads that the original had.
  const copy = join(folder, "copy")
  cpSync(`${data}.heads`, `${copy}.heads`)
  const settings = { TALLYSTICK_DATA: copy, TALLYSTICK_HEADS: `${copy}.heads` }
  cpSync(join(data, "secret"), join(copy, "secret"))
  const resumed = await tallystick(["resume"], settings)
  assert.equal(resumed.code, 0, resumed.errors)
  await using restored = await startProgram({ data: copy })
  const writer = restored.client(workspace.writer.bearer)
  await writeMany({ id, writer }, 10)
  await expectChain(restored.client(workspace.reader.bearer), id, some)
  assert.equal(await restored.end(), 0)
  const checked = await tallystick(["fsck"], settings)
  assert.equal(checked.code, 0, checked.output)
})

function packedRows(data: string): number {
  return valueOf(data, "SELECT total(count) AS value FROM stretches WHERE part = 0")
}

function rowsIn(data: string, table: string): number {
  return valueOf(data, `SELECT count(*) AS value FROM ${table}`)
}

function valueOf(data: string, statement: string): number {
  using journal = new DatabaseSync(join(data, "journal.db"), { readOnly: true })
  return Number(journal.prepare(statement).get()?.["value"])
}
