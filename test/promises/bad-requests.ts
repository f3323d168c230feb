import { randomUUID } from "node:crypto"
import type { Chance } from "../chance.ts"
import { createValues, type Known, type Oddities, type Schema, type Values } from "./bad-values.ts"

// Requests to every endpoint that the description names, with something wrong in most of them.

export interface Asked {
  /** As the description writes it: `POST /v1/events`. */
  readonly operation: string
  readonly method: string
  readonly target: string
  /** Names and values in turn; a name may be there twice. */
  readonly headers: readonly string[]
  readonly body: Buffer | undefined
  /** Whether the description has this address. */
  readonly isAddressKnown: boolean
  /** Whether its bytes are also changed on the wire, so that it may not be a request at all. */
  readonly isTorn: boolean
}

export interface Askers {
  readonly operations: readonly string[]
  next(): Asked
}

/**
 * The header lines of each credential, under its place in `security` of the description: `apiKey
 * write`.
 */
export type Credentials = Readonly<Record<string, readonly string[]>>

interface Operation {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly described: Schema
  readonly security: readonly string[]
}

/** Each checks a password, which is slow on purpose. */
const slow = /\/(session|setup|password)$/
const slowPerMille = 12

export interface Existing {
  readonly document: Schema
  readonly known: (isChange: boolean) => Known
  readonly credentials: Credentials
  readonly odd: Oddities
}

/** Makes requests from the shapes, then changes one or two things. */
export function createAskers(
  { document, known, credentials, odd }: Existing,
  chance: Chance,
): Askers {
  const operations = Object.entries(document["paths"] as Schema).flatMap(([path, methods]) =>
    Object.entries(methods as Schema).map(([method, described]) =>
      operationOf(method.toUpperCase(), path, described as Schema),
    ),
  )
  const [usual, seldom] = [operations.filter((one) => !isSlow(one)), operations.filter(isSlow)]
  return {
    operations: operations.map(({ name }) => name),
    next() {
      const operation = chance.pick(chance.below(1000) < slowPerMille ? seldom : usual)
      const values = createValues(
        document["components"].schemas as Schema,
        known(isChange(operation)),
        chance,
        odd,
      )
      return askedOf(operation, { values, credentials, chance, odd })
    },
  }
}

function operationOf(method: string, path: string, described: Schema): Operation {
  const security = (described["security"] as readonly Schema[]).map((way) => {
    const [scheme, [role = ""] = []] = Object.entries(way)[0] ?? ["none"]
    return `${scheme} ${String(role)}`.trim()
  })
  return { name: `${method} ${path}`, method, path, described, security }
}

function isSlow({ method, path }: Operation): boolean {
  return method === "POST" && slow.test(path)
}

/**
 * Client writes go to one workspace and administrative changes to another, because a change could
 * stop the writes.
 */
function isChange({ method, path }: Operation): boolean {
  return method !== "GET" && path.includes("{workspaceId}")
}

type Fault = "body" | "bytes" | "path" | "query" | "headers" | "credential" | "method" | "torn"
const faults: readonly Fault[] = [
  "body",
  "body",
  "body",
  "body",
  "body",
  "bytes",
  "bytes",
  "path",
  "query",
  "query",
  "headers",
  "headers",
  "credential",
  "torn",
]

/** What a request is made of. */
interface Means {
  readonly values: Values
  readonly credentials: Credentials
  readonly chance: Chance
  readonly odd: Oddities
}

function askedOf(operation: Operation, means: Means): Asked {
  const { values, credentials, chance, odd } = means
  const count = chance.percent(12) ? 0 : chance.percent(75) ? 1 : 2
  const wrong = new Set<Fault>(
    Array.from({ length: count }, () => (chance.percent(2) ? "method" : chance.pick(faults))),
  )
  const method = wrong.has("method")
    ? chance.pick(["PUT", "PATCH", "DELETE", "PROPFIND"])
    : operation.method
  const body = bodyOf(operation, values, wrong, chance)
  const fields = [
    ...credentialOf(operation, credentials, wrong.has("credential"), chance),
    ...headersOf(operation, values, chance),
    ...(body === undefined ? [] : ["Content-Type", "application/json"]),
  ]
  const length = body === undefined ? [] : ["Content-Length", String(body.length)]
  return {
    operation: operation.name,
    method,
    target: `${pathOf(operation, wrong.has("path"), means)}${queryOf(operation, wrong.has("query"), means)}`,
    headers: [...(wrong.has("headers") ? brokenHeaders(fields, chance, odd) : fields), ...length],
    body,
    isAddressKnown: !wrong.has("path"),
    isTorn: wrong.has("torn"),
  }
}

// Credentials and headers -------------------------------------------------------------------------

function credentialOf(
  { path, security }: Operation,
  credentials: Credentials,
  isWrong: boolean,
  chance: Chance,
): readonly string[] {
  // A session that is signed out would be gone for all other requests.
  const ways = security.filter(
    (way) =>
      credentials[way] !== undefined && !(path === "/v1/session" && way.startsWith("session")),
  )
  if (!isWrong) return ways.length === 0 ? [] : (credentials[chance.pick(ways)] ?? [])
  return chance.pick([
    [],
    ["Authorization", "Bearer"],
    ["Authorization", `Bearer tsk_${"0".repeat(13)}_${"0".repeat(49)}`],
    ["Authorization", `Basic ${"é".repeat(9)}`],
    ["Authorization", "Bearer x", "Authorization", "Bearer x"],
    ["Cookie", `ts=${"%".repeat(50)}; =; __Host-ts=tss_; __Host-ts`],
    ...Object.entries(credentials).flatMap(([name, fields]) =>
      name.startsWith("session") ? [] : [fields],
    ),
  ])
}

function headersOf({ described }: Operation, values: Values, chance: Chance): readonly string[] {
  return parametersOf(described, "header").flatMap(({ name, required, schema }) => {
    if (name === "Idempotency-Key") return [name, randomUUID()]
    return required || chance.percent(20)
      ? [name, String(values.good(schema, name)).replaceAll(/[^ -~]/g, "-")]
      : []
  })
}

const strangeValues = [
  "",
  " ",
  "\t",
  "\u00e9\u00ff",
  "\u00e9".repeat(2000),
  "x".repeat(11),
  "x".repeat(256),
  "x".repeat(17_000),
  "a,b",
  "undefined",
  "00-0-0-00",
  "%00",
  "with a space in it",
  "Bearer",
  "Basic YTpi",
  "Bearer tsk_x",
  "__Host-ts=x; __Host-ts=y",
]
const strangeNames = [
  "X-Request-Id",
  "X-Service-Environment",
  "X-Session-Id",
  "X-Trace-Id",
  "Traceparent",
  "Content-Type",
  "Content-Encoding",
  "Authorization",
  "Cookie",
  "Accept",
  "Range",
  "If-None-Match",
  "Idempotency-Key",
]
const strangeFields = [
  ["Content-Type", "text/plain"],
  ["Content-Type", "application/json; charset=latin1"],
  ["Content-Type", "application/json;;"],
  ["Content-Encoding", "gzip"],
  ["Transfer-Encoding", "identity"],
  ["Expect", "a-miracle"],
  ["Host", "elsewhere.example"],
  ["If-None-Match", '"'],
  ["Range", "bytes=9-1"],
  ["X-Forwarded-For", "999.1.1.1, ::::"],
  ["Origin", "null"],
  ["Sec-Fetch-Site", "cross-site"],
  ["X-HTTP-Method-Override", "DELETE"],
] as const

function brokenHeaders(
  fields: readonly string[],
  chance: Chance,
  odd: Oddities,
): readonly string[] {
  const at = 2 * chance.below(Math.max(1, fields.length / 2))
  const [name = "X-Request-Id", value = ""] = fields.slice(at, at + 2)
  const others = [...fields.slice(0, at), ...fields.slice(at + 2)]
  return chance.pick([
    others,
    [...others, name, chance.pick([chance.pick(strangeValues), headerText(odd.text())])],
    [
      ...fields,
      chance.pick(strangeNames),
      chance.pick([chance.pick(strangeValues), headerText(odd.text())]),
    ],
    [...fields, name, value],
    [...others, ...chance.pick(strangeFields)],
    [...fields, ...chance.pick(strangeFields)],
  ])
}

/** What a client is able to send in a header. */
function headerText(text: string): string {
  return text
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "")
    .slice(0, 3000)
    .trim()
}

// Addresses ---------------------------------------------------------------------------------------

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: Schema
}

function parametersOf({ parameters = [] }: Schema, place: string): readonly Parameter[] {
  return (parameters as readonly Parameter[]).filter((one) => one.in === place)
}

const strangeParts = [
  "",
  "%",
  "%zz",
  "%00",
  "%c0%80",
  "%ff",
  "..",
  "%2e%2e%2f",
  ".",
  "//",
  "x".repeat(300),
  "a".repeat(9000),
  "a;b",
  "%F0%9F%98%80",
  "0",
  "-1",
]

function pathOf(
  { described, path }: Operation,
  isWrong: boolean,
  { values, chance, odd }: Means,
): string {
  const shapes = new Map(parametersOf(described, "path").map(({ name, schema }) => [name, schema]))
  const wrong = isWrong && shapes.size > 0 ? chance.pick([...shapes.keys()]) : undefined
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const good = String(values.good(shapes.get(name) ?? {}, name))
    if (name !== wrong) return name === "tile" ? good : encodeURIComponent(good)
    return chance.pick([
      ...strangeParts,
      encoded(odd.text().slice(0, 2000)),
      `${good}0`,
      good.slice(1),
      `${good}/`,
      good.toUpperCase(),
    ])
  })
  return isWrong && wrong === undefined
    ? filled + chance.pick(["/", "x", "/%", "%00", ";a", `/${"a".repeat(9000)}`])
    : filled
}

function queryOf(
  { described }: Operation,
  isWrong: boolean,
  { values, chance, odd }: Means,
): string {
  const all = parametersOf(described, "query")
  const given = all.filter(
    ({ name, required }) => (required || chance.percent(25)) && name !== "token",
  )
  const pairs = given.map(
    ({ name, schema }) => `${name}=${encoded(String(values.good(schema, name)))}`,
  )
  const name = all.length > 0 ? chance.pick(all).name : "limit"
  const extra = [
    `${name}=${encoded(odd.text())}`,
    `${name}=${encoded(odd.text())}`,
    `${encoded(odd.text())}=${encoded(odd.text())}`,
    `${name}=${chance.pick(strangeParts).slice(0, 400)}`,
    `${name}=1&${name}=1`,
    "lmit=1",
    name,
    "=",
    "&&",
    "%",
  ]
  const sent = isWrong
    ? [...pairs.filter((pair) => !pair.startsWith(`${name}=`)), chance.pick(extra)]
    : pairs
  return sent.length === 0 ? "" : `?${sent.join("&")}`
}

/** Also invalid text: half of a surrogate pair is sent as bytes. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : "%ED%A0%80"
}

// Bodies ------------------------------------------------------------------------------------------

function bodyOf(
  { described }: Operation,
  values: Values,
  wrong: ReadonlySet<Fault>,
  chance: Chance,
): Buffer | undefined {
  const schema = described["requestBody"]?.content["application/json"].schema as Schema | undefined
  if (schema === undefined)
    return (wrong.has("body") || wrong.has("bytes")) && chance.percent(20)
      ? Buffer.from("{}")
      : undefined
  const good = values.good(schema)
  const text = JSON.stringify(wrong.has("body") ? values.broken(schema, good) : good)
  return wrong.has("bytes") ? brokenBytes(Buffer.from(text), chance) : Buffer.from(text)
}

const strangeNumbers = [
  "1e400",
  "0.1000000000000000055",
  "9007199254740993",
  "01",
  "-",
  "1.",
  "NaN",
  "5e-325",
  "1E1",
]

const strangeTokens = ['"', "\\u0000", "\\ud800", "{", "]", "1e999", "\ufeff", "NaN", ",,"]

function brokenBytes(body: Buffer, chance: Chance): Buffer {
  const text = body.toString()
  const ways: readonly (() => string | Buffer)[] = [
    () => torn(body, chance),
    () => torn(body, chance),
    () => inserted(text, chance.pick(strangeTokens), chance.below(text.length + 1)),
    () => inserted(text, chance.pick(strangeTokens), chance.below(text.length + 1)),
    () => `\ufeff${text}`,
    () => text.replace("{", '{"a":1,"a":1,'),
    () => text.replace("{", `{"a":${chance.pick(strangeNumbers)},`),
    () => text.replace("{", '{"__proto__":{"a":1},'),
    () => `${text}${chance.pick([" ", "\n", ",", "{}", "\u0000", "//"])}`,
    () => text.replaceAll('"', "'"),
    () => `{"a":"${"x".repeat(270_000)}",${text.slice(1)}`,
    () => "[".repeat(chance.pick([33, 10_000])),
    () => "",
  ]
  return Buffer.from(chance.pick(ways)() as string) // or bytes
}

function inserted(text: string, token: string, at: number): string {
  return text.slice(0, at) + token + text.slice(at)
}

/** Some bytes changed, lost, doubled or cut off. */
export function torn(bytes: Buffer, chance: Chance): Buffer {
  let left = Buffer.from(bytes)
  for (let times = 1 + chance.below(3); times > 0 && left.length > 0; times--) {
    const at = chance.below(left.length)
    const [before, after] = [left.subarray(0, at), left.subarray(at)]
    left = Buffer.concat(
      chance.pick([
        [before, Buffer.from([chance.below(256)]), after.subarray(1)],
        [before, after.subarray(1 + chance.below(8))],
        [before, Buffer.from(chance.pick(["\r\n", "\0", ":", '"', " ", "\x7f", "é"])), after],
        [before, after.subarray(0, 20), after],
        [before, Buffer.from([(after[0] ?? 0) ^ (1 << chance.below(8))]), after.subarray(1)],
        ...(chance.percent(20) ? [[before]] : []),
      ]),
    )
  }
  return left
}
