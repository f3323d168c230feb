// Reads events from a file or from standard input: one JSON object, over any number of lines, or one
// on each line.

import type { Problem } from "@tallystick/client"
import { isJsonObject, type JsonObject } from "@tallystick/proof"
import { LedgerError, StartError } from "../error.ts"
import { parseStrict, type JsonLimits } from "../http/json.ts"
import type { Limits } from "../limits.ts"

/** A line with an event, or the problem of a line that has none. */
export type InputLine =
  | { readonly line: number; readonly bytes: number; readonly event: JsonObject }
  | { readonly line: number; readonly bytes: number; readonly problem: Problem }

type InputLimits = JsonLimits & Pick<Limits, "eventBytesMax">

/**
 * Yields the lines that have arrived, without waiting for more, because an input may be endless.
 * Empty lines are left out.
 */
export async function* readInput(
  input: AsyncIterable<Uint8Array>,
  limits: InputLimits,
): AsyncGenerator<readonly InputLine[], void, undefined> {
  let line = 0
  for await (const texts of linesOf(input, limits.eventBytesMax)) {
    const read: InputLine[] = []
    for (const bytes of texts) {
      line += 1
      if (!isBlank(bytes)) read.push(parsed(line, bytes, limits))
    }
    yield read
  }
}

function parsed(line: number, text: Buffer, limits: InputLimits): InputLine {
  const read = objectIn(text, limits)
  return { line, bytes: text.length, ...("object" in read ? { event: read.object } : read) }
}

/** Parses as strictly as the service: a number that loses digits would be another number. */
export function objectIn(
  text: Buffer,
  limits: JsonLimits,
): { readonly object: JsonObject } | { readonly problem: Problem } {
  try {
    const object = parseStrict(text, limits)
    if (isJsonObject(object)) return { object }
    return { problem: { error: "invalid_field", detail: "it must be a JSON object" } }
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error
    return { problem: { error: error.code, detail: error.detail.replace(/^the body /, "it ") } }
  }
}

/**
 * The lines that each chunk of the input completes. An object over several lines counts as one
 * line.
 */
async function* linesOf(
  input: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  let unread: Buffer = Buffer.alloc(0)
  let isOneObject: boolean | undefined
  for await (const piece of input) {
    unread = Buffer.concat([unread, piece])
    isOneObject ??= beginsObject(unread)
    if (isOneObject !== true) {
      const end = unread.lastIndexOf(newline) + 1
      yield split(unread.subarray(0, end))
      unread = unread.subarray(end)
    }
    if (unread.length > bytesMax)
      throw new StartError(
        `the input has an event of more than ${bytesMax} bytes; events are JSON objects, one on each line, and from that one on nothing is recorded`,
      )
  }
  yield [unread]
}

/** Whether the first line only begins an object. Undefined until the first line is complete. */
function beginsObject(text: Buffer): boolean | undefined {
  const [, first] = /^\s*(\S.*)\n/.exec(text.toString("latin1")) ?? []
  return first === undefined ? undefined : first.startsWith("{") && !first.trimEnd().endsWith("}")
}

function split(text: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  for (let at = 0, end = 0; (end = text.indexOf(newline, at)) >= 0; at = end + 1)
    lines.push(text.subarray(at, end))
  return lines
}

function isBlank(text: Buffer): boolean {
  return text.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

const newline = 0x0a
