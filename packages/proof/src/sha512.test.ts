import assert from "node:assert/strict"
import { hash, randomBytes } from "node:crypto"
import test from "node:test"
import { sha512 as noble } from "@noble/hashes/sha2.js"
import { toHex } from "./encoding.ts"
import { sha512 } from "./sha512.ts"

test("SHA-512 is right for every length around its blocks", () => {
  for (let length = 0; length <= 520; length++) {
    const message = randomBytes(length)
    const hashed = toHex(sha512(message))
    assert.equal(hashed, hash("sha512", message), `of ${toHex(message)}`)
    assert.equal(hashed, toHex(noble(message)))
  }
})

test("carries are right for bits that are all ones or all zeros", () => {
  for (const byte of [0x00, 0x7f, 0x80, 0xff]) {
    const message = new Uint8Array(4096).fill(byte)
    assert.equal(toHex(sha512(message)), hash("sha512", message), `${byte}`)
  }
})

test("a view of a buffer is hashed and not changed", () => {
  const bytes = randomBytes(300)
  const before = toHex(bytes)
  assert.equal(toHex(sha512(bytes.subarray(100, 200))), hash("sha512", bytes.subarray(100, 200)))
  assert.equal(toHex(bytes), before)
})
