import { definedOf, isObject, parseJson } from "@tallystick/proof"
import type { Problem, Receipt } from "./wire.ts"

/**
 * The outcome of a failed request. `rejected`: nothing was recorded. `unknown`: it may have been
 * recorded; repeat it with the same idempotency key, and there will be one entry.
 */
export type Outcome = "rejected" | "unknown"

/** Codes of this package, in addition to the service's. */
export type LocalCode =
  | "network_error"
  | "untrusted_certificate"
  | "timeout"
  | "aborted"
  | "unexpected_answer"

export interface Failure {
  /**
   * One of the service's codes or of `LocalCode`; a later version of the service may have others.
   */
  readonly code: string
  /** A sentence for people. */
  readonly detail: string
  /**
   * With `network_error` and `untrusted_certificate`: the system's code, such as `ECONNREFUSED`, if
   * fetch reveals it. Browsers do not.
   */
  readonly systemCode?: string | undefined
  /** Of the answer; 0 if none arrived. */
  readonly status: number
  readonly outcome: Outcome
  /** The answer's X-Request-Id. The operator finds the request in the log by it. */
  readonly requestId?: string | undefined
  /** When to retry, if the service says so. */
  readonly retryAfterSeconds?: number | undefined
  /** The key of the write that failed, with which it can be repeated. */
  readonly idempotencyKey?: string | undefined
  /** The keys of the batch that failed, in the order of its events: given or made. */
  readonly idempotencyKeys?: readonly string[] | undefined
  /**
   * With `idempotency_key_reused`: of the entry that has the key, if the caller may write to its
   * project.
   */
  readonly receipt?: Receipt | undefined
  readonly cause?: unknown
}

/** Every call that fails rejects with one of these. */
export class TallystickError extends Error implements Failure {
  readonly code!: string
  readonly detail!: string
  readonly systemCode: string | undefined
  readonly status!: number
  readonly outcome!: Outcome
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly idempotencyKey: string | undefined
  readonly idempotencyKeys: readonly string[] | undefined
  readonly receipt: Receipt | undefined

  constructor({ cause, ...failure }: Failure) {
    super(`${failure.code}: ${failure.detail}`, cause === undefined ? undefined : { cause })
    Object.assign(this, failure)
    this.name = "TallystickError"
  }
}

/** The service sends these before a transaction begins; any other 5xx may come after it. */
const refusedBeforeRecording: readonly string[] = [
  "overloaded",
  "storage_full",
  "read_only",
  "shutting_down",
]

/** Turns an answer that is no success into an error. It may come from a proxy or another program. */
export function failureOf(response: Response, body: string): TallystickError {
  const problem = problemOf(body)
  const { ok, status, headers } = response
  const isRejected =
    (!ok && status < 500) ||
    (problem !== undefined && refusedBeforeRecording.includes(problem.error))
  return new TallystickError({
    code: problem?.error ?? "unexpected_answer",
    detail: problem?.detail ?? elsewhere(response),
    status,
    outcome: isRejected ? "rejected" : "unknown",
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: secondsOf(headers.get("retry-after"), headers.get("date")),
    receipt: problem?.receipt,
  })
}

/** Browsers do not say where to. */
function elsewhere({ type, status, headers }: Response): string {
  if (type !== "opaqueredirect" && (status < 300 || status > 399))
    return `the answer has status ${status} and is not one of a Tallystick service`
  const to = headers.get("location")
  return `the address redirects${to === null ? "" : ` to ${to}`}, which a call does not follow: give the final address`
}

/** An answer that arrived whole, and is not what the service promises. */
export function brokenAnswer(detail: string): TallystickError {
  const code = "unexpected_answer"
  return new TallystickError({ code, detail, status: 200, outcome: "rejected" })
}

/** A request that cannot be sent. */
export function invalidRequest(
  detail: string,
  keys: Pick<Failure, "idempotencyKey" | "idempotencyKeys"> = {},
): TallystickError {
  const code = "invalid_field"
  return new TallystickError({ code, detail, status: 0, outcome: "rejected", ...keys })
}

/** Before anything was sent, the outcome is known. */
export function abortedBy({ reason }: AbortSignal, outcome: Outcome): TallystickError {
  const detail = "the caller gave the call up"
  const cause: unknown = reason
  return new TallystickError({ code: "aborted", detail, status: 0, outcome, cause })
}

/**
 * A failed connection, as fetch reports it. Only if Node says that none was made is it certain that
 * nothing was sent; a cut one may have sent the request. Where waiting does not help, because
 * somebody must act, the code is none that is retried.
 */
export function networkFailureOf(cause: unknown): TallystickError {
  // Node tries each address of a name.
  const failure = causeOf(cause)
  const attempts =
    failure instanceof AggregateError ? (failure.errors as readonly unknown[]) : [failure]
  const isUnsent = attempts.length > 0 && attempts.every(isBeforeConnection)
  const [systemCode, message = ""] = [textOf(failure, "code"), textOf(failure, "message")]
  const hopeless = (code: string, detail: string): TallystickError =>
    new TallystickError({ code, detail, systemCode, status: 0, outcome: "rejected", cause })
  if (systemCode !== undefined && certificateFault.test(systemCode))
    return hopeless(
      "untrusted_certificate",
      `the server's certificate is not trusted (${systemCode}: ${message})`,
    )
  if (systemCode === "ERR_SSL_WRONG_VERSION_NUMBER")
    return hopeless(
      "invalid_field",
      `baseUrl begins with https, and the server does not speak TLS (${systemCode}): it may speak http`,
    )
  if (message === "bad port")
    return hopeless("invalid_field", "baseUrl has a port that fetch refuses: use another port")
  const said = systemCode ?? message
  const named = said === "" ? "" : ` (${said})`
  return new TallystickError({
    code: "network_error",
    detail: isUnsent
      ? `no connection could be made${named}`
      : `the connection failed before the whole answer had arrived${named}`,
    systemCode,
    status: 0,
    outcome: isUnsent ? "rejected" : "unknown",
    cause,
  })
}

/** How Node names the faults of a certificate, which it checks before it sends anything. */
const certificateFault =
  /^(?:CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|INVALID_(?:CA|PURPOSE)$|PATH_LENGTH_|HOSTNAME_MISMATCH$|ERR_TLS_CERT_)/

/** fetch's own error only says that it failed. */
function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error
}

/** The system found no address, or made no connection. */
function isBeforeConnection(error: unknown): boolean {
  return (
    ["getaddrinfo", "connect"].includes(textOf(error, "syscall") ?? "") ||
    textOf(error, "code") === "UND_ERR_CONNECT_TIMEOUT"
  )
}

function textOf(error: unknown, member: "code" | "syscall" | "message"): string | undefined {
  const value = isObject(error) ? error[member] : undefined
  return typeof value === "string" ? value : undefined
}

/**
 * The same error with the call's keys, or with an unknown outcome because of an earlier attempt.
 */
export function withinCall(
  error: TallystickError,
  known: Partial<Pick<Failure, "idempotencyKey" | "idempotencyKeys">> & {
    readonly outcome: Outcome | undefined
  },
): TallystickError {
  return Object.assign(new TallystickError(error), definedOf(known))
}

function problemOf(body: string): Problem | undefined {
  const value: unknown = parseJson(body)
  if (!isObject(value)) return undefined
  const { error, detail, receipt } = value
  if (typeof error !== "string" || typeof detail !== "string") return undefined
  // The service promises this type, as for every answer.
  return { error, detail, ...(receipt !== undefined && { receipt: receipt as Receipt }) }
}

/**
 * The service sends seconds. A proxy may send a date, which is compared with the answer's own date,
 * because our clock may differ.
 */
function secondsOf(retryAfter: string | null, date: string | null): number | undefined {
  if (retryAfter === null) return undefined
  if (/^[0-9]{1,9}$/.test(retryAfter)) return Number(retryAfter)
  const ms = Date.parse(retryAfter) - Date.parse(date ?? "")
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms / 1000))
}
