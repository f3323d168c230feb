import assert from "node:assert/strict"
import test from "node:test"
import { tableLike, tableOf, type Column } from "./table.ts"

const columns: readonly Column[] = [
  { title: "PLACE", usual: 6 },
  { title: "WHO", usual: 12, canShrink: true },
  { title: "WHAT", usual: 12, canShrink: true },
  { title: "RECEIPT", usual: 10 },
]
const rows = [
  ["1", "usr_1", "billing.invoice.approve", "rcp_000001"],
  ["20", "someone.with.a.long.name@example.com", "a.b", "rcp_000002"],
  ["3", "日本語の名前日本語の名前", "e\u0301e\u0301 👩‍💻 \u001b[2J\u202e", "rcp_000003"],
]

test("a table is aligned, and shows invisible characters", () => {
  assert.equal(
    tableOf([
      ["A", "B"],
      ["\u001b[2J", "x"],
      ["日本", "y"],
      ["e\u0301", "z\u202e"],
    ]),
    "A            B\n⟨U+001B⟩[2J  x\n日本         y\ne\u0301            z⟨U+202E⟩\n",
  )
})

test("a table is at most as wide as the terminal, and marks cut cells", () => {
  for (let width = 10; width <= 120; width++) {
    const text = tableLike(rows, columns, width)(rows)
    const lines = text.trimEnd().split("\n")
    assert.equal(lines.length, rows.length)
    for (const line of lines) assert.ok(cellsOf(line) <= width, `${width}: ${line}`)
    if (width >= 40) assert.match(text, /rcp_000002/, "what is not cut is there or not there")
    if (width >= 40 && width < 80) assert.match(text, /…/)
  }
  assert.doesNotMatch(tableLike(rows, columns, 30)(rows), /rcp/, "left out whole, not cut")
  assert.match(tableLike(rows, columns, undefined)(rows), /long\.name@example\.com .* rcp_000002/)
})

test("columns have their usual widths if the rows are not known yet", () => {
  const format = tableLike("usual", columns, undefined)
  assert.equal(format([["1", "a", "b", "c"]]), "1       a             b             c\n")
})

/** Columns on a terminal, counted in another way: these rows have no other wide characters. */
function cellsOf(line: string): number {
  const text = line.replace(/\p{M}/gu, "")
  return [...text].length + (text.match(/[\u3040-\u30ff\u4e00-\u9fff👩💻]/gu)?.length ?? 0)
}
