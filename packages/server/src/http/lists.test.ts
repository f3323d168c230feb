import assert from "node:assert/strict"
import test from "node:test"
import { createLists } from "./lists.ts"

test("a page is full however many items out of sight stand between those in sight, and no more than a hundred are read at once", async () => {
  const serials = Array.from({ length: 1000 }, (_, at) => ({ serial: 1000 - at }))
  const reads: number[] = []
  const read = async (before: number, limit: number) => {
    reads.push(limit)
    return serials.filter(({ serial }) => serial < before).slice(0, limit)
  }
  const sees = ({ serial }: { readonly serial: number }) => serial % 300 === 0
  const lists = createLists(Buffer.alloc(32, 1))
  const page = async (cursor?: string) => {
    const { items, nextCursor } = await lists.page("packs", { cursor, limit: 2 }, read, sees)
    return { serials: items.map(({ serial }) => serial), nextCursor }
  }
  const first = await page()
  assert.deepEqual(first.serials, [900, 600])
  assert.deepEqual(await page(first.nextCursor ?? assert.fail()), { serials: [300], nextCursor: null })
  assert.ok(reads.every((limit) => limit <= 100))
})
