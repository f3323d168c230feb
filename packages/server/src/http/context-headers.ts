// The headers in which a client says where its write comes from. They are kept with the entry.

import { isUtf8 } from "node:buffer"
import type { IncomingHttpHeaders } from "node:http"
import { LedgerError } from "../error.ts"
import type { Context } from "../store/opened-entry.ts"
import { headerName } from "./shapes/check.ts"

export function contextOf(headers: IncomingHttpHeaders, charactersMax: number): Context {
  const text = (header: string): string | undefined =>
    contextText(header, headers[header], charactersMax)
  const environment = text("x-service-environment")
  const server = text("x-service-server")
  const requestId = text("x-request-id")
  const sessionId = text("x-session-id")
  const traceId = text("x-trace-id")
  const traceparent = traceparentOf(headers["traceparent"])
  return {
    ...(environment !== undefined && { environment }),
    ...(server !== undefined && { server }),
    ...(requestId !== undefined && { requestId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(traceId !== undefined && { traceId }),
    ...(traceparent !== undefined && { traceparent }),
  }
}

/**
 * W3C Trace Context, version 00: trace and parent are not all zeros. A malformed header is ignored,
 * as the recommendation says: a program between the client and us may have made it.
 */
const traceparentForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

function traceparentOf(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" && traceparentForm.test(value) ? value : undefined
}

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
