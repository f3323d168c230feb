// A point in time as callers write it: finer than the platform's dates, and compared as finely as it was written.

export interface Instant {
  /** Milliseconds since 1970. */
  readonly ms: number
  /** The nanoseconds beyond them: 0 to 999,999. */
  readonly ns: number
}

/** Of a text in the API's form of a time; undefined for a text that is not one. */
export function instantOf(text: string): Instant | undefined {
  const parts = form.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = "", zone = "", zoneHour, zoneMinute] = parts
  // In the years 0 to 99 Date.UTC sees those of the last century. Four hundred years later the calendar is the same.
  const localMs =
    Date.UTC(Number(year) + 400, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)) - fourCenturiesMs
  const offsetMs = zone === "Z" || zone === "z" ? 0 : (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000
  const digits = fraction.padEnd(9, "0")
  return {
    ms: localMs + Number(digits.slice(0, 3)) - (zone.startsWith("-") ? -offsetMs : offsetMs),
    ns: fraction.length > 3 ? Number(digits.slice(3)) : 0,
  }
}

const form = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|z|[+-](\d\d):(\d\d))$/
const fourCenturiesMs = 146_097 * 86_400_000
