// A frame: the bodies of up to 64 consecutive entries of one ledger, compressed together. It is one
// zstd frame over the lines of `bodies/NNN.jsonl` (docs/format.md, "Evidence packs"), so any zstd
// reads it. Bodies are canonical JSON: in a line nothing but quotes and backslashes is escaped, and
// both directions are one pass over the bytes.

import { isUtf8 } from "node:buffer"
import { assert, bodySaltBytes, commitsTo, type RecordFields } from "@tallystick/proof"
import { sha256 } from "../runtime/sha256.ts"
import { packZstd, peekZstd, unpacksTo } from "../runtime/zstd.ts"

/** Entries of a frame at most; the first has an index that is a multiple of it. */
export const frameEntries = 64
/** A frame ends before its text has more, with one entry at least. */
export const frameTextBytes = 1024 * 1024
/** More than the text of an entry within the usual limits. Nothing larger is unpacked. */
const unpackedBytesMax = 4 * frameTextBytes
/** Most of what is left are salts, digests and ids, which no level makes smaller. */
const level = 1

/** The body of an entry, with its place in its ledger. `salted` is the salt and the body. */
export interface FramedBody {
  readonly index: number
  readonly salted: Uint8Array
}

export interface OpenFrame {
  /** Of the entries whose bodies it has, ascending. */
  readonly indexes: readonly number[]
  /** How many bytes it has unpacked. */
  readonly textBytes: number
  /** The salt and the body of an entry; undefined if it has none. */
  salted(index: number): Uint8Array | undefined
}

/** The bytes of a frame, and how many it unpacks. */
export interface SizedFrame {
  readonly bytes: Uint8Array
  readonly textBytes: number
}

const start = Buffer.from('{"body":"')
const beforeIndex = Buffer.from('","index":')
const beforeSalt = Buffer.from(',"salt":"')
const end = Buffer.from('"}\n')
const hexChars = 2 * bodySaltBytes
const [quote, backslash, newline, firstPrintable, zero] = [0x22, 0x5c, 0x0a, 0x20, 0x30]
/** Of a line, without its body. An index has sixteen digits at most. */
const lineBytes = start.length + beforeIndex.length + 16 + beforeSalt.length + hexChars + end.length

/** Whether the record of an entry commits to this salt and body. */
export function fits(fields: RecordFields, salted: Uint8Array): boolean {
  const [salt, body] = [salted.subarray(0, bodySaltBytes), salted.subarray(bodySaltBytes)]
  return commitsTo(fields, salt, body, sha256)
}

/** How many bytes of text a body takes at most. */
export function textBytesOf({ salted }: FramedBody): number {
  return lineBytes + 2 * salted.length
}

/** Undefined if one of the bodies is no JSON text, which a line cannot hold, or is too large. */
export function packFrame(bodies: readonly FramedBody[]): Uint8Array | undefined {
  const text = Buffer.allocUnsafe(bodies.reduce((sum, body) => sum + textBytesOf(body), 0))
  let at = 0
  for (const { index, salted } of bodies) {
    const body = salted.subarray(bodySaltBytes)
    if (salted.length < bodySaltBytes || !isUtf8(body)) return undefined
    at += start.copy(text, at)
    for (const byte of body) {
      if (byte < firstPrintable) return undefined
      if (byte === quote || byte === backslash) text[at++] = backslash
      text[at++] = byte
    }
    at += beforeIndex.copy(text, at)
    at += text.latin1Write(String(index), at)
    at += beforeSalt.copy(text, at)
    for (const byte of salted.subarray(0, bodySaltBytes)) {
      text[at++] = hexDigits[byte >>> 4] ?? 0
      text[at++] = hexDigits[byte & 15] ?? 0
    }
    at += end.copy(text, at)
  }
  return at > unpackedBytesMax ? undefined : packZstd(text.subarray(0, at), level)
}

/** A fault is a phrase that follows "the frame". */
export function openFrame(bytes: Uint8Array): OpenFrame | string {
  const read = readFrame(bytes)
  if (typeof read === "string") return read
  const { text, indexes, spans } = read
  // All at once and in one buffer: a buffer for each would be most of what is allocated.
  const all = Buffer.allocUnsafeSlow(text.length)
  const ends: number[] = []
  for (let place = 0, at = 0; place < indexes.length; place++) {
    at = writeSalted(all, at, text, spans[2 * place] ?? 0, spans[2 * place + 1] ?? 0)
    ends.push(at)
  }
  return {
    indexes,
    textBytes: text.length,
    salted(index) {
      const near = index - (indexes[0] ?? 0)
      const place = indexes[near] === index ? near : indexes.indexOf(index)
      return place < 0 ? undefined : all.subarray(ends[place - 1] ?? 0, ends[place])
    },
  }
}

/** The same. A damaged frame has no bodies. */
export function openBodies(bytes: Uint8Array): OpenFrame {
  const opened = openFrame(bytes)
  return typeof opened === "string" ? noBodies : opened
}

const noBodies: OpenFrame = { indexes: [], textBytes: 0, salted: () => undefined }

/** The indexes of the entries whose bodies a frame has, or its fault. */
export function indexesOfFrame(bytes: Uint8Array): readonly number[] | string {
  const read = readFrame(bytes)
  return typeof read === "string" ? read : read.indexes
}

/**
 * The frame of the lines that stay, as they are, read back and compared; empty if none does.
 * Undefined if all stay. A fault is a phrase that follows "the frame".
 */
export function frameOfStaying(
  bytes: Uint8Array,
  isGone: (index: number) => boolean,
): SizedFrame | undefined | string {
  const read = readFrame(bytes)
  if (typeof read === "string") return read
  const { text, indexes, spans } = read
  const startOf = (place: number): number => (spans[2 * place] ?? Infinity) - start.length
  const staying = indexes.flatMap((index, place) =>
    isGone(index) ? [] : [text.subarray(startOf(place), startOf(place + 1))],
  )
  if (staying.length === indexes.length) return undefined
  if (staying.length === 0) return { bytes: new Uint8Array(), textBytes: 0 }
  const left = Buffer.concat(staying)
  const packed = packZstd(left, level)
  assert(unpacksTo(packed, left), "a frame is read back as it was")
  return { bytes: packed, textBytes: left.length }
}

interface FrameText {
  /** Valid until the next frame is read. */
  readonly text: Buffer
  readonly indexes: readonly number[]
  /** Of each line where its body begins and ends. */
  readonly spans: readonly number[]
}

function readFrame(bytes: Uint8Array): FrameText | string {
  let text: Buffer
  try {
    text = peekZstd(bytes, unpackedBytesMax)
  } catch {
    return "cannot be unpacked"
  }
  const indexes: number[] = []
  const spans: number[] = []
  for (let from = 0; from < text.length;) {
    const line = readLine(text, from)
    if (line === undefined || line.index <= (indexes.at(-1) ?? -1))
      return "has a line that is not of the form in docs/format.md"
    indexes.push(line.index)
    spans.push(from + start.length, line.bodyEnd)
    from = line.end
  }
  return { text, indexes, spans }
}

/**
 * The salts and the bodies of some entries, without what else a frame is opened for. What is damaged
 * in other lines does not matter.
 */
export function saltedIn(
  bytes: Uint8Array,
  indexes: readonly number[],
): readonly (Uint8Array | undefined)[] {
  let text: Buffer
  try {
    text = peekZstd(bytes, unpackedBytesMax)
  } catch {
    return indexes.map(() => undefined)
  }
  const first = readLine(text, 0)?.index
  return indexes.map((index) => saltedOne(text, first ?? index, index))
}

function saltedOne(text: Buffer, first: number, index: number): Uint8Array | undefined {
  // No body has this: its quotes are escaped.
  const wanted = `","index":${index},"salt":"`
  // Lines are mostly of similar length: the search begins eight lines before the expected place.
  const share = Math.max(0, index - first - frameEntries / 8) / frameEntries
  const near = text.indexOf(wanted, Math.floor(text.length * share), "latin1")
  const at = near < 0 && share > 0 ? text.indexOf(wanted, 0, "latin1") : near
  const from = at < 0 ? 0 : text.lastIndexOf(newline, at) + 1
  const line = at < 0 ? undefined : readLine(text, from)
  return line?.index === index ? saltedOf(text, from + start.length, line.bodyEnd) : undefined
}

interface Line {
  readonly index: number
  readonly bodyEnd: number
  readonly end: number
}

/** Reads a line from its end, because its body may contain anything. */
function readLine(text: Buffer, from: number): Line | undefined {
  const lineEnd = text.indexOf(newline, from) + 1
  const salt = lineEnd - end.length - hexChars
  const digitsEnd = salt - beforeSalt.length
  if (
    digitsEnd <= from + start.length ||
    !isAt(start, text, from) ||
    !isAt(end, text, lineEnd - end.length) ||
    !isAt(beforeSalt, text, digitsEnd)
  )
    return undefined
  let digits = digitsEnd
  let index = 0
  for (let power = 1; ; power *= 10) {
    const digit = (text[digits - 1] ?? 0) - zero
    if (digit < 0 || digit > 9) break
    index += digit * power
    digits -= 1
  }
  const bodyEnd = digits - beforeIndex.length
  const isWhole =
    digits < digitsEnd &&
    Number.isSafeInteger(index) &&
    digitsEnd - digits === String(index).length &&
    bodyEnd >= from + start.length &&
    isAt(beforeIndex, text, bodyEnd)
  return isWhole ? { index, bodyEnd, end: lineEnd } : undefined
}

/** A line that is not as `packFrame` writes it gives bytes that no record commits to. */
function saltedOf(text: Buffer, from: number, end: number): Uint8Array {
  const salted = Buffer.allocUnsafe(bodySaltBytes + end - from)
  return salted.subarray(0, writeSalted(salted, 0, text, from, end))
}

/** Writes the salt and the body of a line that is as long at least. Returns their end. */
function writeSalted(into: Buffer, to: number, text: Buffer, from: number, end: number): number {
  // The salt follows the digits of the index.
  let salt = end + beforeIndex.length
  while (text[salt] !== beforeSalt[0]) salt += 1
  salt += beforeSalt.length
  let at = to
  for (let byte = 0; byte < bodySaltBytes; byte++)
    into[at++] = (hexValue(text, salt + 2 * byte) << 4) | hexValue(text, salt + 2 * byte + 1)
  for (let place = from; place < end; place++) {
    let byte = text[place] ?? 0
    if (byte === backslash) byte = text[++place] ?? 0
    into[at++] = byte
  }
  return at
}

/** Byte by byte: a call of `compare` costs more than the few bytes. */
function isAt(part: Buffer, whole: Buffer, from: number): boolean {
  for (let at = 0; at < part.length; at++) if (part[at] !== whole[from + at]) return false
  return true
}

const hexDigits = Buffer.from("0123456789abcdef")

/** Any number for what is no such digit. */
function hexValue(text: Buffer, at: number): number {
  const digit = text[at] ?? 0
  return digit <= 0x39 ? digit - zero : digit - 0x57
}
