// The error codes of an endpoint, for the API description. Every black-box test compares its
// answers with the description.

import { sentences, statusOf, type ErrorCode } from "../error.ts"
import { namesWorkspace, propertiesOf, type ServiceEndpoint } from "./service.ts"

/** For any request: bad framing, a bad credential, a stopping server, and our own faults. */
const always: readonly ErrorCode[] = [
  "invalid_field",
  "bad_request",
  "ambiguous_credentials",
  "unauthorized",
  "token_expired",
  "token_revoked",
  "request_timeout",
  "uri_too_long",
  "expectation_failed",
  "headers_too_large",
  "internal_error",
  "ledger_unavailable",
  "archive_unavailable",
  "shutting_down",
]

/** For requests that record something. */
const ofChanges: readonly ErrorCode[] = [
  "overloaded",
  "storage_full",
  "read_only",
  "integrity_failure",
]

export function refusalsOf(endpoint: ServiceEndpoint): readonly ErrorCode[] {
  const { method, access, query, headers, body, refuses = [] } = endpoint
  const isWrite = access.action === "write"
  const isChange = method !== "GET"
  const isOfWorkspace = namesWorkspace(endpoint)
  const key = propertiesOf(headers)["idempotency-key"]
  const codes: readonly (readonly [boolean, ...ErrorCode[]])[] = [
    [true, ...always, ...refuses],
    [isOfWorkspace || isWrite || access.anonymous !== true, "insufficient_scope"],
    [isOfWorkspace || isWrite, "workspace_forbidden", "not_found"],
    // A credential for some projects can neither administer nor read the service's own entries.
    [isWrite || (access.action === "read" && isOfWorkspace), "project_forbidden"],
    [isChange && !isWrite, "csrf_failed", "conflict"],
    [access.isRecorded === true, "csrf_failed", ...ofChanges],
    [body !== undefined, "invalid_json", "payload_too_large"],
    // A malformed Content-Type is refused also without a body.
    [isChange, "unsupported_media_type"],
    [key !== undefined && !("not" in key), "idempotency_key_reused", "content_gone"],
    // The quota of a key, and the rate limits of an address.
    [access.unmetered !== true, "rate_limited"],
    [isChange, ...ofChanges],
    // Pages of lists wait for their turn.
    [isOfWorkspace && "cursor" in propertiesOf(query), "overloaded"],
  ]
  return [...new Set(codes.flatMap(([holds, ...these]) => (holds ? these : [])))]
}

/** The codes of each status, by ascending status. */
export function refusalsByStatus(
  endpoint: ServiceEndpoint,
): readonly (readonly [status: number, codes: readonly ErrorCode[]])[] {
  const byStatus = Map.groupBy(refusalsOf(endpoint), (code) => statusOf[code])
  return [...byStatus].toSorted(([a], [b]) => a - b)
}

/** An example sentence for each code. */
export const details: Readonly<Record<ErrorCode, string>> = {
  ...sentences,
  invalid_field: "workspaceId must be a non-empty string",
  invalid_json: "the body is not JSON: it ends within a string",
  bad_request: "the Host header is missing",
  ambiguous_credentials: "Authorization must be given only once",
  token_expired: "the credential has expired",
  token_revoked: "the credential was revoked",
  method_not_allowed: "this path takes GET, HEAD",
  conflict: "a project of this id exists already",
  content_gone: "the content of entry 4711 was destroyed, so no evidence can be given of it",
  payload_too_large: "the body has 300000 bytes; at most 262144 are allowed",
  uri_too_long: "the request target has 9000 bytes; at most 8192 are allowed",
  rate_limited:
    "there were too many reads without a credential from this address; 600 a minute are allowed",
  headers_too_large: "the headers have more than 16384 bytes, or are 256 or more",
  overloaded: "too many events wait for storage; nothing was recorded",
  storage_full: "the disk is nearly full; nothing was recorded",
  ledger_unavailable:
    "the storage does not answer; repeat the request with the same Idempotency-Key",
  read_only: "the data is older than what was signed; nothing is recorded",
}
