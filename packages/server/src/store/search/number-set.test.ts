import assert from "node:assert/strict"
import test from "node:test"
import { NumberSet } from "./number-set.ts"
import { createChance, seedOf } from "../../../../../test/chance.ts"

/** A set of this one's numbers: read alone, it is asked as it is. */
function numbersOf(set: NumberSet): number[] {
  const numbers: number[] = []
  for (let at = set.next(0); at >= 0; at = set.next(at + 1)) numbers.push(at)
  return numbers
}

test("sets that are empty, full or some of each have the numbers that they should", (t) => {
  const { below } = createChance(seedOf(t))
  for (let round = 0; round < 300; round++) {
    // Only larger ones have few numbers without bits.
    const most = 1 + below(round % 10 === 0 ? 400 : 100)
    const sets = Array.from({ length: 3 }, () => new NumberSet(most))
    const models = Array.from({ length: 3 }, () => new Set<number>())
    const all = Array.from({ length: most }, (_, at) => at)
    for (let step = 0; step < 20; step++) {
      const [mine, other] = [below(3), below(3)]
      const [set, more] = [sets[mine] ?? assert.fail(), sets[other] ?? assert.fail()]
      const [model, beside] = [models[mine] ?? assert.fail(), models[other] ?? assert.fail()]
      const [from, to] = [below(most), below(most + 1)].toSorted((a, b) => a - b) as [
        number,
        number,
      ]
      const range = all.slice(from, to)
      const bytes = Uint8Array.from({ length: Math.ceil(most / 8) }, (_, at) =>
        at * 8 + 8 <= most ? below(256) : 0,
      )
      const inBytes = all.filter((at) => (((bytes[at >>> 3] ?? 0) >>> (at & 7)) & 1) === 1)
      const acts: readonly (() => readonly number[])[] = [
        () => (set.add(from), [...model, from]),
        () => (set.delete(from), [...model].filter((at) => at !== from)),
        () => (set.addAll(), all),
        () => (set.addRange(from, to), [...model, ...range]),
        () => (set.deleteRange(from, to), [...model].filter((at) => !range.includes(at))),
        () => (set.addBytes(bytes, 0, bytes.length), [...model, ...inBytes]),
        () => (set.unite(more), [...model, ...beside]),
        () => (set.intersect(more), [...model].filter((at) => beside.has(at))),
        () => (set.subtract(more), [...model].filter((at) => !beside.has(at))),
        () => ((sets[mine] = more.copy()), [...beside]),
      ]
      models[mine] = new Set((acts[below(acts.length)] ?? assert.fail())())
      const now = sets[mine] ?? assert.fail()
      const expected = all.filter((at) => models[mine]?.has(at))
      const what = `round ${round}`
      assert.deepEqual(numbersOf(now), expected, what)
      assert.deepEqual(
        all.filter((at) => now.has(at)),
        expected,
        what,
      )
      assert.deepEqual(
        [now.count(), now.isEmpty(), now.isFull(), now.last(to), now.last(most), now.runEnd(from)],
        [
          expected.length,
          expected.length === 0,
          expected.length === most,
          expected.findLast((at) => at < to) ?? -1,
          expected.at(-1) ?? -1,
          all.slice(from).find((at) => !expected.includes(at)) ?? most,
        ],
        what,
      )
      const both = expected.filter((at) => inBytes.includes(at))
      if (step % 3 === 0) assert.equal(now.copy().countBytes(bytes, 0, bytes.length), both.length)
    }
  }
})
