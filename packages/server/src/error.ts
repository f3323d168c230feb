// Errors that a caller can cause have a code. Impossible states are asserted instead.

/** A start or a command is not possible. The message is a sentence for the operator. */
export class StartError extends Error {
  override readonly name = "StartError"
}

/** Another process has done this meanwhile, or does it now. No harm is done. */
export class OvertakenError extends Error {
  override readonly name = "OvertakenError"
}

/** All error codes, each with its HTTP status. */
export const statusOf = {
  invalid_field: 400,
  invalid_json: 400,
  bad_request: 400,
  ambiguous_credentials: 400,
  unauthorized: 401,
  token_expired: 401,
  token_revoked: 401,
  login_failed: 401,
  insufficient_scope: 403,
  workspace_forbidden: 403,
  project_forbidden: 403,
  activity_disabled: 403,
  csrf_failed: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  content_gone: 410,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  overloaded: 503,
  storage_full: 503,
  ledger_unavailable: 503,
  archive_unavailable: 503,
  integrity_failure: 503,
  read_only: 503,
  shutting_down: 503,
} as const

export type ErrorCode = keyof typeof statusOf

export interface ErrorOptions {
  /** The cause. It is logged, never sent. */
  readonly cause?: unknown
  /** Sent as Retry-After with 429 and 503, which always carry one. */
  readonly retryAfterSeconds?: number
  /** Further headers of the answer, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** A receipt that the answer carries, as JSON. */
  readonly receipt?: string
}

/**
 * An error that a caller caused or can wait out. `detail` is one sentence for a person, without
 * secrets, SQL, paths or stacks.
 */
export class LedgerError extends Error {
  readonly code: ErrorCode
  readonly detail: string
  readonly retryAfterSeconds: number | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly receipt: string | undefined

  constructor(code: ErrorCode, detail: string, options: ErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = "LedgerError"
    this.code = code
    this.detail = detail
    this.retryAfterSeconds = options.retryAfterSeconds
    this.headers = options.headers
    this.receipt = options.receipt
  }
}

/** What the errors of these codes say, unless there is more to say. */
export const sentences = {
  unauthorized: "this needs a credential: Authorization: Bearer followed by an API key or a token",
  login_failed: "the e-mail or the password is wrong",
  insufficient_scope:
    "this needs an API key with the scope read or admin, a session, or a token for it",
  workspace_forbidden: "the credential belongs to another workspace",
  project_forbidden: "the credential does not reach this project",
  activity_disabled: "activity links are off for this project",
  csrf_failed:
    "a change with a session must come from the service's own pages, and say so in Sec-Fetch-Site or Origin",
  not_found: "there is no such resource, or this credential does not reach it",
  request_timeout: "the request took too long to arrive",
  unsupported_media_type: "Content-Type must be application/json, in UTF-8 if it names a charset",
  expectation_failed: "the only supported expectation is 100-continue",
  idempotency_key_reused: "this Idempotency-Key was used for another request",
  internal_error:
    "something went wrong on our side; repeat the request with the same Idempotency-Key",
  archive_unavailable:
    "some of these entries lie in the archive, which cannot be read at this moment",
  integrity_failure:
    "this workspace's chain fails its integrity check; nothing is recorded until an operator has looked at it",
  shutting_down: "this server is shutting down; nothing was recorded",
} satisfies Partial<Record<ErrorCode, string>>

export function usualError(code: keyof typeof sentences, options?: ErrorOptions): LedgerError {
  return new LedgerError(code, sentences[code], options)
}

/** The archive is unreachable. The operator can restore it. */
export function isArchiveAway(error: unknown): error is LedgerError {
  return error instanceof LedgerError && error.code === "archive_unavailable"
}

/** What was thrown, as a sentence. */
export function detailOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The code of an error of the system or of a driver, such as `ENOENT`; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : ""
}

/** SQLite's code of an error, 0 for other errors. The last eight bits are its kind. */
export function sqliteCodeOf(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) : 0
}
