// The error codes of an endpoint, for the API description. Every black-box test compares its
// answers with the description.

import { statusOf, type ErrorCode } from "../error.ts"
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
  invalid_field: "workspaceId must be a non-empty string",
  invalid_json: "the body is not JSON: it ends within a string",
  bad_request: "the Host header is missing",
  ambiguous_credentials: "Authorization must be given only once",
  unauthorized: "this needs a credential: Authorization: Bearer followed by an API key or a token",
  token_expired: "the credential has expired",
  token_revoked: "the credential was revoked",
  login_failed: "the e-mail or the password is wrong",
  insufficient_scope: "the credential does not have the scope that this needs",
  workspace_forbidden: "the credential belongs to another workspace",
  project_forbidden: "the credential does not reach this project",
  activity_disabled: "activity links are off for this project",
  csrf_failed:
    "a change with a session must come from the service's own pages, and say so in Sec-Fetch-Site or Origin",
  not_found: "there is no such resource, or this credential does not reach it",
  method_not_allowed: "this path takes GET, HEAD",
  request_timeout: "the request took too long to arrive",
  conflict: "a project of this id exists already",
  content_gone: "the content of entry 4711 was destroyed, so no evidence can be given of it",
  payload_too_large: "the body has 300000 bytes; at most 262144 are allowed",
  uri_too_long: "the request target has 9000 bytes; at most 8192 are allowed",
  unsupported_media_type: "Content-Type must be application/json, in UTF-8 if it names a charset",
  expectation_failed: "the only supported expectation is 100-continue",
  idempotency_key_reused: "this Idempotency-Key was used for another request",
  rate_limited:
    "there were too many reads without a credential from this address; 600 a minute are allowed",
  headers_too_large: "the headers have more than 16384 bytes",
  internal_error:
    "something went wrong on our side; repeat the request with the same Idempotency-Key",
  overloaded: "too many events wait for storage; nothing was recorded",
  storage_full: "the disk is nearly full; nothing was recorded",
  ledger_unavailable:
    "the storage does not answer; repeat the request with the same Idempotency-Key",
  archive_unavailable:
    "some of these entries lie in the archive, which cannot be read at this moment",
  integrity_failure:
    "this workspace's chain fails its integrity check; nothing is recorded until an operator has looked at it",
  read_only: "the data is older than what was signed; nothing is recorded",
  shutting_down: "this server is shutting down; nothing was recorded",
}
