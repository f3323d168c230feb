import assert from "node:assert/strict"
import test from "node:test"
import fc from "fast-check"
import { LedgerError } from "../error.ts"
import { unpaced, type Pace } from "../runtime/pace.ts"
import { readBatch } from "./batch-body.ts"
import { parseStrict } from "./json.ts"
import { batchEnvelopeOf } from "./shapes/batch.ts"
import { checkOf } from "./shapes/check.ts"

const limits = { depthMax: 5, stringBytesMax: 100 }
const check = checkOf(batchEnvelopeOf(4))
const rules = { limits, itemBytesMax: 300, itemsMax: 4, objectsMax: Infinity, check }

async function outcomeOf(
  read: () => unknown,
): Promise<{ readonly value?: unknown; readonly code?: string; readonly detail?: string }> {
  try {
    return { value: await read() }
  } catch (error) {
    assert.ok(error instanceof LedgerError, String(error))
    return { code: error.code, detail: error.detail }
  }
}
const inPieces = (text: string | Buffer) =>
  outcomeOf(() => readBatch(Buffer.from(text), rules, unpaced))
const atOnce = (text: string) =>
  outcomeOf(() =>
    check(parseStrict(Buffer.from(text), { ...limits, depthMax: limits.depthMax + 2 })),
  )

test("reading a batch in slices gives the same value as reading it at once, or refuses it or one of its events", async () => {
  const blank = fc.constantFrom("", "", "", " ", "\n\t")
  const name = fc.constantFrom(
    "events",
    "events",
    "events",
    "\\u0065vents",
    "event",
    "__proto__",
    "",
  )
  const good = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value))
  const odd = fc.constantFrom(
    "{}",
    "[]",
    '"a,]}"',
    '"\\"]"',
    '"\\\\"',
    '{"a":1,"a":2}',
    "[1}",
    "{]",
    "1 2",
    '"',
    "-",
    "tru",
    '{"\\ud800":1}',
    "",
  )
  const item = fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: odd })
  const list = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.array(item, { maxLength: 5 }).map((items) => `[${items.join(",")}]`),
    },
    { arbitrary: odd, weight: 1 },
  )
  const member = fc
    .tuple(name, blank, list)
    .map(([called, space, value]) => `${space}"${called}"${space}:${space}${value}`)
  const members = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(member) },
    { weight: 1, arbitrary: fc.array(member, { maxLength: 3 }) },
  )
  const body = fc
    .tuple(blank, members, blank)
    .map(([before, all, after]) => `${before}{${all.join(",")}${after}}${after}`)
  const cut = fc
    .tuple(body, fc.nat(), fc.constantFrom("", "x", ",", "]", "}"))
    .map(([text, at, more]) => text.slice(0, at % (text.length + 1)) + more)
  let taken = 0
  const property = fc.asyncProperty(
    fc.oneof({ weight: 3, arbitrary: body }, { weight: 1, arbitrary: cut }),
    async (text) => {
      const [pieces, once] = [await inPieces(text), await atOnce(text)]
      const events = (pieces.value as { events: unknown[] } | undefined)?.events ?? []
      const refused = events.filter((event) => event instanceof LedgerError)
      if (pieces.code === undefined) taken += 1
      // A too large event was only scanned for its end.
      if (refused.some(({ code }) => code === "payload_too_large")) return
      if (refused[0] !== undefined) {
        assert.deepEqual([refused[0].code, refused[0].detail], [once.code, once.detail], text)
        return
      }
      assert.deepEqual(pieces.value, once.value, text)
      assert.equal(
        pieces.code === undefined,
        once.code === undefined,
        `${text}: ${pieces.detail ?? ""} ${once.detail ?? ""}`,
      )
    },
  )
  await fc.assert(property, { numRuns: 20_000 })
  assert.ok(taken > 2000, `${taken} were taken`)
})

test("a refusal names the place of the first fault, and the rest is not read", async () => {
  const garbage = "\u0000".repeat(50)
  const cases: [text: string, code: string, detail: string][] = [
    ['{"events":[{"a":[1,]}]}', "invalid_json", "events[0] is not JSON: see character 9"],
    [`{"events":[${"[".repeat(6)}`, "invalid_json", "the body ends before its JSON does"],
    [`{"events":[1,2,3,4,${garbage}`, "invalid_field", "events must be an array of 1 to 4 items"],
    [`{"events":[]${garbage}`, "invalid_field", "events must be an array of 1 to 4 items"],
    [`{"events":{${garbage}`, "invalid_field", "events must be an array of 1 to 4 items"],
    [`{"atomic":${garbage}`, "invalid_field", "atomic is not a known field"],
    [`{"events":[1],"atomic":${garbage}`, "invalid_field", "atomic is not a known field"],
    [`{"events":[1],"events"${garbage}`, "invalid_json", "the body has the member events twice"],
    [`{"__proto__":${garbage}`, "invalid_json", "the body must not have a member named __proto__"],
    [
      `{"${"x".repeat(300)}":${garbage}`,
      "invalid_field",
      `${"x".repeat(64)}… is not a known field`,
    ],
    [`{}${garbage}`, "invalid_field", "events is required and must be an array of 1 to 4 items"],
    [`[${garbage}`, "invalid_field", "the body must be an object"],
    ["x", "invalid_json", "the body is not JSON: see byte 1"],
    ['\ufeff{"events":[1]}', "invalid_json", "the body is not JSON: see byte 1"],
    [" ", "invalid_json", "the body ends before its JSON does"],
    ['{"events":x', "invalid_json", "the body is not JSON: see byte 11"],
    ["-1", "invalid_field", "the body must be an object"],
    ['{"events":[1]', "invalid_json", "the body ends before its JSON does"],
    ['{"events":[1]}x', "invalid_json", "the body is not JSON: see byte 15"],
    ['{"events":[1 2]}', "invalid_json", "the body is not JSON: see byte 14"],
    ['{"events":[1,{"a":1,"a":2 x}]}', "invalid_json", "events[1] is not JSON"],
    ['{"events":[{"__proto__":1,"a},{":[1}]}', "invalid_json", "events[0] is not JSON"],
  ]
  for (const [text, code, detail] of cases)
    assert.deepEqual(await inPieces(text), { code, detail }, text)
  const notUtf8 = Buffer.concat([
    Buffer.from('{"events":[1,"'),
    Buffer.of(0xff),
    Buffer.from('"]}'),
  ])
  assert.deepEqual(await inPieces(notUtf8), {
    code: "invalid_json",
    detail: "events[1] is not valid UTF-8",
  })
})

test("an event that breaks a rule of JSON or a limit is refused in its place", async () => {
  const cases: [event: string, code: string, detail: string][] = [
    ['{"a":{"b":1,"b":2}}', "invalid_json", "events[1].a has the member b twice"],
    [
      '{"a":[1e400]}',
      "invalid_json",
      "events[1].a[0] is a number that would lose digits; send it as a string",
    ],
    ['"\\ud800"', "invalid_json", "events[1] contains half of a surrogate pair"],
    [
      `${"[".repeat(6)}${"]".repeat(6)}`,
      "invalid_json",
      `events[1]${"[0]".repeat(5)} is nested deeper than 5 levels`,
    ],
    [
      `{"a":"${"x".repeat(101)}"}`,
      "invalid_field",
      "events[1].a must not hold a string longer than 100 bytes",
    ],
  ]
  for (const [event, code, detail] of cases) {
    const { value } = await inPieces(`{"events":[{"a":1},${event},2]}`)
    const [first, refused, last] = (value as { events: unknown[] }).events
    assert.deepEqual([first, last], [{ a: 1 }, 2])
    assert.ok(refused instanceof LedgerError)
    assert.deepEqual([refused.code, refused.detail], [code, detail])
  }
})

test("an event that is too large is refused in its place, by its size in the request", async () => {
  const large = JSON.stringify(Array.from({ length: 100 }, () => "é"))
  const { value } = await inPieces(`{"events":[{"a":1},${large},2]}`)
  const [first, refused, last] = (value as { events: unknown[] }).events
  assert.deepEqual([first, last], [{ a: 1 }, 2])
  assert.ok(refused instanceof LedgerError)
  assert.equal(
    refused.detail,
    `events[1] has ${Buffer.byteLength(large)} bytes; at most 300 are allowed`,
  )
})

test("other requests run before each event is read, and while a too large event is skipped", async () => {
  let heard = 0
  const pace: Pace = { isUp: () => true, next: async () => void heard++ }
  const heardWhile = async (text: string): Promise<number> => {
    heard = 0
    await readBatch(Buffer.from(text), rules, pace)
    return heard
  }
  assert.equal(await heardWhile('{"events":[{},{},{}]}'), 3)
  const pieces = 7
  assert.equal(
    await heardWhile(`{"events":["${"x".repeat(pieces * rules.itemBytesMax)}"]}`),
    1 + pieces,
  )
})

test("the number of objects and arrays in a batch is limited, without those in too large events and in strings", async () => {
  const outcome = (...events: readonly string[]) =>
    outcomeOf(() =>
      readBatch(
        Buffer.from(`{"events":[${events.join(",")}]}`),
        { ...rules, objectsMax: 12 },
        unpaced,
      ),
    )
  const four = '{"a":[{},[]]}'
  const most = [four, four, `{"a":"${"[".repeat(20)}","b":[{},[]]}`]
  assert.equal((await outcome(...most)).code, undefined)
  assert.equal((await outcome(...most, `[${"[],".repeat(rules.itemBytesMax)}0]`)).code, undefined)
  for (const one of ["{}", "[]"])
    assert.deepEqual(await outcome(...most, one), {
      code: "payload_too_large",
      detail: "the batch has more than 12 objects and arrays",
    })
})
