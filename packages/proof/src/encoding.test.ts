import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import {
  concat,
  equalBytes,
  fromBase64,
  fromBase64Url,
  fromHex,
  fromUtf8,
  toBase64,
  toBase64Url,
  toHex,
  utf8,
} from "./encoding.ts"

const codecs = [
  { name: "hex", to: toHex, from: fromHex, oracle: "hex" },
  { name: "base64", to: toBase64, from: fromBase64, oracle: "base64" },
  { name: "base64url", to: toBase64Url, from: fromBase64Url, oracle: "base64url" },
] as const

for (const { name, to, from, oracle } of codecs) {
  test(`${name}: bytes are written as Node writes them, and read back`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const text = to(bytes)
        assert.equal(text, Buffer.from(bytes).toString(oracle))
        assert.deepEqual(from(text), bytes)
      }),
    )
  })

  test(`${name}: every text that can be read is written back unchanged, so there is no second spelling`, () => {
    const digit = fc.constantFrom(...Array.from("ABCXYZabcfxyz0189+/-_= \n\u00e9\u{1f600}\0"))
    let read = 0
    const check = (text: string) => {
      const bytes = from(text)
      if (!bytes) return
      read++
      assert.equal(to(bytes), text)
    }
    fc.assert(fc.property(fc.string({ unit: digit, maxLength: 8 }), check), { numRuns: 3000 })
    // Every text of two digits, padded or not, so that every value of the unused bits occurs.
    for (let a = 0; a < 128; a++) {
      for (let b = 0; b < 128; b++) {
        const text = String.fromCharCode(a, b)
        for (const padded of [text, `${text}==`, `A${text}`, `A${text}=`]) check(padded)
      }
    }
    assert.ok(read > 300, `only ${read} texts could be read`)
  })
}

test("malformed text is undefined", () => {
  for (const text of ["0", "0G", "AB", "aB", "0x00", " 00", "00 ", "\u0661\u0661"])
    assert.equal(fromHex(text), undefined, text)
  for (const text of [
    "A",
    "AA",
    "AAA",
    "AA=",
    "AAA==",
    "AB==",
    "AAB=",
    "=",
    "====",
    "AA==AAAA",
    "AAA-",
    "AA\n==",
    "AAAA\n",
    "A===",
  ]) {
    assert.equal(fromBase64(text), undefined, text)
  }
  for (const text of ["A", "AB", "AAB", "AA==", "AAA=", "AA+A", "AA/A", "AAAA ", "AAAAA"])
    assert.equal(fromBase64Url(text), undefined, text)
})

test("an empty text gives no bytes", () => {
  for (const { from } of codecs) assert.deepEqual(from(""), new Uint8Array())
})

test("UTF-8 is decoded strictly, and a byte order mark is kept", () => {
  assert.deepEqual(utf8("— Ö 😀"), new Uint8Array(Buffer.from("— Ö 😀")))
  assert.equal(fromUtf8(utf8("\ufeffÖ")), "\ufeffÖ")
  for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x80]])
    assert.equal(fromUtf8(Uint8Array.from(bytes)), undefined)
})

test("concat joins, equalBytes compares", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 5 }), (parts) => {
      assert.deepEqual(concat(...parts), new Uint8Array(Buffer.concat(parts)))
    }),
  )
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 40 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (bytes, at, change) => {
        const other = bytes.slice()
        assert.ok(equalBytes(bytes, other))
        const i = at % bytes.length
        other[i] = (other[i] ?? 0) ^ change
        assert.ok(!equalBytes(bytes, other))
        assert.ok(!equalBytes(bytes, bytes.slice(1)))
      },
    ),
  )
})
