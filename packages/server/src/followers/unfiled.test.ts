import assert from "node:assert/strict"
import test from "node:test"
import { encodeRecord } from "@tallystick/proof"
import type { Content } from "../store/opened-entry.ts"
import { pooledRandom } from "../ledger/random.ts"
import { seal } from "../ledger/seal.ts"
import type { Hits, Wanted } from "../store/search/search.ts"
import type { Stored } from "../store/store.ts"
import { createUnfiled, joined } from "../store/search/unfiled-entries.ts"

const random = pooledRandom()
const zeros = new Uint8Array(32)

function stored(sequence: number, action: string, metadata: Content["metadata"] = {}): Stored {
  const id = "i".repeat(20)
  const content: Content = {
    id: `evt_${id}`,
    receipt: `rcp_${id}`,
    workspaceId: "acme",
    projectId: sequence % 2 === 0 ? "core" : "desk",
    action,
    actor: { id: "usr_1", type: "user", email: "ada@example.com" },
    target: { id: "inv_9", type: "invoice" },
    occurredAt: "2026-01-31T09:30:00Z",
    receivedAt: "2026-01-31T09:30:00.000Z",
    source: "api",
    userVisible: true,
    lane: "data",
    metadata,
    keyId: "key",
  }
  const sealed = seal("event", content, id, { personalKeys: [], random })
  const record = encodeRecord({
    kind: "event",
    index: sequence - 1,
    timeMs: 5,
    ledgerId: zeros,
    previousHash: zeros,
    bodyHash: sealed.bodyHash,
  })
  return { ...sealed, workspace: "acme", sequence, record }
}

/** A journal that counts what is read of it. */
function journalOf(entries: Stored[]) {
  const asked: number[] = []
  return {
    asked,
    unfiled: createUnfiled({
      last: () => entries.at(-1)?.sequence ?? 0,
      after(_, sequence, limit) {
        const read = entries
          .filter((entry) => entry.sequence > sequence)
          .slice(0, Math.min(limit, 40))
        asked.push(...read.map((entry) => entry.sequence))
        return read
      },
    }),
  }
}

const all: Wanted = { system: "without" }
const said = (word: string): Wanted => ({
  ...all,
  query: { terms: [{ kind: "text", not: false, words: [word], isPrefix: false }] },
})

test("what follows a position is looked through, newest first, and each entry is read once", () => {
  const entries = Array.from({ length: 100 }, (_, at) =>
    stored(at + 1, at % 10 === 0 ? "ten.was.said" : "one.was.said"),
  )
  const { asked, unfiled } = journalOf(entries)
  assert.deepEqual(unfiled("acme", 20, said("ten")), [91, 81, 71, 61, 51, 41, 31, 21])
  assert.deepEqual(
    unfiled("acme", 50, { ...said("ten"), projectIds: ["desk"] }),
    [91, 81, 71, 61, 51],
  )
  assert.deepEqual(unfiled("acme", 50, { ...said("ten"), projectIds: ["core"] }), [])
  entries.push(stored(101, "ten.was.said"))
  assert.deepEqual(unfiled("acme", 90, said("ten")), [101, 91])
  assert.deepEqual(
    asked,
    entries.slice(20).map(({ sequence }) => sequence),
  )
  // The index was made anew: what is kept begins later, and stands for nothing of what is looked
  // through now.
  assert.deepEqual(unfiled("acme", 0, all), entries.map(({ sequence }) => sequence).toReversed())
  assert.deepEqual(unfiled("acme", 101, all), [])
})

test("an entry that is gone is found as missing, and one that cannot be read by its receipt alone", () => {
  const entries = [
    stored(1, "a.b.c"),
    stored(4, "a.b.c"),
    { ...stored(5, "a.b.c"), body: Buffer.from("{") },
  ]
  const { unfiled } = journalOf(entries)
  assert.deepEqual(unfiled("acme", 0, all), [5, 4, 3, 2, 1])
  assert.deepEqual(unfiled("acme", 0, said("a")), [4, 1])
})

test("too many, or too much, is not looked through", () => {
  const entries = Array.from({ length: 4100 }, (_, at) => stored(at + 1, "a.b.c"))
  assert.equal(journalOf(entries).unfiled("acme", 0, all), undefined)
  assert.equal(journalOf(entries).unfiled("acme", 100, all)?.length, 4000)
  const large = Array.from({ length: 100 }, (_, at) =>
    stored(at + 1, "a.b.c", { note: "x".repeat(200_000) }),
  )
  assert.equal(journalOf(large).unfiled("acme", 0, all), undefined)
  assert.equal(journalOf(large).unfiled("acme", 90, all)?.length, 10)
})

test("a page continues from what is not filed into what is", () => {
  const filed: Hits = { sequences: [5, 3, 1], hasMore: false, total: 3 }
  assert.deepEqual(joined(filed, [9, 8], 99, 10), {
    sequences: [9, 8, 5, 3, 1],
    hasMore: false,
    total: 5,
  })
  assert.deepEqual(joined(filed, [9, 8], 9, 2), { sequences: [8, 5], hasMore: true, total: 5 })
  assert.deepEqual(joined({ ...filed, hasMore: true }, [9, 8], 6, 3), {
    sequences: [5, 3, 1],
    hasMore: true,
    total: 5,
  })
  assert.deepEqual(joined(filed, [9, 8], 99, 2), { sequences: [9, 8], hasMore: true, total: 5 })
})
