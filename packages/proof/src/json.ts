/** JSON as JavaScript values. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

/**
 * The value of a JSON text from outside, or undefined.
 *
 * Not JSON.parse alone, because V8's is wrong at times (nodejs/node#63785; Node 24 and 26, and the
 * browsers of their time): if a member name has an escape, it may return another name that it has
 * read before in an object of the same shape. After {"a":0,"\\":0} it reads {"a":0,"\n":0} with the
 * former name. Hashed text must be read correctly, so such texts are parsed here, up to the depth
 * of canonical text. Strings and numbers by themselves are not affected.
 */
export function parseJson(text: string): Json | undefined {
  if (text.length > plainLength && survey(text).isTooLarge) return undefined
  try {
    // JSON.parse returns only JSON, though its declared type is any.
    const value = JSON.parse(text) as Json
    return hasEscapedName(text) ? readValue(text.matchAll(tokens), 0) : value
  } catch {
    return undefined
  }
}

/** A parsed text, or why it is refused: `repeated` is a member name that an object has twice. */
export type JsonText =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly repeated?: string }

/**
 * Parses a JSON text that is evidence. Of two members of one name JSON.parse keeps the last and
 * other parsers keep the first, so such a text would have two meanings.
 */
export function readJson(text: string): JsonText {
  const { isTooLarge, repeated } = survey(text)
  const value = isTooLarge ? undefined : parseJson(text)
  if (value === undefined) return { ok: false }
  return repeated === undefined ? { ok: true, value } : { ok: false, repeated }
}

/** More values than any answer has. As objects they take thirty times the memory of their text. */
export const jsonValuesMax = 10_000_000

/**
 * Maximum depth of objects and arrays with a canonical form. The ledger accepts 32, and a stack
 * holds thousands.
 */
export const jsonDepthMax = 200

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value)
}

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** Without undefined members, which would overwrite others in a spread. */
export function definedOf<T extends object>(value: T): Defined<T> {
  // The result has members of `value` only.
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Defined<T>
}

/**
 * Whether an unknown value equals this JSON, in any order of members. Looks no deeper than `json`
 * does.
 */
export function equalJson(json: Json | undefined, value: unknown): boolean {
  if (typeof json !== "object" || json === null) return json === value
  if (typeof value !== "object" || value === null || Array.isArray(json) !== Array.isArray(value))
    return false
  if (Array.isArray(json)) return equalItems(json as readonly Json[], value as readonly unknown[]) // both are arrays
  const names = Object.keys(json)
  // Neither is an array.
  const [a, b] = [json as JsonObject, value as Record<string, unknown>]
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equalJson(a[name], b[name]))
  )
}

/**
 * By index: listing the keys of a hundred thousand small arrays would take longer than comparing
 * them.
 */
function equalItems(items: readonly Json[], values: readonly unknown[]): boolean {
  if (items.length !== values.length) return false
  for (let at = 0; at < items.length; at++) if (!equalJson(items[at], values[at])) return false
  return true
}

const strings = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/g
// Colons and commas add nothing to the order of the other tokens.
const tokens = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\]":,]+/g

/** A text of this length has too few values to matter. */
const plainLength = 2 ** 20

/** Scans a text before it is parsed; the text may not be JSON. Keeps only names in memory. */
function survey(text: string): { readonly isTooLarge: boolean; readonly repeated?: string } {
  const open: Set<string>[] = []
  let repeated: string | undefined
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === "{" || character === "[" || character === ",") values++
    if (values > jsonValuesMax || open.length > jsonDepthMax) return { isTooLarge: true }
    if (character === "{" || character === "[") open.push(new Set())
    else if (character === "}" || character === "]") open.pop()
    if (character !== '"') continue
    const end = stringEnd(text, at)
    const name = isName(text, end) ? unquoted(text.slice(at, end)) : undefined
    if (name !== undefined && open.at(-1)?.has(name)) repeated ??= name
    if (name !== undefined) open.at(-1)?.add(name)
    at = end - 1
  }
  return { isTooLarge: false, ...(repeated !== undefined && { repeated }) }
}

/** Index after the closing quote of the string that begins here. */
function stringEnd(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === "\\") backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
  return text.length
}

function isName(text: string, from: number): boolean {
  let at = from
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at++
  return text[at] === ":"
}

/** Returns the text itself if it is no string; then it is not JSON. */
function unquoted(string: string): string {
  if (!string.includes("\\")) return string.slice(1, -1)
  try {
    return JSON.parse(string) as string
  } catch {
    return string
  }
}

/** Whether a member name contains an escape. The text is valid JSON. */
function hasEscapedName(text: string): boolean {
  if (!text.includes("\\")) return false
  for (const [, content = "", colon] of text.matchAll(strings))
    if (colon && content.includes("\\")) return true
  return false
}

function readValue(rest: Tokens, depth: number, first = next(rest)): Json {
  if (depth > jsonDepthMax) throw new RangeError(`nesting deeper than ${jsonDepthMax}`)
  if (first === "{") {
    const members: [string, Json][] = []
    for (let name = next(rest); name !== "}"; name = next(rest))
      members.push([JSON.parse(name) as string, readValue(rest, depth + 1)])
    return Object.fromEntries(members)
  }
  if (first === "[") {
    const items: Json[] = []
    for (let item = next(rest); item !== "]"; item = next(rest))
      items.push(readValue(rest, depth + 1, item))
    return items
  }
  return JSON.parse(first) as Json
}

type Tokens = Iterator<RegExpExecArray>

function next(rest: Tokens): string {
  const step = rest.next()
  if (step.done) throw new SyntaxError("JSON that ends early")
  return step.value[0]
}
