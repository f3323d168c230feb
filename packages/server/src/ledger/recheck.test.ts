import assert from "node:assert/strict"
import test from "node:test"
import { toHex } from "@tallystick/proof"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import type { Stored } from "../store/entries.ts"
import type { JournalReader } from "../store/store.ts"
import { openTestLedger, testEvent, testWorkspace } from "./test-ledger.ts"
import { recheck } from "./recheck.ts"
import { flipped } from "../../../../test/flipped.ts"

const ledgerId = new Uint8Array(32).fill(7)

const acme = testWorkspace("acme", { ledgerId: toHex(ledgerId) })

async function chainOf(entries: number): Promise<JournalReader> {
  return (await growingChainOf(entries)).journal
}

async function growingChainOf(entries: number) {
  const { journal } = openMemory().served
  const ledger = openTestLedger(journal)
  const grow = () => ledger.record(acme, [testEvent()])
  for (let count = 0; count < entries; count++) await grow()
  assert.equal((await expectChain(journal, "acme")).size, entries)
  return { journal, grow }
}

const checked = (journal: JournalReader) => ({
  journal,
  registry: { get: async () => undefined },
})

/** The journal, which returns one entry changed. */
function tampered(
  journal: JournalReader,
  sequence: number,
  change: (entry: Stored) => Stored | undefined,
): JournalReader {
  return {
    ...journal,
    after: async (...asked) =>
      (await journal.after(...asked)).flatMap((entry) =>
        entry.sequence === sequence ? (change(entry) ?? []) : entry,
      ),
  }
}

test("an intact chain passes the recheck of any number of entries", async () => {
  const journal = await chainOf(5)
  for (const entries of [1, 2, 4, 5, 100])
    assert.equal(await recheck(checked(journal), acme, entries), undefined)
})

test("entries that are read in small portions are all checked", async () => {
  const journal = await chainOf(5)
  const slow = {
    ...journal,
    after: (workspace: string, sequence: number) => journal.after(workspace, sequence, 2),
  }
  assert.equal(await recheck(checked(slow), acme, 5), undefined)
  const changed = tampered(slow, 5, (entry) => ({ ...entry, body: Buffer.from("{}") }))
  assert.match((await recheck(checked(changed), acme, 5)) ?? "", /entry 5 of workspace acme/)
})

test("entries that another process adds meanwhile are not checked, and change nothing", async () => {
  const { journal, grow } = await growingChainOf(5)
  const growing: JournalReader = {
    ...journal,
    head: async (workspaceId) => {
      const head = await journal.head(workspaceId)
      await grow()
      return head
    },
  }
  for (const entries of [3, 100]) {
    const held: number[] = []
    const { sequence } = (await journal.head("acme")) ?? { sequence: 0 }
    assert.equal(await recheck(checked(growing), acme, entries, (at) => held.push(at)), undefined)
    assert.equal(held.at(-1), sequence)
  }
})

function movedInTime(record: Uint8Array, byMs: bigint): Uint8Array {
  const moved = Buffer.from(record)
  moved.writeBigUInt64BE(moved.readBigUInt64BE(14) + byMs, 14)
  return moved
}

test("a changed body, a changed record, a gap and a missing end are each found", async () => {
  const journal = await chainOf(5)
  const changes: readonly [string, number, (entry: Stored) => Stored | undefined, RegExp][] = [
    ["body", 4, (entry) => ({ ...entry, body: flipped(entry.body, 20) }), /entry 4/],
    ["record", 4, (entry) => ({ ...entry, record: flipped(entry.record, 60) }), /entry 4/],
    [
      "later time, which only the next link covers",
      4,
      (entry) => ({ ...entry, record: movedInTime(entry.record, 1000n) }),
      /entry 5/,
    ],
    [
      "earlier time",
      4,
      (entry) => ({ ...entry, record: movedInTime(entry.record, -1000n) }),
      /entry 4.*earlier time/,
    ],
    ["hole", 4, () => undefined, /entry 4/],
    ["end", 5, () => undefined, /ends at entry 4, but its head is entry 5/],
  ]
  for (const [name, sequence, change, sentence] of changes) {
    assert.match(
      (await recheck(checked(tampered(journal, sequence, change)), acme, 3)) ?? "nothing was found",
      sentence,
      name,
    )
  }
  const head = (await journal.head("acme")) ?? assert.fail()
  const another = async () => ({ ...head, hash: flipped(head.hash, 0) })
  assert.match(
    (await recheck(checked({ ...journal, head: another }), acme, 3)) ?? "nothing was found",
    /has another hash than its last entry, 5/,
  )
})
