import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { createIds } from "./ids.ts"
import { pooledRandom } from "./random.ts"

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

test("an id has ten digits of time and 26 random ones", () => {
  const makeId = createIds(pooledRandom())
  for (const prefix of ["evt", "rcp", "pol", "pack"] as const)
    assert.match(makeId(prefix, 1), new RegExp(`^${prefix}_[${digits}]{36}$`))
  const timeOf = (id: string) =>
    Array.from(id.slice(4, 14)).reduce((time, digit) => time * 32 + digits.indexOf(digit), 0)
  fc.assert(
    fc.property(
      fc.maxSafeInteger().filter((timeMs) => timeMs >= 0 && timeMs < 32 ** 10),
      (timeMs) => assert.equal(timeOf(makeId("rcp", timeMs)), timeMs),
    ),
  )
})

test("ids sort by their time", () => {
  const makeId = createIds(pooledRandom())
  const times = fc.array(fc.nat({ max: 2 ** 45 }), { minLength: 2, maxLength: 20 })
  fc.assert(
    fc.property(times, (unsorted) => {
      const sorted = [...new Set(unsorted)].toSorted((a, b) => a - b)
      const ids = sorted.map((timeMs) => makeId("evt", timeMs))
      assert.deepEqual(ids.toSorted(), ids)
    }),
  )
})

test("all 130 random bits are used, and none twice", () => {
  const makeId = createIds(pooledRandom())
  const ids = Array.from({ length: 20_000 }, () => makeId("rcp", 5).slice(14))
  assert.equal(new Set(ids).size, ids.length)
  for (let place = 0; place < 26; place++)
    assert.equal(new Set(ids.map((id) => id[place])).size, 32, `digit ${place}`)

  // Each bit of the 17 bytes but the last six shows in the text.
  const bytes = new Uint8Array(17)
  const given = createIds((into) => into.set(bytes))
  const zero = given("rcp", 0)
  assert.equal(zero, `rcp_${"0".repeat(36)}`)
  const seen = new Set([zero])
  for (let bit = 0; bit < 130; bit++) {
    bytes.fill(0)
    bytes[bit >> 3] = 0x80 >> (bit & 7)
    seen.add(given("rcp", 0))
  }
  assert.equal(seen.size, 131)
})

test("random bytes are handed out once, and do not change afterwards", () => {
  const random = pooledRandom()
  const given = Array.from({ length: 10_000 }, () => {
    const bytes = new Uint8Array(16)
    random(bytes)
    return bytes
  })
  assert.equal(new Set(given.map((bytes) => Buffer.from(bytes).toString("hex"))).size, given.length)
})
