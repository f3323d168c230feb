import type { TSchema } from "typebox"
import { LedgerError } from "../../error.ts"
import { memberName } from "../json.ts"
import { checkOf, type Of } from "./check.ts"

/** The parameters of a query, decoded and unchecked. Each name occurs once. */
export type RawQuery = Readonly<Record<string, string>>

/** No endpoint takes nearly as many. Thousands of names would take milliseconds to refuse. */
const pairsMax = 100

const none: RawQuery = Object.freeze({})

/** Reads the part after the question mark of a request target with valid percent escapes. */
export function parseQuery(target: string): RawQuery {
  const mark = target.indexOf("?")
  if (mark === -1) return none
  const query: Record<string, string> = Object.create(null) as Record<string, string> // an object without inherited names
  const pairs = target.slice(mark + 1).split("&")
  if (pairs.length > pairsMax)
    throw new LedgerError("invalid_field", `the query has more than ${pairsMax} parameters`)
  for (const pair of pairs) {
    if (pair === "") continue
    const equals = pair.indexOf("=")
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    if (name in query)
      throw new LedgerError("invalid_field", `${memberName(name)} must be given only once`)
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1))
    // As in a body. But a search may be any text.
    if (name !== "query" && value.includes("\0"))
      throw new LedgerError("invalid_field", `${memberName(name)} contains the character U+0000`)
    query[name] = value
  }
  return query
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "))
}

interface Parameter {
  readonly type?: string
  readonly default?: unknown
  readonly docs?: { readonly format?: string }
}

/**
 * Makes a check of query parameters. They arrive as text. Integers and booleans have only one
 * spelling for each value, so that a filter cannot be misread. An absent parameter gets the default
 * of its shape.
 */
export function queryCheckOf<S extends TSchema>(shape: S): (query: RawQuery) => Of<S> {
  const parameters = Object.entries(
    (shape as { properties?: Record<string, Parameter> }).properties ?? {},
  ) // every query's shape is an object
  const check = checkOf(closed(shape, parameters), "query parameter")
  return (query) => {
    const read: Record<string, unknown> = { ...query }
    for (const [name, parameter] of parameters) {
      const text = query[name]
      if (text === undefined) {
        if (parameter.default !== undefined) read[name] = parameter.default
      } else if (parameter.type === "integer" && /^(?:0|[1-9][0-9]*)$/.test(text)) {
        read[name] = Number(text)
      } else if (parameter.type === "boolean" && (text === "true" || text === "false")) {
        read[name] = text === "true"
      } else if (parameter.docs?.format === "date-time" && text.includes(" ")) {
        // An unescaped + of an offset arrives as a space.
        throw new LedgerError(
          "invalid_field",
          `${name} must be a time without spaces: in an address, + is written %2B`,
        )
      }
    }
    return check(read)
  }
}

/**
 * The same shape, but it refuses integers that a number cannot hold exactly, and unknown parameters
 * unless the shape allows them.
 */
function closed<S extends TSchema>(
  shape: S,
  parameters: readonly (readonly [string, Parameter])[],
): S {
  const properties = parameters.map(([name, parameter]): [string, Parameter] => [
    name,
    parameter.type === "integer" ? { ...exact, ...parameter } : parameter,
  ])
  return { additionalProperties: false, ...shape, properties: Object.fromEntries(properties) }
}

const exact = { maximum: Number.MAX_SAFE_INTEGER }
