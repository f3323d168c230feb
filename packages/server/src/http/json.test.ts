import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { LedgerError } from "../error.ts"
import { numberFault, parseStrict, type JsonLimits } from "./json.ts"

const limits: JsonLimits = { depthMax: 32, stringBytesMax: 65_536 }

function refused(text: string | Buffer, within: JsonLimits = limits): LedgerError {
  try {
    parseStrict(Buffer.from(text), within)
  } catch (error) {
    assert.ok(error instanceof LedgerError, String(error))
    return error
  }
  return assert.fail(`accepted: ${text.toString().slice(0, 100)}`)
}

test("the texts that docs/api.md calls invalid_json are refused, with the place of the fault", () => {
  const cases: [text: string, detail: RegExp][] = [
    ["", /^the body is empty/],
    ["{", /^the body ends before its JSON does$/],
    ['{"a":1,}', /^the body is not JSON: see character 8$/],
    ["[1,]", /^the body is not JSON: see character 4$/],
    ["{a:1}", /see character 2$/],
    ["01", /see character 1$/],
    ["[1] []", /see character 5$/],
    ["NaN", /see character 1$/],
    ['"\t"', /see character 1$/],
    ['"\\x"', /see character 1$/],
    ['\ufeff{"a":1}', /byte order mark/],
    ['{"a":1,"b":{"c":1,"\\u0063":2}}', /^b has the member c twice$/],
    ['[{"a":1,"a":1}]', /^\[0\] has the member a twice$/],
    ['{"a":"\\ud800"}', /^a contains half of a surrogate pair$/],
    ['{"a":"\\udc00\\ud800"}', /^a contains half of a surrogate pair$/],
    ['{"a":"\\ud83dx"}', /^a contains half of a surrogate pair$/],
    ['{"a":{"\\ud800":1}}', /^a contains half of a surrogate pair$/],
    ['{"a":["x\\u0000y"]}', /^a\[0\] contains the character U\+0000$/],
    ['{"a":{"__proto__":1}}', /^a must not have a member named __proto__$/],
    ['{"\\u005f\\u005fproto__":1}', /^the body must not have a member named __proto__$/],
    ['{"_sd":[]}', /named _sd$/],
    ['{"a":[{"_sd_alg":"x"}]}', /^a\[0\] must not have a member named _sd_alg$/],
    ['{"...":"x"}', /named \.\.\.$/],
    ['{"a":9007199254740993}', /^a is a number that would lose digits/],
    ['{"a":{"b c":[1e400]}}', /^a\["b c"\]\[0\] is a number that would lose digits/],
    ["0.1000000000000000055", /^the body is a number that would lose digits/],
    ["1e-400", /would lose digits/],
    ["123456789012345678", /would lose digits/],
    ['{"a":9007199254740992}', /^a is an integer beyond 9007199254740991/],
    ["[123456789012345680000]", /^\[0\] is an integer beyond/],
    ["-1e20", /^the body is an integer beyond/],
    ["9007199254740992.0", /is an integer beyond/],
  ]
  for (const [text, detail] of cases) {
    const error = refused(text)
    assert.equal(error.code, "invalid_json", text)
    assert.match(error.detail, detail, text)
  }
})

test("bytes that are not UTF-8 are refused in any place", () => {
  for (const bytes of [
    [0xff],
    [0x22, 0xc3, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
  ]) {
    assert.equal(refused(Buffer.from(bytes)).detail, "the body is not valid UTF-8")
  }
})

test("texts that docs/format.md accepts pass, with the same value as from JSON.parse", () => {
  const texts = [
    "0.1",
    "1.10",
    "1e21",
    "5e-324",
    "-0",
    "1E+2",
    "0e999999999999",
    "9007199254740991",
    "-9007199254740991.0",
    "1.7976931348623157e308",
    "0.30000000000000004",
    '"é\\u00e9🙂\\ud83d\\ude42"',
  ]
  texts.push(
    '{"":{"proto":1,"__proto":2,"sd":3,"..":4,"_sd_":5}}',
    " [ ] ",
    '"\\\\u0000 \\" \\/"',
    "true",
    "null",
    '"\\uD83D\\uDE42"',
    '"\\ud7ff\\ue000\\u0001"',
  )
  for (const text of texts)
    assert.deepEqual(parseStrict(Buffer.from(text), limits), JSON.parse(text), text)
})

test("32 levels of nesting pass, and 33 or more are refused", () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
  assert.deepEqual(parseStrict(Buffer.from(nested(32)), limits), JSON.parse(nested(32)))
  assert.match(refused(nested(33)).detail, /is nested deeper than 32 levels$/)
  assert.match(refused("[".repeat(8_000_000)).detail, /is nested deeper than 32 levels$/)
  assert.equal(
    refused('{"a":'.repeat(33)).detail,
    `${Array(32).fill("a").join(".")} is nested deeper than 32 levels`,
  )
})

test("a string may have 64 KiB in UTF-8, with or without escapes, and one byte more is an invalid field", () => {
  const fits = ["x".repeat(65_536), "é".repeat(32_768), "🙂".repeat(16_384)]
  for (const text of fits) {
    for (const written of [JSON.stringify({ a: text }), escaped({ a: text })]) {
      assert.deepEqual(parseStrict(Buffer.from(written), limits), { a: text })
      const error = refused(written.replace(/"}$/, 'y"}'))
      assert.deepEqual(
        [error.code, error.detail],
        ["invalid_field", "a must not hold a string longer than 65536 bytes"],
      )
    }
  }
  assert.equal(
    refused(JSON.stringify({ a: { ["k".repeat(65_537)]: 1 } })).detail,
    "a must not hold a string longer than 65536 bytes",
  )
})

test("a refusal never repeats long input", () => {
  const name = "n".repeat(60_000)
  for (const text of [
    `{"${name}":{"${name}":[1e999]}}`,
    `{"${name}":1,"${name}":2}`,
    `{"a":"${name}\\u0000"}`,
    `{"a":1${"0".repeat(60_000)}1}`,
    `{"a":${name}}`,
  ]) {
    assert.ok(refused(text).detail.length < 300)
  }
})

test("megabytes of any input are read in linear time", () => {
  const size = 1 << 23
  const texts = [
    `"${"\\u0000".repeat(size / 6)}"`,
    `"${"\\ud83d\\ude42".repeat(size / 12)}"`,
    `[${"1e5,".repeat(size / 4)}1]`,
    "9".repeat(size),
    `0.${"0".repeat(size)}1`,
    `[${"{},".repeat(size / 3)}1e999]`,
    `{"a":[${'{"b":1},'.repeat(size / 8)}{"b":1,"b":1}]}`,
    `"${"\\".repeat(size)}`,
    " ".repeat(size),
  ]
  for (const text of texts) {
    const start = performance.now()
    verdict(Buffer.from(text), limits)
    // A quarter of a second on an idle machine. A reader that is not linear would take an hour.
    assert.ok(performance.now() - start < 10_000, text.slice(0, 40))
  }
})

test("an independent reader agrees on every text, and on its first fault", () => {
  const tight: JsonLimits = { depthMax: 4, stringBytesMax: 20 }
  const verdicts = new Map<string, number>()
  const property = fc.property(texts(), (text) => {
    const bytes = Buffer.from(text)
    const expected = oracle(bytes.toString(), tight)
    const actual = verdict(bytes, tight)
    verdicts.set(expected.code ?? "passes", (verdicts.get(expected.code ?? "passes") ?? 0) + 1)
    assert.deepEqual(actual, expected, text)
  })
  fc.assert(property, { numRuns: 20_000 })
  for (const code of ["passes", "invalid_json", "invalid_field"])
    assert.ok((verdicts.get(code) ?? 0) > 100, `${code}: ${verdicts.get(code)} texts`)
})

test("a name with an escape is read correctly after any other name", () => {
  const names = [
    "b",
    "ü",
    "\n",
    '"',
    "\\",
    "\\u",
    "\\u0",
    "a\\",
    "a\n",
    'a"',
    "bc",
    "bcd",
    "_sd\n",
    "_sd\\",
  ]
  const written = names.flatMap((name) => [
    JSON.stringify(name),
    JSON.stringify(name).replace(
      /^"[a-zü]/,
      (start) => `"\\u${start.charCodeAt(1).toString(16).padStart(4, "0")}`,
    ),
  ])
  for (const before of written) {
    for (const after of written) {
      // A different first member each time, because V8 remembers what came after it.
      const first = `"${written.indexOf(before)}x${written.indexOf(after)}"`
      parseStrict(Buffer.from(`{${first}:1,${before}:1}`), limits)
      const value = parseStrict(Buffer.from(`{${first}:1,${after}:1}`), limits)
      assert.deepEqual(
        Object.keys(value as object)[1],
        JSON.parse(after),
        `${after} after ${before}`,
      )
    }
  }
})

test("any value that JSON.stringify writes is read back unchanged", () => {
  const names = fc
    .string({ unit: "grapheme" })
    .filter(
      (name) => !["__proto__", "_sd", "_sd_alg", "..."].includes(name) && !name.includes("\0"),
    )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, false),
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .filter((double) => isPortable(String(double))),
      fc.integer(),
      names,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(names, tie("value"), { maxKeys: 4 }),
    ),
  }))
  const property = fc.property(value, (given) => {
    const text = JSON.stringify(given)
    assert.equal(JSON.stringify(parseStrict(Buffer.from(text), limits)), text)
    assert.equal(JSON.stringify(parseStrict(Buffer.from(escaped(given)), limits)), text)
  })
  fc.assert(property, { numRuns: 5_000 })
})

test("a number passes if it equals the shortest form of its double and is no large integer", () => {
  const digits = fc.string({
    unit: fc.constantFrom(..."0123456789".split("")),
    minLength: 1,
    maxLength: 22,
  })
  const exponents = fc.option(
    fc.oneof(fc.integer({ min: -30, max: 30 }), fc.integer({ min: -345, max: 320 })),
    { nil: undefined },
  )
  const property = fc.property(
    fc.boolean(),
    digits,
    fc.option(digits, { nil: undefined }),
    exponents,
    (negative, whole, fraction, exponent) => {
      const plain = whole.replace(/^0+(?=\d)/, "")
      const number = `${negative ? "-" : ""}${plain}${fraction === undefined ? "" : `.${fraction}`}${exponent === undefined ? "" : `e${exponent}`}`
      assert.equal(numberFault(number) === undefined, isPortable(number), number)
      assert.equal(
        verdict(Buffer.from(number), limits).code === undefined,
        isPortable(number),
        number,
      )
    },
  )
  fc.assert(property, { numRuns: 20_000 })
})

// The oracle: character by character, with exact arithmetic, and without code from json.ts -----

interface Verdict {
  readonly code?: string
  readonly value?: unknown
}

function verdict(bytes: Buffer, within: JsonLimits): Verdict {
  try {
    return { value: parseStrict(bytes, within) }
  } catch (error) {
    assert.ok(error instanceof LedgerError, String(error))
    return { code: error.code }
  }
}

const simpleEscapes = new Map(
  Object.entries({ '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }),
)

function oracle(text: string, { depthMax, stringBytesMax }: JsonLimits): Verdict {
  let at = 0
  const refuse = (code = "invalid_json"): never => {
    throw Object.assign(new Error(code), { code })
  }
  const blank = (): void => {
    while (" \t\r\n".includes(text[at] ?? "x")) at++
  }
  const eat = (piece: string): void => {
    blank()
    if (!text.startsWith(piece, at)) refuse()
    at += piece.length
  }
  const string = (): string => {
    eat('"')
    let made = ""
    for (;;) {
      const char = text[at++] ?? refuse()
      if (char === '"') break
      if (char < " ") refuse()
      if (char !== "\\") {
        made += char
        continue
      }
      const escape = text[at++] ?? refuse()
      const simple = simpleEscapes.get(escape)
      if (simple !== undefined) made += simple
      else if (escape === "u" && /^[0-9a-fA-F]{4}$/.test(text.slice(at, at + 4))) {
        made += String.fromCharCode(parseInt(text.slice(at, at + 4), 16))
        at += 4
      } else refuse()
    }
    if (made.includes("\0") || /\p{Surrogate}/u.test(made)) refuse()
    if (new TextEncoder().encode(made).length > stringBytesMax) refuse("invalid_field")
    return made
  }
  const value = (depth: number): unknown => {
    blank()
    const start = text[at] ?? refuse()
    if (start === '"') return string()
    if (start === "{" || start === "[") {
      if (depth === depthMax) refuse()
      at++
      const close = start === "{" ? "}" : "]"
      const members: [string, unknown][] = []
      for (blank(); text[at] !== close; blank()) {
        if (members.length > 0) eat(",")
        blank()
        const name = start === "{" ? string() : String(members.length)
        if (
          start === "{" &&
          (members.some(([other]) => other === name) ||
            ["__proto__", "_sd", "_sd_alg", "..."].includes(name))
        )
          refuse()
        if (start === "{") eat(":")
        members.push([name, value(depth + 1)])
      }
      at++
      return start === "{" ? Object.fromEntries(members) : members.map(([, item]) => item)
    }
    for (const [word, meaning] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ] as const) {
      if (text.startsWith(word, at)) {
        at += word.length
        return meaning
      }
    }
    const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/.exec(text.slice(at))?.[0] ?? refuse()
    at += number.length
    if (!isPortable(number)) refuse()
    return Number(number)
  }
  try {
    const made = value(0)
    blank()
    return at < text.length ? { code: "invalid_json" } : { value: made }
  } catch (refusal) {
    assert.ok(refusal instanceof Error && "code" in refusal)
    return { code: String(refusal.code) }
  }
}

/** Whether a number is exact as a double, and its RFC 8785 form is read alike by every parser. */
function isPortable(number: string): boolean {
  const canonical = String(Number(number))
  if (!sameDecimal(number, canonical)) return false
  if (!/^-?\d+$/.test(canonical)) return true
  const integer = BigInt(canonical)
  return integer > -(2n ** 53n) && integer < 2n ** 53n
}

/** Compares two decimals as fractions of big integers. */
function sameDecimal(a: string, b: string): boolean {
  const [[x, ex], [y, ey]] = [a, b].map((text): [bigint, number] => {
    const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text)
    if (match === null) return [0n, NaN]
    const [, sign = "", whole = "", fraction = "", exponent = "0"] = match
    return [BigInt(sign + whole + fraction), Number(exponent) - fraction.length]
  }) as [[bigint, number], [bigint, number]]
  if (Number.isNaN(ex) || Number.isNaN(ey)) return false
  // Too far apart for any double but zero, and for the memory of this machine.
  if (Math.abs(ex - ey) > 5_000) return x === 0n && y === 0n
  const least = Math.min(ex, ey)
  return x * 10n ** BigInt(ex - least) === y * 10n ** BigInt(ey - least)
}

/** JSON-like texts in which every refused form is frequent. */
function texts(): fc.Arbitrary<string> {
  const space = fc.constantFrom("", "", "", " ", "\n\t", "\r")
  const piece = fc.constantFrom(
    "a",
    "b",
    "é",
    "🙂",
    "\\n",
    "\\\\",
    '\\"',
    "\\u0061",
    "\\u00E9",
    "\\ud83d\\ude42",
    "\\uD83D\\uDE42",
    "xxxxxxxx",
    ":",
    "{",
  )
  const odd = fc.constantFrom(
    "\\u0000",
    "\\ud83d",
    "\\ude42",
    "\\ud83d\\u0061",
    "\\ude42\\ud83d",
    "\\x",
    "\t",
    "\\u12",
    "\\ud83dx",
    "\\ud83d\\n",
    "\\ud83d\\u1e42",
    "\\uda",
    "xxxxxxxxxxxxxxxxxxxxx",
    "xxxxxxxxxxxxxxxxxxxxx",
    "éééééééééé\\n",
    "éééééééééé\\n",
  )
  const string = fc
    .array(fc.oneof({ weight: 25, arbitrary: piece }, { weight: 1, arbitrary: odd }), {
      maxLength: 4,
    })
    .map((pieces) => `"${pieces.join("")}"`)
  const name = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.constantFrom(
        '"a"',
        '"b"',
        '"\\u0061"',
        '"c"',
        '"d"',
        '"e"',
        '""',
        '"1"',
        '"toString"',
      ),
    },
    { weight: 3, arbitrary: string },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '"__proto__"',
        '"_sd"',
        '"_sd_alg"',
        '"..."',
        '"\\u002e.."',
        '"_s\\u0064"',
        '"_sdx"',
      ),
    },
  )
  const number = fc.constantFrom(
    "0",
    "-0",
    "1.10",
    "1e21",
    "5e-324",
    "9007199254740993",
    "1e400",
    "0.1000000000000000055",
    "12345678901234567",
    "-1E5",
    "01",
    "1.",
    "-",
    "1e",
    ".5",
    "123456789012345",
    "1234567890123456",
    "0.00000000000001",
    "1e-5",
  )
  const word = fc.constantFrom("true", "false", "null", "tru", "")
  const separators = fc.oneof(
    { weight: 30, arbitrary: fc.constant(",") },
    { weight: 1, arbitrary: fc.constantFrom("", ",,", ":", "]") },
  )
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, depthSize: "medium" },
      { weight: 4, arbitrary: fc.oneof(string, number, word) },
      {
        weight: 4,
        arbitrary: fc
          .tuple(
            fc.array(
              fc.tuple(space, tie("value"), space).map((parts) => parts.join("")),
              { maxLength: 4 },
            ),
            separators,
          )
          .map(([items, separator]) => `[${items.join(separator)}]`),
      },
      {
        weight: 6,
        arbitrary: fc
          .tuple(
            fc.array(
              fc
                .tuple(space, name, space, tie("value"), space)
                .map(([a, n, b, v, c]) => `${a}${n}${b}:${v}${c}`),
              { maxLength: 4 },
            ),
            separators,
          )
          .map(([members, separator]) => `{${members.join(separator)}}`),
      },
    ),
  }))
  const cut = fc
    .tuple(
      value,
      fc.nat(),
      fc.constantFrom('"', "{", "}", "[", "]", ":", ",", "\\", "\u0001", "9", ""),
    )
    .map(([text, place, insert]) => {
      const at = place % (text.length + 1)
      return text.slice(0, at) + insert + text.slice(at + 1)
    })
  return fc
    .oneof({ weight: 3, arbitrary: value }, { weight: 1, arbitrary: cut })
    .map((text) => text.toWellFormed())
}

/** JSON in which every character of a string is an escape. */
function escaped(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^ -~]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}
