// Parses a large batch in slices. A scanner that only knows where a JSON value ends finds the
// events, and each event is parsed by itself. Other requests run in between. An event that breaks a
// rule is refused alone; text that is not JSON ends it, because nobody knows where the next event
// begins.

import type { JsonObject } from "@tallystick/proof"
import { LedgerError } from "../error.ts"
import type { Pace } from "../runtime/pace.ts"
import { isJson, NotJson, parseStrict, type JsonLimits } from "./json.ts"

export interface BatchBodyRules {
  readonly limits: JsonLimits
  readonly itemBytesMax: number
  readonly itemsMax: number
  readonly objectsMax: number
  /** Throws if a batch does not match its shape. */
  readonly check: (envelope: unknown) => unknown
}

/**
 * `{"events":[…]}`. In place of an event that is too large, or that `parseStrict` refuses, the list
 * contains the refusal.
 */
export async function readBatch(
  bytes: Buffer,
  rules: BatchBodyRules,
  pace: Pace,
): Promise<{ readonly events: readonly unknown[] }> {
  const { itemsMax, check } = rules
  const text = new Scanner(bytes)
  const events: unknown[] = []
  if (text.value() !== 0x7b) return refuse(check, null, text)
  text.at += 1
  if (text.next() === 0x7d) return refuse(check, {}, text)
  const name = memberNamed("{", text, rules.limits)
  if (!Object.hasOwn(name, "events")) return refuse(check, name, text)
  text.expect(0x3a)
  if (text.value() !== 0x5b) return refuse(check, { events: null }, text)
  text.at += 1
  if (text.next() === 0x5d) return refuse(check, { events: [] }, text)
  for (;;) {
    if (events.length === itemsMax)
      return refuse(check, { events: Array.from({ length: itemsMax + 1 }) }, text)
    text.next()
    const end = new ValueEnd(text.bytes, text.at)
    // This reads the bytes of an event twice, but most of the work comes later.
    do if (pace.isUp()) await pace.next()
    while (!end.lookOn(rules.itemBytesMax))
    events.push(readItem(text, end, events.length, rules))
    if (text.next() === 0x5d) break
    text.expect(0x2c)
  }
  text.at += 1
  if (text.next() === 0x2c) {
    text.at += 1
    return refuse(check, memberNamed('{"events":[null],', text, rules.limits), text)
  }
  text.expect(0x7d)
  if (text.next() !== undefined) text.fail()
  return { events }
}

/**
 * Throws the refusal of the shape for this envelope. The shape accepts no envelope that reaches
 * this function.
 */
function refuse(check: BatchBodyRules["check"], envelope: unknown, text: Scanner): never {
  check(envelope)
  return text.fail()
}

/** The value between the scanner and this end. */
function readItem(text: Scanner, end: ValueEnd, place: number, rules: BatchBodyRules): unknown {
  const { limits, itemBytesMax, objectsMax } = rules
  const start = text.at
  if (end.at === start) text.fail()
  text.at = end.at
  const bytes = end.at - start
  if (bytes > itemBytesMax) {
    return new LedgerError(
      "payload_too_large",
      `events[${place}] has ${bytes} bytes; at most ${itemBytesMax} are allowed`,
    )
  }
  text.objects += end.objects
  if (text.objects > objectsMax)
    throw new LedgerError(
      "payload_too_large",
      `the batch has more than ${objectsMax} objects and arrays`,
    )
  const item = text.bytes.subarray(start, end.at)
  try {
    return parseStrict(item, limits, ["events", place])
  } catch (error) {
    if (!(error instanceof LedgerError) || error instanceof NotJson) throw error
    // A rule may be broken before the text stops being JSON, and then it may end anywhere.
    if (isJson(item)) return error
    if (text.next() === undefined) text.fail()
    throw new NotJson(`events[${place}] is not JSON`)
  }
}

/**
 * An object with the member whose name comes next, after the text `before`. The usual rules for
 * names apply. A long name is cut.
 */
function memberNamed(before: string, text: Scanner, limits: JsonLimits): JsonObject {
  if (text.next() !== 0x22) text.fail()
  const end = new ValueEnd(text.bytes, text.at)
  while (!end.lookOn(text.bytes.length));
  const name = text.bytes.subarray(text.at, end.at)
  text.at = end.at
  const shown =
    name.length > nameBytesMax
      ? Buffer.from(JSON.stringify(name.toString("latin1", 1, nameBytesMax)))
      : name
  return parseStrict(
    Buffer.concat([Buffer.from(before), shown, Buffer.from(":null}")]),
    limits,
  ) as JsonObject // such a text is an object
}

/** Longer than any spelling of `events`, even with every letter as an escape. */
const nameBytesMax = 100

const valueBegins = Buffer.from('{["-0123456789tfn')

/** Reads the punctuation and white space between values. */
class Scanner {
  readonly bytes: Buffer
  at = 0
  /** Objects and arrays in the values so far. */
  objects = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** The next byte that is not white space. */
  next(): number | undefined {
    for (;;) {
      const byte = this.bytes[this.at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte
      this.at += 1
    }
  }

  /** The first byte of a value. Fails if no value begins here. */
  value(): number {
    const byte = this.next() ?? 0
    return valueBegins.includes(byte) ? byte : this.fail()
  }

  expect(byte: number): void {
    if (this.next() !== byte) this.fail()
    this.at += 1
  }

  fail(): never {
    throw new NotJson(
      this.at >= this.bytes.length
        ? "the body ends before its JSON does"
        : `the body is not JSON: see byte ${this.at + 1}`,
    )
  }
}

/** Finds the end of a JSON value. The parser checks later that the value is valid. */
class ValueEnd {
  readonly #bytes: Buffer
  at: number
  objects = 0
  #depth = 0
  #inString = false

  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes
    this.at = start
  }

  /** Scans at most `bytesMax` more bytes. Returns whether it found the end. */
  lookOn(bytesMax: number): boolean {
    const stop = Math.min(this.#bytes.length, this.at + bytesMax)
    while (this.at < stop) {
      const byte = this.#bytes[this.at] as number // at < stop
      if (this.#inString) {
        if (byte === 0x22) {
          this.#inString = false
          if (this.#depth === 0) return this.#end(1)
        }
        this.at += byte === 0x5c ? 2 : 1
        continue
      }
      if (byte === 0x22) this.#inString = true
      else if (byte === 0x7b || byte === 0x5b) {
        this.#depth += 1
        this.objects += 1
      } else if (byte === 0x7d || byte === 0x5d) {
        if (this.#depth <= 1) return this.#end(this.#depth)
        this.#depth -= 1
      } else if (this.#depth === 0 && (byte === 0x2c || byte === 0x3a || byte <= 0x20))
        return this.#end(0)
      this.at += 1
    }
    return stop === this.#bytes.length
  }

  #end(more: number): true {
    this.at += more
    return true
  }
}
