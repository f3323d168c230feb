// Logs: JSON lines. Secrets are removed at the output, so no caller can forget that.

import { pino, type Logger } from "pino"
import type { LogLevel } from "./config.ts"

const credential = /(ts[krpaesx]_[0-9A-Za-z]{13})_[0-9A-Za-z]{49}/g

/** `write` gets whole lines. `secrets` never appear in them. */
export function createLog(
  level: LogLevel,
  secrets: readonly string[],
  write: (line: string) => void,
): Logger {
  const redact = redactor(secrets)
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => write(redact(line)) },
  )
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
