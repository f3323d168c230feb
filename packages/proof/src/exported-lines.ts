import { fromUtf8, toHex } from "./encoding.ts"
import type { Difference, Finding } from "./finding.ts"
import { definedOf, isObject, readJson } from "./json.ts"
import { sha256, type Sha256 } from "./sha256.ts"

// Checks an export as JSON lines: an entry on each, oldest first, and a last line with the number
// and the hash of the others. Nobody signs that line. It shows that nothing was lost on the way, but
// not that nobody has left something out.

type JsonMembers = Readonly<Record<string, unknown>>

/**
 * Whether a file is JSON lines, or only the last line of an export. It may be larger than a text can
 * be; its first line and what is behind it are enough.
 */
export function isExportedLines(bytes: Uint8Array): boolean {
  const stop = bytes.indexOf(newline)
  if (bytes[0] === brace && stop > 0 && bytes[stop + 1] === brace) return true
  const isOneLine = stop === -1 || stop === bytes.length - 1
  return isOneLine && fromUtf8(bytes.subarray(0, endStart.length)) === endStart
}

const [newline, brace] = [0x0a, 0x7b]
const endStart = '{"end":'
/** A longer line is no entry, and perhaps no text that fits in memory. */
const lineBytesMax = 16 * 1024 * 1024

/** One finding about the whole file. `examine` checks an entry. */
export function examineLines(
  bytes: Uint8Array,
  examine: (entry: JsonMembers) => Finding,
  hash: Sha256 = sha256,
): Finding {
  const tally: Tally = {
    entries: 0,
    broken: 0,
    sequence: 0,
    indexes: new Map(),
    facts: {},
    checks: [],
    notCovered: [],
  }
  for (const { line, start, stop, text } of linesOf(bytes)) {
    const read = readJson(text)
    // A cut file may end within a line.
    if (!read.ok && stop === bytes.length) break
    if (!read.ok && read.repeated !== undefined)
      return refuted(tally, `line ${line}: the member "${read.repeated}" twice can mean two things`)
    if (!read.ok) return unreadable(tally, `line ${line}: it is not JSON`)
    const end = isObject(read.value) ? read.value["end"] : undefined
    if (isObject(end) && stop >= bytes.length - 1)
      return concluded(tally, faultOfEnd(end, tally, toHex(hash(bytes.subarray(0, start)))))
    if (!isObject(read.value) || typeof read.value["hash"] !== "string")
      return unreadable(tally, `line ${line}: it is not an entry`)
    const found = examine(read.value)
    const isNext = Number(read.value["sequence"]) > tally.sequence && isLater(tally, found)
    add(tally, read.value, found)
    if (found.verdict === "refuted")
      return refuted(tally, `line ${line}: ${found.reason}`, found.difference)
    if (!isNext) return refuted(tally, `line ${line}: entries must come once each, oldest first`)
  }
  return concluded(tally, "missing")
}

interface Line {
  readonly line: number
  readonly start: number
  /** The place of the newline, or the end of the file. */
  readonly stop: number
  readonly text: string
}

function* linesOf(bytes: Uint8Array): Generator<Line> {
  for (let line = 1, start = 0; start < bytes.length; line++) {
    const at = bytes.indexOf(newline, start)
    const stop = at === -1 ? bytes.length : at
    const isLine = stop - start <= lineBytesMax
    yield { line, start, stop, text: (isLine && fromUtf8(bytes.subarray(start, stop))) || "" }
    start = stop + 1
  }
}

/** What was found so far. */
interface Tally {
  entries: number
  broken: number
  /** Of the last entry. */
  sequence: number
  /** The index of the last entry of each ledger. */
  readonly indexes: Map<unknown, number>
  facts: Finding["facts"]
  checks: Finding["checks"]
  notCovered: readonly string[]
  /** The entry that is furthest from being genuine. */
  doubt?: Finding
}

/** The worst first. */
const doubts: readonly Finding["because"][] = [
  "proof_missing",
  "not_sealed",
  "key_not_trusted",
  "content_missing",
]

/**
 * Whether its index is the highest of its ledger so far. Without its geneses, an entry of a later
 * epoch has another sequence.
 */
function isLater({ indexes }: Tally, { facts: { ledger, index } }: Finding): boolean {
  if (typeof index !== "number") return true
  const isHigher = index > (indexes.get(ledger) ?? -1)
  indexes.set(ledger, index)
  return isHigher
}

function add(tally: Tally, entry: JsonMembers, found: Finding): void {
  tally.entries += 1
  if (entry["integrity"] === "broken") tally.broken += 1
  tally.sequence = Number(entry["sequence"])
  const { log, key } = found.facts
  tally.facts = definedOf({ log, key })
  tally.checks = worseOf(tally.checks, found.checks)
  tally.notCovered = [...new Set([...tally.notCovered, ...found.notCovered])]
  const { doubt } = tally
  if (
    found.verdict !== "genuine" &&
    (doubt === undefined || doubts.indexOf(found.because) < doubts.indexOf(doubt.because))
  )
    tally.doubt = found
}

/** Of each check the worse result: false, then null, then true. */
function worseOf(some: Finding["checks"], others: Finding["checks"]): Finding["checks"] {
  const results = new Map(some.map(({ name, ok }) => [name, ok]))
  for (const { name, ok } of others) {
    const before = results.get(name) ?? true
    if (!results.has(name) || before === true || ok === false) results.set(name, ok)
  }
  return [...results].map(([name, ok]) => ({ name, ok }))
}

/** What the last line says wrongly. */
function faultOfEnd(end: JsonMembers, tally: Tally, sha: string): Difference | undefined {
  const { entries, broken, sequence } = tally
  const { count, broken: brokenSaid, sequence: head, sha256: shaSaid } = end
  const wrong = (name: string, expected: unknown, found: unknown): Difference => ({
    check: "end",
    in: name,
    expected: String(expected),
    found: String(found),
  })
  if (count !== entries) return wrong("count", entries, count)
  if (brokenSaid !== broken) return wrong("broken", broken, brokenSaid)
  if (shaSaid !== sha) return wrong("sha256", sha, shaSaid)
  return Number(head) >= sequence ? undefined : wrong("sequence", `${sequence} or more`, head)
}

function concluded(tally: Tally, end: Difference | "missing" | undefined): Finding {
  const { entries, sequence, doubt } = tally
  const checks = [...tally.checks, { name: "end", ok: end === undefined ? true : null }]
  if (end === "missing") {
    const reason = `its last line is missing, so entries may be missing: continue the export with after=${sequence}`
    return { ...said(tally, checks), verdict: "unconfirmed", reason }
  }
  if (end !== undefined) {
    const reason = `end does not hold, in ${end.in}: expected ${end.expected}, found ${end.found}`
    return refuted(tally, reason, end)
  }
  if (entries === 0) return unreadable(tally, "the export has no entries")
  if (doubt === undefined) return { ...said(tally, checks), verdict: "genuine" }
  const { because, reason } = doubt
  return { ...said(tally, checks), verdict: "unconfirmed", ...definedOf({ because, reason }) }
}

function refuted(tally: Tally, reason: string, difference?: Difference): Finding {
  const checks = worseOf(tally.checks, difference ? [{ name: difference.check, ok: false }] : [])
  return { ...said(tally, checks), verdict: "refuted", reason, ...definedOf({ difference }) }
}

function unreadable(tally: Tally, reason: string): Finding {
  return { ...said(tally, []), verdict: "unreadable", reason }
}

function said(tally: Tally, checks: Finding["checks"]) {
  const { entries, facts, notCovered } = tally
  return { what: "list", checks, notCovered, facts: { entries, ...facts } } as const
}
