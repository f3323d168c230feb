import assert from "node:assert/strict"
import test from "node:test"
import type { ListPlace } from "../store/documents.ts"
import { createLists } from "./lists.ts"

const lists = createLists(Buffer.alloc(32, 1))

test("a page is full even if hidden items are in between, and at most a hundred items are read at once", async () => {
  const all = Array.from({ length: 1000 }, (_, at) => ({
    created: 1000 - at,
    id: "a name with spaces",
  }))
  const reads: number[] = []
  const read = async (before: ListPlace | undefined, limit: number) => {
    reads.push(limit)
    assert.ok(before === undefined || before.id === "a name with spaces")
    return all.filter(({ created }) => created < (before?.created ?? Infinity)).slice(0, limit)
  }
  const sees = ({ created }: ListPlace) => created % 300 === 0
  const page = async (cursor?: string) => {
    const { items, nextCursor } = await lists.page(
      "packs",
      { cursor, limit: 2 },
      new AbortController().signal,
      read,
      sees,
    )
    return { seen: items.map(({ created }) => created), nextCursor }
  }
  const first = await page()
  assert.deepEqual(first.seen, [900, 600])
  assert.deepEqual(await page(first.nextCursor ?? assert.fail()), { seen: [300], nextCursor: null })
  assert.ok(reads.every((limit) => limit <= 100))
})

/**
 * Ten thousand items, and how often they were read; the client leaves while they are read for the
 * `leavesAt`th time.
 */
function tenThousand(leavesAt: number) {
  const client = new AbortController()
  let reads = 0
  const read = (before: ListPlace | undefined, limit: number) => {
    reads += 1
    if (reads === leavesAt) client.abort(new Error("the client left"))
    const first = Math.min((before?.created ?? Infinity) - 1, 10_000)
    return Promise.resolve(
      Array.from({ length: Math.min(limit, first) }, (_, at) => ({ created: first - at, id: "" })),
    )
  }
  return { read, signal: client.signal, reads: () => reads }
}

test("a list with many hidden items is read until a page is full or the client has left", async () => {
  const sees = ({ created }: ListPlace) => created === 1
  const whole = tenThousand(Infinity)
  assert.deepEqual(
    (await lists.page("packs", { limit: 10 }, whole.signal, whole.read, sees)).items,
    [{ created: 1, id: "" }],
  )
  assert.equal(whole.reads(), 101)
  const left = tenThousand(3)
  await assert.rejects(
    lists.page("packs", { limit: 10 }, left.signal, left.read, sees),
    /the client left/,
  )
  assert.equal(left.reads(), 3)
})

test("no further page is read for a client that has left", async () => {
  const left = tenThousand(1)
  const short = async (before: ListPlace | undefined) => await left.read(before, 5)
  await assert.rejects(lists.page("keys", { limit: 10 }, left.signal, short), /the client left/)
  assert.equal(left.reads(), 1)
})
