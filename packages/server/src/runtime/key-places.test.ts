import assert from "node:assert/strict"
import test from "node:test"
import { createKeyPlaces } from "./key-places.ts"

test("each key has the number that was set last, as in a Map", () => {
  const places = createKeyPlaces(600)
  const expected = new Map<string, number>()
  // Their last characters are few, so that many keys want the same slot.
  const keyOf = (count: number) => `${"x".repeat(count % 50)}${count % 12}`
  for (let count = 0; count < 6000; count++) {
    const key = keyOf(Math.imul(count, 7919) >>> 3)
    assert.equal(places.get(key), expected.get(key))
    places.set(key, count)
    expected.set(key, count)
  }
  for (const [key, place] of expected) assert.equal(places.get(key), place)
  assert.equal(places.get("none"), undefined)
  assert.equal(places.get(""), undefined)
})

test("a map of key places has room for its maximum", () => {
  const places = createKeyPlaces(3)
  for (const key of ["", "a", "ab"]) places.set(key, key.length)
  places.set("a", 7)
  assert.deepEqual(
    ["", "a", "ab", "abc"].map((key) => places.get(key)),
    [0, 7, 2, undefined],
  )
  assert.throws(() => places.set("abc", 3), /room for so many keys/)
})
