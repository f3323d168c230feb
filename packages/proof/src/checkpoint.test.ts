import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { AssertionError } from "./assert.ts"
import { formatCheckpoint, parseCheckpoint } from "./checkpoint.ts"

const root = new Uint8Array(32).fill(0xfb)
const rootText = Buffer.from(root).toString("base64")
const origin = "ledger.example/ledgers/1"

test("a checkpoint has three lines and parses back", () => {
  assert.equal(formatCheckpoint({ origin, size: 12, root }), `${origin}\n12\n${rootText}\n`)
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (size, root) => {
      assert.deepEqual(parseCheckpoint(formatCheckpoint({ origin, size, root })), {
        origin,
        size,
        root,
      })
    }),
  )
})

test("anything else is refused", () => {
  const sizes = [
    "",
    "-1",
    "+1",
    "01",
    "00",
    "1.0",
    "1e3",
    "0x1",
    " 1",
    "1 ",
    "٣",
    "9007199254740992",
    "18446744073709551616",
    "1,0",
  ]
  for (const size of sizes)
    assert.equal(parseCheckpoint(`${origin}\n${size}\n${rootText}\n`), undefined, size)
  assert.ok(parseCheckpoint(`${origin}\n9007199254740991\n${rootText}\n`))
  const roots = [
    rootText.slice(0, -4),
    rootText.slice(0, -1),
    `${rootText}=`,
    `${rootText} `,
    Buffer.from(root).toString("base64url"),
    `AAAA${rootText}`,
  ]
  for (const text of roots)
    assert.equal(parseCheckpoint(`${origin}\n1\n${text}\n`), undefined, text)
  for (const name of ["", "a b", "a+b", "a\u0000", "a\u00a0b", "\ud800"])
    assert.equal(parseCheckpoint(`${name}\n1\n${rootText}\n`), undefined, name)
  const good = `${origin}\n1\n${rootText}\n`
  for (const text of [
    "",
    "\n",
    "\n\n\n",
    good.slice(0, -1),
    `${good}\n`,
    `${good}extension\n`,
    `\n${good}`,
    good.replaceAll("\n", "\r\n"),
  ]) {
    assert.equal(parseCheckpoint(text), undefined, JSON.stringify(text))
  }
})

test("an impossible checkpoint fails an assertion", () => {
  for (const bad of [{ origin: "a b" }, { size: -1 }, { size: 2 ** 53 }, { root: root.slice(1) }]) {
    assert.throws(() => formatCheckpoint({ origin, size: 1, root, ...bad }), AssertionError)
  }
})
