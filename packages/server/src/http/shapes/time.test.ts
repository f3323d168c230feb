import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { instantOf } from "../../store/instant.ts"
import { isTime } from "./time.ts"

test("the times that docs/api.md describes pass", () => {
  const times = [
    "2026-01-31T09:30:00Z",
    "2026-01-31t09:30:00z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999+23:59",
    "2024-02-29T00:00:00-00:00",
    "2000-02-29T00:00:00.1Z",
  ]
  for (const time of times) assert.equal(isTime(time), true, time)
})

test("malformed times and dates that do not exist are refused", () => {
  const times = [
    "",
    "2026-01-31",
    "2026-01-31T09:30Z",
    "2026-01-31T09:30:00",
    "2026-01-31 09:30:00Z",
    "2026-02-30T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-13-10T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T23:60:00Z",
    "2026-01-31T23:59:60Z",
    "2026-01-31T09:30:00.Z",
    "2026-01-31T09:30:00.1234567890Z",
    "2026-01-31T09:30:00,5Z",
    "2026-01-31T09:30:00+24:00",
    "2026-01-31T09:30:00+01:60",
    "2026-01-31T09:30:00+0100",
    "2026-01-31T09:30:00+01",
    "2026-01-31T09:30:00ZZ",
    "2026-01-31T09:30:00Z ",
    " 2026-01-31T09:30:00Z",
    "+002026-01-31T09:30:00Z",
    "-001-01-31T09:30:00Z",
    "２026-01-31T09:30:00Z",
    "2026/01/31T09:30:00Z",
    "2026-01-31T09.30.00Z",
  ]
  for (const time of times) assert.equal(isTime(time), false, time)
})

test("times agree with an independent grammar and calendar", () => {
  const two = (max: number) =>
    fc.integer({ min: 0, max }).map((number) => String(number).padStart(2, "0"))
  const date = fc
    .tuple(
      fc.integer({ min: 0, max: 9999 }).map((year) => String(year).padStart(4, "0")),
      two(13),
      two(32),
    )
    .map((parts) => parts.join("-"))
  const clock = fc.tuple(two(24), two(60), two(60)).map((parts) => parts.join(":"))
  const fraction = fc.oneof(
    fc.constant(""),
    fc
      .string({ unit: fc.constantFrom(..."0123456789".split("")), maxLength: 10 })
      .map((digits) => `.${digits}`),
  )
  const zone = fc.oneof(
    fc.constantFrom("Z", "z"),
    fc
      .tuple(fc.constantFrom("+", "-"), two(24), two(60))
      .map(([sign, hours, minutes]) => `${sign}${hours}:${minutes}`),
  )
  const property = fc.property(
    date,
    fc.constantFrom("T", "t"),
    clock,
    fraction,
    zone,
    fc.option(fc.tuple(fc.nat(), fc.constantFrom(..."0:-TZ+. x".split(""))), {
      freq: 4,
      nil: undefined,
    }),
    (...parts) => {
      const [day, t, hours, part, offset, change] = parts
      let time = day + t + hours + part + offset
      if (change !== undefined)
        time =
          time.slice(0, change[0] % time.length) +
          change[1] +
          time.slice((change[0] % time.length) + 1)
      assert.equal(isTime(time), oracle(time), time)
      if (isTime(time)) assert.equal(instantOf(time)?.ms, Date.parse(time.toUpperCase()), time)
    },
  )
  fc.assert(property, { numRuns: 50_000 })
})

function oracle(time: string): boolean {
  const grammar =
    /^\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/
  if (!grammar.test(time)) return false
  const [year = 0, month = 0, day = 0] = time.slice(0, 10).split("-").map(Number)
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}
