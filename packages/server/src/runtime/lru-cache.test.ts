import assert from "node:assert/strict"
import test from "node:test"
import { createLru } from "./lru-cache.ts"

test("a cache keeps what was used last, by weight, and nothing of keys that it lacks", () => {
  const gone: number[] = []
  const cache = createLru<number>(
    10,
    (weight) => weight,
    (weight) => gone.push(weight),
  )
  for (const weight of [1, 2, 3, 4]) cache.set(`${weight}`, weight)
  assert.deepEqual([cache.get("1"), cache.get("5")], [1, undefined])
  cache.set("3", 5)
  assert.deepEqual(
    [...cache.entries()].map(([key]) => key),
    ["4", "1", "3"],
  )
  cache.delete("4")
  assert.deepEqual(gone, [3, 2, 4])
})
