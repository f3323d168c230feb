import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { canonicalize } from "./canonical.ts"
import { equalJson, jsonDepthMax, jsonValuesMax, parseJson, readJson, type Json } from "./json.ts"

// Few names, so that the same shapes of objects recur. Most have escapes, or consist of the
// characters of an escape.
const name = fc.constantFrom(
  "a",
  "",
  "\\",
  '"',
  "\n",
  "\u0001",
  "x\\",
  'x"',
  "n",
  "\\n",
  ":",
  '":',
  "{",
  "__proto__",
  "1",
  "10",
  "\u2028",
  "é",
)
const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>(null, true, 0, -1.5e-7, "", "\\", '"', '":', "{}", "a\nb", "\\u0041"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc
      .uniqueArray(fc.tuple(name, tie("value")), { maxLength: 5, selector: ([name]) => name })
      .map((members) => Object.fromEntries(members)),
  ),
}))

test("a name with an escape is read correctly after any other name", () => {
  for (const [before, after, name] of [
    ['{"a":0,"\\\\":0}', '{"a":0,"\\n":0}', "\n"],
    ['{"b":0,"\\\\":0}', '{"b":0,"\\"":0}', '"'],
    ['{"c":0,"x\\\\":0}', '{"c":0,"x\\u0041":0}', "xA"],
  ] as const) {
    parseJson(before)
    JSON.parse(before)
    const value = parseJson(after)
    assert.deepEqual(Object.keys(value as object)[1], name)
  }
})

test("every value is read back from any spelling of it", () => {
  fc.assert(
    fc.property(
      json,
      fc.constantFrom("", " ", "\n\t \r"),
      fc.boolean(),
      (value, space, escaped) => {
        const read = parseJson(spell(value, space, escaped))
        // canonicalize parses nothing, so it cannot have the bug of JSON.parse.
        assert.equal(canonicalize(read ?? null), canonicalize(value))
        assert.ok(equalJson(value, read))
      },
    ),
    { numRuns: 2000 },
  )
})

test("only text that is not JSON gives undefined", () => {
  const token = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    '"a"',
    '"\\n"',
    '"\\"',
    "\\",
    "0",
    "01",
    "-",
    "1e5",
    "null",
    "tru",
    " ",
    "\n",
    "\ufeff",
  )
  let [read, refused] = [0, 0]
  fc.assert(
    fc.property(fc.array(token, { maxLength: 7 }), (parts) => {
      const text = parts.join("")
      assert.equal(parseJson(text) !== undefined, isJson(text), text)
      if (isJson(text)) read++
      else refused++
    }),
    { numRuns: 5000 },
  )
  assert.ok(read > 100 && refused > 100, `${read} read, ${refused} refused`)
  for (const text of [
    "",
    '{"\\n":1',
    '{"\\n":1}}',
    '{"\\n"}',
    '{"\\x":1}',
    '["\\n":1]',
    '{"\\n":1,}',
  ])
    assert.equal(parseJson(text), undefined)
})

test("of two members with one name the last one counts, as in JSON.parse", () => {
  assert.deepEqual(parseJson('{"\\u0061":1,"a":2}'), { a: 2 })
})

test("__proto__ is an ordinary member", () => {
  for (const text of ['{"__proto__":1}', '{"\\u005f_proto__":1}'])
    assert.deepEqual(Object.entries(parseJson(text) as object), [["__proto__", 1]])
})

test("hostile nesting and length are read or refused, quickly", () => {
  const nested = (depth: number) => '{"\\n":'.repeat(depth) + "1" + "}".repeat(depth)
  assert.ok(parseJson(nested(jsonDepthMax)) !== undefined)
  assert.equal(parseJson(nested(jsonDepthMax + 1)), undefined)
  assert.equal(parseJson(nested(100_000)), undefined)
  const long = "\\n".repeat(1_000_000)
  assert.equal(Object.keys(parseJson(`{"${long}":0}`) as object)[0]?.length, 1_000_000)
})

test("equalJson is equality of canonical text", () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      assert.ok(equalJson(a, structuredClone(a)))
      assert.equal(equalJson(a, b), canonicalize(a) === canonicalize(b))
    }),
    { numRuns: 1000 },
  )
  const pairs: [Json, unknown][] = [
    [[], {}],
    [{}, []],
    [{ a: 1 }, { b: 1 }],
    [{ toString: 1 }, { a: 1 }],
    [[1], { 0: 1 }],
    [{ 0: 1 }, [1]],
    [null, undefined],
    [{ a: 1 }, null],
    [[1], [1, 2]],
    ["1", 1],
    [JSON.parse('{"__proto__":{}}') as Json, { a: {} }],
    [[], Array(1)],
    [[null], Array(1)],
  ]
  for (const [a, b] of pairs) assert.ok(!equalJson(a, b))
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function spell(value: Json, space: string, escaped: boolean): string {
  const quote = (text: string) =>
    escaped
      ? `"${text
          .split("")
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
          .join("")}"`
      : JSON.stringify(text)
  const list = (parts: string[]) => parts.map((part) => space + part + space).join(",")
  if (typeof value === "string") return quote(value)
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value))
    return `[${list(value.map((item: Json) => spell(item, space, escaped)))}]`
  return `{${list(Object.entries(value).map(([name, member]) => `${quote(name)}${space}:${spell(member, space, escaped)}`))}}`
}

test("a duplicate member is found at any depth and in any spelling", () => {
  for (const [text, repeated] of [
    ['{"a":1,"a":1}', "a"],
    ['{"a":1,"b":[{"c":1},{"d":1,"c":2,"d":3}]}', "d"],
    ['{"a" : 1, "\\u0061"\n:2}', "a"],
    ['{"\\\\":1,"\\u005c":2}', "\\"],
    ['{"__proto__":1,"__proto__":2}', "__proto__"],
    ['{"":0,"":0}', ""],
  ] as const) {
    assert.deepEqual(readJson(text), { ok: false, repeated }, text)
  }
  for (const text of ["{", '{"a":1,"a":2', "", "{'a':1}", '{"a":1}}', '"'])
    assert.deepEqual([readJson(text).ok, "repeated" in readJson(text)], [false, false], text)
  for (const text of [
    '{"a":{"a":{"a":"a:"}},"b":["a","a",{"a":"\\":"}]}',
    '"a"',
    '[{"a":1},{"a":1}]',
    '{"a":"\\"","b":"\\\\"}',
  ])
    assert.deepEqual(readJson(text), { ok: true, value: JSON.parse(text) }, text)
})

test("readJson reads the same as parseJson, and always finds a duplicate member", () => {
  fc.assert(
    fc.property(
      json,
      name,
      fc.constantFrom("", " ", "\n\t \r"),
      fc.boolean(),
      (value, name, space, escaped) => {
        const text = spell(value, space, escaped)
        assert.deepEqual(readJson(text), { ok: true, value: parseJson(text) })
        const twice = `[${text},{${JSON.stringify(name)}:${text}${space},${space}${spell(name, "", escaped)}${space}:0}]`
        assert.deepEqual(readJson(twice), { ok: false, repeated: name })
      },
    ),
    { numRuns: 1000 },
  )
})

test("a text with too many values or too deep nesting is refused, and long strings are not", () => {
  const many = `[${"[],".repeat(jsonValuesMax / 2)}0]`
  assert.deepEqual([readJson(many).ok, parseJson(many)], [false, undefined])
  const deep = "[".repeat(2_000_000)
  assert.deepEqual([readJson(deep).ok, parseJson(deep)], [false, undefined])
  const long = JSON.stringify({ a: ",[{".repeat(4_000_000) })
  assert.equal(readJson(long).ok, true)
})
