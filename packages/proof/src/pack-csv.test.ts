import assert from "node:assert/strict"
import test from "node:test"
import { stringify } from "csv-stringify/sync"
import fc from "fast-check"
import { csvLine } from "./pack-csv.ts"

const options = { quoted: true, quoted_empty: true, escape_formulas: true, record_delimiter: "\r\n" }
const cell = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("=", "+", "-", "@", "\t", "\r", '"', ",", ";", "'", "a", "\uff1d") }))

test("a line is what a library that is not ours writes", () => {
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1, maxLength: 8 }), (cells) => {
      // A line feed first is taken for harmless there; one program is enough that does not.
      fc.pre(cells.every((one) => !one.startsWith("\n")))
      assert.equal(csvLine(cells), stringify([cells], options))
    }),
    { numRuns: 2000 },
  )
})

test("no cell begins like a formula", () => {
  for (const first of ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]) {
    assert.equal(csvLine([`${first}HYPERLINK("x")`]), `"'${first}HYPERLINK(""x"")"\r\n`)
  }
  assert.equal(csvLine(["a=b", "", "1-2", "'x"]), `"a=b","","1-2","'x"\r\n`)
})
