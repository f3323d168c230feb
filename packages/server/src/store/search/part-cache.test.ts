import assert from "node:assert/strict"
import test from "node:test"
import { createFreedParts } from "./part-cache.ts"

const part = (): Uint8Array => new Uint8Array(60)

test("a part that made room is freed with the last reading that may have it", () => {
  const cache = createFreedParts(100)
  const [first, second] = [part(), part()]
  const endOldest = cache.read()
  const endOlder = cache.read()
  cache.set("first", first)
  cache.set("second", second)
  assert.deepEqual([cache.get("first"), cache.get("second")], [undefined, second])
  const endNewest = cache.read()
  endOlder()
  assert.deepEqual([first.length, second.length], [60, 60])
  endOldest()
  assert.deepEqual([first.length, second.length], [0, 60], "though another reading is under way")
  endNewest()
  assert.equal(second.length, 60, "it is remembered")
})

test("a part that was read by two at once is freed once both have ended", () => {
  const cache = createFreedParts(100)
  const [ends, parts] = [
    [cache.read(), cache.read()],
    [part(), part()],
  ] as const
  for (const one of parts) cache.set("same", one)
  for (const end of ends) {
    assert.deepEqual(
      parts.map(({ length }) => length),
      [60, 60],
    )
    end()
  }
  assert.deepEqual(
    parts.map(({ length }) => length),
    [0, 60],
  )
})

test("of parts that wait to be freed the oldest are left alone, as is memory that is shared", () => {
  const cache = createFreedParts(100)
  const end = cache.read()
  const parts = [part(), part(), new Uint8Array(new ArrayBuffer(70), 5, 60), part()]
  for (const [at, one] of parts.entries()) cache.set(`${at}`, one)
  end()
  assert.deepEqual(
    parts.map(({ length }) => length),
    [60, 60, 60, 60],
  )
  const endNext = cache.read()
  cache.set("next", part())
  endNext()
  assert.deepEqual(
    parts.map(({ length }) => length),
    [60, 60, 60, 0],
  )
})
