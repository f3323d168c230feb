import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { wordDifference } from "./word-difference.ts"

test("words that went stand before those that came", () => {
  assert.deepEqual(wordDifference("kept for seven years", "kept for ten years"), [
    { is: "kept", text: "kept for " },
    { is: "removed", text: "seven " },
    { is: "added", text: "ten " },
    { is: "kept", text: "years" },
  ])
  assert.deepEqual(wordDifference("", "new"), [{ is: "added", text: "new" }])
  assert.deepEqual(wordDifference("same", "same"), [{ is: "kept", text: "same" }])
})

test("both texts can be read off a difference, whatever they are", () => {
  const text = fc
    .array(fc.constantFrom("a ", "b ", "c", "\n", " d", "ee "))
    .map((all) => all.join(""))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const stretches = wordDifference(before, after)
      const without = (side: string): string =>
        stretches.flatMap(({ is, text: part }) => (is === side ? [] : [part])).join("")
      assert.equal(without("added"), before)
      assert.equal(without("removed"), after)
    }),
  )
})

test("what is too long to be compared by words is shown whole, both ways", () => {
  const long = "word ".repeat(4000)
  assert.deepEqual(
    wordDifference(long, `${long}end`).map(({ is }) => is),
    ["removed", "added"],
  )
  assert.deepEqual(
    wordDifference(long, long).map(({ is }) => is),
    ["kept"],
  )
})
