/** What JSON can say, as JavaScript values. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

/**
 * The value of a JSON text from outside, or undefined.
 *
 * Not JSON.parse alone, because V8's is wrong at times (nodejs/node#63785; Node 24 and 26, and the browsers of their time): where a member
 * name has an escape, it may take it for a name that it met before in an object of like shape. After {"a":0,"\\":0} it reads {"a":0,"\n":0}
 * with the name of the former, for whoever is next to ask. What was hashed must be read as it is, so such texts are read here, to the depth
 * that canonical text may have. Strings and numbers by themselves are not affected.
 */
export function parseJson(text: string): Json | undefined {
  try {
    // JSON.parse gives nothing but JSON; its declared type says any. Which texts are JSON, it knows in any case.
    const value = JSON.parse(text) as Json
    return hasEscapedName(text) ? readValue(text.matchAll(tokens), 0) : value
  } catch {
    return undefined
  }
}

/** Beyond this many objects and arrays inside each other there is no canonical form: the ledger accepts 32, and a stack holds thousands. */
export const jsonDepthMax = 200

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Whether a value from anywhere is this JSON, whatever the order of its members. Looks no deeper than `json` goes. */
export function equalJson(json: Json, value: unknown): boolean {
  if (typeof json !== "object" || json === null) return json === value
  if (typeof value !== "object" || value === null || Array.isArray(json) !== Array.isArray(value)) return false
  if (Array.isArray(json) && json.length !== (value as unknown[]).length) return false
  const names = Object.keys(json)
  // A cast, so that arrays and objects are compared alike: by their own keys.
  const [a, b] = [json as JsonObject, value as Record<string, unknown>]
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equalJson(a[name] as Json, b[name]))
}

const strings = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/g
// Colons and commas say nothing that the order of the other tokens does not.
const tokens = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\]":,]+/g

/** Whether a string with an escape in it stands before a colon. The text is known to be JSON. */
function hasEscapedName(text: string): boolean {
  if (!text.includes("\\")) return false
  for (const [, content = "", colon] of text.matchAll(strings)) if (colon && content.includes("\\")) return true
  return false
}

function readValue(rest: Tokens, depth: number, first = next(rest)): Json {
  if (depth > jsonDepthMax) throw new RangeError(`nesting deeper than ${jsonDepthMax}`)
  if (first === "{") {
    const members: [string, Json][] = []
    for (let name = next(rest); name !== "}"; name = next(rest)) members.push([JSON.parse(name) as string, readValue(rest, depth + 1)])
    return Object.fromEntries(members)
  }
  if (first === "[") {
    const items: Json[] = []
    for (let item = next(rest); item !== "]"; item = next(rest)) items.push(readValue(rest, depth + 1, item))
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
