import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import test from "node:test"
import {
  disclosuresOf,
  idemOf,
  packDisclosures,
  packIdem,
  packReceipt,
  receiptOf,
} from "./packed-text.ts"

const receipt = (digits: string): string => `rcp_${digits}`
const base64Url = (text: string): string => Buffer.from(text).toString("base64url")

test("texts of digits are stored as bytes, and restored exactly", () => {
  const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
  for (let run = 0; run < 300; run++) {
    const digits = Array.from(randomBytes(36), (byte) => alphabet[byte & 31]).join("")
    const packed = packReceipt(Buffer.from(receipt(digits)))
    assert.ok(packed instanceof Uint8Array && packed.length === 23)
    assert.equal(receiptOf(packed), receipt(digits))

    const idem = randomBytes(16).toString("base64url")
    const key = packIdem(Buffer.from(idem))
    assert.ok(key instanceof Uint8Array && key.length === 16)
    assert.equal(idemOf(key), idem)

    const sealed = Array.from({ length: 1 + (run % 5) }, (_, at) =>
      base64Url("x€".repeat(run + at)),
    )
    const text = sealed.join("~")
    const bytes = packDisclosures(Buffer.from(text))
    if (text === "") assert.equal(bytes, null)
    else assert.ok(bytes instanceof Uint8Array && bytes.length <= Math.ceil(text.length * 0.8))
    assert.equal(disclosuresOf(bytes), text)
  }
})

test("texts that bytes would not restore exactly are stored as text, and empty ones as null", () => {
  for (const text of [
    "rcp_nobody",
    receipt("0".repeat(35)),
    receipt("0".repeat(37)),
    receipt(`${"0".repeat(35)}U`),
    `evt_${"0".repeat(36)}`,
  ]) {
    assert.equal(packReceipt(Buffer.from(text)), text)
    assert.equal(receiptOf(text), text)
  }
  // Four bits of a key's last digit are unused.
  for (const text of ["short", `${"A".repeat(21)}B`, `${"A".repeat(21)}=`, "A".repeat(23)]) {
    assert.equal(packIdem(Buffer.from(text)), text)
    assert.equal(idemOf(text), text)
  }
  for (const text of ["A", "AAAAA", "AB", "AAA=", "AAAA~A", "AAAA~A€", "_w~AAAA"]) {
    const latin1 = Buffer.from(text, "latin1")
    assert.equal(packDisclosures(latin1), latin1.toString("latin1"))
  }
  assert.equal(disclosuresOf("AAAA~A"), "AAAA~A")
  assert.equal(packIdem(Buffer.alloc(0)), null)
  assert.equal(idemOf(null), undefined)
  assert.equal(packDisclosures(Buffer.alloc(0)), null)
  assert.equal(disclosuresOf(null), "")
})
