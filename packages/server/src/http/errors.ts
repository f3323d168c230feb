import { LedgerError, statusOf, usualError, type ErrorCode } from "../error.ts"

/** An answer with an error. */
export interface Refusal {
  readonly status: number
  readonly code: ErrorCode
  readonly detail: string
  /** Names in lower case. They include the Content-Type. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Turns a thrown error into an answer. An error that no caller can cause is our fault: it goes to
 * `report`, and the answer does not describe it. A refusal that has a cause goes to `report` too,
 * because an operator must find out, for example, why the disk is full.
 */
export function refusalOf(thrown: unknown, report: (fault: unknown) => void): Refusal {
  if (thrown instanceof LedgerError) {
    if (statusOf[thrown.code] >= 500 && thrown.cause !== undefined) report(thrown)
    return refusal(thrown)
  }
  report(thrown)
  return refusal(usualError("internal_error"))
}

function refusal(error: LedgerError): Refusal {
  const status = statusOf[error.code]
  const headers: Record<string, string> = {
    "content-type": "application/json; charset=utf-8",
    ...error.headers,
  }
  if (status === 401) headers["www-authenticate"] ??= "Bearer"
  if (status === 429 || status === 503)
    headers["retry-after"] = String(error.retryAfterSeconds ?? retryAfterSeconds[error.code] ?? 1)
  return { status, code: error.code, detail: error.detail, headers, body: problemJson(error) }
}

/** A refusal as JSON: the answer to a request, or to one event of a batch. */
export function problemJson({ code, detail, receipt }: LedgerError): string {
  const problem = JSON.stringify({ error: code, detail })
  return receipt === undefined ? problem : `${problem.slice(0, -1)},"receipt":${receipt}}`
}

/**
 * Retry-After if the error has none: short for conditions that pass by themselves, longer for those
 * that need a person.
 */
const retryAfterSeconds: Partial<Record<ErrorCode, number>> = {
  storage_full: 30,
  archive_unavailable: 10,
  integrity_failure: 60,
  read_only: 60,
  shutting_down: 5,
}
