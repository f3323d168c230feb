import assert from "node:assert/strict"
import test from "node:test"
import type { Clock } from "../clock.ts"
import { LedgerError } from "../error.ts"
import { createRate, networkOf } from "./rates.ts"

function openRate(perMinute: number, addressesMax = 100) {
  const clock: Clock & { atMs: number } = {
    atMs: 0,
    now: () => 0,
    elapsed: () => clock.atMs,
    sleep: async () => {},
  }
  const rate = createRate(clock, {
    perMinute,
    bucketsMax: addressesMax,
    bucketOf: networkOf,
    of: "things",
  })
  /** 0 if the request is allowed, otherwise the seconds to wait. */
  const take = (address: string): number => {
    try {
      rate.take(address)
      return 0
    } catch (error) {
      assert.ok(error instanceof LedgerError && error.code === "rate_limited", String(error))
      return error.retryAfterSeconds ?? Number.NaN
    }
  }
  return { clock, rate, take }
}

test("the requests of a minute may come in one burst, and then the bucket refills at the same rate", () => {
  const { clock, take } = openRate(10)
  for (let count = 0; count < 10; count++) assert.equal(take("192.0.2.1"), 0)
  assert.equal(take("192.0.2.1"), 6, "the next one comes in six seconds")
  clock.atMs += 5900
  assert.equal(take("192.0.2.1"), 1)
  clock.atMs += 100
  assert.equal(take("192.0.2.1"), 0, "to be refused costs nothing")
  assert.equal(take("192.0.2.1"), 6)
  assert.equal(take("192.0.2.2"), 0)
  clock.atMs += 3_600_000
  for (let count = 0; count < 10; count++) assert.equal(take("192.0.2.1"), 0)
  assert.equal(take("192.0.2.1"), 6, "a bucket does not hold more than a minute's worth")
})

test("over any time, no more requests pass than the bucket had and refilled", () => {
  const { clock, take } = openRate(60)
  let passed = 0
  for (let at = 0; at < 10_000; at++) {
    if (take("2001:db8::1") === 0) passed += 1
    clock.atMs += 97
  }
  assert.equal(passed, 60 + Math.floor(9999 * 0.097))
})

test("a count that is given back can be taken again, once", () => {
  const { rate, take } = openRate(2)
  rate.giveBack("192.0.2.1")
  assert.deepEqual([take("192.0.2.1"), take("192.0.2.1")], [0, 0])
  assert.ok(take("192.0.2.1") > 0)
  rate.giveBack("192.0.2.1")
  assert.equal(take("192.0.2.1"), 0)
  assert.ok(take("192.0.2.1") > 0)
})

test("memory is bounded, and the least recently used bucket is dropped first", () => {
  const { rate, take } = openRate(1, 3)
  for (const last of [1, 2, 3]) assert.equal(take(`192.0.2.${last}`), 0)
  assert.equal(take("192.0.2.1") > 0, true)
  assert.equal(take("192.0.2.4"), 0, "the fourth takes the place of the second")
  assert.deepEqual(
    [1, 3, 4].map((last) => take(`192.0.2.${last}`) > 0),
    [true, true, true],
  )
  assert.equal(take("192.0.2.2"), 0)
  for (let at = 0; at < 1000; at++) rate.giveBack(`198.51.100.${at % 250}`)
  assert.equal(take("192.0.2.4"), 0, "a bucket is forgotten by whatever comes")
})

test("addresses of one network share a bucket", () => {
  const same: readonly (readonly [string, string])[] = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:192.0.2.1", "192.0.2.1"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["2001:0DB8:0000:0000:ffff::", "2001:db8:0:0"],
    ["2001:db8:0:1::1", "2001:db8:0:1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8:1:2:3:4:192.0.2.1", "2001:db8:1:2"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["::1", "0:0:0:0"],
    ["::", "0:0:0:0"],
    ["::ffff:0:192.0.2.1", "0:0:0:0"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0"],
    ["2001::ffff:192.0.2.1", "2001:0:0:0"],
    ["unknown", "none"],
    ["", "none"],
    ["192.0.2.256", "none"],
    ["x".repeat(10_000), "none"],
  ]
  for (const [address, network] of same) assert.equal(networkOf(address), network, address)
})
