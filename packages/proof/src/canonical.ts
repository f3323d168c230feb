import { fromUtf8 } from "./encoding.ts"
import { jsonDepthMax, parseJson, type Json, type JsonObject } from "./json.ts"

/**
 * RFC 8785, the JSON Canonicalization Scheme: no white space, members sorted by the UTF-16 units of
 * their names, strings and numbers as ECMAScript writes them. Equal values give equal text, in
 * every language that has an implementation of the RFC.
 *
 * Throws a TypeError on what has no canonical form: NaN, an infinity, undefined, a lone surrogate,
 * a value that is not JSON, and nesting deeper than `jsonDepthMax`.
 *
 * JSON.stringify already writes all of this but the order of members, in which it follows
 * Object.keys. So where the keys of every object are in order as they stand, it does the work, in
 * the engine's own code. Names that look like integers need no case of their own: Object.keys puts
 * them first and by value ("9" before "10"), which is either the canonical order too, or seen not
 * to be.
 */
export function canonicalize(value: Json): string {
  const text = isOrdered(value, 0) ? JSON.stringify(value) : write(value)
  // JSON.stringify writes a lone surrogate as \udXXX, in lower case. The same letters after an
  // escaped backslash are just letters.
  if (text.includes("\\ud") && /(?<!\\)(?:\\\\)*\\ud/.test(text))
    throw new TypeError("a lone surrogate has no canonical form")
  return text
}

/**
 * The value with this canonical form; undefined for all other bytes, even if only white space
 * differs.
 */
export function parseCanonical(source: string | Uint8Array): Json | undefined {
  const text = typeof source === "string" ? source : fromUtf8(source)
  const value = text === undefined ? undefined : parseJson(text)
  if (value === undefined) return undefined
  try {
    return canonicalize(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether JSON.stringify writes this value in canonical form. Throws for a value without one, so
 * `write` need not check again.
 */
function isOrdered(value: Json, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} has no canonical form`)
      return true
    case "object":
      if (value === null) return true
      if (depth === jsonDepthMax)
        throw new TypeError(`nesting deeper than ${jsonDepthMax} is refused`)
      return isArray(value)
        ? itemsAreOrdered(value, depth + 1)
        : membersAreOrdered(value, depth + 1)
    default:
      throw new TypeError(`${typeof value} is not JSON`)
  }
}

function itemsAreOrdered(items: readonly Json[], depth: number): boolean {
  let ordered = true
  for (const item of items) ordered = isOrdered(item, depth) && ordered
  return ordered
}

function membersAreOrdered(object: JsonObject, depth: number): boolean {
  if (typeof object["toJSON"] === "function")
    throw new TypeError("an object with a toJSON method is not JSON")
  let ordered = true
  let previous: string | undefined
  for (const name of Object.keys(object)) {
    if (previous !== undefined && previous > name) ordered = false
    previous = name
    // The cast allows the index: isOrdered must see undefined members, and refuses them.
    ordered = isOrdered(object[name] as Json, depth) && ordered
  }
  return ordered
}

/** Without lists of parts: a hundred thousand nested arrays would take thrice the time. */
function write(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  let text = ""
  if (isArray(value)) {
    for (const item of value) text += text === "" ? write(item) : `,${write(item)}`
    return `[${text}]`
  }
  for (const name of Object.keys(value).sort())
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${write(value[name] as Json)}`
  return `{${text}}`
}

// Array.isArray does not narrow a readonly array.
function isArray(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value)
}
