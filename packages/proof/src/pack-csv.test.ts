import assert from "node:assert/strict"
import test from "node:test"
import { stringify } from "csv-stringify/sync"
import fc from "fast-check"
import { csvLine } from "./pack-csv.ts"

const options = {
  quoted: true,
  quoted_empty: true,
  escape_formulas: true,
  record_delimiter: "\r\n",
}
const cell = fc.oneof(
  fc.string(),
  fc.string({
    unit: fc.constantFrom("=", "+", "-", "@", "\t", "\r", '"', ",", ";", "'", "a", "\uff1d"),
  }),
)

test("another library writes the same line", () => {
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1, maxLength: 8 }), (cells) => {
      // The other library treats a leading line feed as harmless, but a single program that does
      // not is enough. It puts nothing before an apostrophe.
      fc.pre(cells.every((one) => !one.startsWith("\n") && !one.startsWith("'")))
      assert.equal(csvLine(cells), stringify([cells], options))
    }),
    { numRuns: 2000 },
  )
})

test("no cell begins as a formula", () => {
  for (const first of ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
    assert.equal(csvLine([`${first}HYPERLINK("x")`]), `"'${first}HYPERLINK(""x"")"\r\n`)
  assert.equal(csvLine(["a=b", "", "1-2"]), `"a=b","","1-2"\r\n`)
})

test("every cell stands for exactly one text: without its first apostrophe, if it has one", () => {
  assert.equal(csvLine(["a=b", "=1", "'=1"]), `"a=b","'=1","''=1"\r\n`)
  fc.assert(
    fc.property(cell, (text) => {
      const written = csvLine([text]).slice(1, -3).replaceAll('""', '"')
      assert.equal(written.startsWith("'") ? written.slice(1) : written, text)
    }),
    { numRuns: 2000 },
  )
})
