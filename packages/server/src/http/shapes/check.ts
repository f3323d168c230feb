import type { Static, TSchema, TUnsafe } from "typebox"
import { LedgerError } from "../../error.ts"
import { memberName, memberPath } from "../json.ts"

// A shape defines a kind of value once: TypeScript derives the type from it, requests are checked
// against it, and the API's description shows it. Two keywords are our own: `rule` ends a sentence
// that begins with the field's path, and `docs` is shown only in the description.

/** A shape of the type `Type`, which is readonly at every depth. */
export type Shape<Type = unknown> = TUnsafe<Type>

/** The type of the values that match a shape. */
export type Of<S extends TSchema> = ReadonlyDeep<Static<S>>

type ReadonlyDeep<T> = T extends string
  ? T
  : T extends readonly (infer Item)[]
    ? readonly ReadonlyDeep<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: ReadonlyDeep<T[Key]> }
      : T

/** The kind of a request's part. A refusal begins with it. */
type Place = "field" | "header" | "query parameter" | "path parameter"

/**
 * Returns a check: it returns a value that matches the shape, with its type, and otherwise throws
 * `invalid_field` with a sentence about the first fault. `at` is the path of the value in the
 * request, unless it is the root.
 */
export function checkOf<S extends TSchema>(
  shape: S,
  place: Place = "field",
): (value: unknown, at?: Path) => Of<S> {
  const faultIn = faultsOf(shape, place)
  return (value, at = []) => {
    const fault = faultIn(value)
    if (fault === undefined) return value as Of<S> // The shape has just checked it.
    throw new LedgerError(
      "invalid_field",
      `${where([...at, ...fault.at.toReversed()], place)} ${fault.says}`,
    )
  }
}

type Path = readonly (string | number)[]

/** The first rule that a value breaks. */
interface Fault {
  /** The path, innermost part first. It is built only for a fault. */
  readonly at: (string | number)[]
  /** The end of a sentence. */
  readonly says: string
}

type FaultIn = (value: unknown) => Fault | undefined

/** The known keywords. A shape with another one fails at the start. */
interface Rules {
  readonly type?: "object" | "array" | "boolean" | "integer" | "string" | "null"
  readonly rule?: string
  readonly enum?: readonly unknown[]
  readonly not?: unknown
  readonly anyOf?: readonly TSchema[]
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly items?: TSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly "~refine"?: readonly Refinement[]
}

interface Refinement {
  readonly check: (value: unknown) => boolean
  readonly error: (value: unknown) => string
}

const keywords = new Set(
  "type rule enum not anyOf properties required additionalProperties items minItems maxItems uniqueItems minLength maxLength pattern minimum maximum title default docs".split(
    " ",
  ),
)

/** Compiles a shape once, so that checking a value costs only its comparisons. */
function faultsOf(shape: TSchema, place: Place): FaultIn {
  const unread = Object.keys(shape).find((keyword) => !keywords.has(keyword))
  if (unread !== undefined)
    throw new Error(`a shape has the keyword ${unread}, which nobody checks`)
  const rules = shape as Rules // All shapes are such objects.
  const faultIn = byType(rules, place)
  const [refinement] = rules["~refine"] ?? []
  if (refinement === undefined) return faultIn
  return (value) =>
    faultIn(value) ??
    (refinement.check(value) ? undefined : faultOf(rules.rule ?? refinement.error(value)))
}

function byType(rules: Rules, place: Place): FaultIn {
  if (rules.type === "object") return objectFaults(rules, place)
  if (rules.type === "array") return arrayFaults(rules, place)
  const passes = passesOf(rules, place)
  return (value) => (passes(value) ? undefined : faultOf(ruleOf(rules, value)))
}

function faultOf(says: string): Fault {
  return { at: [], says }
}

function objectFaults(rules: Rules, place: Place): FaultIn {
  const {
    rule = "must be an object",
    properties = {},
    required = [],
    additionalProperties = true,
  } = rules
  const names = new Set(Object.keys(properties))
  const members = Object.entries(properties).map(([name, shape]) => ({
    name,
    faultIn: faultsOf(shape, place),
    absent: required.includes(name) ? `is required and ${ruleOf(shape, undefined)}` : undefined,
  }))
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return faultOf(rule)
    const given = value as Readonly<Record<string, unknown>> // an object, and no array
    if (!additionalProperties) {
      for (const name in given)
        if (!names.has(name)) return { at: [name], says: `is not a known ${place}` }
    }
    for (const { name, faultIn, absent } of members) {
      const member = Object.hasOwn(given, name) ? given[name] : undefined
      if (member === undefined && absent === undefined) continue
      const fault = member === undefined ? faultOf(absent ?? "") : faultIn(member)
      if (fault !== undefined) return within(fault, name)
    }
    return undefined
  }
}

function within(fault: Fault, step: string | number): Fault {
  fault.at.push(step)
  return fault
}

function arrayFaults(rules: Rules, place: Place): FaultIn {
  const { minItems = 0, maxItems = Infinity, items, uniqueItems = false } = rules
  const faultIn = items === undefined ? () => undefined : faultsOf(items, place)
  return (value) => {
    if (!Array.isArray(value) || value.length < minItems || value.length > maxItems)
      return faultOf(ruleOf(rules, value))
    for (const [index, item] of value.entries()) {
      const fault = faultIn(item)
      if (fault !== undefined) return within(fault, index)
    }
    // A Set compares objects by identity, so only arrays of strings and numbers are declared
    // unique.
    return uniqueItems && new Set(value).size < value.length
      ? faultOf("must not name anything twice")
      : undefined
  }
}

/** The rules for a value without parts, or with several possible shapes. */
function passesOf(rules: Rules, place: Place): (value: unknown) => boolean {
  const { minimum = -Infinity, maximum = Infinity, anyOf } = rules
  if (rules.not !== undefined) return () => false
  if (rules.enum !== undefined) return (value) => rules.enum?.includes(value) === true
  if (anyOf !== undefined) {
    const choices = anyOf.map((choice) => faultsOf(choice, place))
    return (value) => choices.some((faultIn) => faultIn(value) === undefined)
  }
  if (rules.type === "boolean") return (value) => typeof value === "boolean"
  if (rules.type === "null") return (value) => value === null
  if (rules.type === "integer")
    return (value) =>
      Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum // a number
  return rules.type === "string" ? textPasses(rules) : () => true
}

function textPasses({
  minLength = 0,
  maxLength = Infinity,
  pattern,
}: Rules): (value: unknown) => boolean {
  const expression = pattern === undefined ? undefined : new RegExp(pattern, "u")
  return (value) => {
    if (typeof value !== "string") return false
    // JSON Schema counts code points. A string has at most as many as UTF-16 units, and at least
    // half as many.
    const { length } = value
    const isLong =
      length > maxLength && (length > 2 * maxLength || Array.from(value).length > maxLength)
    const isShort =
      length < 2 * minLength && (length < minLength || Array.from(value).length < minLength)
    return !isLong && !isShort && (expression === undefined || expression.test(value))
  }
}

/** The end of a sentence that says what a value must be. */
function ruleOf(rules: Rules, value: unknown): string {
  if (
    (value === "" || typeof value !== "string") &&
    rules.type === "string" &&
    rules.minLength === 1
  )
    return "must be a non-empty string"
  if (rules.rule !== undefined) return rules.rule
  if (rules.enum !== undefined) return `must be one of ${rules.enum.join(", ")}`
  if (rules.type === "boolean") return "must be true or false"
  if (rules.type === "integer") return `must be an integer${range(rules.minimum, rules.maximum)}`
  if (rules.type === "string")
    return `must be a string${rules.maxLength === undefined ? "" : ` of ${rules.minLength ?? 0} to ${rules.maxLength} characters`}`
  if (rules.type === "array")
    return `must be an array${rules.maxItems === undefined ? "" : ` of ${rules.minItems ?? 0} to ${rules.maxItems} items`}`
  return rules.type === "object" ? "must be an object" : "must not be given"
}

function range(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  if (minimum !== undefined) return ` of at least ${minimum}`
  return maximum === undefined ? "" : ` of at most ${maximum}`
}

function where(at: Path, place: Place): string {
  if (at.length === 0) return "the body"
  return place === "header"
    ? headerName(String(at[0]))
    : at.length === 1 && typeof at[0] === "string"
      ? memberName(at[0])
      : memberPath(at)
}

/** `idempotency-key` becomes `Idempotency-Key`. */
export function headerName(name: string): string {
  // As the standard of server-sent events writes it.
  if (name === "last-event-id") return "Last-Event-ID"
  return name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase())
}
