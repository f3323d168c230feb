import assert from "node:assert/strict"
import test from "node:test"
import { ticksOf } from "./timeline-ticks.ts"

test("an axis has at most eight labels, at whole hours and days of the reader", () => {
  const hour = 3_600_000
  const from = Date.parse("2026-11-06T10:20:00Z")
  for (const zone of [0, hour, -5 * hour])
    for (const span of [hour, 24 * hour, 7 * 24 * hour, 90 * 24 * hour, 20_000 * 24 * hour]) {
      const ticks = ticksOf(from, from + span, zone)
      assert.ok(ticks.length >= 3 && ticks.length <= 8, `${span}: ${ticks.length}`)
      for (const { at, form } of ticks) {
        assert.ok(at >= from && at < from + span)
        if (form !== "clock") assert.equal((at + zone) % (24 * hour), 0)
        // The same day of several years.
        if (span > 400 * 24 * hour) assert.equal(form, "short")
      }
    }
})
