import assert from "node:assert/strict"
import test from "node:test"
import { hasCode } from "../ledger/test-ledger.ts"
import { createAuthenticate } from "./credential-lookup.ts"

const credential = (kind: string) => `ts${kind}_0123456789abc_${"0".repeat(49)}`

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
    await assert.rejects(authenticate(`${rootKey.slice(0, -1)}-`), hasCode("unauthorized"))
  }
})
