import { randomUUID } from "node:crypto"
import fc from "fast-check"
import type { Chance } from "./chance.ts"

// Requests that are almost right, made from the description of the API: one thing of each is changed, so that it gets as far as it can.

/** A part of the description, which is JSON. */
export type Part = { readonly [name: string]: any } // oxlint-disable-line typescript/no-explicit-any

/** An endpoint, with values for all that it takes. */
export interface Operation {
  readonly method: string
  readonly path: string
  /** By the name of the parameter. */
  readonly params: Readonly<Record<string, string>>
  readonly query: readonly Part[]
  readonly headers: readonly Part[]
  readonly body: unknown
}

/** What is sent, and what was done to it. */
export interface BadAsk {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
  readonly change: string
}

type Change = (ask: Sound, operation: Operation, chance: Chance, odd: Oddities) => Partial<Sound> & { readonly raw?: string | Buffer }

/** A request before it is put into bytes. */
interface Sound {
  readonly params: Readonly<Record<string, string>>
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** Values that nobody expects, the same ones for the same seed. */
export interface Oddities {
  readonly values: readonly unknown[]
  readonly texts: readonly string[]
}

export function odditiesOf(seed: number): Oddities {
  const values = fc.sample(fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.double(), fc.maxSafeInteger()), { seed, numRuns: 2000 })
  const texts = fc.sample(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.emailAddress(), fc.webUrl()), {
    seed,
    numRuns: 2000,
  })
  return { values: [...values, ...knownValues], texts: [...texts, ...knownTexts] }
}

/** What has broken programs before. */
const knownTexts = [
  "",
  " ",
  "\u0000",
  "null",
  "../..",
  "%00",
  "'; DROP TABLE entries; --",
  "${7*7}",
  "\u202e",
  "é",
  "e\u0301",
  "🦊".repeat(300),
  "-1",
  "1e3",
  "0x10",
  "all",
  "system",
  "__proto__",
  "constructor",
  "a".repeat(70_000),
]
const knownValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.5,
  1e308,
  2 ** 53,
  2 ** 31,
  "",
  [],
  {},
  [[]],
  { "": "" },
  { constructor: 1 },
  Array.from({ length: 2000 }, () => 0),
  { a: "x".repeat(66_000) },
]

export function badAsk(operation: Operation, chance: Chance, odd: Oddities): BadAsk {
  const sound: Sound = {
    params: operation.params,
    query: operation.query.filter(() => chance.percent(30)).map(({ name, schema }) => [name, textFor(schema, chance)]),
    headers: Object.fromEntries(operation.headers.filter(({ required }) => required).map(({ name }) => [name.toLowerCase(), randomUUID()])),
    body: fresh(operation.body),
  }
  const [change, make] = chance.pick(changesFor(operation))
  const { raw, ...changed } = make(sound, operation, chance, odd)
  const { params, query, headers, body } = { ...sound, ...changed }
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name in params ? escaped(params[name] ?? "", name) : ""))
  const asked = query
    .map(([name, value]) => `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`)
    .join("&")
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const hasBody = operation.method !== "GET" && sent !== undefined
  return {
    method: operation.method,
    path: `${path}${asked === "" ? "" : `?${asked}`}`,
    headers: { ...(hasBody ? { "content-type": "application/json" } : {}), ...headers },
    body: hasBody ? sent : undefined,
    change,
  }
}

/** The key of a batch's event belongs to that event alone. */
function fresh(body: unknown): unknown {
  return body === undefined ? undefined : JSON.parse(JSON.stringify(body).replaceAll("invoice-9-approved", () => randomUUID()))
}

/** A tile's name has slashes; a dot alone would lead elsewhere before it is sent. */
function escaped(value: string, name: string): string {
  const text = encodeURIComponent(value.toWellFormed())
  return (name === "tile" ? text.replaceAll("%2F", "/") : text).replace(/^\.{1,2}$/, "%2e%2e%2f")
}

function changesFor({ path, params, query, headers, body }: Operation): readonly (readonly [string, Change])[] {
  return [
    ["nothing", () => ({})],
    ["an unknown parameter", (ask, _, chance, odd) => ({ query: [...ask.query, [chance.pick(odd.texts), chance.pick(odd.texts)]] })],
    ["an odd header", (ask, _, chance, odd) => ({ headers: { ...ask.headers, ...oddHeader(chance, odd) } })],
    ...(Object.keys(params).length > 0 ? ([["an odd path", oddPath]] as const) : []),
    ...(query.length > 0 ? queryChanges : []),
    ...(headers.some(({ required }) => required) ? ([["an odd key", oddKey]] as const) : []),
    ...(/^\/v1\/(events|consents)$/.test(path) ? ([["odd metadata", oddMetadata]] as const) : []),
    // Most of what can be wrong is in bodies.
    ...(body === undefined ? [] : [...bodyChanges, ...bodyChanges]),
  ]
}

const queryChanges: readonly (readonly [string, Change])[] = [
  [
    "an odd parameter",
    (ask, { query }, chance, odd) => ({ query: [...ask.query.slice(1), [nameOf(query, chance), chance.pick(odd.texts)]] }),
  ],
  [
    "a repeated parameter",
    (ask, { query }, chance) => {
      const { name, schema } = chance.pick(query)
      return { query: [[name, textFor(schema, chance)], [name, textFor(schema, chance)], ...ask.query] }
    },
  ],
  [
    "a parameter out of range",
    (_, { query }, chance) => {
      const { name, schema } = chance.pick(query)
      return {
        query: [
          [
            name,
            chance.pick([
              "-1",
              "0",
              "101",
              "1.5",
              "1e2",
              "0x10",
              "99999999999999999999",
              "01",
              String((schema["maximum"] ?? 0) + 1),
              "TRUE",
              "1",
            ]),
          ],
        ],
      }
    },
  ],
]

const bodyChanges: readonly (readonly [string, Change])[] = [
  ["another type", (ask, _, chance, odd) => ({ body: changed(ask.body, chance, () => chance.pick(odd.values)) })],
  ["an odd text", (ask, _, chance, odd) => ({ body: changed(ask.body, chance, () => chance.pick(odd.texts)) })],
  ["a missing member", (ask, _, chance) => ({ body: changed(ask.body, chance, () => undefined) })],
  ["an unknown member", (ask, _, chance, odd) => ({ body: changed(ask.body, chance, (value) => withMember(value, chance, odd)) })],
  [
    "too long",
    (ask, _, chance) => ({
      body: changed(ask.body, chance, (value) =>
        typeof value === "string" ? value.repeat(chance.pick([2, 20, 2000])) : lengthened(value, chance),
      ),
    }),
  ],
  ["too deep", (ask, _, chance) => ({ body: changed(ask.body, chance, (value) => nested(value, chance.pick([5, 31, 32, 200]))) })],
  ["other bytes", (ask, _, chance) => ({ raw: mutated(Buffer.from(JSON.stringify(ask.body)), chance) })],
  ["another whole", (_, __, chance, odd) => ({ body: chance.pick(odd.values) })],
  ["a member twice", (ask) => ({ raw: JSON.stringify(ask.body).replace(/"(\w+)":/, '"$1":1,"$1":') })],
  ["no body", () => ({ body: undefined })],
]

function nameOf(parameters: readonly Part[], chance: Chance): string {
  return chance.pick(parameters)["name"]
}

/** A value that a parameter takes, as text. */
function textFor({ enum: values, type, minimum = 0, maximum = 100, examples, pattern }: Part, chance: Chance): string {
  if (values !== undefined) return String(chance.pick(values))
  if (type === "boolean") return String(chance.percent(50))
  if (type === "integer") return String(minimum + chance.below(Math.min(100, maximum - minimum + 1)))
  if (examples !== undefined) return String(chance.pick(examples))
  return pattern === undefined ? "word" : "core"
}

/** Whatever it holds, it is the writer's own, and must come back as it is. */
function oddMetadata({ body }: Sound, _: Operation, chance: Chance, odd: Oddities): Partial<Sound> {
  const metadata = Object.fromEntries(
    Array.from({ length: 1 + chance.below(4) }, (_one, at) => [
      `member-${at}`,
      chance.pick([chance.pick(odd.values), chance.pick(odd.texts)]),
    ]),
  )
  return { body: { ...(body as object), metadata } } // of an event or a consent
}

function oddPath({ params }: Sound, _: Operation, chance: Chance, odd: Oddities): Partial<Sound> {
  const name = chance.pick(Object.keys(params))
  const value = params[name] ?? ""
  return {
    params: {
      ...params,
      [name]:
        chance.pick([chance.pick(odd.texts).slice(0, 2000), value.toLowerCase(), `${value}0`, value.slice(1), value.repeat(3)]) || "-",
    },
  }
}

function oddKey({ headers }: Sound, { headers: known }: Operation, chance: Chance, odd: Oddities): Partial<Sound> {
  const name = nameOf(
    known.filter(({ required }) => required),
    chance,
  ).toLowerCase()
  if (chance.percent(20)) {
    const { [name]: _, ...rest } = headers
    return { headers: rest }
  }
  return {
    headers: { ...headers, [name]: headerText(chance.pick(["", "short", "with a space in it", "k".repeat(256), chance.pick(odd.texts)])) },
  }
}

function oddHeader(chance: Chance, odd: Oddities): Readonly<Record<string, string>> {
  const name = chance.pick([
    "x-request-id",
    "x-service-environment",
    "x-session-id",
    "x-trace-id",
    "traceparent",
    "content-type",
    "content-encoding",
    "authorization",
    "cookie",
    "accept",
    "range",
    "if-none-match",
  ])
  return {
    [name]: headerText(
      chance.pick([
        "text/plain",
        "application/json; charset=latin1",
        "gzip",
        "Bearer",
        "Basic YTpi",
        "Bearer tsk_x",
        "__Host-ts=x; __Host-ts=y",
        "bytes=0-1",
        "é".repeat(2000),
        chance.pick(odd.texts),
      ]),
    ),
  }
}

/** What a client can send in a header at all. */
function headerText(text: string): string {
  return text
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "")
    .slice(0, 3000)
    .trim()
}

// Bodies --------------------------------------------------------------------------------------------------------------------------------------------------

/** The same value with one place in it changed; undefined takes it away. */
function changed(value: unknown, chance: Chance, change: (value: unknown) => unknown): unknown {
  const names = typeof value === "object" && value !== null ? Object.keys(value) : []
  if (names.length === 0 || chance.percent(10)) return change(value)
  const name = chance.pick(names)
  if (Array.isArray(value)) return value.map((item: unknown, at) => (String(at) === name ? changed(item, chance, change) : item))
  const members = value as Record<string, unknown> // it has names, and is no array
  return { ...members, [name]: chance.percent(50) ? change(members[name]) : changed(members[name], chance, change) }
}

function withMember(value: unknown, chance: Chance, odd: Oddities): unknown {
  if (Array.isArray(value)) return [...(value as readonly unknown[]), chance.pick(odd.values)]
  return typeof value === "object" && value !== null ? { ...value, [chance.pick(odd.texts)]: chance.pick(odd.values) } : { of: value }
}

function lengthened(value: unknown, chance: Chance): unknown {
  if (Array.isArray(value)) return Array.from({ length: chance.pick([101, 1001, 2001]) }, () => (value as readonly unknown[])[0])
  return typeof value === "number" ? value * chance.pick([-1, 1e6, 1e300, 0.1]) : value
}

function nested(value: unknown, depth: number): unknown {
  return Array.from({ length: depth }).reduce((inner: unknown, _, at) => (at % 2 === 0 ? [inner] : { in: inner }), value)
}

function mutated(bytes: Buffer, chance: Chance): Buffer {
  const at = chance.below(bytes.length + 1)
  const byte = Buffer.from([chance.below(256)])
  const rest = chance.pick([at, at + 1, Math.min(bytes.length, at + chance.below(30))])
  const middle = chance.pick([
    byte,
    Buffer.concat([byte, byte]),
    Buffer.from(chance.pick(['"', "\\u0000", "\\ud800", "{", "]", "1e999", "\ufeff", "NaN", ",,"])),
  ])
  return Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(rest)])
}
