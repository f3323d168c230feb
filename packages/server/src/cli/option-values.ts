// Options that several commands have, and parsers of their values.

import { InvalidArgumentError, Option } from "commander"
import { isoTime, systemClock } from "../clock.ts"

export const serviceUrl = new Option(
  "--url <address>",
  "address of the service (default: this machine, at TALLYSTICK_PORT)",
)

/** Collects the values of a repeated option. */
export function gathered(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/**
 * A repeatable option with fixed choices. A variadic option would swallow the arguments after it.
 */
export function someOf(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description)
    .choices(words)
    .argParser((value, before?: readonly string[]) => {
      if (!words.includes(value))
        throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.`)
      return gathered(value, before)
    })
}

export function secondsOf(text: string): number {
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,8})([smhd])$/.exec(text) ?? []
  const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
  if (seconds[unit] === undefined)
    throw new InvalidArgumentError("It must be a number and s, m, h or d.")
  return Number(count) * seconds[unit]
}

/** A time for the API, from a time, a day in UTC, `now`, or a duration before now. */
export function timeOf(text: string): string {
  if (text === "now") return isoTime(now())
  if (/^[0-9]+[smhd]$/.test(text)) return isoTime(now() - secondsOf(text) * 1000)
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00Z`
  // The service looks at the rest of it.
  if (/^\d{4}-\d{2}-\d{2}T/.test(text)) return text
  throw new InvalidArgumentError(
    "It must be a time such as 2026-01-31T09:30:00Z, 2026-01-31, now, or 7d for seven days ago.",
  )
}

let nowMs: number | undefined

/** All times of a command are counted from one: `--from 7d` is seven days, and not a moment more. */
function now(): number {
  return (nowMs ??= systemClock.now())
}

export function sequenceOf(text: string): number {
  if (!/^(0|[1-9][0-9]{0,14})$/.test(text))
    throw new InvalidArgumentError("It must be a whole number.")
  return Number(text)
}

export function countOf(text: string): number {
  const count = sequenceOf(text)
  if (count === 0) throw new InvalidArgumentError("It must be 1 or more.")
  return count
}
