import assert from "node:assert/strict"
import test from "node:test"
import { ListCursor, ListWriter, UnionWriter, type ListSpan } from "./list-stream.ts"
import type { StreamPart } from "./key-stream.ts"
import { NumberSet } from "./number-set.ts"
import { createChance, seedOf } from "../../../../../test/chance.ts"

test("lists that are read in runs have the numbers that were written", (t) => {
  const { below } = createChance(seedOf(t))
  let read = 0
  for (let round = 0; round < 300; round++) {
    const most = [1, 5, 8, 9, 40, 3000, 70_000][below(7)] ?? 1
    const writer = new ListWriter(most, (part: StreamPart) => part)
    const lists = Array.from({ length: 1 + below(60) }, () => {
      const count = below(3) === 0 ? 1 + below(Math.min(most, 400)) : 1
      const numbers = new Set(Array.from({ length: count }, () => below(most)))
      return Uint32Array.from(numbers).sort()
    })
    for (const numbers of lists) writer.add(numbers, 0, numbers.length)
    writer.items.finish()
    const [part, second] = writer.items.parts
    const end = second?.first ?? lists.length
    const cursor = new ListCursor(part?.raw ?? assert.fail(), end, most)
    for (let from = below(3), to = from; from < end; from = to + below(3)) {
      to = from + 1 + below(end - from)
      const set = new NumberSet(most)
      cursor.goTo(from)
      cursor.addRunTo(set, to - from)
      const numbers = Array.from({ length: most }, (_, at) => at).filter((at) => set.has(at))
      const expected = new Set(lists.slice(from, to).flatMap((list) => [...list]))
      assert.deepEqual(
        numbers,
        [...expected].toSorted((a, b) => a - b),
      )
      read += to - from
    }
  }
  assert.ok(read > 1000)
})

test("unions have the numbers of lists that have enough together, and what is left at the end has none", (t) => {
  const { below } = createChance(seedOf(t))
  let covered = 0
  for (let round = 0; round < 300; round++) {
    const most = [1, 5, 8, 9, 40, 3000][below(6)] ?? 1
    const enough = 1 + below(200)
    const unions = new UnionWriter(enough, most)
    const copies = new ListWriter(most, (part: StreamPart) => part)
    const lists = Array.from({ length: 1 + below(200) }, () => {
      const count = below(20) === 0 ? most : 1 + below(Math.min(most, below(10) === 0 ? 400 : 4))
      const numbers = new Set(
        Array.from({ length: count }, (_, at) => (count === most ? at : below(most))),
      )
      return Uint32Array.from(numbers).sort()
    })
    for (const numbers of lists) copies.add(numbers, 0, numbers.length)
    copies.items.finish()
    let next = 0
    for (const { first, raw } of copies.items.parts) {
      const end = copies.items.parts[++next]?.first ?? lists.length
      const cursor = new ListCursor(raw, end - first, most)
      for (let at = first; at < end; at++) {
        const numbers = lists[at] ?? assert.fail("a list")
        cursor.goTo(at - first)
        if (below(2) === 0) unions.addAs(cursor)
        else unions.add(numbers, 0, numbers.length)
      }
    }
    const expected = new ListWriter(most, (part: StreamPart) => part)
    const spans: ListSpan[] = []
    for (let from = 0, end = 1; end <= lists.length; end++) {
      const together = lists.slice(from, end).flatMap((list) => [...list])
      if (together.length < enough) continue
      if (end - from >= 16) {
        const numbers = Uint32Array.from(new Set(together)).sort()
        expected.add(numbers, 0, numbers.length)
        spans.push({ from, end })
        covered += end - from
      }
      from = end
    }
    expected.items.finish()
    assert.deepEqual(unions.finish(), expected.items.parts)
    assert.deepEqual(unions.spans, spans)
  }
  assert.ok(covered > 1000, `${covered} lists`)
})
