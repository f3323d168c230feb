import assert from "node:assert/strict"
import test from "node:test"
import { LedgerError } from "../error.ts"
import type { Principal } from "./permissions.ts"
import { createAuthenticate } from "./credential-lookup.ts"

const isUnauthorized = (error: unknown) =>
  error instanceof LedgerError && error.code === "unauthorized"
const credential = (kind: string) => `ts${kind}_0123456789abc_${"0".repeat(49)}`

test("each kind looks up only its own credentials, and unknown ones are refused", async () => {
  const asked: string[] = []
  const known: Principal = {
    kind: "api-key",
    id: "0123456789abc",
    workspace: "acme",
    scopes: [],
    projectIds: undefined,
  }
  const authenticate = createAuthenticate(["a-root-key-of-more-than-32-characters"], {
    k: async (id, text) => (asked.push(`k ${id} ${text.length}`), known),
    r: async (id) => (asked.push(`r ${id}`), undefined),
  })
  assert.deepEqual(await authenticate(credential("k")), known)
  await assert.rejects(authenticate(credential("r")), isUnauthorized)
  for (const other of ["p", "s", "x", "q"])
    await assert.rejects(authenticate(credential(other)), isUnauthorized)
  for (const text of ["", "tsk", credential("k").slice(1), `${credential("k")}0`])
    await assert.rejects(authenticate(text), isUnauthorized)
  assert.deepEqual(asked, ["k 0123456789abc 67", "r 0123456789abc"])
})

test("the instance key may have any form, even that of another credential", async () => {
  for (const rootKey of [
    "x".repeat(32),
    credential("k"),
    credential("r"),
    credential("s"),
    `ts${"a".repeat(40)}`,
  ]) {
    const authenticate = createAuthenticate([rootKey, "y".repeat(32)], {
      k: async () => undefined,
      r: async () => undefined,
    })
    for (const good of [rootKey, "y".repeat(32)])
      assert.deepEqual(await authenticate(good), { kind: "instance" })
    await assert.rejects(authenticate(`${rootKey.slice(0, -1)}-`), isUnauthorized)
  }
})
