import type { Static, TSchema, TUnsafe } from "typebox"
import { Compile } from "typebox/schema"
import { LedgerError } from "../../error.ts"
import { memberName, memberPath } from "../json.ts"

// A shape says once what a value looks like: TypeScript takes its type from it, requests are checked by it, and the API's description shows it.
// Two keywords are our own: `rule` is the end of a sentence that begins with the field's path, and `docs` is what only the description shows.

/** A shape whose type is `Type`, all of it readonly. */
export type Shape<Type = unknown> = TUnsafe<Type>

/** The type of what passes a shape. */
export type Of<S extends TSchema> = ReadonlyDeep<Static<S>>

type ReadonlyDeep<T> = T extends string
  ? T
  : T extends readonly (infer Item)[]
    ? readonly ReadonlyDeep<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: ReadonlyDeep<T[Key]> }
      : T

/** True only if two types are the same to the compiler: it compares two conditional types by identity, not by assignability. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** A type without its index signature, which a shape has no word for. */
type Named<T> = { [Key in keyof T as string extends Key ? never : Key]: T[Key] }

/** Takes a shape only if it says exactly what a wire type says: `shapeOf<Receipt>()(Type.Object(…))`. What differs makes the call fail to compile. */
export function shapeOf<Wire>() {
  return <S extends TSchema>(
    shape: Same<Of<S>, Named<Wire>> extends true ? S : { differs: [shape: Of<S>, wire: Named<Wire>] },
  ): Shape<Wire> => shape as unknown as Shape<Wire> // The condition has just shown them to be the same.
}

/** What a value is, and so how a sentence speaks of it. */
type Place = "field" | "header" | "query parameter" | "path parameter"

/**
 * Returns a function that gives back what passes the shape, typed, and throws `invalid_field` for what does not, with one sentence for the first thing wrong.
 * `at` is where the value lies within the request, if that is not its root.
 */
export function checkOf<S extends TSchema>(shape: S, place: Place = "field"): (value: unknown, at?: Path) => Of<S> {
  // Not before it is needed: most of what a start compiled would not be asked for soon.
  let compiled: ReturnType<typeof Compile<S>> | undefined
  return (value, at = []) => {
    compiled ??= Compile(shape)
    if (compiled.Check(value)) return value as Of<S> // Check has just said so.
    const sentence = violation(shape, value, at, place) ?? `${where(at, place)} is not what it must be`
    throw new LedgerError("invalid_field", sentence)
  }
}

// The sentence --------------------------------------------------------------------------------------------------------------------------------------------

type Path = readonly (string | number)[]

/** What this file reads of a shape; a shape made with other keywords would pass here and fail in the compiled check. */
interface Rules {
  readonly type?: string
  readonly rule?: string
  readonly const?: unknown
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
  readonly "~refine"?: readonly { readonly check: (value: unknown) => boolean; readonly error: (value: unknown) => string }[]
}

/** The first rule that a value breaks, as a sentence; undefined if it breaks none. */
export function violation(shape: TSchema, value: unknown, at: Path = [], place: Place = "field"): string | undefined {
  const rules = shape as Rules // All shapes are such objects.
  const found =
    rules.type === "object" ? ofObject(rules, value, at, place) : rules.type === "array" ? ofArray(rules, value, at, place) : undefined
  if (found !== undefined) return found
  if (rules.anyOf?.every((choice) => violation(choice, value, at, place) !== undefined))
    return `${where(at, place)} ${ruleOf(rules, value)}`
  if (!passes(rules, value)) return `${where(at, place)} ${ruleOf(rules, value)}`
  const refused = rules["~refine"]?.find((refinement) => !refinement.check(value))
  return refused && `${where(at, place)} ${rules.rule ?? refused.error(value)}`
}

function ofObject(rules: Rules, value: unknown, at: Path, place: Place): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return `${where(at, place)} ${rules.rule ?? "must be an object"}`
  const members = value as Readonly<Record<string, unknown>> // an object, and no array
  const properties = rules.properties ?? {}
  if (rules.additionalProperties === false) {
    const unknown = Object.keys(members).find((name) => !Object.hasOwn(properties, name))
    if (unknown !== undefined) return `${where([...at, unknown], place)} is not a known ${place}`
  }
  for (const [name, property] of Object.entries(properties)) {
    const path = [...at, name]
    const given = Object.hasOwn(members, name) && members[name] !== undefined
    if (given) {
      const found = violation(property, members[name], path, place)
      if (found !== undefined) return found
    } else if (rules.required?.includes(name)) {
      return `${where(path, place)} is required and ${ruleOf(property, undefined)}`
    }
  }
  return undefined
}

function ofArray(rules: Rules, value: unknown, at: Path, place: Place): string | undefined {
  const { minItems = 0, maxItems = Infinity, items } = rules
  if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) return `${where(at, place)} ${ruleOf(rules, value)}`
  for (const [index, item] of value.entries()) {
    const found = items && violation(items, item, [...at, index], place)
    if (found !== undefined) return found
  }
  // Sets hold values, not what is in objects: only arrays of strings and numbers are told to be unique.
  if (rules.uniqueItems && new Set(value).size < value.length) return `${where(at, place)} must not name anything twice`
  return undefined
}

/** The rules for a value that has no parts. */
function passes(rules: Rules, value: unknown): boolean {
  if (rules.not !== undefined) return false
  if (rules.const !== undefined) return value === rules.const
  if (rules.enum !== undefined) return rules.enum.includes(value)
  if (rules.type === "boolean") return typeof value === "boolean"
  if (rules.type === "integer" || rules.type === "number") {
    const whole = rules.type === "integer" ? Number.isInteger(value) : Number.isFinite(value)
    return whole && (value as number) >= (rules.minimum ?? -Infinity) && (value as number) <= (rules.maximum ?? Infinity) // a number, as `whole` says
  }
  if (rules.type !== "string") return true
  if (typeof value !== "string") return false
  const length = Array.from(value).length // in code points, as JSON Schema counts
  if (length < (rules.minLength ?? 0) || length > (rules.maxLength ?? Infinity)) return false
  return rules.pattern === undefined || new RegExp(rules.pattern, "u").test(value)
}

/** The end of a sentence: what a value must be. */
function ruleOf(rules: Rules, value: unknown): string {
  if ((value === undefined || value === "" || typeof value !== "string") && rules.type === "string" && rules.minLength === 1)
    return "must be a non-empty string"
  if (rules.rule !== undefined) return rules.rule
  if (rules.const !== undefined) return `must be ${JSON.stringify(rules.const)}`
  if (rules.enum !== undefined) return `must be one of ${rules.enum.join(", ")}`
  if (rules.type === "boolean") return "must be true or false"
  if (rules.type === "integer") return `must be an integer${range(rules.minimum, rules.maximum)}`
  if (rules.type === "number") return `must be a number${range(rules.minimum, rules.maximum)}`
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
  return place === "header" ? headerName(String(at[0])) : at.length === 1 && typeof at[0] === "string" ? memberName(at[0]) : memberPath(at)
}

/** `idempotency-key` as it is written: `Idempotency-Key`. */
export function headerName(name: string): string {
  return name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase())
}
