// The headers in which a client says where its write comes from. They are kept with the entry.

import { isUtf8 } from "node:buffer"
import type { IncomingHttpHeaders } from "node:http"
import { LedgerError } from "../error.ts"
import type { Context } from "../store/opened-entry.ts"
import { headerName } from "./shapes/check.ts"

/** Members of the context, and the header of each. */
const texts = [
  ["environment", "x-service-environment"],
  ["server", "x-service-server"],
  ["requestId", "x-request-id"],
  ["sessionId", "x-session-id"],
  ["traceId", "x-trace-id"],
] as const

export function contextOf(headers: IncomingHttpHeaders, charactersMax: number): Context {
  const context: { -readonly [Name in keyof Context]: Context[Name] } = {}
  for (const [name, header] of texts) {
    const text = contextText(header, headers[header], charactersMax)
    if (text !== undefined) context[name] = text
  }
  const { traceparent } = headers
  if (typeof traceparent === "string" && traceparentForm.test(traceparent))
    context.traceparent = traceparent
  return context
}

/**
 * W3C Trace Context, version 00: trace and parent are not all zeros. A malformed header is ignored,
 * as the recommendation says: a program between the client and us may have made it.
 */
const traceparentForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

function contextText(
  header: string,
  value: string | string[] | undefined,
  charactersMax: number,
): string | undefined {
  if (typeof value !== "string" || value === "") return undefined
  // Node reads headers as Latin-1. Clients send UTF-8.
  const text = /^[ -~]*$/.test(value) ? value : fromUtf8(value)
  if (text !== undefined && text.length <= charactersMax) return text
  throw new LedgerError(
    "invalid_field",
    `${headerName(header)} must be text in UTF-8, of ${charactersMax} characters at most and without control characters`,
  )
}

function fromUtf8(latin1: string): string | undefined {
  const bytes = Buffer.from(latin1, "latin1")
  const text = bytes.toString()
  return isUtf8(bytes) && !/\p{Cc}/u.test(text) ? text : undefined
}
