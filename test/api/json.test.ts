import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeWorkspace } from "../service.ts"
import { expectRows, type Row } from "./table.ts"
import { startWatched } from "./watched.ts"

// What is hashed must mean one thing: JSON that two parsers could read differently is refused
// (http/json.test.ts has which that is), and all other JSON comes back as it was sent.

const service = await startWatched()
after(() => service[Symbol.asyncDispose]())
const acme = await makeWorkspace(service)
const usual = JSON.stringify(eventFor(acme.id))

/** The text of an event whose metadata is this text. */
const withMetadata = (text: string): string => `${usual.slice(0, -1)},"metadata":${text}}`
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`

const sent = (body: string): Row => ({
  about: body.slice(-60),
  as: acme.writer,
  ask: "POST /v1/events",
  send: body,
  headers: { "idempotency-key": crypto.randomUUID() },
  gets: 202,
})

test("a number that two parsers read alike is returned with its value", async () => {
  const exact =
    "0 -0 1 1.0 1.10 0.1 -0.5e-3 1e21 1E+2 5e-324 1.7976931348623157e308 9007199254740991 -9007199254740991 1e22 0.30000000000000004 100000000000000000000000 1e-7 4.35 0.000001 1.0000000000000000000000".split(
      /\s+/,
    )
  const taken = await expectRows(exact.map((number) => sent(withMetadata(`{"n":${number}}`))))
  for (const [at, number] of exact.entries()) {
    const receipt = taken[at]?.json().receipt
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
  const replies = await expectRows(texts.map((text) => sent(withMetadata(text))))
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
      const row = (send: string | Uint8Array, gets: string, headers = {}): Row => ({
        as,
        ask: `${method} ${address}`,
        send,
        gets,
        headers: {
          ...(!address.endsWith("/batch") && { "idempotency-key": "strictly-the-same" }),
          ...headers,
        },
      })
      return [
        row('{"id":"x","id":"x"}', "400 invalid_json"),
        row('{"a":{"__proto__":1}}', "400 invalid_json"),
        row('{"a":9007199254740993}', "400 invalid_json"),
        row(nested(35), "400 invalid_json"),
        row("", "400 invalid_json"),
        row("\ufeff{}", "400 invalid_json"),
        row(Buffer.from([0x22, 0xff, 0x22]), "400 invalid_json"),
        row("{}", "415 unsupported_media_type", { "content-type": "text/plain" }),
        row("{}", "415 unsupported_media_type", { "content-encoding": "gzip" }),
        row("null", "400 invalid_field"),
        row("[]", "400 invalid_field"),
        row('"text"', "400 invalid_field"),
        row('{"unheardOf":1}', "400 invalid_field"),
      ]
    }),
  )
})

test("every receipt of this run verifies, and no secret leaked", () => service.finish())
