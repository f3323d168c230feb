import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import { bodyHash } from "./body.ts"

const salt = fc.uint8Array({ minLength: 16, maxLength: 16 })

test("the hash covers tag, salt, and a body of any length", () => {
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.integer({ min: 4000, max: 4200 }).map((length) => new Uint8Array(length).fill(7)),
  )
  fc.assert(
    fc.property(salt, body, (salt, body) => {
      const expected = createHash("sha256").update("ALB1").update(salt).update(body).digest()
      assert.deepEqual(bodyHash(salt, body), new Uint8Array(expected))
    }),
  )
})

test("a salt of another length fails an assertion", () => {
  for (const length of [0, 15, 17, 32])
    assert.throws(() => bodyHash(new Uint8Array(length), new Uint8Array(3)), AssertionError)
})
