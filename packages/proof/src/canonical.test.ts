import assert from "node:assert/strict"
import test from "node:test"
import oracle from "canonicalize"
import fc from "fast-check"
import { canonicalize, parseCanonical } from "./canonical.ts"
import { equalJson, jsonDepthMax, parseJson, type Json } from "./json.ts"

// Names that sort in unusual ways: integers, numbers that are no array index, upper case, beyond
// the BMP, and Object's own.
const names = [
  "",
  "0",
  "9",
  "10",
  "01",
  "-1",
  "1.5",
  "4294967295",
  "4294967296",
  "a",
  "A",
  "b",
  "é",
  "\ufb33",
  "\u{1f600}",
  "toString",
  "\\",
  '"',
]
const name = fc.oneof(fc.constantFrom(...names), fc.string({ unit: "grapheme", maxLength: 3 }))
const { value: jsonValue } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      null,
      true,
      false,
      0,
      -0,
      1e21,
      1e-7,
      5e-324,
      0.1,
      "\\ud800",
      "\u2028\u0000\u001f\u007f",
    ),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.string({ unit: "grapheme" }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(name, tie("value"), { maxKeys: 6, noNullPrototype: true }) as fc.Arbitrary<Json>,
  ),
}))

test("another library makes the same canonical text, and it parses back", () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      const text = canonicalize(value)
      assert.equal(text, oracle(value))
      assert.equal(canonicalize(parseJson(text) as Json), text)
      assert.ok(equalJson(value, parseCanonical(text)))
    }),
    { numRuns: 3000 },
  )
})

test("the written order of members does not matter", () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 2, maxLength: 8 }), fc.nat(), (members, turn) => {
      const turned = members.map((_, i) => members[(i + turn) % members.length] ?? "")
      const object = (order: string[]): Json =>
        Object.fromEntries(order.map((member) => [member, { [member]: 1, a: [2] }]))
      assert.equal(canonicalize(object(turned)), canonicalize(object(members)))
    }),
  )
})

test("the examples of RFC 8785", () => {
  const sorted = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
  }
  const more = {
    "\u{1f600}": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
  }
  const values = Object.values(parseJson(canonicalize({ ...sorted, ...more })) as object)
  assert.deepEqual(values, [
    // An object has "1" in front, the text has not.
    "One",
    "Carriage Return",
    "Control",
    "Latin Small Letter O With Diaeresis",
    "Euro Sign",
    "Emoji: Grinning Face",
    "Hebrew Letter Dalet With Dagesh",
  ])
  assert.ok(canonicalize({ ...sorted, ...more }).startsWith('{"\\r":"Carriage Return","1":"One",'))

  const numbers =
    parseJson("[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]") ?? null
  const text = "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/"
  assert.equal(
    canonicalize({ numbers, string: text, literals: [null, true, false] }),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )

  const double = (bits: string) =>
    new DataView(Uint8Array.from(Buffer.from(bits, "hex")).buffer).getFloat64(0)
  const appendixB: [string, string][] = [
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ]
  for (const [bits, expected] of appendixB) assert.equal(canonicalize(double(bits)), expected)
})

test("integer-like names are in the order of text, not of value", () => {
  assert.equal(canonicalize({ 9: 1, 10: 2 }), '{"10":2,"9":1}')
  assert.equal(canonicalize({ b: 1, 1: 2, a: 3 }), '{"1":2,"a":3,"b":1}')
  assert.equal(canonicalize({ "": 0, 1: 2, "-": 3 }), '{"":0,"-":3,"1":2}')
})

test("values without a canonical form are refused at any depth", () => {
  const bad: unknown[] = [
    undefined,
    NaN,
    Infinity,
    -Infinity,
    1n,
    Symbol("s"),
    () => 1,
    new Date(0),
    "\ud800",
    "x\udc00",
    "\ud83d\ud83d\ude00",
  ]
  // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
  bad.push([1, , 2], { "\udfff": 1 })
  for (const value of bad as Json[]) {
    for (const where of [
      value,
      [value],
      { a: value },
      { b: 1, a: [{ c: value }] },
      [{ a: value, z: 1 }],
      [{ b: 1, a: 2 }, value],
    ]) {
      assert.throws(() => canonicalize(where), TypeError, String(typeof value))
    }
  }
  // A backslash before the letters is not an escape of ours.
  assert.equal(canonicalize("\\ud800"), '"\\\\ud800"')
  assert.throws(() => canonicalize("\\\ud800"), TypeError)
  assert.throws(() => canonicalize(["\\ud800", "\ud800"]), TypeError)
})

test("nesting has a limit, also for untrusted text", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth)
  assert.equal(canonicalize(JSON.parse(nested(jsonDepthMax)) as Json), nested(jsonDepthMax))
  assert.throws(() => canonicalize(JSON.parse(nested(jsonDepthMax + 1)) as Json), TypeError)
  assert.equal(parseCanonical(nested(200_000)), undefined)
})

test("text that is not canonical is not parsed", () => {
  assert.deepEqual(parseCanonical('{"a":1,"b":[]}'), { a: 1, b: [] })
  assert.deepEqual(parseCanonical(new Uint8Array(Buffer.from('{"é":1}'))), { é: 1 })
  const others = [
    '{"b":1,"a":1}',
    '{"a": 1}',
    '{"a":1,"a":1}',
    '{"a":1.0}',
    '{"a":"\\u0041"}',
    '\ufeff{"a":1}',
    '{"a":1} ',
    '"\\ud800"',
    "{",
    "",
  ]
  for (const text of others) assert.equal(parseCanonical(text), undefined, text)
  assert.equal(parseCanonical(Uint8Array.of(0x22, 0xff, 0x22)), undefined)
})

test("a member named __proto__ is an ordinary member", () => {
  const text = '{"__proto__":{"a":1},"b":2}'
  assert.equal(canonicalize(JSON.parse(text) as Json), text)
})
