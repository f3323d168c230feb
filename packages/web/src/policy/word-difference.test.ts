import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { wordDifference } from "./word-difference.ts"

test("removed words come before added ones", () => {
  assert.deepEqual(wordDifference("kept for seven years", "kept for ten years"), [
    { is: "kept", text: "kept for " },
    { is: "removed", text: "seven " },
    { is: "added", text: "ten " },
    { is: "kept", text: "years" },
  ])
  assert.deepEqual(wordDifference("", "new"), [{ is: "added", text: "new" }])
  assert.deepEqual(wordDifference("same", "same"), [{ is: "kept", text: "same" }])
})

test("both texts can be restored from a difference", () => {
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

test("texts that are too long to compare by words are shown whole", () => {
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
