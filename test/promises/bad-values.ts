import fc from "fast-check"
import type { Chance } from "../chance.ts"

// Values for the shapes of the API's description: valid ones, and invalid ones.

/** Unexpected values: random ones, and ones that have broken programs before. */
export interface Oddities {
  value(): unknown
  text(): string
}

/** `unit: "binary"` makes a map of all of them first, which takes a second. */
const codePoint = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))

export function createOddities(seed: number, chance: Chance): Oddities {
  const drawn = { seed, numRuns: 2000 }
  const values = fc.sample(
    fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.double(), fc.maxSafeInteger()),
    drawn,
  )
  const texts = fc.sample(
    fc.oneof(
      fc.string({ unit: codePoint }),
      fc.string({ unit: "grapheme" }),
      fc.emailAddress(),
      fc.webUrl(),
    ),
    drawn,
  )
  return {
    value: () => chance.pick<unknown>(chance.percent(50) ? values : knownValues),
    text: () => chance.pick(chance.percent(50) ? texts : knownTexts),
  }
}

/** A schema of the description, or a part of it: JSON. */
export interface Schema {
  readonly [keyword: string]: any // oxlint-disable-line typescript/no-explicit-any
}

export interface Values {
  /**
   * A value that the shape allows. `name` is its member or parameter: an existing thing of that
   * name is used, if there is one.
   */
  good(schema: Schema, name?: string): unknown
  /** The same with one wrong thing at any depth; sometimes the result is valid after all. */
  broken(schema: Schema, value: unknown): unknown
}

/** Things that exist, by the names of members and parameters. */
export type Known = Readonly<Record<string, () => string>>

export function createValues(schemas: Schema, known: Known, chance: Chance, odd: Oddities): Values {
  const resolved = (schema: Schema): Schema =>
    typeof schema["$ref"] === "string"
      ? resolved(schemas[schema["$ref"].replace("#/components/schemas/", "")] as Schema)
      : schema

  const good = (given: Schema, name = ""): unknown => {
    const schema = resolved(given)
    if ("const" in schema) return schema["const"]
    if ("enum" in schema) return chance.pick(schema["enum"] as readonly unknown[])
    if ("anyOf" in schema) return good(chance.pick(schema["anyOf"] as readonly Schema[]), name)
    if (schema["type"] === "object") return goodObject(schema)
    if (schema["type"] === "array") return goodArray(schema, name)
    if (schema["type"] === "string") return known[name]?.() ?? goodText(schema, chance)
    // No new entries come, so nobody should wait for them.
    if (schema["type"] === "integer") return name === "wait" ? 0 : goodNumber(schema, chance)
    return schema["type"] === "boolean" ? chance.percent(50) : anything()
  }
  /** A value for the writer's own JSON, which must come back unchanged. */
  const anything = (): unknown => (chance.percent(50) ? chance.pick(free) : odd.value())
  const goodObject = ({ properties = {}, required = [], additionalProperties }: Schema): object => {
    const named = Object.entries(properties as Schema).filter(
      ([name, of]) => !("not" in of) && (required.includes(name) || chance.percent(40)),
    )
    const further =
      additionalProperties === false || chance.percent(50) ? [] : [["note", anything()]]
    return Object.fromEntries([
      ...further,
      ...named.map(([name, of]) => [name, good(of as Schema, name)]),
    ])
  }
  const goodArray = (
    { items = {}, minItems = 0, maxItems = 3, uniqueItems }: Schema,
    name: string,
  ): readonly unknown[] => {
    const length = Math.min(maxItems, minItems + chance.below(3))
    const all = Array.from({ length }, () => good(items as Schema, name))
    return uniqueItems === true
      ? [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
      : all
  }

  const broken = (given: Schema, value: unknown): unknown => {
    const schema = resolved(given)
    const inside = chance.percent(75) ? membersOf(schema, value) : []
    if (inside.length === 0) {
      const ways = [
        () => odd.value(),
        () => odd.text(),
        () => stretched(value, chance),
        () => outOf(schema, value, chance, odd),
      ]
      return chance.pick([...ways, () => outOf(schema, value, chance, odd)])()
    }
    const [name, of] = chance.pick(inside)
    if (Array.isArray(value))
      return value.map((item, at) => (at === name ? broken(of, item) : item))
    const members = value as Readonly<Record<string, unknown>> // it has members
    return { ...members, [name]: broken(of, members[name]) }
  }
  return { good, broken }
}

/** The parts of a value that the schema describes. */
function membersOf(
  { properties = {}, items }: Schema,
  value: unknown,
): readonly (readonly [name: string | number, of: Schema])[] {
  if (Array.isArray(value))
    return items === undefined ? [] : value.map((_, at) => [at, items as Schema] as const)
  if (typeof value !== "object" || value === null) return []
  return Object.keys(value).map((name) => [name, (properties[name] ?? {}) as Schema] as const)
}

function goodText(
  { examples, format, minLength = 0, maxLength = 40, pattern }: Schema,
  chance: Chance,
): string {
  if (examples !== undefined) return chance.pick(examples as readonly string[])
  if (format === "date-time") return "2026-01-31T09:30:00.25+01:00"
  if (pattern !== undefined) return "billing"
  const text = chance.pick([
    "",
    "Zoë – 名前",
    "a b",
    "<b>&amp;</b>",
    "=1+1",
    'approve target:inv_9 -"x"',
  ])
  return text.padEnd(minLength, "x").slice(0, maxLength)
}

function goodNumber({ minimum = 0, maximum = 1000 }: Schema, chance: Chance): number {
  return chance.pick([
    minimum,
    maximum,
    minimum + chance.below(Math.min(100, maximum - minimum + 1)),
  ])
}

// What is wrong -----------------------------------------------------------------------------------

const free: readonly unknown[] = [
  {},
  [],
  "",
  null,
  0,
  -0,
  1.5,
  5e-324,
  "\u0001\u202e",
  { "": { a: [{}] } },
  [null, [true, []]],
  "x".repeat(300),
]

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])

const knownValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.5,
  1.5,
  2 ** 31,
  2 ** 53,
  1e21,
  1e308,
  "",
  " ",
  "x",
  [],
  {},
  [[]],
  [1, "1"],
  { id: null },
  { "": "" },
  { constructor: 1 },
  deep(40),
  Array.from({ length: 2000 }, () => 0),
  { a: "x".repeat(66_000) },
]

const knownTexts: readonly string[] = [
  "",
  " ",
  "null",
  "-1",
  "01",
  "101",
  "1.5",
  "99999999999999999999",
  "TRUE",
  "${7*7}",
  "\u00e9",
  "e\u0301",
  "__proto__",
  "a".repeat(70_000),
  "\u0000",
  "\ud800",
  "\ufeff",
  "\u202e",
  "' OR 1=1 --",
  "../../etc/passwd",
  "%00",
  "0x10",
  "1e1",
  " 1",
  "-0",
  "NaN",
  "true ",
  "2026-02-30T00:00:00Z",
  "9999-12-31T23:59:60Z",
  "all",
  "system",
  "constructor",
  "٣",
  "a".repeat(65),
  "😀".repeat(100),
  "-".repeat(513),
  '"unfinished',
  "*",
  "metadata.:*",
]

const strangeNames = [
  "metdata",
  "constructor",
  "toString",
  "",
  "a.b",
  "__proto__",
  "_sd",
  "...",
  "\ud83d",
  "0",
]

/** Breaks the schema by one of its own keywords. */
function outOf(
  { required = [], minimum = 0, maximum = 2 ** 53, maxLength = 65_535, maxItems = 1000 }: Schema,
  value: unknown,
  chance: Chance,
  odd: Oddities,
): unknown {
  if (typeof value === "number")
    return chance.pick([minimum - 1, maximum + 1, minimum + 0.5, -(2 ** 53), String(value)])
  if (typeof value === "string")
    return chance.pick([
      odd.text(),
      "x".repeat(Math.min(maxLength, 65_535) + 1),
      `${value}\u0000`,
      [value],
      value.toUpperCase(),
    ])
  if (Array.isArray(value))
    return chance.pick([
      [],
      [...value, ...value],
      [...value, null],
      Array.from({ length: maxItems + 1 }, () => value[0] ?? 1),
    ])
  if (typeof value !== "object" || value === null) return odd.value()
  const members = Object.entries(value)
  const dropped =
    required.length > 0 && chance.percent(70)
      ? chance.pick(required as readonly string[])
      : members[0]?.[0]
  const added: readonly [string, unknown] = [
    chance.percent(50) ? chance.pick(strangeNames) : odd.text(),
    odd.value(),
  ]
  return Object.fromEntries(
    chance.percent(50) ? members.filter(([name]) => name !== dropped) : [...members, added],
  )
}

/** More of the same: longer, larger, deeper. */
function stretched(value: unknown, chance: Chance): unknown {
  if (typeof value === "string") return value.repeat(chance.pick([2, 20, 2000]))
  if (typeof value === "number") return value * chance.pick([-1, 0.1, 1e6, 1e300])
  if (Array.isArray(value))
    return Array.from(
      { length: chance.pick([101, 1001, 2001]) },
      () => (value as readonly unknown[])[0],
    )
  const depth = chance.pick([5, 31, 32, 200])
  return Array.from({ length: depth }).reduce(
    (inner: unknown, _, at) => (at % 2 === 0 ? [inner] : { in: inner }),
    value,
  )
}
