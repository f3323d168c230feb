// Logs: JSON lines, with the levels and the names of pino, which many tools read. Secrets are removed
// at the output, so no caller can forget that.

import { isoTime, systemClock } from "./clock.ts"
import type { LogLevel } from "./config.ts"

const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: 70 }

/** Fields that are not needed are left out: `log.info("a message")`. `err` may be any error. */
type Say = (fields: object | string, message?: string) => void
export type Log = Readonly<Record<"info" | "warn" | "error" | "fatal", Say>>

const credential = /(ts[krpaesx]_[0-9A-Za-z]{13})_[0-9A-Za-z]{49}/g

/** `write` gets whole lines. `secrets` never appear in them. */
export function createLog(
  level: LogLevel,
  secrets: readonly string[],
  write: (line: string) => void,
): Log {
  const redact = redactor(secrets)
  return createBareLog(level, (line) => write(redact(line)))
}

/** A log whose lines may hold secrets. */
export function createBareLog(least: LogLevel, write: (line: string) => void): Log {
  const at = (level: keyof Log): Say => {
    if (levels[level] < levels[least]) return () => {}
    return (said, message) => {
      const [fields, msg] = typeof said === "string" ? [{}, said] : [said, message]
      const line = { level: levels[level], time: isoTime(systemClock.now()), ...fields, msg }
      write(`${JSON.stringify(line, (_, value: unknown) => shown(value))}\n`)
    }
  }
  return { info: at("info"), warn: at("warn"), error: at("error"), fatal: at("fatal") }
}

/** An error with its causes, and with the codes that the system or a database has given it. */
function shown(value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const chain = withCauses(value)
  const codes = Object.entries(value).filter(([, code]) => /^[sn]/.test(typeof code))
  return {
    ...Object.fromEntries(codes),
    type: value.constructor.name,
    message: chain.map(({ message }) => message).join(": "),
    stack: chain.map(({ stack }) => stack).join("\ncaused by: "),
    ...(value instanceof AggregateError && { aggregateErrors: value.errors }),
  }
}

function withCauses(error: Error): readonly Error[] {
  const chain: Error[] = []
  for (let one: unknown = error; one instanceof Error && !chain.includes(one); one = one.cause)
    chain.push(one)
  return chain
}

function redactor(secrets: readonly string[]): (text: string) => string {
  const written = new Set(
    secrets.flatMap((secret) => [secret, quoted(secret), quoted(quoted(secret))]),
  )
  return (text) =>
    [...written].reduce(
      (clean, secret) => clean.replaceAll(secret, "…"),
      text.replace(credential, "$1_…"),
    )
}

/**
 * The text inside a JSON string. A logged line may contain another line, so it may be quoted twice.
 */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
