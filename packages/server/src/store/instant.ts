// A point in time with nanoseconds, which callers may use. JavaScript dates have only milliseconds.

export interface Instant {
  /** Milliseconds since 1970. */
  readonly ms: number
  /** The nanoseconds beyond them: 0 to 999,999. */
  readonly ns: number
}

export function isBefore(one: Instant, other: Instant): boolean {
  return one.ms < other.ms || (one.ms === other.ms && one.ns < other.ns)
}

/** Parses a time in the API's form; undefined if the text is not in that form. */
export function instantOf(text: string): Instant | undefined {
  const parts = form.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = "", zone = "", zoneHour, zoneMinute] =
    parts
  // Date.UTC reads the years 0 to 99 as 1900 to 1999. The calendar repeats every 400 years.
  const localMs =
    Date.UTC(
      Number(year) + 400,
      Number(month) - 1,
      Number(day),
      Number(hour),
      Number(minute),
      Number(second),
    ) - fourCenturiesMs
  const offsetMs =
    zone === "Z" || zone === "z" ? 0 : (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000
  const digits = fraction.padEnd(9, "0")
  return {
    ms: localMs + Number(digits.slice(0, 3)) - (zone.startsWith("-") ? -offsetMs : offsetMs),
    ns: fraction.length > 3 ? Number(digits.slice(3)) : 0,
  }
}

const form =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|z|[+-](\d\d):(\d\d))$/
const fourCenturiesMs = 146_097 * 86_400_000
