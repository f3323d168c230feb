import assert from "node:assert/strict"
import type { IncomingMessage } from "node:http"
import test from "node:test"
import { LedgerError } from "../error.ts"
import { Router } from "./router.ts"

const router = new Router<string>()
for (const path of [
  "/",
  "/a",
  "/a/b",
  "/a/{one}",
  "/a/{one}/c",
  "/a/b/c/{two}",
  "/{one}/x/{two}",
  "/a/{one}/rest/{two*}",
])
  router.add("GET", path, path)
router.add("POST", "/a/{one}", "POST /a/{one}")
router.add("POST", "/a/{one}/d", "POST /a/{one}/d")
router.add("PUT", "/a/b", "PUT /a/b")
router.add("OPTIONS", "/a", "OPTIONS /a")

function find(url: string, method = "GET"): string {
  try {
    const [route, params] = router.find({ method, url } as IncomingMessage) // all that it looks at
    return [route, ...Object.entries(params).map(([name, value]) => `${name}=${value}`)].join(" ")
  } catch (error) {
    assert.ok(error instanceof LedgerError)
    return error.headers?.["allow"] ?? error.code
  }
}

test("a path finds its route and its parameters", () => {
  const rows: Readonly<Record<string, string>> = {
    "/": "/",
    "/?x=/a": "/",
    "/a": "/a",
    "/a?b/c": "/a",
    "/%61": "/a",
    "/a/": "/a/{one} one=",
    "/a/b": "/a/b",
    "/a/%62": "/a/b",
    "/a/bb": "/a/{one} one=bb",
    "/a/b%2Fc": "/a/{one} one=b/c",
    "/a/%2562": "/a/{one} one=%62",
    "/a/b/c": "/a/{one}/c one=b",
    "/a/b/c/d": "/a/b/c/{two} two=d",
    "/a/x/y": "/{one}/x/{two} one=a two=y",
    "/b/x/": "/{one}/x/{two} one=b two=",
    "/a/b/rest/": "/a/{one}/rest/{two*} one=b two=",
    "/a/b/rest/c/d%2Fe//": "/a/{one}/rest/{two*} one=b two=c/d/e//",
    "http://host/a/b?c": "/a/b",
    "HTTPS://host": "/",
    "http://host?a": "/",
  }
  for (const [url, expected] of Object.entries(rows)) assert.equal(find(url), expected, url)
})

test("an unknown path is not found, and a wrong method gets the list of allowed ones", () => {
  for (const url of [
    "",
    "*",
    "//",
    "/A",
    "/a//",
    "/a/b/",
    "/a/b/rest",
    "ftp://host/a",
    "x:/a",
    "/b",
  ])
    assert.equal(find(url), "not_found", url)
  assert.equal(find("/a", "HEAD"), "/a")
  assert.equal(find("/a", "OPTIONS"), "OPTIONS /a")
  assert.equal(find("/a/x", "POST"), "POST /a/{one} one=x")
  assert.equal(find("/a/x", "QUERY"), "GET, HEAD, POST")
  assert.equal(find("/a/b", "POST"), "POST /a/{one} one=b", "what is fixed for another method")
  assert.equal(find("/a/b", "DELETE"), "GET, HEAD, POST, PUT")
  assert.equal(find("/a/b/d", "GET"), "POST")
  assert.equal(find("/a", "DELETE"), "GET, HEAD, OPTIONS")
  assert.equal(find("/nothing", "DELETE"), "not_found")
})

test("two routes with the same method and path throw", () => {
  assert.throws(() => router.add("GET", "/a", ""), /GET \/a is there twice/)
})
