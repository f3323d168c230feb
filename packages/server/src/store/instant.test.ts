import assert from "node:assert/strict"
import test from "node:test"
import { instantOf } from "./instant.ts"

test("a time is parsed to the nanosecond, with its zone", () => {
  const rows: readonly (readonly [string, string, number])[] = [
    ["2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000Z", 0],
    ["2026-01-31t09:30:00.25z", "2026-01-31T09:30:00.250Z", 0],
    ["2026-01-31T09:30:00.123456789+05:30", "2026-01-31T04:00:00.123Z", 456_789],
    ["2026-01-31T09:30:00.0000001-00:30", "2026-01-31T10:00:00.000Z", 100],
    ["1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z", 900_000],
    ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z", 0],
    ["0000-02-29T00:00:00+23:59", "0000-02-28T00:01:00.000Z", 0],
    ["0099-03-01T00:00:00Z", "0099-03-01T00:00:00.000Z", 0],
    ["9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999Z", 999_999],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z", 0],
  ]
  for (const [text, utc, ns] of rows)
    assert.deepEqual(instantOf(text), { ms: Date.parse(utc), ns }, text)
})

test("a malformed time is undefined", () => {
  for (const text of [
    "",
    "2026-01-31",
    "2026-01-31T09:30:00",
    "2026-01-31 09:30:00Z",
    "2026-01-31T09:30:00.Z",
    "2026-01-31T09:30:00.1234567890Z",
  ])
    assert.equal(instantOf(text), undefined, text)
})
