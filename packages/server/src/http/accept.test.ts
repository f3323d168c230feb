import assert from "node:assert/strict"
import { test } from "node:test"
import { preferred } from "./accept.ts"

test("a client that prefers HTML to JSON, such as a browser, gets HTML", () => {
  const browser =
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
  const cases: readonly (readonly [string | undefined, "html" | "json"])[] = [
    [undefined, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["application/json", "json"],
    ["application/json, text/plain, */*", "json"],
    ["text/html, application/json", "json"],
    ["application/*, text/*", "json"],
    ["text/html;q=0.5, application/json;q=0.9", "json"],
    ["text/html;q=0, */*", "json"],
    ["text/html;q=nonsense, */*", "json"],
    ["image/png", "json"],
    [browser, "html"],
    ["text/html", "html"],
    ["TEXT/HTML", "html"],
    ["text/*", "html"],
    ["text/html;level=1;q=0.4, application/json;q=0.3", "html"],
    ["text/html, application/json;q=0", "html"],
    [`${"a/b,".repeat(99)}text/html`, "html"],
    [`${"a/b,".repeat(100)}text/html`, "json"],
  ]
  for (const [accept, expected] of cases)
    assert.equal(
      preferred(accept, ["application/json", "text/html"]),
      expected === "html" ? "text/html" : "application/json",
      String(accept),
    )
})

test("a text is compressed with a coding that the client accepts", () => {
  const cases: readonly (readonly [string | undefined, "identity" | "br" | "gzip"])[] = [
    [undefined, "identity"],
    ["", "identity"],
    ["identity", "identity"],
    ["deflate", "identity"],
    ["*", "identity"],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0.2, gzip;q=0.8", "gzip"],
    ["gzip;q=0, br;q=0, identity", "identity"],
    ["*;q=0.5, gzip;q=1", "gzip"],
  ]
  for (const [accept, expected] of cases)
    assert.equal(preferred(accept, ["identity", "br", "gzip"]), expected, String(accept))
})
