import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeWorkspace } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// What is hashed must mean one thing: JSON that two parsers could read differently is refused, and
// all other JSON comes back as it was sent.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const usual = JSON.stringify(eventFor(acme.id))

/** The text of an event whose metadata is this text. */
const withMetadata = (text: string): string => `${usual.slice(0, -1)},"metadata":${text}}`
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`

function sent(
  body: string | Uint8Array,
  gets: Row["gets"],
  has: Row["has"] = [],
  about = String(body).slice(-60),
): Row {
  return {
    about,
    as: acme.writer,
    ask: "POST /v1/events",
    send: body,
    headers: { "idempotency-key": crypto.randomUUID() },
    gets,
    has,
  }
}

test("text that is not JSON is refused", async () => {
  const bytes = (...parts: readonly (string | number[])[]): Uint8Array =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  const not = (body: string | Uint8Array, about?: string): Row =>
    sent(body, "400 invalid_json", [], about)
  await expectRows([
    not("", "an empty body"),
    not(" ", "white space"),
    not("{", "a beginning"),
    not(usual.slice(0, -1), "all but the last character"),
    not(`${usual}}`, "one character too many"),
    not(`${usual}${usual}`, "two values"),
    not(`${usual}\n{}`, "two lines"),
    not(usual.replaceAll('"', "'"), "other quotation marks"),
    not(`${usual.slice(0, -1)},}`, "a comma before the end"),
    not(`/* an event */${usual}`, "a comment"),
    not(`\u00a0${usual}`, "a space that is none in JSON"),
    not("workspaceId=acme&projectId=core", "a form"),
    not(withMetadata("{a:1}")),
    not(withMetadata('{"a":01}')),
    not(withMetadata('{"a":+1}')),
    not(withMetadata('{"a":.5}')),
    not(withMetadata('{"a":1.}')),
    not(withMetadata('{"a":0x10}')),
    not(withMetadata('{"a":NaN}')),
    not(withMetadata('{"a":Infinity}')),
    not(withMetadata('{"a":undefined}')),
    not(withMetadata('{"a":"\t"}'), "a control character in a string"),
    not(withMetadata('{"a":"\\x41"}')),
    not(withMetadata('{"a":[1,]}')),
    not(bytes([0xef, 0xbb, 0xbf], usual), "a byte order mark"),
    not(Buffer.from(usual, "utf16le"), "UTF-16"),
    not(bytes(withMetadata('{"a":"').replace(/}$/, ""), [0xff], '"}}'), "a byte that is not UTF-8"),
    not(
      bytes(withMetadata('{"a":"').replace(/}$/, ""), [0xc0, 0x80], '"}}'),
      "NUL in an overlong form",
    ),
    not(
      bytes(withMetadata('{"a":"').replace(/}$/, ""), [0xed, 0xa0, 0x80], '"}}'),
      "half of a surrogate pair in UTF-8",
    ),
    not("[".repeat(200_000), "many open brackets"),
  ])
})

test("text that two parsers read differently is refused, with its place", async () => {
  const odd = (body: string, ...has: readonly (string | RegExp)[]): Row =>
    sent(body, "400 invalid_json", has)
  await expectRows([
    odd(`${usual.slice(0, -1)},"source":"api"}`, "source", "twice"),
    odd(withMetadata('{"a":1,"b":2,"a":1}'), "metadata", "twice"),
    odd(withMetadata('{"a":1,"\\u0061":2}'), "metadata", "twice"),
    odd(withMetadata('{"list":[0,{"x":1,"x":1}]}'), "metadata.list[1]"),
    odd(withMetadata('{"a":{"__proto__":1}}'), "metadata.a", "__proto__"),
    odd(withMetadata('{"__pr\\u006fto__":1}'), "__proto__"),
    odd(withMetadata('{"_sd":["x"]}'), "_sd"),
    odd(withMetadata('{"a":[{"_sd_alg":"md5"}]}'), "metadata.a[0]"),
    odd(withMetadata('{"a":{"...":"x"}}'), "metadata.a"),
    odd(usual.replace('"actor":{', '"actor":{"_sd":[],'), "actor", "_sd"),
    odd(`${usual.slice(0, -1)},"__proto__":{}}`, "__proto__"),
    odd(withMetadata('{"a":"\\ud800"}'), "metadata.a", "surrogate"),
    odd(withMetadata('{"a":"\\udc00\\ud800"}'), "metadata.a"),
    odd(withMetadata('{"\\ud83d":1}'), "metadata"),
    odd(withMetadata('{"a":"x\\u0000y"}'), "metadata.a", "U+0000"),
    odd(withMetadata('{"\\u0000":1}'), "metadata"),
    odd(withMetadata(nested(32)), "deeper than 32"),
    odd(withMetadata(`${"[".repeat(32)}${"]".repeat(32)}`), "deeper than 32"),
  ])
})

test("a number that would lose digits, or that is too large an integer, is refused; any other is kept", async () => {
  const exact =
    "0 -0 1 1.0 1.10 0.1 -0.5e-3 1e21 1E+2 5e-324 1.7976931348623157e308 9007199254740991 -9007199254740991 1e22 0.30000000000000004 100000000000000000000000 1e-7 4.35 0.000001 1.0000000000000000000000".split(
      /\s+/,
    )
  const lossy =
    "9007199254740993 -9007199254740993 1e400 -1e400 0.1000000000000000055 123456789012345678901 1e-400 0.30000000000000001 \
    4.9e-324 12345678901234567890 1.00000000000000000001 3.141592653589793238 9007199254740992 -9007199254740992 123456789012345680000 1e20 9007199254740992.0".split(
      /\s+/,
    )
  const taken = await expectRows([
    ...lossy.map((number) =>
      sent(withMetadata(`{"n":${number}}`), "400 invalid_json", ["metadata.n"]),
    ),
    ...exact.map((number) => sent(withMetadata(`{"n":${number}}`), 202)),
  ])
  for (const [at, number] of exact.entries()) {
    const receipt = taken[lossy.length + at]?.json().receipt
    const { entry } = (await acme.reader.get(`${acme.path}/receipts/${receipt}`)).json()
    assert.equal(entry.metadata.n, Number(number) + 0, number)
  }
})

test("all other JSON is accepted and returned with its meaning", async () => {
  const texts = [
    "{}",
    '{"":{"":[]}}',
    '{ "a" : [ 1 ,\r\n\t2 ] }',
    '{"a":"\\ud83d\\ude42","b":"🙂","c":"\\u00e9 e\\u0301"}',
    '{"esc":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u2028\\u007f"}',
    '{"9":1,"10":2,"a":3,"A":4,"\\u20ac":5,"\\ud83d\\ude02":6,"\\ufb33":7}',
    '{"_sd_":1,"..":2,"....":3,"__proto":4,"constructor":5,"hasOwnProperty":6}',
    '{"not a name":"_sd"}',
    '{"colon":"a:b","quote":"\\":\\"","escaped \\" name":":"}',
    '{"a":[[],[[]],{},[{}]],"t":true,"f":false,"n":null}',
    nested(31),
    `${"[".repeat(31)}${"]".repeat(31)}`.replace(/^/, '{"a":').slice(0, -1).replace("[", "") + "}",
  ]
  const replies = await expectRows(texts.map((text) => sent(withMetadata(text), 202, [], text)))
  for (const [at, text] of texts.entries()) {
    const { entry } = (
      await acme.reader.get(`${acme.path}/receipts/${replies[at]?.json().receipt}`)
    ).json()
    assert.deepEqual(entry.metadata, JSON.parse(text))
  }
})

test("every endpoint with a body is as strict", async () => {
  const { path } = acme
  const endpoints = [
    ["POST", "/v1/events", acme.writer],
    ["POST", "/v1/events/batch", acme.writer],
    ["POST", "/v1/consents", acme.writer],
    ["POST", "/v1/workspaces", service.root],
    ["PATCH", path, service.root],
    ["POST", `${path}/projects`, service.root],
    ["PATCH", `${path}/projects/core`, service.root],
    ["POST", `${path}/api-keys`, service.root],
  ] as const
  await expectRows(
    endpoints.flatMap(([method, address, as]) => {
      const row = (send: string, gets: string): Row => ({
        as,
        ask: `${method} ${address}`,
        send,
        gets,
        ...(address.endsWith("/batch")
          ? {}
          : { headers: { "idempotency-key": "strictly-the-same" } }),
      })
      return [
        row('{"id":"x","id":"x"}', "400 invalid_json"),
        row('{"a":{"__proto__":1}}', "400 invalid_json"),
        row('{"a":9007199254740993}', "400 invalid_json"),
        row(nested(35), "400 invalid_json"),
        row("", "400 invalid_json"),
        row("null", "400 invalid_field"),
        row("[]", "400 invalid_field"),
        row('"text"', "400 invalid_field"),
        row('{"unheardOf":1}', "400 invalid_field"),
      ]
    }),
  )
})

test("a body must be declared as JSON in UTF-8, without compression", async () => {
  const typed = (headers: Record<string, string>, gets: Row["gets"]): Row => ({
    ...sent(usual, gets),
    about: JSON.stringify(headers),
    headers: { "idempotency-key": crypto.randomUUID(), ...headers },
  })
  const wrong = "415 unsupported_media_type"
  await expectRows([
    typed({ "content-type": "application/json" }, 202),
    typed({ "content-type": "application/json; charset=utf-8" }, 202),
    typed({ "content-type": "application/json;charset=UTF-8" }, 202),
    typed({ "content-type": "APPLICATION/JSON" }, 202),
    typed({ "content-type": "application/json; profile=x" }, 202),
    typed({ "content-type": "" }, wrong),
    typed({ "content-type": "text/plain" }, wrong),
    typed({ "content-type": "text/plain;charset=UTF-8" }, wrong),
    typed({ "content-type": "application/x-www-form-urlencoded" }, wrong),
    typed({ "content-type": "application/jsonp" }, wrong),
    typed({ "content-type": "application/vnd.api+json" }, wrong),
    typed({ "content-type": "application/json; charset=latin1" }, wrong),
    typed({ "content-type": "application/json; charset=utf-16" }, wrong),
    typed({ "content-type": "application/json, text/plain" }, wrong),
    typed({ "content-encoding": "gzip" }, wrong),
    typed({ "content-encoding": "identity" }, wrong),
  ])
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
