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

test("the links of a refusal page lead to the dashboard and the documentation, even behind a path prefix of a proxy", () => {
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
    const hrefs = [...refusalPage(refusal, target).matchAll(/href="([^"]+)"/g)].map(
      ([, href = ""]) => href,
    )
    if (target === "*") assert.deepEqual(hrefs, ["./", "./docs"])
    else
      assert.deepEqual(
        hrefs.map((href) => new URL(href, `https://ledger.example/tally${target}`).pathname),
        ["/tally/", "/tally/docs"],
        target,
      )
  }
})
