import assert from "node:assert/strict"
import test from "node:test"
import { differencesIn } from "./differences.ts"

test("what changed is found however the writer says it, and nothing is lost", () => {
  const a = { field: "plan", before: "free", after: "paid" }
  const cases: readonly (readonly [metadata: object, changes: object[], rest: object[]])[] = [
    [{}, [], []],
    [{ before: { plan: "free", x: 1 }, after: { plan: "paid", x: 1 } }, [a], []],
    [{ changes: { plan: { from: "free", to: "paid" } } }, [a], []],
    [{ changes: { plan: ["free", "paid"] }, reason: "r" }, [a], [["reason", "r"]]],
    [{ changes: { plan: { old: "free", new: "paid" } } }, [a], []],
    [{ before: {}, after: { plan: "paid" } }, [{ ...a, before: undefined }], []],
    [
      { before: "free", after: "paid" },
      [],
      [
        ["before", "free"],
        ["after", "paid"],
      ],
    ],
    [{ changes: { plan: "paid" } }, [], [["changes", { plan: "paid" }]]],
    [{ changes: 3, relatedReceiptIds: ["rcp_1"] }, [], [["changes", 3]]],
  ]
  for (const [metadata, changes, rest] of cases)
    assert.deepEqual(differencesIn({ ...metadata }), { changes, rest }, JSON.stringify(metadata))
})
