import assert from "node:assert/strict"
import test from "node:test"
import { compareBytes, KeyCursor, KeyWriter, placeOfKey } from "./key-stream.ts"
import { createChance, seedOf } from "../../../../../test/chance.ts"

test("a key is found where it stands, or where it would stand, in every part", (t) => {
  const { below } = createChance(seedOf(t))
  // Few letters and many lengths, so that keys share much and are the beginnings of others.
  const any = (): Buffer =>
    Buffer.from(Array.from({ length: below(9) }, () => [0, 97, 98, 255][below(4)] ?? 0))
  for (let round = 0; round < 200; round++) {
    const keys = Array.from({ length: 1 + below(120) }, any)
      .toSorted((one, other) => Buffer.compare(one, other))
      .filter((key, at, all) => at === 0 || !key.equals(all[at - 1] ?? key))
    const writer = new KeyWriter((part) => part)
    for (const key of keys) writer.add(key, key.length)
    writer.items.finish()
    const raw = writer.items.parts[0]?.raw ?? assert.fail("a part")
    const cursor = new KeyCursor(raw, keys.length)
    for (const target of [...keys, ...Array.from({ length: 100 }, any)]) {
      const before = keys.filter((key) => compareBytes(key, key.length, target, target.length) < 0)
      const isThere = keys.some((key) => key.equals(target))
      const expected = isThere ? before.length : ~before.length
      assert.equal(placeOfKey(raw, keys.length, target), expected)
      if (!isThere) continue
      cursor.goTo(expected)
      assert.deepEqual(cursor.key.subarray(0, cursor.length), target)
    }
  }
})
