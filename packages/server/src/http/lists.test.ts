import assert from "node:assert/strict"
import test from "node:test"
import { createLists } from "./lists.ts"

const lists = createLists(Buffer.alloc(32, 1))

test("a page is full however many items out of sight stand between those in sight, and no more than a hundred are read at once", async () => {
  const serials = Array.from({ length: 1000 }, (_, at) => ({ serial: 1000 - at }))
  const reads: number[] = []
  const read = async (before: number, limit: number) => {
    reads.push(limit)
    return serials.filter(({ serial }) => serial < before).slice(0, limit)
  }
  const sees = ({ serial }: { readonly serial: number }) => serial % 300 === 0
  const page = async (cursor?: string) => {
    const { items, nextCursor } = await lists.page("packs", { cursor, limit: 2 }, new AbortController().signal, read, sees)
    return { serials: items.map(({ serial }) => serial), nextCursor }
  }
  const first = await page()
  assert.deepEqual(first.serials, [900, 600])
  assert.deepEqual(await page(first.nextCursor ?? assert.fail()), { serials: [300], nextCursor: null })
  assert.ok(reads.every((limit) => limit <= 100))
})

/** Ten thousand items, and how often they were read; the client leaves while they are read for the `leavesAt`th time. */
function tenThousand(leavesAt: number) {
  const client = new AbortController()
  let reads = 0
  const read = (before: number, limit: number) => {
    reads += 1
    if (reads === leavesAt) client.abort(new Error("the client left"))
    const first = Math.min(before - 1, 10_000)
    return Promise.resolve(Array.from({ length: Math.min(limit, first) }, (_, at) => ({ serial: first - at })))
  }
  return { read, signal: client.signal, reads: () => reads }
}

test("a list of which little is in sight reads on until it has a page, and no longer than its client is there", async () => {
  const sees = ({ serial }: { serial: number }) => serial === 1
  const whole = tenThousand(Infinity)
  assert.deepEqual((await lists.page("packs", { limit: 10 }, whole.signal, whole.read, sees)).items, [{ serial: 1 }])
  assert.equal(whole.reads(), 101)
  const left = tenThousand(3)
  await assert.rejects(lists.page("packs", { limit: 10 }, left.signal, left.read, sees), /the client left/)
  assert.equal(left.reads(), 3)
})

test("a list does not look whether another page follows when its client has left", async () => {
  const left = tenThousand(1)
  const short = async (before: number) => await left.read(before, 5)
  await assert.rejects(lists.page("keys", { limit: 10 }, left.signal, short), /the client left/)
  assert.equal(left.reads(), 1)
})
