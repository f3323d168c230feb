// The search of the explorer: from the address, and as parameters for the service.

import { readTerms } from "@tallystick/client/grammar"
import type { Lane } from "@tallystick/client/wire"
import { dayMs, hourMs, minuteMs, weekMs } from "../../parts/spans.ts"
import type { Query } from "../place.ts"

export interface Asked {
  /** As one would type it. */
  readonly text: string
  readonly range: Range
  /** With the entries that the service writes about itself. */
  readonly withSystem: boolean
}

/** `since` is a span such as `7d`, or `all`; otherwise from one time to before the other. */
export type Range =
  | { readonly since: string }
  | { readonly from: string | undefined; readonly to: string | undefined }

export const usualSpan = "7d"

export interface Chip {
  readonly text: string
  readonly isNot: boolean
  readonly field: string | undefined
  readonly value: string
  /** It looks like a field, but no field has this name. */
  readonly isUnknownField: boolean
}

export function askedIn(query: URLSearchParams): Asked {
  const from = timeIn(query.get("from"))
  const to = timeIn(query.get("to"))
  const since = query.get("range") ?? usualSpan
  // Links from other pages use the service's names for these two.
  const terms = [
    ["lane", query.get("lane")],
    ["project", query.get("projectId")],
  ].flatMap(([field, value]) => (field && value ? [termText(field, value)] : []))
  return {
    text: [query.get("query") ?? "", ...terms].filter((term) => term !== "").join(" "),
    range:
      from !== undefined || to !== undefined
        ? { from, to }
        : { since: spanMs(since) === undefined && since !== "all" ? usualSpan : since },
    withSystem: query.get("system") === "1",
  }
}

export function addressOf({ text, range, withSystem }: Asked): Query {
  return {
    query: text,
    ...("since" in range ? { range: range.since === usualSpan ? "" : range.since } : range),
    system: withSystem ? "1" : "",
  }
}

/** The parameters for the service. Spans end now. */
export function filterOf({ text, range, withSystem }: Asked, now: Date): Query {
  const left: string[] = []
  const lifted: Record<string, string | boolean> = {}
  const chips = chipsOf(text)
  for (const chip of chips) {
    const parameter = parameterOf(chip, chips)
    if (parameter === undefined) left.push(chip.text)
    else Object.assign(lifted, parameter)
  }
  return {
    projectId: "all",
    storage: "all",
    includeSystem: withSystem,
    query: left.join(" "),
    ...boundsOf(range, now),
    ...lifted,
  }
}

export function boundsOf(
  range: Range,
  now: Date,
): { readonly from?: string; readonly to?: string } {
  if (!("since" in range))
    return {
      ...(range.from !== undefined && { from: range.from }),
      ...(range.to !== undefined && { to: range.to }),
    }
  const ms = spanMs(range.since)
  return ms === undefined ? {} : { from: new Date(now.getTime() - ms).toISOString() }
}

export function reachesNow(range: Range, now: Date): boolean {
  return "since" in range || range.to === undefined || Date.parse(range.to) > now.getTime()
}

/**
 * Terms that become parameters of the service: a single lane, what is no field of a search, and the
 * pseudo-projects.
 */
function parameterOf({ field, value, isNot }: Chip, chips: readonly Chip[]): Query | undefined {
  if (isNot) return undefined
  if (field === "storage" && ["hot", "archive", "all"].includes(value)) return { storage: value }
  if (field === "visible" && ["true", "false"].includes(value))
    return { userVisible: value === "true" }
  if (field === "project" && value === "system") return { projectId: value }
  const isOnly = chips.filter((each) => each.field === field && !each.isNot).length === 1
  return field === "lane" && isOnly && lanes.some((lane) => lane === value)
    ? { lane: value }
    : undefined
}

/** Also from the base line of the timeline up: changes of security are seen best there. */
export const lanes: readonly Lane[] = ["security", "data", "policy", "operations"]

/** Names that are parameters, not fields of a search. */
const parameters = new Set(["storage", "visible", "time", "since"])

export function chipsOf(text: string): readonly Chip[] {
  return readTerms(text).map(({ text: piece, term }) => {
    const [, minus, named, rest = ""] = /^(-?)([A-Za-z][\w.]*):(.*)$/s.exec(piece) ?? []
    const isParameter = named !== undefined && parameters.has(named)
    if (term?.kind === "field" || isParameter)
      return {
        text: piece,
        isNot: minus === "-",
        field: term?.kind === "field" ? term.field : named,
        value: term?.kind === "field" ? term.value : rest.replaceAll('"', ""),
        isUnknownField: false,
      }
    return {
      text: piece,
      isNot: piece.startsWith("-"),
      field: undefined,
      value: piece.replace(/^-/, ""),
      isUnknownField: named !== undefined,
    }
  })
}

/**
 * `actor:usr_1`, in quotation marks if needed. A value that contains quotation marks, or that is
 * too long for a search, is shortened to a prefix.
 */
export function termText(field: string, value: string): string {
  if (/^[^\s"*]{1,100}$/.test(value)) return `${field}:${value}`
  const [unquoted = ""] = value.split('"')
  const start = Array.from(unquoted).slice(0, 100).join("")
  return `${field}:"${start}"${start === value ? "" : "*"}`
}

/**
 * The term for a member of metadata, if a search can name it: a text, a number, or true or false.
 */
export function metadataTerm(path: string, value: unknown): string | undefined {
  const isNamed = /^[^\s:"]+$/.test(path) && path.length < 100
  if (!isNamed || !["string", "number", "boolean"].includes(typeof value)) return undefined
  return termText(`metadata.${path}`, String(value))
}

/** The search with that term, and without its opposite. */
export function withTerm(text: string, term: string): string {
  const opposite = term.startsWith("-") ? term.slice(1) : `-${term}`
  const others = chipsOf(text).filter((chip) => chip.text !== term && chip.text !== opposite)
  return [...others.map((chip) => chip.text), term].join(" ")
}

export function withoutTerm(text: string, term: string): string {
  return chipsOf(text)
    .filter((chip) => chip.text !== term)
    .map((chip) => chip.text)
    .join(" ")
}

/** The search without the terms of a field, for the counts of its facet. */
export function withoutField(text: string, field: string): string {
  return chipsOf(text)
    .filter((chip) => chip.field !== field || chip.isNot)
    .map((chip) => chip.text)
    .join(" ")
}

/**
 * `since:` and `time:` become the range, so that it is stated only once.
 *
 *     since:24h   since:2026-11-01   since:all   time:2026-11-12   time:2026-11-01..2026-11-12
 *
 * `inUtc`: the page shows times in UTC, so they are typed in it.
 */
export function liftTimes(asked: Asked, inUtc: boolean): Asked {
  let { text, range } = asked
  for (const chip of chipsOf(text)) {
    const typed = chip.isNot ? undefined : rangeOf(chip, inUtc)
    if (typed === undefined) continue
    range = typed
    text = withoutTerm(text, chip.text)
  }
  return { ...asked, text, range }
}

function rangeOf({ field, value }: Chip, inUtc: boolean): Range | undefined {
  if (field === "since") {
    if (value === "all" || spanMs(value) !== undefined) return { since: value }
    const from = timeIn(value, inUtc)
    return from === undefined ? undefined : { from, to: undefined }
  }
  if (field !== "time") return undefined
  const [first = "", last = first] = value.split("..")
  const from = timeIn(first, inUtc)
  const to = endOf(last, inUtc)
  return from === undefined || to === undefined ? undefined : { from, to }
}

/** A day counts to its end. Some days have 23 or 25 hours. */
function endOf(text: string, inUtc: boolean): string | undefined {
  const time = timeIn(text, inUtc)
  if (time === undefined || /T/i.test(text)) return time
  const end = new Date(time)
  if (inUtc) end.setUTCDate(end.getUTCDate() + 1)
  else end.setDate(end.getDate() + 1)
  return end.toISOString()
}

const unitsMs: Readonly<Record<string, number>> = { m: minuteMs, h: hourMs, d: dayMs, w: weekMs }

/** Milliseconds of `90m`, `24h`, `7d`, `2w`. */
function spanMs(span: string): number | undefined {
  const [, count, unit = ""] = /^([1-9]\d{0,3})([mhdw])$/.exec(span) ?? []
  return count === undefined ? undefined : Number(count) * (unitsMs[unit] ?? 0)
}

/** In the reader's zone, or in UTC, if the text names none. */
function timeIn(text: string | null, inUtc = false): string | undefined {
  if (text === null || !/^\d{4}-\d\d-\d\d/.test(text)) return undefined
  const whole = /T/i.test(text) ? text : `${text}T00:00:00`
  const isZoned = /(?:Z|[+-]\d\d:?\d\d)$/i.test(whole)
  const time = new Date(inUtc && !isZoned ? `${whole}Z` : whole)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}
