import { isUtf8 } from "node:buffer"
import type { Json } from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import type { Limits } from "../limits.ts"

// Parses the JSON of requests. JSON.parse alone accepts text that two parsers read differently: a
// member given twice, a lone surrogate, a number that no double holds exactly. Hashed text must
// have one meaning, so all of these are refused (docs/format.md, "JSON that the service accepts").
//
// On the hot path there are three passes: one over the bytes, which counts colons and checks
// numbers, escapes, lengths and depth; JSON.parse; and one over the value, which counts members and
// checks their names. If there are as many colons as members, no name occurs twice. If the first or
// the third pass finds something odd, `Reader` reads the text again. It is slow, but knows the path
// of every value, and throws all refusals.
//
// A member's name with an escape in it counts as odd, because of a bug in V8 (nodejs/node#63785,
// also in Node 26.10): after JSON.parse('{"a":1,"\\\\":1}'), the text {"a":1,"\u0062":1} has a
// member `\` and no `b`. So names in one workspace could change names in another.

/** Json that is still being built. */
type Made = null | boolean | number | string | Made[] | { [name: string]: Made }

export type JsonLimits = Pick<Limits, "depthMax" | "stringBytesMax">

const forbiddenNames: ReadonlySet<string> = new Set(["__proto__", "_sd", "_sd_alg", "..."])

/**
 * The value of a JSON text, or a LedgerError `invalid_json`, or `invalid_field` for a string that
 * is too long. `within` is the path of the text in the body, if the text is only a part of it.
 */
export function parseStrict(
  bytes: Buffer,
  limits: JsonLimits,
  within: readonly (string | number)[] = [],
): Json {
  if (bytes.length === 0) throw new NotJson(`${placeOf(within)} is empty; it must be JSON`)
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw new NotJson(`${placeOf(within)} must not begin with a byte order mark`)
  if (!isUtf8(bytes)) throw new NotJson(`${placeOf(within)} is not valid UTF-8`)
  const text = bytes.toString()
  const colons = scan(bytes, limits)
  // Before JSON.parse, which would need hundreds of megabytes for eight million open brackets.
  if (colons === odd) return new Reader(text, limits, within).read()
  const value = parse(text)
  return value !== undefined && countMembers(value) === colons
    ? value
    : new Reader(text, limits, within).read()
}

/** Whether JSON.parse accepts the text, even if `parseStrict` refuses it. */
export function isJson(bytes: Buffer): boolean {
  return parse(bytes.toString()) !== undefined
}

function parse(text: string): Made | undefined {
  try {
    return JSON.parse(text) as Made // JSON.parse makes nothing else.
  } catch {
    return undefined
  }
}

function invalid(detail: string): LedgerError {
  return new LedgerError("invalid_json", detail)
}

/** For text that is not JSON. The other refusals are for JSON that two parsers read differently. */
export class NotJson extends LedgerError {
  constructor(detail: string) {
    super("invalid_json", detail)
  }
}

// The first pass ----------------------------------------------------------------------------------

const odd = -1

/**
 * Counts the colons outside strings in a text that may not be JSON. Returns `odd` if the text needs
 * a closer look.
 */
function scan(bytes: Buffer, limits: JsonLimits): number {
  const end = bytes.length
  const { depthMax, stringBytesMax } = limits
  let colons = 0
  let depth = 0
  let at = 0
  let escape = false // in the string before
  while (at < end) {
    const byte = bytes[at++] as number // at < end
    if (byte === 0x22) {
      const start = at
      let inner = 0
      escape = false
      while (at < end && (inner = bytes[at] as number) !== 0x22) {
        if (inner === 0x5c) {
          escape = true
          at += bytes[at + 1] === 0x75 ? unicodeEscapeLength(bytes, at) : 2
        } else at += 1
      }
      // An escape is longer than its character, so this finds every string that is too long, and
      // some that are not.
      if (at > end || at - start > stringBytesMax) return odd
      at += 1
    } else if (byte === 0x3a) {
      if (escape) return odd
      colons += 1
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > depthMax) return odd
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1
    } else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      const start = at - 1
      let inner = 0
      while (
        at < end &&
        (((inner = bytes[at] as number) >= 0x30 && inner <= 0x39) || inner === 0x2e)
      )
        at += 1
      const exponent = at < end && (inner | 0x20) === 0x65
      if (exponent) while (at < end && isOfNumber(bytes[at] as number)) at += 1
      if (
        (exponent || at - start > exactCharacters) &&
        numberFault(bytes.toString("latin1", start, at)) !== undefined
      )
        return odd
    }
  }
  return colons
}

/**
 * The bytes to skip at a `\u`: one escape, or a pair of surrogates. For NUL and for half a pair, a
 * length beyond the end of the text, which counts as odd.
 */
function unicodeEscapeLength(bytes: Buffer, at: number): number {
  const first = bytes[at + 2]
  if (first === 0x30)
    return bytes[at + 3] === 0x30 && bytes[at + 4] === 0x30 && bytes[at + 5] === 0x30 ? Infinity : 6
  if (first !== 0x64 && first !== 0x44) return 6
  const half = surrogateHalf(bytes[at + 3])
  if (half === 0) return 6
  const another =
    bytes[at + 6] === 0x5c &&
    bytes[at + 7] === 0x75 &&
    (bytes[at + 8] === 0x64 || bytes[at + 8] === 0x44)
  return half === 1 && another && surrogateHalf(bytes[at + 9]) === 2 ? 12 : Infinity
}

/**
 * Classifies the hex digit after a d: 0 for no surrogate (0 to 7), 1 for a high one (8 to b), 2 for
 * a low one (c to f).
 */
function surrogateHalf(digit: number | undefined): 0 | 1 | 2 {
  if (digit === undefined || digit < 0x38) return 0
  if (digit <= 0x39) return 1
  const letter = digit | 0x20
  return letter === 0x61 || letter === 0x62 ? 1 : 2
}

function isOfNumber(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e ||
    (byte | 0x20) === 0x65
  )
}

// The third pass ----------------------------------------------------------------------------------

/**
 * Counts the members of all objects in a value. Returns NaN, which equals nothing, if one has a
 * forbidden name. The first pass has bounded the depth of the recursion.
 */
function countMembers(value: Made): number {
  if (typeof value !== "object" || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object") count += countMembers(item)
    return count
  }
  for (const name in value) {
    const first = name.charCodeAt(0)
    if ((first === 0x5f || first === 0x2e) && forbiddenNames.has(name)) return NaN
    const member = value[name] as Made // a name of the value's own
    count += typeof member === "object" ? 1 + countMembers(member) : 1
  }
  return count
}

// Numbers -----------------------------------------------------------------------------------------

/**
 * A decimal of at most this many characters before its exponent has at most 15 digits, and is the
 * shortest form of the double that it parses to…
 */
const exactCharacters = 15

/**
 * …if its exponent is at most this far from zero, because doubles near their largest and smallest
 * are spaced otherwise.
 */
const exactExponent = 290

/**
 * From this value on, the canonical form of a double has an exponent, so no parser reads it as an
 * integer.
 */
const exponentFrom = 1e21

/**
 * Why a JSON number is refused. Undefined if all parsers read the same value from it and from its
 * canonical form.
 */
export function numberFault(number: string): string | undefined {
  const double = Number(number)
  const size = Math.abs(double)
  if (!isExact(number, double)) return "is a number that would lose digits; send it as a string"
  if (size <= Number.MAX_SAFE_INTEGER || size >= exponentFrom) return undefined
  return "is an integer beyond 9007199254740991, which not every parser reads alike; send it as a string"
}

/**
 * Whether a JSON number has the decimal value of the shortest form of the double that it parses to.
 */
function isExact(number: string, double: number): boolean {
  const letter = number.search(/[eE]/)
  const characters = letter === -1 ? number.length : letter
  if (
    characters <= exactCharacters &&
    (letter === -1 || Math.abs(Number(number.slice(letter + 1))) <= exactExponent)
  )
    return true
  const shortest = String(double)
  return (
    shortest === number || (Number.isFinite(double) && decimalOf(shortest) === decimalOf(number))
  )
}

/**
 * One text for each decimal value: its digits without leading and trailing zeros, and the power of
 * ten of the last digit. Zero has no digits and no sign.
 */
function decimalOf(number: string): string {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().split("e")
  const negative = mantissa.startsWith("-")
  const [whole = "", fraction = ""] = (negative ? mantissa.slice(1) : mantissa).split(".")
  const digits = whole + fraction
  let first = 0
  while (first < digits.length && digits[first] === "0") first += 1
  let last = digits.length
  while (last > first && digits[last - 1] === "0") last -= 1
  if (first === last) return "0"
  return `${negative ? "-" : ""}${digits.slice(first, last)}e${Number(exponent) - fraction.length + digits.length - last}`
}

// The slow reader ---------------------------------------------------------------------------------

/**
 * Reads a whole text into a value. Throws for the first fault, and names its place. Takes linear
 * time, and recurses no deeper than `depthMax`.
 */
class Reader {
  readonly #text: string
  readonly #limits: JsonLimits
  readonly #within: number
  readonly #path: (string | number)[]
  #at = 0

  constructor(text: string, limits: JsonLimits, within: readonly (string | number)[]) {
    this.#text = text
    this.#limits = limits
    this.#within = within.length
    this.#path = [...within]
  }

  read(): Made {
    const value = this.#value()
    if (!Number.isNaN(this.#next())) this.#fail()
    return value
  }

  #value(): Made {
    const next = this.#next()
    if (next === 0x7b) return this.#object()
    if (next === 0x5b) return this.#array()
    if (next === 0x22) return this.#string()
    if (next === 0x74) return this.#word("true", true)
    if (next === 0x66) return this.#word("false", false)
    if (next === 0x6e) return this.#word("null", null)
    return this.#number()
  }

  #object(): Made {
    this.#enter()
    const object: { [name: string]: Made } = {}
    for (let first = true; this.#next() !== 0x7d; first = false) {
      if (!first) this.#expect(0x2c)
      if (this.#next() !== 0x22) this.#fail()
      const name = this.#string()
      if (forbiddenNames.has(name))
        throw invalid(`${this.#where()} must not have a member named ${name}`)
      if (Object.hasOwn(object, name))
        throw invalid(`${this.#where()} has the member ${memberName(name)} twice`)
      this.#expect(0x3a)
      this.#path.push(name)
      object[name] = this.#value()
      this.#path.pop()
    }
    this.#at += 1
    return object
  }

  #array(): Made {
    this.#enter()
    let array: Made[] = []
    while (this.#next() !== 0x5d) {
      if (array.length > 0) this.#expect(0x2c)
      this.#path.push(array.length)
      const value = this.#value()
      // The first `push` would make room for sixteen more.
      if (array.length === 0) array = [value]
      else array.push(value)
      this.#path.pop()
    }
    this.#at += 1
    return array
  }

  #enter(): void {
    if (this.#path.length - this.#within >= this.#limits.depthMax)
      throw invalid(`${this.#where()} is nested deeper than ${this.#limits.depthMax} levels`)
    this.#at += 1
  }

  #string(): string {
    const start = this.#at
    let at = this.#text.indexOf('"', start + 1)
    while (at !== -1 && this.#isEscaped(at)) at = this.#text.indexOf('"', at + 1)
    const token = at === -1 ? undefined : this.#text.slice(start, at + 1)
    // Most strings have neither an escape nor a control character, and need no parsing.
    const string =
      token === undefined ? undefined : unusual.test(token) ? decode(token) : token.slice(1, -1)
    if (string === undefined) return this.#fail(at === -1 ? this.#text.length : start)
    this.#at = at + 1
    if (string.includes("\0")) throw invalid(`${this.#where()} contains the character U+0000`)
    if (!string.isWellFormed()) throw invalid(`${this.#where()} contains half of a surrogate pair`)
    const { stringBytesMax } = this.#limits
    if (string.length * 3 > stringBytesMax && Buffer.byteLength(string) > stringBytesMax) {
      throw new LedgerError(
        "invalid_field",
        `${this.#where()} must not hold a string longer than ${stringBytesMax} bytes`,
      )
    }
    return string
  }

  /** Whether an odd number of backslashes stands before a place within a string. */
  #isEscaped(at: number): boolean {
    let before = at
    while (this.#text.charCodeAt(before - 1) === 0x5c) before -= 1
    return (at - before) % 2 === 1
  }

  #number(): number {
    const start = this.#at
    while (isOfNumber(this.#text.charCodeAt(this.#at))) this.#at += 1
    const number = this.#text.slice(start, this.#at)
    if (!/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(number)) this.#fail(start)
    const fault = numberFault(number)
    if (fault !== undefined) throw invalid(`${this.#where()} ${fault}`)
    return Number(number)
  }

  #word<Meaning>(word: string, meaning: Meaning): Meaning {
    if (!this.#text.startsWith(word, this.#at)) this.#fail()
    this.#at += word.length
    return meaning
  }

  #expect(character: number): void {
    if (this.#next() !== character) this.#fail()
    this.#at += 1
  }

  /** The next character that is not white space; NaN at the end. */
  #next(): number {
    for (;;) {
      const next = this.#text.charCodeAt(this.#at)
      if (next !== 0x20 && next !== 0x0a && next !== 0x0d && next !== 0x09) return next
      this.#at += 1
    }
  }

  #where(): string {
    return placeOf(this.#path)
  }

  #fail(at = this.#at): never {
    const place = placeOf(this.#path.slice(0, this.#within))
    throw new NotJson(
      at >= this.#text.length
        ? `${place} ends before its JSON does`
        : `${place} is not JSON: see character ${at + 1}`,
    )
  }
}

// oxlint-disable-next-line no-control-regex
const unusual = /[\\\u0000-\u001f]/

function decode(token: string): string | undefined {
  try {
    return JSON.parse(token) as string // A token that begins with a quotation mark is a string or nothing.
  } catch {
    return undefined
  }
}

// Where something is ------------------------------------------------------------------------------

const pathCharactersMax = 200

function placeOf(path: readonly (string | number)[]): string {
  return path.length === 0 ? "the body" : memberPath(path)
}

/** The path of a member for a message, such as `metadata.items[3].price`. Its length is bounded. */
export function memberPath(path: readonly (string | number)[]): string {
  let text = ""
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`
    else if (/^[A-Za-z_$][\w$-]*$/.test(step))
      text += `${text === "" ? "" : "."}${memberName(step)}`
    else text += `[${memberName(step)}]`
  }
  return text.length > pathCharactersMax ? `${text.slice(0, pathCharactersMax)}…` : text
}

/** A member's name for a message: in quotation marks unless it is plain, and cut if it is long. */
export function memberName(name: string): string {
  const short = name.length > 64 ? `${name.slice(0, 64)}…` : name
  return /^[\w$.-]+…?$/.test(short) ? short : JSON.stringify(short)
}
