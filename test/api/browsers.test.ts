import assert from "node:assert/strict"
import { after, test } from "node:test"
import { startService } from "../service.ts"
import { expectProblem, expectUsualHeaders } from "./watched.ts"

// The service opened in a browser, which asks for HTML. All other tests ask as programs, without.

const service = await startService()
after(() => service[Symbol.asyncDispose]())
const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

const ask = (
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<Response> => fetch(service.url + path, { method, headers, redirect: "manual" })

test("the address of the service leads to the dashboard", async () => {
  const answer = await ask("/")
  assert.deepEqual([answer.status, answer.headers.get("location")], [302, "/ui"])
  expectUsualHeaders("GET /", answer.status, answer.headers)
  const followed = await fetch(`${service.url}/`, { headers: { accept } })
  assert.deepEqual([followed.status, followed.url], [200, `${service.url}/ui`])
  assert.equal((await ask("/", {}, "HEAD")).status, 302)
  assert.equal((await ask("/", {}, "POST")).status, 405)

  await using prefixed = await startService({
    environment: { TALLYSTICK_PUBLIC_URL: "https://ledger.example/tally" },
  })
  const { headers } = await fetch(`${prefixed.url}/`, { redirect: "manual" })
  assert.equal(headers.get("location"), "/tally/ui")
})

test("a browser gets a refusal as a page, and any other client as JSON", async () => {
  const refusals: readonly (readonly [string, number, string, method?: string])[] = [
    ["/nothing/here", 404, "not_found"],
    ["/v1/workspaces/acme", 401, "unauthorized"],
    ["/v1/workspaces/%00", 401, "unauthorized"],
    ["/v1/events", 405, "method_not_allowed"],
    ["/v1/events", 401, "unauthorized", "POST"],
    ["/v1/limits?a=%ff", 400, "bad_request"],
    ["/%zz", 400, "bad_request"],
    [`/${"x".repeat(9000)}`, 414, "uri_too_long"],
  ]
  for (const [path, status, code, method = "GET"] of refusals) {
    const what = `${method} ${path.slice(0, 40)}`
    const page = await ask(path, { accept }, method)
    const text = await page.text()
    assert.deepEqual(
      [page.status, page.headers.get("content-type")],
      [status, "text/html; charset=utf-8"],
      what,
    )
    assert.equal(page.headers.get("vary"), "Accept", what)
    expectUsualHeaders(what, status, page.headers)
    assert.match(
      page.headers.get("content-security-policy") ?? "",
      /^default-src 'none'; style-src 'sha256-[\w+/]+={0,2}'; base-uri 'none'/,
    )
    assert.match(
      text,
      new RegExp(`^<!doctype html>[^]*<h1>${status} [^]*<code>${code}</code>`),
      what,
    )
    assert.doesNotMatch(
      text,
      /<(script|link|img|iframe|object|embed|form|base)\b|\bsrc=|\bstyle=|\bon\w+=/,
      what,
    )

    for (const other of [undefined, "*/*", "application/json", "application/json, text/html"]) {
      const answer = await ask(path, other === undefined ? {} : { accept: other }, method)
      assert.deepEqual(
        [answer.status, answer.headers.get("content-type")],
        [status, "application/json; charset=utf-8"],
        what,
      )
      assert.deepEqual(
        [answer.headers.get("vary"), answer.headers.get("content-security-policy")],
        ["Accept", null],
        what,
      )
      assert.equal(expectProblem(await answer.text(), what).error, code)
    }
  }
})

test("on success a browser gets the same answer as any client", async () => {
  const answer = await ask("/v1/limits", { accept })
  assert.deepEqual(
    [answer.status, answer.headers.get("content-type")],
    [200, "application/json; charset=utf-8"],
  )
})

test("/docs and /openapi.json are compressed if the client accepts it, and compressed once", async () => {
  for (const path of ["/docs", "/openapi.json"]) {
    const plain = await ask(path, { "accept-encoding": "identity" })
    const text = await plain.text()
    const bytes = Buffer.byteLength(text)
    assert.deepEqual(
      [plain.headers.get("content-encoding"), Number(plain.headers.get("content-length"))],
      [null, bytes],
    )
    const tags = new Set([plain.headers.get("etag")])
    for (const coding of ["br", "gzip"]) {
      const coded = await ask(path, { "accept-encoding": coding })
      assert.deepEqual(
        [coded.status, coded.headers.get("content-encoding"), coded.headers.get("vary")],
        [200, coding, "Accept-Encoding"],
      )
      assert.ok(
        Number(coded.headers.get("content-length")) < bytes / 5,
        `${coded.headers.get("content-length")} of ${bytes} bytes`,
      )
      assert.equal(await coded.text(), text)
      tags.add(coded.headers.get("etag"))
    }
    assert.equal(tags.size, 3, "what differs in its bytes has another tag")

    assert.match(plain.headers.get("cache-control") ?? "", /^public, max-age=\d+$/)
    const etag = plain.headers.get("etag") ?? ""
    for (const [known, status] of [
      [etag, 304],
      [`"other", W/${etag}`, 304],
      ["*", 304],
      ['"other"', 200],
      [etag.slice(1, -1), 200],
    ] as const) {
      const again = await ask(path, { "accept-encoding": "identity", "if-none-match": known })
      assert.deepEqual([again.status, again.headers.get("etag")], [status, etag], known)
      assert.equal(await again.text(), status === 304 ? "" : text)
      expectUsualHeaders(`GET ${path}`, status, again.headers)
    }
    const head = await ask(path, { "accept-encoding": "identity" }, "HEAD")
    assert.deepEqual(
      [head.status, head.headers.get("etag"), Number(head.headers.get("content-length"))],
      [200, etag, bytes],
    )
  }
})
