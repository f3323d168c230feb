import assert from "node:assert/strict"
import { test } from "node:test"
import { createChance, seedOf } from "./chance.ts"
import { createTextSearch } from "./text-search.ts"

test("a text is found at any place, and only if it is there", (t) => {
  const chance = createChance(seedOf(t))
  const letters = ["a", "b", "ä", "€", "\0"]
  const some = (length: number): string =>
    Array.from({ length }, () => chance.pick(letters)).join("")
  let found = 0
  for (let round = 0; round < 3000; round++) {
    const texts = Array.from({ length: chance.below(5) }, () => some(1 + chance.below(8)))
    const bytes = Buffer.from(`${some(chance.below(4))}${some(chance.below(40))}`)
    const part = bytes.subarray(chance.below(3))
    const one = createTextSearch(texts)(part)
    const all = texts.filter((text) => part.includes(text))
    assert.ok(one === undefined ? all.length === 0 : all.includes(one), `${one} of ${all.join()}`)
    if (one !== undefined) found += 1
  }
  assert.ok(found > 300 && found < 2700, `${found} of 3,000`)
})

test("a text is found at both ends", () => {
  const search = createTextSearch(["secret", "tls"])
  for (const text of ["secret", "secret of", "a secret", "tls", "a tls"])
    assert.ok(search(Buffer.from(text)) !== undefined, text)
  for (const text of ["", "secre", "ecret", "sec ret", "tl s"])
    assert.equal(search(Buffer.from(text)), undefined, text)
})
