import assert from "node:assert/strict"
import { test } from "node:test"
import { LedgerError } from "../error.ts"
import { refusalOf } from "./errors.ts"
import { refusalPage } from "./refusal-page.ts"

const refusal = refusalOf(
  new LedgerError("not_found", 'there is no <script>alert("1")</script> & no more'),
  () => assert.fail(),
)

test("a refusal page shows the error, and escapes the caller's input", () => {
  const page = refusalPage(refusal, "/v1/nothing")
  assert.match(page, /^<!doctype html>\n<html lang="en">/)
  assert.match(page, /<h1>404 Not Found<\/h1>/)
  assert.match(page, /<code>not_found<\/code>/)
  assert.ok(
    page.includes(
      "<p>There is no &lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; no more.</p>",
    ),
  )
  assert.doesNotMatch(page, /<script/)
})

test("the link of a refusal page leads to the service's start page, even behind a path prefix of a proxy", () => {
  for (const target of [
    "/",
    "/nothing",
    "/v1/nothing",
    "/v1/workspaces/acme/",
    "//nothing",
    "/a?b=/c/d",
    "/v1/nothing?a",
    "*",
  ]) {
    const [, href = ""] = /href="([^"]+)"/.exec(refusalPage(refusal, target)) ?? []
    if (target === "*") assert.equal(href, "./docs")
    else
      assert.equal(
        new URL(href, `https://ledger.example/tally${target}`).pathname,
        "/tally/docs",
        target,
      )
  }
})
