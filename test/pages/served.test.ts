// How the service serves the pages: headers, compression, caches, sizes. No browser is needed.

import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventFor, makeWorkspace, startService } from "../service.ts"

const service = await startService()
after(() => service[Symbol.asyncDispose]())
const workspace = await makeWorkspace(service)
const pages = ["/r/x/y", "/verify", "/a/x", "/p/x/1", "/e/x/y"]

async function assetsOf(path: string): Promise<readonly string[]> {
  const { text } = await service.client().get(path)
  return [...text.matchAll(/(?:src|href)="((?:\.\.?\/)*assets\/[^"]+)"/g)].map(
    ([, address = ""]) => new URL(address, service.url + path).pathname,
  )
}

test("a page has a content policy, is never cached, and names its files relatively", async () => {
  for (const path of pages) {
    const { status, headers, text } = await service.client().get(path)
    assert.equal(status, 200, path)
    assert.equal(headers.get("content-type"), "text/html; charset=utf-8")
    assert.equal(
      headers.get("content-security-policy"),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    )
    assert.equal(headers.get("cache-control"), "no-store")
    assert.equal(headers.get("referrer-policy"), "no-referrer")
    assert.equal(headers.get("x-content-type-options"), "nosniff")
    assert.doesNotMatch(text, /(?:src|href)="(?:https?:|\/)/, "nothing is named absolutely")
    assert.doesNotMatch(text, /<[^>]+\sstyle=|<script>(?!<)/, "nothing stands inline")
    assert.equal((await assetsOf(path)).length, 3)
  }
})

test("a page opens with parameters that others have added to its link", async () => {
  for (const path of [...pages, "/verify.html", "/ui"]) {
    const { status, text } = await service.client().get(`${path}?utm_source=mail&fbclid=x`)
    assert.deepEqual([status, text.startsWith("<!doctype html>")], [200, true], path)
  }
})

test("files are compressed, never change under their names, and are fetched once", async () => {
  for (const path of new Set((await Promise.all(pages.map(assetsOf))).flat())) {
    const whole = await service.client().get(path, { "accept-encoding": "identity" })
    assert.equal(whole.headers.get("cache-control"), "public, max-age=31536000, immutable")
    assert.match(
      String(whole.headers.get("content-type")),
      /^text\/(javascript|css); charset=utf-8$/,
    )
    const etag = String(whole.headers.get("etag"))
    const again = await service
      .client()
      .get(path, { "accept-encoding": "identity", "if-none-match": etag })
    assert.deepEqual([again.status, again.bytes.length], [304, 0])
    for (const coding of ["br", "gzip"]) {
      const coded = await service.client().get(path, { "accept-encoding": coding })
      assert.equal(coded.headers.get("content-encoding"), coding)
      assert.equal(coded.headers.get("vary"), "Accept-Encoding")
      assert.notEqual(coded.headers.get("etag"), etag)
      assert.equal(coded.text, whole.text)
    }
  }
})

test("nothing but what was built is served", async () => {
  for (const path of [
    "/assets/none.js",
    "/assets/..%2fpages.json",
    "/assets/pages.json",
    "/assets/",
    "/assets/..%2f..%2fpackage.json",
    "/assets/..%2fverify.html",
    "/assets/..%2f..%2fbin%2ftallystick.mjs",
    "/assets/..%2f..%2f..%2f..%2fscripts%2fpages.js",
    "/assets/%00.js",
    `/assets/${"n".repeat(300)}.js`,
    // The compressed form is no file of its own.
    `${(await assetsOf("/verify"))[0]}.br`,
  ])
    for (const coding of ["identity", "gzip"]) {
      const { status } = await service.client().get(path, { "accept-encoding": coding })
      assert.equal(status, 404, path)
    }
  assert.equal((await service.client().post("/verify", {})).status, 405)
})

test("scripts stay small", async () => {
  const kilobyte = 1024
  const budgets: Readonly<Record<string, number>> = {
    "/r/x/y": 24 * kilobyte,
    "/verify": 12 * kilobyte,
    "/a/x": 20 * kilobyte,
    "/ui": 60 * kilobyte,
    "/p/x/1": 9 * kilobyte,
    "/e/x/y": 13 * kilobyte,
  }
  for (const [path, most] of Object.entries(budgets)) {
    const sizes = await Promise.all((await scriptsOf(path)).map((asset) => sizeOf(asset)))
    const size = sizes.reduce((sum, each) => sum + each, 0)
    assert.ok(size <= most, `${path} loads ${size} bytes of script, and may load ${most}`)
  }
})

test("scripts that the dashboard loads later are small, too", async () => {
  const [script = ""] = (await assetsOf("/ui")).filter((asset) => /dashboard.*\.js$/.test(asset))
  const { text } = await service.client().get(script)
  const [, later = ""] = /import\(`\.\/(later-pages-[\w-]+\.js)`\)/.exec(text) ?? []
  assert.notEqual(later, "", "the dashboard loads some pages later")
  const size = await sizeOf(`/assets/${later}`)
  assert.ok(size <= 20 * 1024, `it has ${size} bytes`)
})

test("the element is small, names the script that it loads later, and any page may load both", async () => {
  const path = "/tallystick-activity.js"
  const { headers, text } = await service.client().get(path)
  assert.equal(headers.get("content-type"), "text/javascript; charset=utf-8")
  assert.equal(headers.get("cache-control"), "no-cache")
  assert.match(text, /export\{.*\bas TallystickActivity\b/)
  const later = [...text.matchAll(/import\(`\.(\/assets\/[\w-]+\.js)`\)/g)].map(
    ([, asset = ""]) => asset,
  )
  assert.deepEqual(
    new Set(later.map((asset) => /^\/assets\/([a-z]+-[a-z]+)-/.exec(asset)?.[1])),
    new Set(["entry-details", "prove-page"]),
  )
  const kilobyte = 1024
  const sizes = await Promise.all([path, ...later].map((each) => sizeOf(each)))
  const [own = 0] = sizes
  const size = sizes.reduce((sum, each) => sum + each, 0)
  assert.ok(own <= 12 * kilobyte, `the element has ${own} bytes`)
  assert.ok(size <= 26 * kilobyte, `with what it loads later it has ${size} bytes`)
  for (const each of [path, ...later]) {
    const other = await service.client().get(each, { origin: "https://other.example" })
    assert.equal(other.headers.get("access-control-allow-origin"), "*", each)
  }
})

/** The scripts of a page, with those that they import at once. */
async function scriptsOf(path: string): Promise<readonly string[]> {
  const found = new Set((await assetsOf(path)).filter((asset) => asset.endsWith(".js")))
  for (const asset of found) {
    const { text } = await service.client().get(asset)
    for (const [, name = ""] of text.matchAll(/(?:from|import)["`]\.\/([\w-]+\.js)["`]/g))
      found.add(`/assets/${name}`)
  }
  return [...found]
}

async function sizeOf(path: string): Promise<number> {
  const { headers } = await service
    .client()
    .ask("HEAD", path, { headers: { "accept-encoding": "gzip" } })
  assert.equal(headers.get("content-encoding"), "gzip")
  return Number(headers.get("content-length"))
}

test("a receipt's address leads a browser to its page, and gives a program JSON", async () => {
  const written = await workspace.writer.write(eventFor(workspace.id))
  const { receipt } = written.json<{ receipt: string }>()
  const api = `${workspace.path}/receipts/${receipt}`
  const browsers = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
  const led = await service.client().get(api, { accept: browsers })
  assert.deepEqual(
    [led.status, led.headers.get("location"), led.headers.get("vary")],
    [302, `/r/${workspace.id}/${receipt}`, "Accept"],
  )
  for (const accept of ["*/*", "application/json", "application/json, text/html;q=0.5"])
    assert.equal((await workspace.reader.get(api, { accept })).status, 200, accept)
  // The same whether there is such a receipt or not.
  const unknown = api.replace(/.$/, api.endsWith("0") ? "1" : "0")
  assert.equal((await service.client().get(unknown, { accept: browsers })).status, 302)
})

test("the pages of a private and a missing receipt have the same bytes", async () => {
  const written = await workspace.writer.write(eventFor(workspace.id))
  const { receipt } = written.json<{ receipt: string }>()
  const unknown = receipt.replace(/.$/, receipt.endsWith("0") ? "1" : "0")
  const texts = await Promise.all(
    [receipt, unknown, "nonsense"].map(
      async (id) => (await service.client().get(`/r/${workspace.id}/${id}`)).text,
    ),
  )
  assert.equal(new Set(texts).size, 1)
  assert.doesNotMatch(String(texts[0]), /usr_1|billing/)
})

test("the page of a private or missing receipt takes as long as a refusal", async () => {
  const refusalMs = 300
  await using slow = await startService({
    environment: { TALLYSTICK_LIMIT_REFUSAL_MS: String(refusalMs) },
  })
  const { id, writer } = await makeWorkspace(slow)
  const { receipt } = (await writer.write(eventFor(id))).json<{ receipt: string }>()
  for (const page of [`/r/${id}/${receipt}`, `/r/${id}/nonsense`, `/r/unknown/${receipt}`]) {
    const began = performance.now()
    assert.equal((await slow.client().get(page)).status, 200)
    const tookMs = performance.now() - began
    // A timer of Node may fire a millisecond early.
    assert.ok(tookMs >= refusalMs - 2, `${page} took ${tookMs} ms`)
  }
})

test("the saved verifier is one file, whose content policy allows no request", async () => {
  const { status, headers, text } = await service.client().get("/verify.html")
  assert.deepEqual(
    [status, headers.get("content-type"), headers.get("cache-control")],
    [200, "text/html; charset=utf-8", "no-cache"],
  )
  assert.equal(headers.get("content-security-policy"), "frame-ancestors 'none'")
  const [, policy = ""] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(text) ?? []
  for (const part of [
    "default-src 'none'",
    "connect-src 'none'",
    "worker-src blob:",
    "base-uri 'none'",
  ])
    assert.ok(policy.split("; ").includes(part), part)
  assert.match(policy, /script-src 'sha256-[^']+' 'sha256-[^']+'; style-src 'sha256-[^']+'/)
  assert.doesNotMatch(text, /<(?:script|link)[^>]+(?:src|href)=/)
})
