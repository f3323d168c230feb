import assert from "node:assert/strict"
import { buffer } from "node:stream/consumers"
import test from "node:test"
import { LedgerError } from "../error.ts"
import type { EntryExporter } from "../query/entry-exporter.ts"
import type { Queries } from "../query/entry-queries.ts"
import { openEntry } from "../store/opened-entry.ts"
import { expectChain } from "../store/expect-chain.ts"
import { createEntryExports } from "./entry-exports.ts"
import { instance, openTestHouse } from "./test-house.ts"

/** Exports of 3,000 sequences, or as many as it is given, each of which becomes a line. */
async function openHouse(
  bend: Partial<EntryExporter> = {},
  append: () => unknown = () => {},
  matches = 3000,
) {
  const { served, workspaces, parts } = openTestHouse({ append })
  const acme = await workspaces.create(instance, { id: "acme" })
  const exporter: EntryExporter = {
    head: async () => Buffer.from("head\n"),
    write: async (_, [first = 0, second = 0]) => ({
      bytes: Buffer.from(`${first}\n${second}\n`),
      taken: 2,
      broken: 0,
    }),
    end: async () => Buffer.from("end\n"),
    ...bend,
  }
  const exports = createEntryExports({
    ...parts,
    store: served,
    queries: {
      matches: async function* () {
        for (let from = 1; from <= matches; from += 1000)
          yield Array.from({ length: 1000 }, (_, at) => from + at)
      },
    } satisfies Pick<Queries, "matches">,
    exporter,
    report: { exported: () => {} },
  })
  const begin = (signal = new AbortController().signal) =>
    exports.begin(
      instance,
      acme,
      {
        wanted: { system: "without" },
        storage: "all",
        format: "jsonl",
        after: 0,
        isProven: false,
        filter: {},
        recheck: async () => {},
      },
      signal,
    )
  /** The entries that record exports, oldest first. */
  const said = async () => {
    const entries = await served.journal.after("acme", 0, 100)
    return entries.flatMap((entry) => {
      const content = openEntry(entry, [])?.content
      return content?.action.startsWith("workspace.events.export") === true
        ? [{ action: content.action, ...content.metadata }]
        : []
    })
  }
  return { begin, said, finish: () => expectChain(served.journal, "acme") }
}

test("the file has every match, and both of its entries record what was exported", async () => {
  const { begin, said, finish } = await openHouse()
  const { content, receipt } = await begin()
  const lines = (await buffer(content)).toString().split("\n")
  assert.deepEqual(lines, [
    "head",
    ...Array.from({ length: 3000 }, (_, at) => String(at + 1)),
    "end",
    "",
  ])
  const [started, ended] = await said()
  assert.equal(started?.action, "workspace.events.export")
  assert.deepEqual(ended, {
    action: "workspace.events.export.end",
    exportReceiptId: receipt,
    entries: 3000,
    complete: true,
  })
  await finish()
})

test("if an entry cannot be read, the file stays incomplete, and the ledger records how far it came", async () => {
  const away = new LedgerError("ledger_unavailable", "the storage is away")
  const { begin, said, finish } = await openHouse({
    write: async (_, [first = 0]) => {
      if (first > 30) throw away
      return { bytes: Buffer.from("x"), taken: 10, broken: 0 }
    },
  })
  const { content } = await begin()
  await assert.rejects(buffer(content), away)
  const [, ended] = await said()
  assert.partialDeepStrictEqual(ended, { entries: 30, complete: false })
  await finish()
})

test("if the client leaves, the export ends, is recorded, and frees its place", async () => {
  const large = { bytes: Buffer.alloc(100_000), taken: 2, broken: 0 }
  const { begin, said, finish } = await openHouse({ write: async () => large })
  for (let turn = 0; turn < 5; turn++) {
    const leaving = new AbortController()
    const { content } = await begin(leaving.signal)
    await content.iterator({ destroyOnReturn: false }).next()
    const closed = new Promise((resolve) => void content.once("close", resolve))
    leaving.abort()
    await closed
    while ((await said()).length < 2 * (turn + 1)) await new Promise(setImmediate)
  }
  for (const [at, one] of (await said()).entries())
    if (at % 2 === 1) assert.partialDeepStrictEqual(one, { complete: false })
  await finish()
})

test("an export of nothing, whose client left while it was recorded, is incomplete and frees its place", async () => {
  const leaving = new AbortController()
  let isLeaving = false
  const bend = { head: async () => Buffer.alloc(0) }
  const { begin, said, finish } = await openHouse(bend, () => isLeaving && leaving.abort(), 0)
  isLeaving = true
  const { content } = await begin(leaving.signal)
  await assert.rejects(buffer(content), { name: "AbortError" })
  assert.ok(content.closed)
  const [, ended] = await said()
  assert.partialDeepStrictEqual(ended, { entries: 0, complete: false })
  await finish()
})

test("an export whose end cannot be recorded stays incomplete", async () => {
  let isHalted = false
  const { begin, said, finish } = await openHouse({}, () => {
    if (isHalted) throw new LedgerError("storage_full", "nothing is written any more")
  })
  const { content } = await begin()
  isHalted = true
  const chunks: Buffer[] = []
  content.on("data", (chunk: Buffer) => void chunks.push(chunk))
  await assert.rejects(new Promise((_, reject) => void content.once("error", reject)))
  assert.match(Buffer.concat(chunks).toString(), /\n3000\n$/)
  assert.equal((await said()).length, 1)
  await finish()
})
