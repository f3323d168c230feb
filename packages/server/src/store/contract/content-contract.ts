// The tests that every driver's content keeper must pass: after every operation on bodies and
// disclosures, all reads return the remaining content, and the chain stays intact.

import { strict as assert } from "node:assert"
import { createHash } from "node:crypto"
import { concat, encodeRecord, parseRecord, type SequenceRange } from "@tallystick/proof"
import { openFrame, packFrame } from "../body-frame.ts"
import type { ContentKeeper, Frame } from "../content-keeper.ts"
import { expectChain } from "../expect-chain.ts"
import { linkRows } from "../linked-rows.ts"
import type { Head, Linked, Stored } from "../entries.ts"
import type { FilingStore, JournalReader, Store } from "../store.ts"
import { storiesOf, type Story } from "./stories.ts"
import {
  digest,
  entriesAfter,
  genesisOf,
  keyNamed,
  plain,
  receiptNamed,
  write,
} from "./written-entries.ts"

export interface OpenedContent {
  readonly served: Store
  readonly filing: FilingStore
  readonly close: () => Promise<void>
}

const none = new Uint8Array()
/** Two whole stretches of 64, and the beginning of a third. */
const entries = 150
const twoSealed = "WyJh~WyJi"
const names = Array.from({ length: entries }, (_, place) => `entry ${place + 1}`)

export function contentContract(name: string, open: () => Promise<OpenedContent>): void {
  const story = storiesOf(name, open)

  story("packed entries are read as before, by every method", async (store) => {
    const { served, filing } = store
    await write(served, "acme", names)
    await write(
      served,
      "other",
      names.slice(0, 70).map((name) => `other ${name}`),
    )
    const before = await readAll(served.journal)
    assert.deepEqual(await packAll(filing.content, "acme"), [
      { last: 64, entries: 64 },
      { last: 128, entries: 64 },
    ])
    for (const journal of [served.journal, filing.journal])
      assert.deepEqual(await readAll(journal), before)
    assert.equal((await expectChain(served.journal, "acme")).size, entries)
    assert.equal((await expectChain(served.journal, "other")).size, 70)
    const found = await served.journal.byReceipt("acme", receiptNamed("entry 30"))
    assert.equal(found?.sequence, 30)
    assert.ok(found.body !== undefined)
    // The next entry is linked to the same head, and used keys stay used.
    await write(served, "acme", ["entry 151"])
    assert.equal((await expectChain(filing.journal, "acme")).size, entries + 1)
  })

  story("a page of more frames than a cache holds has all their bodies", async (store) => {
    const { served, filing } = store
    // Some 32 of them make a frame with half a MiB of text, and eight such frames fill a cache.
    const text = "x".repeat(15_000)
    for (let from = 0; from < 8 * 64; from += 64)
      await append(
        served,
        Array.from({ length: 64 }, (_, place) => `large ${from + place}`),
        { text },
      )
    await write(served, "acme", ["last"])
    const before = (await every(served.journal, "acme")).map(plain)
    assert.equal((await packAll(filing.content, "acme")).length, 16)
    const firsts = (await framesOf(filing.content, "acme")).map(({ first }) => first)
    const page = firsts.map((first) => before[first - 1])
    for (const journal of [served.journal, filing.journal])
      for (const place of [0, 8, 15]) {
        // Reading the others evicts it from the cache.
        await journal.at("acme", [firsts[place] ?? 0])
        assert.deepEqual((await journal.at("acme", firsts)).map(plain), page)
        // And other reads evict the frames of these.
        const turned = [...firsts.slice(place), ...firsts.slice(0, place)]
        const expected = turned.map((first) => before[first - 1])
        for (const one of await Promise.all([1, 2, 3].map(() => journal.at("acme", turned))))
          assert.deepEqual(one.map(plain), expected)
      }
    assert.deepEqual((await every(served.journal, "acme")).map(plain), before)
    await expectChain(served.journal, "acme")
  })

  story("reads during packing are complete", async (store) => {
    const { served, filing } = store
    const frames = 6
    const named = Array.from({ length: frames * 64 + 1 }, (_, place) => `entry ${place + 1}`)
    for (let from = 0; from < named.length; from += 512)
      await write(served, "acme", named.slice(from, from + 512))
    const before = (await every(served.journal, "acme")).map(plain)
    for (let from = 0; from < frames * 64; from += 64) {
      const sequences = range(from + 1, from + 64)
      let isOver = false
      const packing = filing.content.pack("acme", from, from + 64).finally(() => (isOver = true))
      const readUntilOver = async () => {
        while (!isOver) {
          const page = await served.journal.at("acme", sequences)
          assert.deepEqual(page.map(plain), before.slice(from, from + 64))
          const linked = await served.journal.linked("acme", from, 64)
          assert.ok(!linked.some(({ lengths }) => lengths.includes(0)))
        }
      }
      await Promise.all([packing, ...range(1, 4).map(readUntilOver)])
      assert.equal((await packing)?.last, from + 64)
    }
    await expectChain(served.journal, "acme")
  })

  story("only complete stretches are packed, and never the last entry", async (store) => {
    const { served, filing } = store
    const { content } = filing
    assert.equal(await content.pack("none", 0, 1000), undefined)
    await write(served, "acme", names.slice(0, 64))
    assert.equal(await content.pack("acme", 0, 64), undefined)
    await write(served, "acme", names.slice(64, 66))
    assert.equal(await content.pack("acme", 0, 63), undefined)
    assert.equal((await content.pack("acme", 0, 64))?.last, 64)
    assert.equal(await content.pack("acme", 0, 66), undefined)
    assert.deepEqual(await framesOf(content, "acme"), [{ first: 1, last: 64 }])
    await expectChain(served.journal, "acme")
  })

  story("a part of a stretch is packed on request, and the rest later", async (store) => {
    const { served, filing } = store
    const { content } = filing
    await write(served, "acme", names.slice(0, 20))
    const before = (await every(served.journal, "acme")).map(plain)
    assert.equal((await content.pack("acme", 0, 10, true))?.last, 10)
    // The last entry stays.
    assert.equal((await content.pack("acme", 10, 20, true))?.last, 19)
    assert.equal(await content.pack("acme", 19, 20, true), undefined)
    assert.deepEqual((await every(served.journal, "acme")).map(plain), before)
    await write(served, "acme", names.slice(20, 66))
    assert.equal((await content.pack("acme", 19, 66))?.last, 64)
    assert.deepEqual(await framesOf(content, "acme"), [
      { first: 1, last: 10 },
      { first: 11, last: 19 },
      { first: 20, last: 64 },
    ])
    await expectChain(served.journal, "acme")
  })

  story(
    "a frame ends at the end of a ledger, and before its text becomes too long",
    async (store) => {
      const { served, filing } = store
      // The ledger of another epoch begins at its index 0.
      await append(served, names.slice(0, 10))
      await append(served, names.slice(10, 100), { ledger: "the next epoch", before: 10 })
      const before = await readAll(served.journal)
      await packAll(filing.content, "acme")
      assert.deepEqual(await framesOf(filing.content, "acme"), [
        { first: 1, last: 10 },
        { first: 11, last: 74 },
      ])
      assert.deepEqual(await readAll(served.journal), before)
      // After the last entry that is packed, because it is the last but one.
      await append(served, names.slice(100, 140), { before: 100, text: "x".repeat(400_000) })
      for (let after = 100, sizes: number[] = []; ;) {
        const packed = await filing.content.pack("acme", after, 139)
        if (packed === undefined) {
          assert.deepEqual(new Set(sizes), new Set([1]))
          break
        }
        sizes.push(packed.entries)
        after = packed.last
      }
      const last = (await served.journal.at("acme", [130]))[0]
      assert.ok((last?.body?.length ?? 0) > 400_000)
    },
  )

  story("an entry that does not match its record stays unchanged", async (store) => {
    const { served, filing } = store
    await write(served, "acme", names.slice(0, 20))
    const from = await headOf(served)
    const { entries: forged, head } = entriesAfter("acme", from, ["forged"])
    const body = Buffer.from("{}")
    await served.journal.append({
      workspace: "acme",
      from,
      entries: forged.map((entry) => ({ ...entry, body })),
    })
    await served.journal.append({
      workspace: "acme",
      from: head,
      entries: entriesAfter("acme", head, names.slice(20)).entries,
    })
    const before = await readAll(served.journal)
    assert.deepEqual((await packAll(filing.content, "acme")).slice(0, 3), [
      { last: 20, entries: 20 },
      { last: 21, entries: 0 },
      { last: 64, entries: 43 },
    ])
    assert.deepEqual(await readAll(served.journal), before)
    assert.deepEqual(Buffer.from((await served.journal.at("acme", [21]))[0]?.body ?? []), body)
  })

  story("frames are given in order, within a bound, and unpack to the bodies", async (store) => {
    const { served, filing } = store
    await write(served, "acme", names)
    await packAll(filing.content, "acme")
    const [first, second] = await filing.content.frames("acme", 0, 2 ** 20)
    assert.ok(first !== undefined && second !== undefined)
    assert.deepEqual([first.first, first.count, second.first], [1, 64, 65])
    assert.equal((await filing.content.frames("acme", 0, first.bytes.length)).length, 1)
    assert.equal((await filing.content.frames("acme", 0, 1)).length, 1)
    assert.deepEqual(await filing.content.frames("acme", 65, 1000), [])
    const opened = openFrame(second.bytes)
    assert.ok(typeof opened !== "string")
    const entry = (await served.journal.at("acme", [100]))[0]
    assert.deepEqual(
      Buffer.from(opened.salted(99) ?? []),
      Buffer.concat([entry?.bodySalt ?? [], entry?.body ?? []].map((part) => Buffer.from(part))),
    )
    await expectChain(served.journal, "acme")
  })
  contentFormsContract(story)
  contentLossContract(story)
}

/** Reads entries of each form, on both sides of each border. */
function contentFormsContract(story: Story<OpenedContent>): void {
  story(
    "entries of all forms are read across the borders of stretches, from any place",
    async (store) => {
      const { served, filing } = store
      // With a key and without, sealed fields in none, some and all of a stretch.
      await append(served, names.slice(0, 64))
      await append(served, names.slice(64, 80), { disclosures: twoSealed, key: true })
      await append(served, names.slice(80, 100), { disclosures: "no base64!", key: true })
      await append(served, names.slice(100, 128))
      await append(served, names.slice(128, 150), { disclosures: twoSealed })
      const before = (await every(served.journal, "acme")).map(plain)
      const records = await served.journal.records("acme", 1, 200)
      await packAll(filing.content, "acme")
      for (const journal of [served.journal, filing.journal])
        for (const after of [0, 1, 62, 63, 64, 65, 79, 126, 127, 128, 129, 148, 149, 150]) {
          for (const limit of [1, 2, 64, 65, 200]) {
            const expected = before.slice(after, after + limit)
            assert.deepEqual((await journal.after("acme", after, limit)).map(plain), expected)
            const rows = await journal.linked("acme", after, limit)
            const sequences = rows.flatMap((piece) => piece.sequences)
            assert.deepEqual(sequences, range(after + 1, after + expected.length))
            assert.deepEqual(
              Buffer.from(await journal.records("acme", after + 1, limit)),
              Buffer.from(records.subarray(after * 118, (after + limit) * 118)),
            )
          }
          const key = before[after]
          assert.deepEqual(
            (await journal.at("acme", [after + 1])).map((one) => one && plain(one)),
            [key],
          )
        }
      for (const at of [70, 100, 140]) {
        const idem = keyNamed(names[at - 1] ?? "")
        const found = at > 100 ? undefined : at
        assert.equal(await served.journal.byKey("acme", idem), found)
        assert.equal(
          (await served.journal.byReceipt("acme", receiptNamed(names[at - 1] ?? "")))?.sequence,
          at,
        )
      }
      // One of 64, and what nobody asked for stays.
      await filing.content.keepDisclosures("acme", [{ sequence: 70, disclosures: "" }])
      const left = (await every(served.journal, "acme")).map(plain)
      assert.deepEqual(
        left.filter((_, place) => place !== 69),
        before.filter((_, place) => place !== 69),
      )
      assert.equal((await served.journal.at("acme", [70]))[0]?.disclosures, "")
      assert.deepEqual(
        Buffer.from(await served.journal.records("acme", 1, 200)),
        Buffer.from(records),
      )
    },
  )
}

function contentLossContract(story: Story<OpenedContent>): void {
  story("bodies that were dropped are gone until their frames are put back", async (store) => {
    const { served, filing } = store
    const { content } = filing
    await write(served, "acme", names)
    await packAll(content, "acme")
    const before = await readAll(served.journal)
    const frames = await content.frames("acme", 0, 2 ** 20)
    await assert.rejects(content.dropBodies("acme", { first: 1, last: 70 }))
    assert.deepEqual(await readAll(served.journal), before)
    for (let twice = 0; twice < 2; twice++)
      assert.equal(await content.dropBodies("acme", { first: 1, last: 128 }), 128)
    assert.deepEqual(await framesOf(content, "acme"), [])
    const entriesLeft = await served.journal.after("acme", 0, 200)
    assert.deepEqual(missing(entriesLeft), range(1, 128))
    const linked = await served.journal.linked("acme", 0, 200)
    assert.deepEqual(linked.flatMap(({ lengths }) => lengths.map(Number)).indexOf(0), 0)
    assert.equal((await served.journal.records("acme", 1, 150)).length, 150 * 118)
    const [one, two] = frames
    assert.ok(one !== undefined && two !== undefined)
    await assert.rejects(content.putFrames("acme", [{ ...one, bytes: two.bytes }]))
    await assert.rejects(content.putFrames("acme", [{ ...one, bytes: Buffer.from("no zstd") }]))
    for (let twice = 0; twice < 2; twice++) await content.putFrames("acme", frames)
    assert.deepEqual(await readAll(served.journal), before)
    await expectChain(served.journal, "acme")
  })

  story("a frame whose bodies are in rows or in other frames is not put back", async (store) => {
    const { served, filing } = store
    const { content } = filing
    await write(served, "acme", names)
    await content.pack("acme", 0, 40, true)
    await packAll(content, "acme")
    const before = await readAll(served.journal)
    const frames = await content.frames("acme", 0, 2 ** 20)
    assert.deepEqual(
      frames.map(({ first, count }) => [first, count]),
      [
        [1, 40],
        [41, 24],
        [65, 64],
      ],
    )
    const frameOf = async (first: number, count: number): Promise<Frame> => {
      const stored = await served.journal.after("acme", first - 1, count)
      const bodies = stored.map(({ record, body = none, bodySalt = none }) => ({
        index: parseRecord(record)?.index ?? -1,
        salted: concat(bodySalt, body),
      }))
      return { first, count, bytes: packFrame(bodies) ?? none }
    }
    await content.putFrames("acme", [
      await frameOf(1, 64),
      await frameOf(100, 20),
      await frameOf(129, 10),
    ])
    assert.deepEqual(await content.frames("acme", 0, 2 ** 20), frames)
    assert.deepEqual(await readAll(served.journal), before)
    await content.pack("acme", 128, entries, true)
    assert.deepEqual(await readAll(served.journal), before)
    await expectChain(served.journal, "acme")
  })

  story("of a frame that is partly there, the rest is put back", async (store) => {
    const { served, filing } = store
    const { content } = filing
    await write(served, "acme", names)
    for (const last of [40, 64]) await content.pack("acme", 0, last, true)
    const before = await readAll(served.journal)
    const [one, two] = await content.frames("acme", 0, 2 ** 20)
    assert.ok(one !== undefined && two !== undefined)
    const salted = [one, two].flatMap(({ bytes }) => {
      const frame = openFrame(bytes)
      assert.ok(typeof frame !== "string")
      return frame.indexes.map((index) => ({ index, salted: frame.salted(index) ?? none }))
    })
    // Over the first frame, the second one and rows, as in a ledger that was packed elsewhere.
    await content.dropBodies("acme", { first: 1, last: 40 })
    await content.putFrames("acme", [{ first: 1, count: 64, bytes: packFrame(salted) ?? none }])
    assert.deepEqual(await readAll(served.journal), before)
    const spans = (await content.frames("acme", 0, 2 ** 20)).map(({ first, count }) => [
      first,
      count,
    ])
    assert.deepEqual(spans, [
      [1, 40],
      [41, 24],
    ])
    await expectChain(served.journal, "acme")
    await content.destroyBodies("acme", [{ first: 50, last: 50 }])
    const left = await readAll(served.journal)
    await content.dropBodies("acme", { first: 1, last: 40 })
    await content.putFrames("acme", [{ first: 1, count: 64, bytes: packFrame(salted) ?? none }])
    assert.deepEqual(await readAll(served.journal), left)
  })

  story(
    "destroyed content is removed from rows and frames, and everything else stays",
    async (store) => {
      const { served, filing } = store
      const { content } = filing
      await write(served, "acme", names.slice(0, 100))
      await packAll(content, "acme")
      await append(served, names.slice(100), { disclosures: twoSealed })
      const ranges = [
        { first: 3, last: 3 },
        { first: 60, last: 66 },
        { first: 90, last: 105 },
        { first: 150, last: 150 },
      ]
      const gone = ranges.flatMap(({ first, last }) => range(first, last))
      for (let twice = 0; twice < 2; twice++)
        assert.equal(await untilDone((left) => content.destroyBodies("acme", left), ranges), 150)
      const left = await served.journal.after("acme", 0, 200)
      assert.equal(left.length, entries)
      assert.deepEqual(missing(left), gone)
      for (const { sequence, disclosures } of left)
        assert.equal(disclosures !== "", sequence > 100 && !gone.includes(sequence))
      assert.equal((await served.journal.records("acme", 1, 200)).length, entries * 118)
      // A packed one can be destroyed whole.
      await untilDone((rest) => content.destroyBodies("acme", rest), [{ first: 1, last: 64 }])
      assert.deepEqual(await framesOf(content, "acme"), [])
      await write(served, "acme", ["later"])
      assert.equal((await served.journal.head("acme"))?.sequence, entries + 1)
    },
  )

  story("a long stretch is destroyed in steps", async (store) => {
    const { served, filing } = store
    for (let from = 0; from < 3000; from += 500)
      await write(
        served,
        "acme",
        Array.from({ length: 500 }, (_, place) => `entry ${from + place + 1}`),
      )
    await packAll(filing.content, "acme", 2000)
    const steps: number[] = []
    await untilDone(
      async (left) => {
        const done = await filing.content.destroyBodies("acme", left)
        steps.push(done)
        return done
      },
      [{ first: 10, last: 2900 }],
    )
    assert.deepEqual(
      steps,
      steps.toSorted((a, b) => a - b),
    )
    assert.deepEqual(missing(await every(served.journal, "acme")), range(10, 2900))
  })

  story(
    "disclosures are replaced by the remaining ones, in rows and in stretches",
    async (store) => {
      const { served, filing } = store
      const { content } = filing
      await append(served, names, { disclosures: twoSealed })
      await packAll(content, "acme")
      const remaining = [
        { sequence: 2, disclosures: "WyJh" },
        { sequence: 70, disclosures: "" },
        { sequence: 150, disclosures: "WyJi" },
      ]
      for (let twice = 0; twice < 2; twice++)
        assert.equal(await content.keepDisclosures("acme", remaining), 150)
      const found = await served.journal.at("acme", [1, 2, 70, 150])
      assert.deepEqual(
        found.map((entry) => entry?.disclosures),
        [twoSealed, "WyJh", "", "WyJi"],
      )
      assert.ok(found.every((entry) => entry?.body !== undefined))
      await assert.rejects(content.keepDisclosures("acme", [{ sequence: 1, disclosures: "WyJj" }]))
      // An expiry may destroy an entry after an erasure has read it.
      const expired = [2, 150].map((first) => ({ first, last: first }))
      assert.equal(await content.destroyBodies("acme", expired), 150)
      await content.keepDisclosures("acme", [{ sequence: 1, disclosures: "WyJi" }, ...remaining])
      const left = await served.journal.at("acme", [1, 2, 150])
      assert.deepEqual(
        left.map((entry) => entry?.disclosures),
        ["WyJi", "", ""],
      )
      assert.equal(await content.clearLog(), true)
      for (let calls = 0; !(await content.overwriteCopies()); calls++) assert.ok(calls < 100)
    },
  )
}

async function packAll(content: ContentKeeper, workspace: string, upTo = Infinity) {
  const steps = []
  for (let after = 0; ;) {
    const packed = await content.pack(workspace, after, Math.min(upTo, Number.MAX_SAFE_INTEGER))
    if (packed === undefined) return steps
    const { last, entries: count, bytes } = packed
    assert.equal(bytes > 0, count > 0)
    steps.push({ last, entries: count })
    after = last
  }
}

async function untilDone(
  step: (left: readonly SequenceRange[]) => Promise<number>,
  ranges: readonly SequenceRange[],
): Promise<number> {
  for (let left = ranges; ;) {
    const done = await step(left)
    left = left
      .filter(({ last }) => last > done)
      .map(({ first, last }) => ({ first: Math.max(first, done + 1), last }))
    if (left.length === 0) return done
  }
}

async function framesOf(content: ContentKeeper, workspace: string): Promise<SequenceRange[]> {
  const frames = await content.frames(workspace, 0, 2 ** 24)
  return frames.map(({ first, count }) => ({ first, last: first + count - 1 }))
}

/** All data of a workspace in the journal, in a comparable form. */
async function readAll(journal: JournalReader): Promise<unknown> {
  const after = await every(journal, "acme")
  const linked = await journal.linked("acme", 0, 100)
  const some = [150, 3, 64, 65, 999, 1, 128, 129]
  return {
    after: after.map(plain),
    middle: (await journal.after("acme", 60, 9)).map(plain),
    at: (await journal.at("acme", some)).map(plain),
    pages: await Promise.all(
      [1, 3, 7, 40].map(async (step) => {
        const page = range(0, 152 / step).map((place) => 152 - place * step)
        return (await journal.at("acme", page)).map((one) => one && plain(one))
      }),
    ),
    linked: linkedPlain(
      linked.flatMap(({ sequences }) => sequences),
      linked,
    ),
    sameLinked: linkRows(after.slice(0, 100)).lengths,
    records: Buffer.from(await journal.records("acme", 1, 200)).toString("hex"),
    recordsAt: (await journal.recordsAt("acme", some)).map(
      (record) => record && Buffer.from(record).toString("hex"),
    ),
    head: Buffer.from((await journal.head("acme"))?.hash ?? []).toString("hex"),
  }
}

function linkedPlain(
  sequences: readonly number[],
  rows: Awaited<ReturnType<JournalReader["linked"]>>,
): unknown {
  return {
    sequences,
    lengths: rows.flatMap(({ lengths }) => lengths),
    leaves: Buffer.concat(rows.map(({ leaves }) => leaves)).toString("hex"),
    bodies: Buffer.concat(rows.map(({ bodies }) => bodies)).toString("hex"),
  }
}

async function every(journal: JournalReader, workspace: string): Promise<Stored[]> {
  const found: Stored[] = []
  for (;;) {
    const some = await journal.after(workspace, found.at(-1)?.sequence ?? 0, 1000)
    if (some.length === 0) return found
    found.push(...some)
  }
}

function missing(found: readonly Stored[]): number[] {
  return found
    .filter(({ body, bodySalt }) => body === undefined && bodySalt === undefined)
    .map(({ sequence }) => sequence)
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => first + place)
}

async function headOf(served: Store): Promise<Head> {
  return (await served.journal.head("acme")) ?? genesisOf("acme")
}

/** Appends entries with more fields than `write` supports. */
async function append(
  served: Store,
  named: readonly string[],
  { ledger = "ledger acme", before = 0, text = "", disclosures = "", key = false } = {},
): Promise<void> {
  const entriesMade: Linked[] = []
  const from = await headOf(served)
  let head = from
  for (const name of named) {
    const [receipt, bodySalt] = [receiptNamed(name), digest(`salt ${name}`).subarray(0, 16)]
    const idem = key ? keyNamed(name) : undefined
    // Without a key, the body has no such member.
    const body = Buffer.from(JSON.stringify({ idem, receipt, text, workspaceId: "acme" }))
    const record = encodeRecord({
      kind: "event",
      index: head.sequence - before,
      timeMs: head.timeMs + 1,
      ledgerId: digest(ledger),
      previousHash: head.sequence === before ? digest(ledger) : head.hash,
      bodyHash: createHash("sha256").update("ALB1").update(bodySalt).update(body).digest(),
    })
    entriesMade.push({
      record,
      receipt,
      idem,
      bodySalt,
      body,
      disclosures,
    })
    const hash = createHash("sha256").update("\0").update(record).digest()
    head = { sequence: head.sequence + 1, hash, timeMs: head.timeMs + 1 }
  }
  assert.deepEqual(await served.journal.append({ workspace: "acme", from, entries: entriesMade }), {
    kind: "done",
  })
}
