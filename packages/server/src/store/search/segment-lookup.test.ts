import assert from "node:assert/strict"
import test from "node:test"
import { NumberSet } from "./number-set.ts"
import { missing } from "./searchable-fields.ts"
import { createSegmentBuilder } from "./segment-builder.ts"
import { openMade, runSteps } from "./segment-format.ts"
import { addLists } from "./segment-lookup.ts"

/** A set that counts how often it looks for the end of a run. */
class CountingSet extends NumberSet {
  asked = 0

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
