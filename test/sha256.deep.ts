import assert from "node:assert/strict"
import { hash } from "node:crypto"
import { test } from "node:test"
import { sha256, toHex } from "@tallystick/proof"

test("the hash of half a gigabyte, whose length in bits needs more than 32, is right", () => {
  const message = new Uint8Array(2 ** 29 + 1)
  assert.equal(toHex(sha256(message)), hash("sha256", message))
})
