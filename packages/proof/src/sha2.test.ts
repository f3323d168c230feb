import assert from "node:assert/strict"
import { hash, randomBytes } from "node:crypto"
import test from "node:test"
import * as noble from "@noble/hashes/sha2.js"
import { toHex } from "./encoding.ts"
import { sha256 } from "./sha256.ts"
import { sha512 } from "./sha512.ts"

for (const [name, ours, theirs] of [
  ["sha256", sha256, noble.sha256],
  ["sha512", sha512, noble.sha512],
] as const) {
  test(`${name} is right for every length around its blocks`, () => {
    for (let length = 0; length <= 520; length++) {
      const message = randomBytes(length)
      const hashed = toHex(ours(message))
      assert.equal(hashed, hash(name, message), `of ${toHex(message)}`)
      assert.equal(hashed, toHex(theirs(message)))
    }
  })

  test(`carries of ${name} are right for bits that are all ones or all zeros`, () => {
    for (const byte of [0x00, 0x7f, 0x80, 0xff]) {
      const message = new Uint8Array(100_003).fill(byte)
      assert.equal(toHex(ours(message)), hash(name, message), `${byte}`)
    }
  })

  test(`${name} hashes a view of a buffer without a change, and its hash does not change`, () => {
    const bytes = randomBytes(300)
    const before = toHex(bytes)
    const first = ours(bytes.subarray(100, 200))
    ours(bytes)
    assert.equal(toHex(first), hash(name, bytes.subarray(100, 200)))
    assert.equal(toHex(bytes), before)
  })
}
