import assert from "node:assert/strict"
import test from "node:test"
import { digest, write } from "../store/contract/written-entries.ts"
import { expectChain } from "../store/expect-chain.ts"
import { openMemory } from "../store/memory.ts"
import { findDueFrames, type DueSegment } from "./due-frames.ts"

// The timestamp of the entry at a sequence is that sequence, in milliseconds.

const all: DueSegment = {
  workspace: "acme",
  after: 0,
  end: Infinity,
  ledgers: [
    { ledgerId: digest("ledger acme").toString("hex"), before: 0, last: 700, hasSegments: false },
  ],
  dueMs: 10_000,
  entriesMax: 256,
  partialDueMs: 10_000,
  endedAt: undefined,
}

/** A chain of 700 entries, and how to pack the next frames of 64 up to a sequence. */
async function openHouse() {
  const { served, filing } = openMemory()
  const names = Array.from({ length: 700 }, (_, at) => `entry ${at + 1}`)
  await write(served, "acme", names)
  let packed = 0
  return {
    packUpTo: async (sequence: number) => {
      while (packed < sequence)
        packed = (await filing.content.pack("acme", packed, sequence))?.last ?? assert.fail()
    },
    drop: (last: number) => filing.content.dropBodies("acme", { first: 1, last }),
    /** The last sequence of the next segment, if it can be made. */
    look: async (changes: Partial<DueSegment> = {}) => {
      const found = await findDueFrames(filing, { ...all, ...changes })
      if (found === undefined || "endsAt" in found) return found
      const { first, count } = found.frames.at(-1) ?? assert.fail("a segment has frames")
      return first + count - 1
    },
    finish: () => expectChain(served.journal, "acme"),
  }
}

test("a segment that is not full waits until the packer adds nothing between two checks", async () => {
  const { look, packUpTo, finish } = await openHouse()
  assert.equal(await look(), undefined)
  await packUpTo(128)
  assert.deepEqual(await look(), { endsAt: 128 })
  await packUpTo(192)
  assert.deepEqual(await look({ endedAt: 128 }), { endsAt: 192 })
  assert.equal(await look({ endedAt: 192 }), 192)
  await packUpTo(320)
  // A full one waits for nothing.
  assert.equal(await look(), 256)
  await finish()
})

test("a segment that is not full has only entries that are old enough", async () => {
  const { look, packUpTo, finish } = await openHouse()
  await packUpTo(128)
  const [firstMs, lastMs] = [1, 128]
  const rested = { endedAt: 128 }
  assert.equal(await look({ ...rested, partialDueMs: firstMs }), undefined)
  assert.equal(await look({ ...rested, partialDueMs: firstMs + 1 }), 128)
  // The second frame is not due, so the first one waits for nothing.
  assert.equal(await look({ dueMs: lastMs, partialDueMs: 10_000 }), 64)
  assert.equal(await look({ dueMs: 64, partialDueMs: 10_000 }), undefined)
  await finish()
})

test("a segment has entries of one ledger, and no more than fit", async () => {
  const { look, packUpTo, drop, finish } = await openHouse()
  await packUpTo(640)
  const ledgers = [
    { ledgerId: "the newer one", before: 128, last: 700, hasSegments: false },
    { ledgerId: "the older one", before: 0, last: 128, hasSegments: false },
  ]
  assert.equal(await look({ ledgers, partialDueMs: 0 }), 128)
  assert.equal(await look({ entriesMax: 200 }), 192)
  // A frame that has more entries than that is a segment by itself.
  assert.equal(await look({ entriesMax: 10 }), 64)
  await finish()
  await drop(256)
  assert.equal(await look(), 512)
})
