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

test("the first entry of an epoch names its ledger, and not the entry before it", () => {
  const opening = { kind: "admin", action: "ledger.epoch.open" }
  const opened = row(8, "Tue", "ledger")
  // Only these members are used.
  const entry = { ...opened.entry, ...opening } as ListedEntry
  assert.deepEqual(shown([row(9, "Tue"), { ...opened, entry }, row(7, "Tue")], 0), [
    "Tue",
    "#9",
    "#8",
    "#7",
  ])
  // A client may write an event of this name.
  const event = { ...entry, kind: "event" } as ListedEntry
  assert.deepEqual(shown([{ ...opened, entry: event }, row(7, "Tue")], 0), [
    "Tue",
    "#8",
    "8 ✕ 7",
    "shifted #7",
  ])
})
