import assert from "node:assert/strict"
import test from "node:test"
import { NumberSet } from "./number-set.ts"
import { missing } from "./searchable-fields.ts"
import { createSegmentBuilder } from "./segment-builder.ts"
import { openMade, runSteps, type Segment } from "./segment-format.ts"
import { createChance, seedOf } from "../../../../../test/chance.ts"
import { addLists, Range } from "./segment-lookup.ts"

/** A set that counts how often it looks for the end of a run, and is given one number. */
class CountingSet extends NumberSet {
  asked = 0
  added = 0

  override add(number: number): void {
    this.added++
    super.add(number)
  }

  override runEnd(from: number): number {
    this.asked++
    return super.runEnd(from)
  }
}

test("the end of a run of keys is looked for once, however long the run is", () => {
  const entries = 4096
  const builder = createSegmentBuilder(1, entries)
  for (let sequence = 1; sequence <= entries; sequence++) {
    const nobody = [{ names: ["order"], value: `o${sequence}`, isText: true }]
    builder.addFiled({ ...missing(sequence), fields: { nobody, actor: [], target: [] } })
  }
  const segment = openMade(builder.finish())
  const keys = new CountingSet(segment.facts.keys)
  keys.addRange(1, segment.facts.keys - 1)
  const found = new NumberSet(entries)
  runSteps(addLists(segment, "keys", keys, found), () => undefined)
  assert.ok(found.count() > entries / 2)
  assert.equal(keys.asked, 1)
})

test("a range of keys has the entries of its lists, whichever unions it begins or ends in", (t) => {
  const { below, pick } = createChance(seedOf(t))
  // Some values are of several entries, and some entries have several values.
  for (const shared of [2, 4, 4, entries / 2]) {
    const segment = withOrders(() =>
      below(entries) < shared ? [`o${below(entries)}`, `p${below(9)}`] : [],
    )
    const { keys, entryUnions } = segment.facts
    const lists = Array.from({ length: keys }, (_, key) => added(segment, key, key + 1))
    for (let round = 0; round < 100; round++) {
      const near = pick(entryUnions).from + below(4)
      const from = below(2) === 0 ? below(keys) : near
      const end = from + 1 + below(keys - from)
      const expected = new NumberSet(entries)
      for (const list of lists.slice(from, end)) expected.unite(list)
      assert.deepEqual(added(segment, from, end).bytes(), expected.bytes())
    }
  }
})

test("a union whose lists share nothing is read without some of them, and no other", () => {
  const plain = withOrders(() => [])
  const [, { from, end } = assert.fail(), { end: behind } = assert.fail()] = plain.facts.entryUnions
  assert.equal(added(plain, from + 3, behind - 3).added, 0)
  // The first has a number in common with the last, or with one between: then the ends differ.
  const sequenceOf = (key: number): number => 1 + added(plain, key, key + 1).next(0)
  const first = sequenceOf(from)
  for (const other of [sequenceOf(end - 1), sequenceOf(from + 20)]) {
    const mixed = withOrders((sequence) => (sequence === first ? [orderOf(other)] : []))
    const span = mixed.facts.entryUnions.find((one) => one.from === from) ?? assert.fail()
    assert.equal(added(mixed, from + 1, span.end).count(), span.end - from)
  }
})

const entries = 512

/** Each has an order of its own, in two fields, and maybe more. */
function withOrders(moreOf: (sequence: number) => readonly string[]): Segment {
  const builder = createSegmentBuilder(1, entries, { blockRows: entries })
  for (let sequence = 1; sequence <= entries; sequence++) {
    const values = [orderOf(sequence), ...moreOf(sequence)]
    const nobody = ["order", "ticket"].flatMap((name) =>
      values.map((value) => ({ names: [name], value, isText: true })),
    )
    builder.addFiled({ ...missing(sequence), fields: { nobody, actor: [], target: [] } })
  }
  return openMade(builder.finish())
}

function orderOf(sequence: number): string {
  return `o${sequence}`
}

function added(segment: Segment, from: number, end: number): CountingSet {
  const set = new CountingSet(entries)
  runSteps(addLists(segment, "keys", new Range(from, end), set), () => undefined)
  return set
}
