import assert from "node:assert/strict"
import test from "node:test"
import { differencesIn } from "./differences.ts"

test("changes are found in every form that writers use, and nothing is lost", () => {
  const plan = (before: string, after: string) => ({
    field: "plan",
    before: { path: before, value: "free" },
    after: { path: after, value: "paid" },
  })
  const cases: readonly (readonly [metadata: object, changes: object[], rest: object[]])[] = [
    [{}, [], []],
    [
      { before: { plan: "free", x: 1 }, after: { plan: "paid", x: 1 } },
      [plan("before.plan", "after.plan")],
      [],
    ],
    [
      { changes: { plan: { from: "free", to: "paid" } } },
      [plan("changes.plan.from", "changes.plan.to")],
      [],
    ],
    [
      { changes: { plan: ["free", "paid"] }, reason: "r" },
      [plan("changes.plan", "changes.plan")],
      [["reason", "r"]],
    ],
    [
      { changes: { plan: { old: "free", new: "paid" } } },
      [plan("changes.plan.old", "changes.plan.new")],
      [],
    ],
    [
      { before: {}, after: { plan: "paid" } },
      [{ ...plan("", "after.plan"), before: undefined }],
      [],
    ],
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
