import assert from "node:assert/strict"
import { test } from "node:test"
import { LedgerError, statusOf, type ErrorCode } from "../error.ts"
import { refusalOf } from "./errors.ts"

const unreported = (fault: unknown): never => assert.fail(`reported: ${String(fault)}`)

test("every error code has its status", () => {
  const expectedStatus: Record<number, string> = {
    400: "invalid_field invalid_json bad_request ambiguous_credentials",
    401: "unauthorized token_expired token_revoked login_failed",
    403: "insufficient_scope workspace_forbidden project_forbidden activity_disabled csrf_failed",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    410: "content_gone",
    413: "payload_too_large",
    414: "uri_too_long",
    415: "unsupported_media_type",
    417: "expectation_failed",
    422: "idempotency_key_reused",
    429: "rate_limited",
    431: "headers_too_large",
    500: "internal_error",
    503: "overloaded storage_full ledger_unavailable archive_unavailable integrity_failure read_only shutting_down",
  }
  const expected = Object.entries(expectedStatus).flatMap(([status, codes]) =>
    codes.split(" ").map((code) => [code, Number(status)] as const),
  )
  assert.deepEqual({ ...statusOf }, Object.fromEntries(expected))
})

test("a refusal has a code and a sentence, and 401, 429 and 503 have the header for a retry", () => {
  for (const code of Object.keys(statusOf) as ErrorCode[]) {
    const { status, headers, body } = refusalOf(new LedgerError(code, "a sentence"), unreported)
    assert.equal(status, statusOf[code])
    assert.equal(body, JSON.stringify({ error: code, detail: "a sentence" }))
    assert.equal(headers["content-type"], "application/json; charset=utf-8")
    assert.equal(headers["www-authenticate"], status === 401 ? "Bearer" : undefined)
    assert.equal(
      /^[1-9]\d*$/.test(headers["retry-after"] ?? ""),
      status === 429 || status === 503,
      code,
    )
  }
})

test("an error may set headers and its own Retry-After", () => {
  const error = new LedgerError("rate_limited", "slow down", {
    retryAfterSeconds: 17,
    headers: { "x-quota": "0" },
  })
  const { headers } = refusalOf(error, unreported)
  assert.deepEqual([headers["retry-after"], headers["x-quota"]], ["17", "0"])
})

test("an internal error is reported in full, and the answer reveals nothing of it", () => {
  for (const thrown of [
    new Error("SELECT secret FROM keys"),
    "secret",
    undefined,
    null,
    { secret: 1 },
    Object.assign(new Error("secret"), { statusCode: 400, code: "SECRET" }),
  ]) {
    const reported: unknown[] = []
    const { status, body } = refusalOf(thrown, (fault) => reported.push(fault))
    assert.equal(status, 500)
    assert.equal(JSON.parse(body).error, "internal_error")
    assert.ok(!body.toLowerCase().includes("secret"))
    assert.deepEqual(reported, [thrown])
  }
})

test("a refusal with a cause is reported too", () => {
  const error = new LedgerError("ledger_unavailable", "try again", {
    cause: new Error("EIO at /data/journal.db"),
  })
  const reported: unknown[] = []
  const { status, body } = refusalOf(error, (fault) => reported.push(fault))
  assert.deepEqual([status, body], [503, '{"error":"ledger_unavailable","detail":"try again"}'])
  assert.deepEqual(reported, [error])
})
