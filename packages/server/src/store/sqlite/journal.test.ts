import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import test from "node:test"
import { defaultLimits } from "../../limits.ts"
import { startThread, type Thread } from "../../runtime/worker-thread.ts"
import { entriesAfter, genesisOf, project } from "../contract/written-entries.ts"
import { expectChain } from "../expect-chain.ts"
import type { Change } from "../documents.ts"
import { createJournal } from "./journal.ts"
import { openSqlite } from "./open-sqlite.ts"
import { readerModule, type ReaderOptions, type ReaderQuestions } from "./reader.ts"
import { createTail } from "./recent-keys.ts"
import { archiveIn } from "../archive/open-archive.ts"
import { writerModule, type WriterOptions, type WriterQuestions } from "./writer.ts"

test("if the writer's answer is lost, the stored entries are found again, and cached documents are dropped", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const onDeath = (cause: Error) => assert.fail(cause)
  const limits = { ...defaultLimits, diskReserveBytes: 0 }
  await (await openSqlite({ data: folder, limits }, onDeath)).close()
  const writer = await startThread<WriterQuestions>(
    writerModule,
    { folder, limits } satisfies WriterOptions,
    { onDeath },
  )
  const options = { folder, limits, archive: archiveIn(folder) } satisfies ReaderOptions
  const reader = await startThread<ReaderQuestions>(readerModule, options, { onDeath })
  t.after(() => Promise.all([writer.close(), reader.close()]))

  let losing = true
  const lossy: Thread<WriterQuestions> = {
    ask: (...asked) =>
      writer.ask(...asked).then((answer) => {
        if (losing) throw new Error("the answer was lost")
        return answer
      }),
    close: () => writer.close(),
  }
  const forgotten: Change[] = []
  const journal = createJournal(lossy, reader, createTail(), limits, ({ changes = [] }) =>
    forgotten.push(...changes),
  )
  const { entries, head } = entriesAfter("acme", genesisOf("acme"), ["a", "b"])
  const change = project("p", 0, "made")
  const first = { workspace: "acme", from: genesisOf("acme"), entries, changes: [change] }
  await assert.rejects(journal.append(first), /the answer was lost/)
  assert.deepEqual(forgotten, [change])
  const sequenceOf = async (at: number) =>
    (await journal.byReceipt("acme", entries[at]?.receipt ?? ""))?.sequence
  assert.equal(await sequenceOf(0), 1, "before the next append")

  losing = false
  const outcomes = await Promise.all([
    journal.append(first),
    journal.append({
      workspace: "other",
      from: genesisOf("other"),
      entries: entriesAfter("other", genesisOf("other"), ["x"]).entries,
    }),
  ])
  assert.deepEqual(outcomes[0], {
    kind: "used",
    keys: [
      { place: 0, sequence: 1 },
      { place: 1, sequence: 2 },
    ],
  })
  assert.deepEqual(outcomes[1], { kind: "done" })
  assert.equal(await sequenceOf(1), 2)
  const next = { workspace: "acme", from: head, entries: entriesAfter("acme", head, ["c"]).entries }
  assert.deepEqual(await journal.append(next), { kind: "done" })
  assert.equal((await expectChain(journal, "acme")).size, 3)
  await expectChain(journal, "other")
})

test("a thread that has ended refuses questions at once", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tallystick-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const store = await openSqlite({ data: folder, limits: defaultLimits }, (cause) =>
    assert.fail(cause),
  )
  await store.close()
  const isEnd = ({ cause }: Error) => cause instanceof Error && /has ended/.test(cause.message)
  await assert.rejects(store.journal.head("acme"), isEnd)
  await assert.rejects(store.ready(), /has ended/)
})

test("if the index cannot be read, memory answers, and the next commit tries the index again", async () => {
  let asked = 0
  const reader = {
    async ask(question: string) {
      assert.equal(question, "filters")
      asked += 1
      if (asked === 1) throw new Error("the index cannot be read")
      return asked === 2 ? [] : [{ run: 0, filter: new Uint8Array(131_072) }]
    },
    close: async () => {},
  }
  let n = 65_536
  const writer = {
    ask: async () => ({ full: false, groups: [{ firstN: ++n }] }),
    close: async () => {},
  }
  const tail = createTail()
  tail.add({ n, workspace: "acme", sequence: 1, receipt: "rcp_x", idem: "x" })
  // Stubs of the two threads, which answer like the real ones after a disk fault.
  const journal = createJournal(
    writer as unknown as Thread<WriterQuestions>,
    reader as unknown as Thread<ReaderQuestions>,
    tail,
    defaultLimits,
    () => {},
  )
  let head = { ...genesisOf("acme"), sequence: 1 }
  for (const [at, settled] of [0, 0, 65_536].entries()) {
    const next = entriesAfter("acme", head, [`e${at}`])
    assert.deepEqual(
      await journal.append({ workspace: "acme", from: head, entries: next.entries }),
      { kind: "done" },
    )
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual([asked, tail.settledN()], [at + 1, settled])
    head = next.head
  }
})
