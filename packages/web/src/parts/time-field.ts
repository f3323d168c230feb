// Times in fields of forms, which have no zone: they are in the zone of the page.

import { textIn } from "./form.tsx"
import { isUtc } from "./time.tsx"

/** To the millisecond, so that a form that is not changed changes nothing. */
export function timeInField(time: string | undefined): string {
  if (time === undefined) return ""
  const shift = isUtc() ? 0 : new Date(time).getTimezoneOffset() * 60_000
  return new Date(Date.parse(time) - shift).toISOString().replace(/(:00)?\.000Z$|Z$/, "")
}

/** For a time that nobody chose. */
export function thisMinute(): Date {
  return new Date(Math.floor(Date.now() / 60_000) * 60_000)
}

export function timeOfField(field: string, inUtc = isUtc()): string {
  return new Date(inUtc ? `${field}Z` : field).toISOString()
}

/** Undefined if the field is empty. */
export function timeIn(values: FormData, name: string): string | undefined {
  const text = textIn(values, name)
  return text === undefined ? undefined : timeOfField(text)
}

/** For a time that entries are chosen by. */
export function zoneHint(): string {
  return `In ${isUtc() ? "UTC" : "your local time"}, as entries say they occurred.`
}
