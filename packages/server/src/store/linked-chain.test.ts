import assert from "node:assert/strict"
import test from "node:test"
import { createChain, encodeRecord, eventHash, parseRecord, toHex } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { takeEntry } from "./check-entry.ts"
import { digest, entriesAfter, genesisOf } from "./contract/written-entries.ts"
import { createLinkedChain } from "./linked-chain.ts"
import { linkRows, splitRows, type ChainEntry } from "./linked-rows.ts"
import { flipped } from "../../../../test/flipped.ts"

const ledgerId = digest("ledger acme")
const names = Array.from({ length: 12 }, (_, at) => `e${at}`)
const before = 30
const entries: readonly ChainEntry[] = entriesAfter("acme", genesisOf("acme"), names).entries.map(
  (entry, place) => ({ ...entry, sequence: before + place + 1 }),
)

/** The first fault that each of the two finds, and the hashes before it. */
function bothSay(given: readonly ChainEntry[], pieces: readonly number[]) {
  const slow = { hashes: [] as string[], wrong: undefined as string | undefined }
  const chain = createChain(ledgerId, sha256)
  for (const entry of given) {
    const taken = takeEntry(chain, before, entry)
    if (typeof taken === "string") {
      slow.wrong = taken
      break
    }
    slow.hashes.push(toHex(chain.previousHash))
  }
  const fast = { hashes: [] as string[], wrong: undefined as string | undefined }
  const linked = createLinkedChain(ledgerId, before)
  let rest: readonly ReturnType<typeof linkRows>[] = [linkRows(given)]
  for (const count of [...pieces, given.length]) {
    const [first, others] = splitRows(rest, count)
    for (const rows of first)
      fast.wrong ??= linked.take(rows, (leaf) => fast.hashes.push(toHex(leaf)))
    rest = others
  }
  return { slow, fast, linked }
}

test("an intact chain is accepted in any pieces, and continues after its last record", () => {
  for (const pieces of [[], [1], [5, 3], [12], [3, 9]]) {
    const { slow, fast, linked } = bothSay(entries, pieces)
    assert.deepEqual(fast, slow)
    assert.equal(fast.hashes.length, entries.length)
    assert.deepEqual([linked.index, linked.timeMs], [12, 12])
  }
  const last = entries[6]
  const chain = createLinkedChain(ledgerId, before, 7, last?.record)
  assert.equal(chain.timeMs, 7)
  assert.equal(
    chain.take(linkRows(entries.slice(7)), () => {}),
    undefined,
  )
  assert.equal(chain.index, 12)
})

test("a changed byte gives the same fault as a check of the entry alone", () => {
  const bends: readonly ((entry: ChainEntry) => ChainEntry)[] = [
    ...Array.from({ length: 118 }, (_, at) => (entry: ChainEntry) => ({
      ...entry,
      record: flipped(entry.record, at),
    })),
    ...[0, 15].map((at) => (entry: ChainEntry) => ({
      ...entry,
      bodySalt: flipped(entry.bodySalt, at),
    })),
    ...[0, 40].map((at) => (entry: ChainEntry) => ({
      ...entry,
      body: flipped(entry.body, at),
    })),
    (entry) => ({ ...entry, body: undefined }),
    (entry) => ({ ...entry, record: entry.record.subarray(1) }),
    (entry) => ({ ...entry, sequence: entry.sequence + 1 }),
    // Linked rightly, and older than the one before it.
    (entry) => timed(entry, 0),
    (entry) => timed(entry, Number.MAX_SAFE_INTEGER),
  ]
  for (const bend of bends)
    for (const place of [0, 4, 11]) {
      const given = entries.map((entry, at) => (at === place ? bend(entry) : entry))
      const { slow, fast } = bothSay(given, [4])
      assert.deepEqual(fast, slow)
      const isLast = place === entries.length - 1
      assert.ok(fast.wrong !== undefined || isLast, "it shows in the next one at the latest")
    }
})

function timed(entry: ChainEntry, timeMs: number): ChainEntry {
  const fields = parseRecord(entry.record)
  assert.ok(fields !== undefined && eventHash(entry.record).length === 32)
  return { ...entry, record: encodeRecord({ ...fields, timeMs }) }
}
