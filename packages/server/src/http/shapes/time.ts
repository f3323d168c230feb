import { Type } from "./type.ts"

// `YYYY-MM-DDThh:mm:ss[.1–9 digits](Z|±hh:mm)`, in upper or lower case, on a date that exists.
// Parsed by hand, because Date takes 30 February for 2 March.

const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Whether the API accepts a text as a time. */
export function isTime(text: string): boolean {
  const year = two(text, 0) * 100 + two(text, 2)
  const month = two(text, 5)
  const day = two(text, 8)
  // A pair that is not two digits is NaN, and no comparison with NaN holds.
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)))
    return false
  if (!(two(text, 11) <= 23 && two(text, 14) <= 59 && two(text, 17) <= 59)) return false
  if (
    text[4] !== "-" ||
    text[7] !== "-" ||
    (text[10] !== "T" && text[10] !== "t") ||
    text[13] !== ":" ||
    text[16] !== ":"
  )
    return false
  return isZone(text, endOfFraction(text))
}

/** The value of two digits, or NaN. */
function two(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN
}

function daysIn(year: number, month: number): number {
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return leap ? 29 : (daysOfMonth[month - 1] as number) // month is 1 to 12
}

/**
 * Where the zone begins: after the seconds, or after the fraction; NaN for a point without one to
 * nine digits.
 */
function endOfFraction(text: string): number {
  if (text[19] !== ".") return 19
  let at = 20
  while (text.charCodeAt(at) >= 48 && text.charCodeAt(at) <= 57) at += 1
  return at > 20 && at <= 29 ? at : NaN
}

function isZone(text: string, at: number): boolean {
  const sign = text[at]
  if (sign === "Z" || sign === "z") return text.length === at + 1
  return (
    (sign === "+" || sign === "-") &&
    text.length === at + 6 &&
    text[at + 3] === ":" &&
    two(text, at + 1) <= 23 &&
    two(text, at + 4) <= 59
  )
}

export const Time = Type.Refine(
  Type.String({
    rule: "must be a date and time that exists, with Z or an offset and at most nine digits of a fraction, such as 2026-01-31T09:30:00Z or 2026-01-31T10:30:00.250+01:00",
    docs: { format: "date-time", examples: ["2026-01-31T09:30:00Z"] },
  }),
  isTime,
)
