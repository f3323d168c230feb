import assert from "node:assert/strict"
import test from "node:test"
import { ticksOf } from "./timeline-ticks.ts"

test("an axis has at most eight labels, at whole hours, days, months or years of the reader", () => {
  const hour = 3_600_000
  const from = Date.parse("2026-11-06T10:20:00Z")
  for (const zone of [0, hour, -5 * hour])
    for (const span of [
      hour,
      24 * hour,
      7 * 24 * hour,
      90 * 24 * hour,
      200 * 24 * hour,
      20_000 * 24 * hour,
    ]) {
      const ticks = ticksOf(from, from + span, () => zone)
      assert.ok(ticks.length >= 3 && ticks.length <= 8, `${span}: ${ticks.length}`)
      for (const { at, form } of ticks) {
        assert.ok(at >= from && at < from + span)
        if (form !== "clock") assert.equal((at + zone) % (24 * hour), 0)
        // The same day of several years.
        assert.equal(form === "short", span > 112 * 24 * hour)
        const day = new Date(at + zone).toISOString().slice(5, 10)
        if (form === "short") assert.match(day, span > 48 * 30 * 24 * hour ? /^01-01$/ : /-01$/)
      }
    }
})

test("days begin at midnight also after summer time has ended or begun", () => {
  const hour = 3_600_000
  for (const [change, before, after] of [
    ["2026-10-25T01:00:00Z", 2, 1],
    ["2026-03-29T01:00:00Z", 1, 2],
  ] as const) {
    const changeAt = Date.parse(change)
    const zone = (at: number): number => (at < changeAt ? before : after) * hour
    const from = changeAt - 60 * hour
    const ticks = ticksOf(from, from + 7 * 24 * hour, zone)
    const days = ticks.map(({ at }) => new Date(at + zone(at)).toISOString())
    assert.equal(days.length, 7)
    assert.ok(
      days.every((day) => day.endsWith("T00:00:00.000Z")),
      days.join(" "),
    )
    assert.equal(new Set(days).size, 7)
  }
})
