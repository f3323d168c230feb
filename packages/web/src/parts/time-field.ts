// Times in fields of forms, which have no zone: they are in the zone of the page.

import { textIn } from "./form.tsx"
import { isUtc } from "./time.tsx"

export function timeInField(time: string | undefined): string {
  if (time === undefined) return ""
  const shift = isUtc() ? 0 : new Date(time).getTimezoneOffset() * 60_000
  return new Date(Date.parse(time) - shift).toISOString().slice(0, 16)
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
