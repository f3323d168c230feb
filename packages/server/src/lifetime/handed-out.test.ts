import assert from "node:assert/strict"
import test from "node:test"
import { testWorkspace } from "../ledger/test-ledger.ts"
import { openMemory } from "../store/memory.ts"
import { handedOut } from "./handed-out.ts"

test("a person may have any number of entries", async () => {
  const { served } = openMemory()
  const workspace = testWorkspace("acme")
  const sequences = new Set(Array.from({ length: 200_000 }, (_, at) => at + 1))
  const source = { ...served, file: async () => {} }
  const out = await handedOut(source, workspace.id, sequences, { id: "usr_ada" })
  assert.deepEqual(out, { packs: [], tokens: [], exports: [], more: 0 })
})
