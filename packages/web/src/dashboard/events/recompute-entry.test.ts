import assert from "node:assert/strict"
import test from "node:test"
import type { ListedEntry } from "@tallystick/client/wire"
import { genuineEntry, logKey, withoutBody } from "../../../../../test/shown-entry.ts"
import { recomputeEntry } from "./recompute-entry.ts"

const stateOf = (entry: ListedEntry, keys = [logKey]) => recomputeEntry(entry, keys).state

test("an entry is proven with its content, or where it shows none", () => {
  const gone = { action: "", actor: { id: "", type: "" } }
  for (const keys of [[], [logKey]]) {
    assert.equal(stateOf(genuineEntry, keys), "sealed")
    for (const integrity of ["expired", "erased"] as const) {
      assert.equal(stateOf(withoutBody({ ...gone, integrity }), keys), "sealed")
      assert.equal(stateOf(withoutBody({ integrity }), keys), "unproven")
      assert.equal(stateOf(withoutBody({ integrity }, false), keys), "unproven")
    }
    assert.equal(stateOf(withoutBody(gone), keys), "unproven")
  }
})

test("what the service calls broken is not called verified", () => {
  const broken = { integrity: "broken" } as const
  assert.equal(stateOf({ ...genuineEntry, ...broken }), "broken")
  assert.equal(stateOf(withoutBody({ ...broken, action: "" }, false)), "broken")
})
