import assert from "node:assert/strict"
import { test } from "node:test"
import { checkOf } from "./check.ts"
import { paramsOf } from "./path.ts"

test("no id of a path may be text that PostgreSQL refuses", () => {
  const ids =
    "workspaceId receiptId projectId keyId tokenId memberId packId erasureId holdId version"
  for (const id of ids.split(" ")) {
    const check = checkOf(paramsOf(`/v1/{${id}}`), "path parameter")
    for (const text of ["\0", "a\0", "core\0"])
      assert.throws(() => check({ [id]: text }), { code: "invalid_field" }, id)
  }
})
