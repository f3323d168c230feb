import assert from "node:assert/strict"
import test from "node:test"
import { wordsOf } from "@tallystick/client/grammar"
import { encodeRecord, type Kind, type RecordFields } from "@tallystick/proof"
import type { Content } from "../store/opened-entry.ts"
import { pooledRandom } from "../ledger/random.ts"
import { seal } from "../ledger/seal.ts"
import type { Stored } from "../store/entries.ts"
import { createUnfiled, recordedIn, type Unfiled } from "../store/search/unfiled-entries.ts"

const random = pooledRandom()
const zeros = new Uint8Array(32)

function stored(
  sequence: number,
  action: string,
  metadata: Content["metadata"] = {},
  personalKeys: readonly string[] = [],
): Stored {
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
  const sealed = seal("event", content, id, { personalKeys, random })
  const record = ofKind("event", { index: sequence - 1, bodyHash: sealed.bodyHash })
  return { ...sealed, workspace: "acme", sequence, record }
}

function ofKind(kind: Kind, fields: Partial<RecordFields> = {}): Uint8Array {
  const hashes = { ledgerId: zeros, previousHash: zeros, bodyHash: zeros }
  return encodeRecord({ kind, index: 0, timeMs: 5, ...hashes, ...fields })
}

/** A journal that counts its reads. */
function journalOf(entries: Stored[], bytesMax = 2 ** 24, turns = Infinity) {
  const asked: number[] = []
  const recorded = recordedIn({
    head: async () => assert.fail("whoever asks knows the end"),
    async after(_, sequence, limit) {
      const read = entries
        .filter((entry) => entry.sequence > sequence)
        .slice(0, Math.min(limit, 40))
      asked.push(...read.map((entry) => entry.sequence))
      return read
    },
  })
  let left = turns
  const read = createUnfiled(recorded, bytesMax, () => --left < 0)
  return {
    asked,
    /**
     * First and last sequence of each chunk and of the rest, and how often other work had a turn.
     */
    unfiled: async (position: number, workspace = "acme") => {
      let paused = 0
      left = turns
      const end = entries.at(-1)?.sequence ?? 0
      const reading = read(workspace, position, end)
      for (;;) {
        const { done, value } = await reading.next()
        if (done === true) return { ...(value && shapeOf(value)), paused }
        left = turns
        paused++
      }
    },
  }
}

function shapeOf({ chunks, rest }: Unfiled) {
  return {
    chunks: chunks.map(({ segment }) => [segment.first, segment.first + segment.count - 1]),
    rest: [rest[0], rest.at(-1)].map((entry) => entry?.sequence),
    receipts: rest.filter(({ findable }) => findable().filed.fields.nobody.length > 0).length,
  }
}

const sequences = (count: number) => Array.from({ length: count }, (_, at) => at + 1)

test("entries after a position are read once, and become chunks as they grow", async () => {
  const entries = sequences(600).map((sequence) => stored(sequence, "one.was.said"))
  const { asked, unfiled } = journalOf(entries)
  assert.deepEqual(await unfiled(0), {
    chunks: [[1, 512]],
    rest: [513, 600],
    receipts: 88,
    paused: 0,
  })
  entries.push(...sequences(500).map((at) => stored(600 + at, "ten.was.said")))
  assert.deepEqual((await unfiled(0)).chunks, [
    [1, 512],
    [513, 1024],
  ])
  assert.deepEqual((await unfiled(512)).chunks, [[513, 1024]])
  assert.deepEqual(asked, sequences(1100), "each entry is read once")
  // The index was rebuilt: the cached entries begin later, so they cannot be used for this
  // position.
  assert.deepEqual((await unfiled(0)).rest, [1025, 1100])
  assert.equal(asked.length, 2200)
  assert.deepEqual((await unfiled(1100)).rest, [undefined, undefined])
})

test("cached entries are read again once an entry records that some content was destroyed", async () => {
  const entries = sequences(600).map((sequence) => stored(sequence, "one.was.said"))
  const { asked, unfiled } = journalOf(entries)
  await unfiled(0)
  entries[6] = { ...stored(7, "one.was.said"), body: undefined }
  entries.push(...[601, 602].map((at) => ({ ...stored(at, "done"), record: ofKind("erasure") })))
  const again = await unfiled(0)
  assert.deepEqual([again.chunks, again.rest], [[[1, 512]], [513, 602]])
  assert.deepEqual(asked.slice(600).slice(-602), sequences(602), "all of it, once more")
  const { length } = asked
  await unfiled(0)
  assert.equal(asked.length, length, "and not a third time")
})

test("a missing entry is found as missing, and an unreadable one only by its receipt", async () => {
  const entries = [
    stored(1, "a.b.c"),
    stored(4, "a.b.c"),
    { ...stored(5, "a.b.c"), body: Buffer.from("{") },
  ]
  const { rest, receipts } = await journalOf(entries).unfiled(0)
  assert.deepEqual([rest, receipts], [[1, 5], 3])
})

test("no entry is passed over that has a value with what is sought", async () => {
  const odd: Content["metadata"][] = [
    { plain: "Within the LIMIT", amount: 12.5, paid: true, list: ["A b", { deep: 1e21 }] },
    { quoted: 'a "quoted" \\ text', lines: "one\ntwo" },
    { kelvin: "\u212a1", dotted: "\u0130x", sigma: "\u039f\u03a3", umlaut: "\u00dcber" },
  ]
  const entries = odd.flatMap((metadata, at) => [
    stored(2 * at + 1, "one.was.Said", metadata),
    stored(2 * at + 2, "one.was.said", metadata, ["*"]),
  ])
  // As the journal of SQLite gives them.
  const packed = entries.map((entry) => {
    const texts = entry.disclosures.split("~").map((text) => Buffer.from(text, "base64url"))
    const parts = texts.flatMap((text, at) => (at === 0 ? [text] : [Buffer.of(0xff), text]))
    return { ...entry, packedDisclosures: Buffer.concat(parts) }
  })
  const bare = { ...stored(7, "a.b.c"), body: undefined }
  const unreadable = { ...stored(8, "a.b.c"), record: new Uint8Array(118) }
  const ninth = stored(9, "one.was.said")
  const text = Buffer.from(ninth.body ?? []).toString()
  const escaped = { ...ninth, body: Buffer.from(text.replace("one", "\\u006fne")) }
  for (const given of [...entries, ...packed, bare, unreadable, escaped]) {
    const read = recordedIn({ head: async () => undefined, after: async () => [given] })
    const [entry = assert.fail("it is given")] = await read.after("acme", given.sequence - 1, 1)
    const { nobody, actor, target } = entry.findable().filed.fields
    for (const { value } of [...nobody, ...actor, ...target]) {
      const lowered = value.toLowerCase()
      for (const sought of [lowered, ...wordsOf(value), lowered.slice(0, 3)])
        assert.equal(entry.mayHave(sought), true, JSON.stringify(sought))
    }
    assert.equal(entry.mayHave("nobody said this"), false)
  }
})

test("other work gets turns while entries are read", async () => {
  const entries = sequences(100).map((sequence) => stored(sequence, "a.b.c"))
  const { paused, rest } = await journalOf(entries, 2 ** 24, 0).unfiled(0)
  assert.deepEqual([paused, rest], [3, [1, 100]])
})

test("other work gets turns while a chunk with very many names is made", async () => {
  const namesOf = (sequence: number) =>
    Object.fromEntries(sequences(9000).map((at) => [`name${sequence}of${at}`, at]))
  const entries = sequences(7).map((at) => stored(at, "a.b.c", namesOf(at)))
  const { chunks, paused } = await journalOf(entries, 2 ** 24, 0).unfiled(0)
  assert.equal(chunks?.length, 1)
  assert.ok(paused > 40, `${paused} pauses`)
})

test("searches that share a read find each entry once", async () => {
  const note = "x".repeat(20_000)
  const all = sequences(200).map((sequence) => stored(sequence, "a.b.c", { note }))
  const entries = all.slice(0, 10)
  const { unfiled } = journalOf(entries, 2 ** 24, 0)
  await unfiled(0)
  entries.push(...all.slice(10))
  for (const { chunks = [], rest = [] } of await Promise.all([
    unfiled(0),
    unfiled(0),
    unfiled(0),
  ])) {
    let next = 1
    for (const [first, last = 0] of [...chunks, rest]) {
      assert.equal(first, next)
      next = last + 1
    }
    assert.equal(next, 201)
  }
})

test("a chunk has few large entries, and entries beyond the limits are not read", async () => {
  const note = "x".repeat(200_000)
  const large = sequences(20).map((sequence) => stored(sequence, "a.b.c", { note }))
  assert.deepEqual((await journalOf(large).unfiled(0)).chunks, [
    [1, 6],
    [7, 12],
    [13, 18],
  ])
  const one = stored(1, "a.b.c")
  const many = sequences(32_769).map((sequence) => ({ ...one, sequence }))
  assert.deepEqual(await journalOf(many).unfiled(0), { paused: 0 })
  const much = sequences(600).map((sequence) => ({
    ...large[0],
    ...one,
    body: large[0]?.body,
    sequence,
  }))
  assert.deepEqual(await journalOf(much).unfiled(0), { paused: 0 })
})

test("the least recently used workspaces are evicted if memory is short", async () => {
  const entries = sequences(100).map((sequence) => stored(sequence, "a.b.c"))
  const { asked, unfiled } = journalOf(entries, 100_000)
  for (const workspace of ["a", "a", "b", "c", "c", "a"]) await unfiled(0, workspace)
  assert.equal(asked.length, 400)
})
