import assert from "node:assert/strict"
import { createHmac, randomBytes } from "node:crypto"
import test from "node:test"
import { crc32 } from "node:zlib"
import { pooledRandom } from "../ledger/random.ts"
import {
  createMac,
  formatCredential,
  makeCredential,
  parseCredential,
  randomText,
  sameText,
  type CredentialKind,
} from "./credential-format.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const kinds = ["k", "r", "p", "a", "e", "s", "x"] as const satisfies readonly CredentialKind[]
const random = pooledRandom()

test("a credential has a fixed length and form, and shows its kind", () => {
  for (const kind of kinds) {
    for (let count = 0; count < 200; count++) {
      const made = makeCredential(kind, random)
      const text = formatCredential(made)
      assert.match(text, new RegExp(`^ts${kind}_[0-9A-Za-z]{13}_[0-9A-Za-z]{49}$`))
      assert.equal(text.slice(0, -6), `ts${kind}_${made.id}_${made.secret}`)
      assert.deepEqual(parseCredential(text), { kind, id: made.id })
      // The last six characters are the CRC-32 of the others, in base 62, so that scanners for
      // leaked credentials can recognise real ones.
      const check = Array.from(text.slice(-6)).reduce(
        (value, digit) => value * 62 + alphabet.indexOf(digit),
        0,
      )
      assert.equal(check, crc32(text.slice(0, -6)))
    }
  }
})

test("a text of another form is no credential", () => {
  const text = formatCredential(makeCredential("k", random))
  const malformed = [
    "",
    "tsk_",
    text.slice(0, -1),
    `${text}0`,
    ` ${text}`,
    `${text}\n`,
    `tsz${text.slice(3)}`,
    `TS${text.slice(2)}`,
    text.replaceAll("_", "-"),
    text.repeat(2),
  ]
  for (const nonsense of malformed) assert.equal(parseCredential(nonsense), undefined, nonsense)
})

test("the stored form of a credential is the platform's HMAC of its text, every time", () => {
  for (const bytes of [0, 1, 32, 63, 64]) {
    const pepper = randomBytes(bytes)
    const macOf = createMac(pepper)
    for (let count = 0; count < 20; count++) {
      const text = formatCredential(makeCredential("k", random))
      assert.equal(macOf(text), createHmac("sha256", pepper).update(text).digest("hex"))
      assert.equal(
        macOf(text, "bound é"),
        createHmac("sha256", pepper).update(`${text}bound é`).digest("hex"),
      )
    }
  }
})

test("the comparison of texts is right for any lengths and letters", () => {
  assert.deepEqual(
    [
      sameText("a", "a"),
      sameText("a", "b"),
      sameText("a", "aa"),
      sameText("", ""),
      sameText("é", "e"),
      sameText("é", "é"),
    ],
    [true, false, false, true, false, true],
  )
})

test("random text has each letter with the same probability", () => {
  const counts = new Map<string, number>()
  for (const character of randomText(62_000, random))
    counts.set(character, (counts.get(character) ?? 0) + 1)
  assert.equal(counts.size, 62)
  // A thousand each are expected; bytes taken modulo 62 would give some a quarter more. Five
  // deviations are one miss in 30,000 runs of all 62.
  for (const [character, count] of counts)
    assert.ok(Math.abs(count - 1000) < 165, `${character} came ${count} times`)
  // Bytes from 248 on would favour the first letters, so they are discarded.
  let given = 0
  const biased = (into: Uint8Array) =>
    into.forEach((_, at) => (into[at] = [255, 248, 247, 61][given++ % 4] ?? 0))
  assert.equal(randomText(4, biased), "zzzz")
})
