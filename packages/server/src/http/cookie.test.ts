import assert from "node:assert/strict"
import test from "node:test"
import { sessionCookie } from "./cookie.ts"

test("the cookie has the prefix __Host- wherever browsers accept that", () => {
  const safe = "v; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure"
  for (const url of [
    "https://ledger.example",
    "https://ledger.example/tally",
    "http://127.0.0.1:8080",
    "http://localhost",
    "http://[::1]:80",
  ]) {
    assert.deepEqual(
      [sessionCookie(url).set("v", 60), sessionCookie(url).isSecure],
      [`__Host-ts=${safe}`, true],
      url,
    )
  }
  for (const url of [
    "http://ledger.example",
    "http://0.0.0.0:8080",
    "http://192.168.1.2",
    "http://127.example.com",
  ]) {
    assert.deepEqual(
      [sessionCookie(url).set("v", 60), sessionCookie(url).isSecure],
      ["ts=v; Max-Age=60; Path=/; HttpOnly; SameSite=Lax", false],
      url,
    )
  }
  assert.equal(
    sessionCookie("https://a").clear(),
    "__Host-ts=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure",
  )
})

test("a header full of blanks is read in time that grows with its length", () => {
  const cookie = sessionCookie("https://ledger.example")
  const blanks = " ".repeat(100_000)
  const before = process.cpuUsage()
  assert.equal(cookie.read(`__Host-ts=a${blanks}b`), `a${blanks}b`)
  assert.equal(cookie.read(`a${blanks}__Host-ts${blanks}b=c`), undefined)
  assert.equal(cookie.read(`;${blanks}__Host-ts${blanks}=${blanks}c${blanks}; d`), "c")
  const { user } = process.cpuUsage(before)
  assert.ok(user < 1_000_000, `it took ${user / 1000} ms`)
})

test("the value of the session cookie is read unchanged, and only if there is exactly one", () => {
  const cookie = sessionCookie("https://ledger.example")
  const rows: readonly (readonly [string | undefined, string | undefined])[] = [
    [undefined, undefined],
    ["", undefined],
    ["__Host-ts=abc", "abc"],
    ["a=1; __Host-ts=abc; b=2", "abc"],
    ["a=1;__Host-ts=abc", "abc"],
    ["\t__Host-ts \t=\t abc ", "abc"],
    ["__Host-ts=a=b", "a=b"],
    ["__Host-ts=", ""],
    ["__Host-ts=%61", "%61"],
    ['__Host-ts="abc"', '"abc"'],
    ["__Host-ts", undefined],
    ["__host-ts=abc", undefined],
    ["x__Host-ts=abc", undefined],
    // Other hosts of the domain may set this name, because the prefix is not at its start.
    ["\u00a0__Host-ts=abc", undefined],
    ["\u00a0__Host-ts=abc; __Host-ts=def", "def"],
    ["__Host-ts\u00a0=abc", undefined],
    ["__Host-ts=abc\u00a0", "abc\u00a0"],
    ["__Host-ts=\u00e9; __Host-ts=def", undefined],
    ["ts=abc", undefined],
    ["a=__Host-ts=abc", undefined],
    ["__Host-ts=abc; __Host-ts=abc", undefined],
    ["__Host-ts=abc; __Host-ts=", undefined],
    [";;;", undefined],
  ]
  for (const [header, value] of rows) assert.equal(cookie.read(header), value, String(header))
})
