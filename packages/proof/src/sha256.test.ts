import assert from "node:assert/strict"
import { hash, randomBytes } from "node:crypto"
import test from "node:test"
import { sha256 as noble } from "@noble/hashes/sha2.js"
import { toHex } from "./encoding.ts"
import { sha256 } from "./sha256.ts"

test("SHA-256 is right for every length around its blocks", () => {
  for (let length = 0; length <= 520; length++) {
    const message = randomBytes(length)
    const hashed = toHex(sha256(message))
    assert.equal(hashed, hash("sha256", message), `of ${toHex(message)}`)
    assert.equal(hashed, toHex(noble(message)))
  }
})

test("carries are right for bits that are all ones or all zeros", () => {
  for (const byte of [0x00, 0x7f, 0x80, 0xff]) {
    const message = new Uint8Array(100_003).fill(byte)
    assert.equal(toHex(sha256(message)), hash("sha256", message), `${byte}`)
  }
})

test("a view of a buffer is hashed and not changed, and a returned hash does not change", () => {
  const bytes = randomBytes(300)
  const before = toHex(bytes)
  const first = sha256(bytes.subarray(100, 200))
  sha256(bytes)
  assert.equal(toHex(first), hash("sha256", bytes.subarray(100, 200)))
  assert.equal(toHex(bytes), before)
})
