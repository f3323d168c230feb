// Finds entries by the ids in columns. An id is a time and random bits; the start of an id is a
// span of times.

import type { FieldTerm, TextTerm } from "@tallystick/client/grammar"
import type { NumberSet } from "./number-set.ts"
import {
  digits as alphabet,
  idLength,
  randomBytes,
  randomOf,
  readRandom,
  timeDigits,
  blocksOf,
  timesIn,
} from "./segment-columns.ts"
import type { Segment } from "./segment-format.ts"
import { filterSet } from "./segment-lookup.ts"
import type { Steps } from "./segments.ts"

export type IdField = "id" | "receipt"
const prefixes: Readonly<Record<IdField, string>> = { id: "evt", receipt: "rcp" }
const bodyLength = idLength - 4

/** What an id must be to match: anything, nothing, or with these digits at its start. */
type Sought = "all" | "none" | { readonly digits: string; readonly isPrefix: boolean }

/** The ids are `evt_` or `rcp_` and 36 digits, two words each. */
function soughtByText(field: IdField, { words, isPrefix }: TextTerm): Sought {
  const prefix = prefixes[field]
  const [first = "", second] = words
  if (words.length > 2) return "none"
  if (second !== undefined) return first === prefix ? { digits: second, isPrefix } : "none"
  if (first === prefix || (isPrefix && prefix.startsWith(first))) return "all"
  return { digits: first, isPrefix }
}

function soughtByValue(field: IdField, { value, isPrefix }: FieldTerm): Sought {
  const prefix = `${prefixes[field]}_`
  const sought = value.toLowerCase()
  if (isPrefix && prefix.startsWith(sought)) return "all"
  return sought.startsWith(prefix) ? { digits: sought.slice(prefix.length), isPrefix } : "none"
}

/** Adds the entries whose id in the column matches a term. */
export function* addByIds(
  segment: Segment,
  field: IdField,
  term: FieldTerm | TextTerm,
  set: NumberSet,
): Steps<void> {
  const sought = term.kind === "text" ? soughtByText(field, term) : soughtByValue(field, term)
  if (sought === "all") set.unite(yield* filterSet(segment, field))
  if (sought === "all" || sought === "none") return
  const { digits, isPrefix } = sought
  if (isPrefix ? digits.length > bodyLength : digits.length !== bodyLength) return
  const upper = Buffer.from(digits.toUpperCase())
  // Of digits alone; what upper case makes of other letters is none.
  if (upper.length !== digits.length || !/^[0-9a-z]*$/.test(digits)) return
  const span = timesOf(upper)
  const random = Buffer.alloc(randomBytes)
  if (span === undefined || !readRandom(upper, timeDigits, upper.length, random, 0)) return
  const blocks = [...blocksOf(segment)].filter(
    ({ made }) => span.end > made.earliest && span.from <= made.latest,
  )
  if (blocks.length === 0) return
  const bits = Math.max(0, upper.length - timeDigits) * 5
  const having = yield* filterSet(segment, field)
  const column = field === "id" ? "ids" : "receipts"
  for (const { block, from, end } of blocks) {
    const times = yield* timesIn(segment, "made", block)
    for (let at = having.next(from); at >= 0 && at < end; at = having.next(at + 1)) {
      const time = times[at - from] ?? Number.NaN
      if (!(time >= span.from && time < span.end)) continue
      if (bits === 0 || beginsWith(yield* randomOf(segment, column, at), random, bits)) set.add(at)
    }
  }
}

/** The times of ids that begin with these digits. */
function timesOf(digits: Buffer): { readonly from: number; readonly end: number } | undefined {
  let from = 0
  const known = Math.min(digits.length, timeDigits)
  for (let at = 0; at < known; at++) {
    const value = alphabet.indexOf(String.fromCharCode(digits[at] ?? 0))
    if (value < 0) return undefined
    from = from * 32 + value
  }
  const unit = 32 ** (timeDigits - known)
  return { from: from * unit, end: (from + 1) * unit }
}

function beginsWith(row: Uint8Array, wanted: Uint8Array, bits: number): boolean {
  for (let at = 0; at * 8 < bits; at++) {
    const mask = bits - at * 8 >= 8 ? 0xff : (0xff << (8 - (bits - at * 8))) & 0xff
    if (((row[at] ?? 0) ^ (wanted[at] ?? 0)) & mask) return false
  }
  return true
}
