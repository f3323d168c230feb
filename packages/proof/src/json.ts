/** What JSON can say, as JavaScript values. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

/**
 * The value of a JSON text from outside, or undefined.
 *
 * Not JSON.parse alone, because V8's is wrong at times (nodejs/node#63785; Node 24 and 26, and the
 * browsers of their time): where a member name has an escape, it may take it for a name that it met
 * before in an object of like shape. After {"a":0,"\\":0} it reads {"a":0,"\n":0} with the name of
 * the former, for whoever is next to ask. What was hashed must be read as it is, so such texts are
 * read here, to the depth that canonical text may have. Strings and numbers by themselves are not
 * affected.
 */
export function parseJson(text: string): Json | undefined {
  if (text.length > plainLength && survey(text).isTooLarge) return undefined
  try {
    // JSON.parse gives nothing but JSON; its declared type says any. Which texts are JSON, it knows
    // in any case.
    const value = JSON.parse(text) as Json
    return hasEscapedName(text) ? readValue(text.matchAll(tokens), 0) : value
  } catch {
    return undefined
  }
}

/**
 * What a JSON text says, or why it is not read: `repeated` is the name that one of its objects has
 * twice.
 */
export type JsonText =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly repeated?: string }

/**
 * Reads a JSON text that is evidence. Of two members of one name JSON.parse keeps the last, and
 * other readers the first: such a text would say different things to different people.
 */
export function readJson(text: string): JsonText {
  const { isTooLarge, repeated } = survey(text)
  const value = isTooLarge ? undefined : parseJson(text)
  if (value === undefined) return { ok: false }
  return repeated === undefined ? { ok: true, value } : { ok: false, repeated }
}

/**
 * More values than any answer has are not read: as objects they take thirty times the memory of
 * their text.
 */
export const jsonValuesMax = 10_000_000

/**
 * Beyond this many objects and arrays inside each other there is no canonical form: the ledger
 * accepts 32, and a stack holds thousands.
 */
export const jsonDepthMax = 200

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/**
 * Whether a value from anywhere is this JSON, whatever the order of its members. Looks no deeper
 * than `json` goes.
 */
export function equalJson(json: Json, value: unknown): boolean {
  if (typeof json !== "object" || json === null) return json === value
  if (typeof value !== "object" || value === null || Array.isArray(json) !== Array.isArray(value))
    return false
  if (Array.isArray(json)) return equalItems(json as readonly Json[], value as readonly unknown[]) // both are arrays
  const names = Object.keys(json)
  // Neither is an array.
  const [a, b] = [json as JsonObject, value as Record<string, unknown>]
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && equalJson(a[name] as Json, b[name]))
  )
}

/**
 * By index: the names of their indexes would take more time than a hundred thousand small arrays
 * themselves.
 */
function equalItems(items: readonly Json[], values: readonly unknown[]): boolean {
  if (items.length !== values.length) return false
  for (let at = 0; at < items.length; at++)
    if (!equalJson(items[at] as Json, values[at])) return false
  return true
}

const strings = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/g
// Colons and commas say nothing that the order of the other tokens does not.
const tokens = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\]":,]+/g

/** A text of this length has too few values to matter. */
const plainLength = 2 ** 20

/**
 * What is known of a text before it is read, which need not be JSON yet. Takes no memory but for
 * names, and no more than a text that is read.
 */
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

/** Behind the quote that ends the string which begins here. */
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

/** The text itself where it is no string; then it is in no JSON. */
function unquoted(string: string): string {
  if (!string.includes("\\")) return string.slice(1, -1)
  try {
    return JSON.parse(string) as string
  } catch {
    return string
  }
}

/** Whether a string with an escape in it stands before a colon. The text is known to be JSON. */
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
