import assert from "node:assert/strict"
import test from "node:test"
import type { ListedEntry } from "@tallystick/client/wire"
import { linesOf } from "./lines.ts"
import type { Row } from "./rows.ts"

const row = (sequence: number, day: string, previousHash = `h${sequence - 1}`): Row => ({
  sequence,
  occurredAt: day,
  state: "sealed",
  // Only the hashes are used.
  entry: { hash: `h${sequence}`, previousHash } as ListedEntry,
})
const shown = (rows: readonly Row[], sealedTo: number): readonly string[] =>
  linesOf(rows, sealedTo, (day) => day).map((line) => {
    if (line.kind === "entry") return `${line.isShifted ? "shifted " : ""}#${line.row.sequence}`
    if (line.kind === "day") return line.day
    return line.kind === "break" ? `${line.above.sequence} ✕ ${line.below.sequence}` : "sealed"
  })

test("days, and the mark of the last sealed entry, are shown between the entries", () => {
  const rows = [row(9, "Tue"), row(8, "Tue"), row(5, "Mon")]
  assert.deepEqual(shown(rows, 8), ["Tue", "#9", "sealed", "#8", "Mon", "#5"])
  assert.deepEqual(shown(rows, 20), ["Tue", "sealed", "#9", "#8", "Mon", "#5"])
  assert.deepEqual(shown(rows, 0), ["Tue", "#9", "#8", "Mon", "#5"])
  assert.deepEqual(shown([], 9), [])
})

test("only consecutive entries whose hashes do not match are a break", () => {
  const broken = [
    row(9, "Tue"),
    row(8, "Tue", "other"),
    row(7, "Tue"),
    row(5, "Tue", "x"),
    row(3, "Tue"),
  ]
  assert.deepEqual(shown(broken, 0), [
    "Tue",
    "#9",
    "#8",
    "8 ✕ 7",
    "shifted #7",
    "shifted #5",
    "shifted #3",
  ])
})
