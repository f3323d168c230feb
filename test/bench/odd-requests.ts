// Requests that no client would send, and that a router, a framing check or a parser may get wrong.

import type { Chance } from "../chance.ts"

/** One request, or several in a row. */
export function oddRequests(draws: Chance): Buffer {
  const count = draws.percent(80) ? 1 : 1 + draws.below(6)
  const texts = Array.from({ length: count }, () => oddRequest(draws))
  return Buffer.from(texts.join(""), "latin1")
}

function oddRequest(draws: Chance): string {
  const method = draws.percent(50) ? draws.pick(["GET", "POST"]) : draws.pick(oddMethods)
  const version = draws.percent(90) ? "HTTP/1.1" : draws.pick(oddVersions)
  const host = draws.percent(85) ? ["Host: localhost"] : draws.pick(oddHosts)
  const others = Array.from({ length: draws.below(4) }, () => draws.pick(oddFields))
  const [fields, body] = draws.percent(60) ? ([[], ""] as const) : draws.pick(oddBodies)
  const lines = [`${method} ${targetOf(draws)} ${version}`, ...host, ...others, ...fields]
  return `${lines.join("\r\n")}\r\n\r\n${body}`
}

function targetOf(draws: Chance): string {
  const path = draws.percent(70) ? draws.pick(paths) : draws.pick(oddPaths)
  const spelled = draws.percent(90) ? path : respelled(path, draws)
  const before = draws.percent(93) ? "" : draws.pick(origins)
  const end = draws.percent(75) ? "" : draws.pick(ends)
  return before + spelled + end
}

/** One character of it written as an escape, or in capitals. */
function respelled(path: string, draws: Chance): string {
  const at = draws.below(path.length)
  const code = path.charCodeAt(at)
  const other = draws.pick([
    `%${code.toString(16).padStart(2, "0")}`,
    `%25${code.toString(16)}`,
    path.charAt(at).toUpperCase(),
    "",
    "//",
  ])
  return path.slice(0, at) + other + path.slice(at + 1)
}

// Requests have a value each, so that the same seed sends the same bytes.
const workspace = "/v1/workspaces/no-such-workspace"
const paths = [
  "/",
  "/healthz",
  "/readyz",
  "/metrics",
  "/docs",
  "/openapi.json",
  "/v1/limits",
  "/v1/events",
  "/v1/events/batch",
  "/v1/consents",
  "/v1/setup",
  "/v1/session",
  "/v1/session/password",
  "/v1/workspaces",
  workspace,
  ...["events", "activity", "exports", "projects", "members", "api-keys", "tokens"].map(
    (name) => `${workspace}/${name}`,
  ),
  `${workspace}/receipts/rcp_0`,
  `${workspace}/receipts/rcp_0/proof`,
  `${workspace}/projects/core`,
  `${workspace}/published-policy/1`,
  `${workspace}/evidence-packs/pack_0/download`,
  `${workspace}/tlog/checkpoint`,
  `${workspace}/tlog/log.vkey`,
  `${workspace}/tlog/tile/0/x001/234.p/5`,
  `${workspace}/tlog/tile/entries/000`,
  `${workspace}/tlog/epochs/1/tile/0/000`,
]
const oddPaths = [
  "*",
  "",
  "//",
  "/%",
  "/%2e%2e/healthz",
  "/..",
  "/v1//events",
  "/v1/workspaces/",
  "/v1/workspaces//events",
  `${workspace}/tlog/tile/`,
  `${workspace}/tlog/tile`,
  `${workspace}/tlog/tile//`,
  `${workspace}/tlog/tile/a%2Fb/%25`,
  `${workspace}/receipts//proof`,
  `${workspace}/receipts/${"r".repeat(3000)}`,
  `/v1/workspaces/${"w".repeat(8000)}`,
  "/v1/workspaces/a%2Fb",
  "/v1/workspaces/%00",
  "/v1/workspaces/__proto__",
  "/constructor",
  "/v1/workspaces/a:b;c=d",
  "/:workspaceId",
  "/v1/workspaces/:workspaceId",
  "/x".repeat(2000),
  "/healthz%20",
  "/%c3%bc",
  "/%ff",
]
const oddMethods = [
  "HEAD",
  "OPTIONS",
  "PUT",
  "PATCH",
  "DELETE",
  "TRACE",
  "QUERY",
  "PROPFIND",
  "SEARCH",
  "CONNECT",
  "PURGE",
  "LINK",
  "get",
  "M-SEARCH",
  "BREW",
]
const oddVersions = ["HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/1", ""]
const origins = [
  "http://localhost",
  "http://LOCALHOST",
  "https://localhost",
  "HTTP://localhost",
  "http://evil.example",
  "http://localhost:80",
  "ftp://localhost",
  "localhost",
]
const ends = [
  "/",
  "?",
  "?a=b",
  "?limit=1&limit=2",
  "?token=x",
  "?%",
  "?verbose",
  "?a=%2F&b=+",
  ";a",
  "#x",
]
const oddHosts: readonly (readonly string[])[] = [
  [],
  ["Host:"],
  ["Host: localhost", "Host: localhost"],
  ["Host: evil.example"],
  ["Host: LOCALHOST:99"],
  ["Host: [::1]"],
  ["Host: localhost/x"],
]
const oddFields = [
  "Connection: close",
  "Connection: keep-alive",
  "Connection: Upgrade",
  "Upgrade: h2c",
  "Accept: text/html",
  "Accept: text/html;q=0.5, application/json",
  "Accept-Encoding: br",
  "Expect: 100-continue",
  "Expect: a-miracle",
  "Authorization: Bearer x",
  "Authorization: Bearer root-key-of-the-same-answers-0123456789",
  "Authorization: Basic YTpi",
  "Cookie: __Host-ts=x; a=b",
  "Idempotency-Key: the-same-key-for-all",
  "X-Request-Id: of-the-client",
  "X-Request-Id: not sane",
  "X-Forwarded-For: 1.2.3.4",
  "Origin: https://page.example",
  "Sec-Fetch-Site: cross-site",
  "Content-Type: text/plain",
  "Content-Type: ;",
  "Content-Type: application/json",
  "Content-Encoding: gzip",
  "Content-Length: 0",
  "Content-Length: x",
  "Transfer-Encoding: gzip, chunked",
  "If-None-Match: *",
  "Range: bytes=0-1",
  "Bad Name: x",
  " folded",
  "X-Long: " + "x".repeat(17_000),
]
const oddBodies: readonly (readonly [readonly string[], string])[] = [
  [["Content-Type: application/json", "Content-Length: 2"], "{}"],
  [["Content-Type: application/json", "Content-Length: 1"], "{"],
  [["Content-Type: application/json", "Content-Length: 9"], "{}"],
  [["Content-Type: application/json", "Transfer-Encoding: chunked"], "2\r\n{}\r\n0\r\n\r\n"],
  [["Content-Type: application/json", "Transfer-Encoding: chunked"], "2\r\n{}\r\nZZ\r\n"],
  [["Content-Type: application/json; charset=latin1", "Content-Length: 2"], "{}"],
  [["Content-Type: a/b ;x", "Content-Length: 2"], "{}"],
  [["Content-Type: a", "Content-Length: 2"], "{}"],
  [["Content-Type: /", "Content-Length: 2"], "{}"],
  [["Content-Type:", "Content-Length: 2"], "{}"],
  [["Content-Length: 2"], "{}"],
  [["Content-Type: application/json", "Content-Length: 99999999"], "{"],
  [["Content-Type: application/json", "Content-Length: 300002"], `"${"x".repeat(300_000)}"`],
]
