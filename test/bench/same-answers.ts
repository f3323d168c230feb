// Compares the answers of two versions: many requests, most of them invalid, go byte for byte to
// this checkout and to another, which both serve a copy of the same data.
//
//   node test/bench/same-answers.ts --against ../before --requests 100000 --seed 7

import { cpSync } from "node:fs"
import { connect } from "node:net"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { startWatched } from "../api/watched.ts"
import { makeExisting } from "../promises/bad-input.ts"
import { createAskers, torn, type Asked } from "../promises/bad-requests.ts"
import { createChance, type Chance } from "../chance.ts"
import { makeWorkspace, startService, type Service } from "../service.ts"
import { oddRequests } from "./odd-requests.ts"

const { values } = parseArgs({
  options: {
    against: { type: "string" },
    requests: { type: "string", default: "5000" },
    seed: { type: "string", default: "1" },
  },
})
if (values.against === undefined) throw new Error("name a checkout: --against ../before")
const program = join(resolve(values.against), "packages", "server", "bin", "tallystick.mjs")
const chance = createChance(Number(values.seed))

const environment = {
  TALLYSTICK_ROOT_KEY: "root-key-of-the-same-answers-0123456789",
  TALLYSTICK_PUBLIC_URL: "http://localhost:8080",
  TALLYSTICK_LIMIT_ANONYMOUS_READS_PER_MINUTE: "100000000",
  TALLYSTICK_LIMIT_FAILED_LOGINS_PER_MINUTE: "100000000",
  TALLYSTICK_LIMIT_PACK_DOWNLOADS_PER_MINUTE: "100000000",
}
/** A last request ends the connection, because a half-closed connection might get no answer. */
const last = Buffer.from("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

/**
 * How long to wait for more. An answer that checks a password waits its turn, and takes a tenth of
 * a second.
 */
const quietMs = 3000

await using first = await startWatched({ environment, program, arguments: ["serve"] })
const existing = await makeExisting(
  first,
  [await makeWorkspace(first), await makeWorkspace(first)],
  Number(values.seed),
  chance,
)
await first.end()
const copy = `${first.data}-copy`
for (const end of ["", ".heads"]) cpSync(first.data + end, copy + end, { recursive: true })
await using before = await startService({
  environment,
  data: first.data,
  program,
  arguments: ["serve"],
})
await using after = await startService({ environment, data: copy })

const askers = createAskers(existing, chance)
const statuses = new Map<string, number>()
const differences = new Map<string, { count: number; readonly example: string }>()
const started = performance.now()
const requests = Number(values.requests)
const ask = async (): Promise<void> => {
  const bytes = chance.percent(50) ? bytesOf(askers.next(), chance) : oddRequests(chance)
  const cut = chance.percent(3)
  const [one, other] = await Promise.all([send(before, bytes, cut), send(after, bytes, cut)])
  for (const { status } of one) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  const [was, is] = [JSON.stringify(one), JSON.stringify(other)]
  if (was === is) return
  const kind = kindOf(one, other)
  const known = differences.get(kind)
  const example = `${JSON.stringify(bytes.toString("latin1").slice(0, 1500))}\n  was ${was.slice(0, 900)}\n  is  ${is.slice(0, 900)}`
  differences.set(kind, { example, ...known, count: (known?.count ?? 0) + 1 })
}
let sent = 0
const client = async (): Promise<void> => {
  while (sent++ < requests) await ask()
}
// Few at once, so that both make changes in almost the same order.
await Promise.all([client(), client(), client()])
const seconds = Math.round((performance.now() - started) / 1000)
const counted = [...statuses]
  .toSorted(([, a], [, b]) => b - a)
  .map(([status, count]) => `${status}: ${count}`)
process.stdout.write(
  `${requests} exchanges in ${seconds} s; answers by status: ${counted.join(", ")}\n`,
)
for (const [kind, { count, example }] of differences)
  process.stdout.write(`\n${count} times ${kind}\n  ${example}\n`)
process.stdout.write(`\n${differences.size} kinds of differences\n`)
for (const service of [before, after]) await service.end()
process.exitCode = differences.size === 0 ? 0 : 1

// What is sent ------------------------------------------------------------------------------------

function bytesOf({ method, target, headers, body, isTorn }: Asked, draws: Chance): Buffer {
  const fields = headers.includes("Host") ? headers : ["Host", "localhost", ...headers]
  const lines = fields.flatMap((part, at) => (at % 2 === 0 ? [`${part}: ${fields[at + 1]}`] : []))
  const head = `${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`
  const bytes = Buffer.concat([Buffer.from(head, "latin1"), body ?? Buffer.alloc(0)])
  return isTorn ? torn(bytes, draws) : bytes
}

// What comes back ---------------------------------------------------------------------------------

interface Said {
  readonly status: string
  /** Without values that differ each time. */
  readonly headers: Readonly<Record<string, string>>
  /** The code of a refusal. */
  readonly body: string
}

/** Returns what came; `cut`: lets go of the connection before all was sent, and of the answers. */
function send(service: Service, bytes: Buffer, cut: boolean): Promise<readonly Said[]> {
  return new Promise((done) => {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(service.url).port) })
    if (cut) socket.write(bytes.subarray(0, -1), () => setTimeout(() => socket.destroy(), 5))
    else socket.write(Buffer.concat([bytes, last]))
    // A request without an end gets one.
    socket.setTimeout(quietMs, () => socket.end())
    const chunks: Buffer[] = []
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    // A client that is refused while sending may find the connection closed.
    socket.on("error", () => {})
    // Which answers arrive before a cut is chance.
    socket.on("close", () => done(cut ? [] : repliesIn(Buffer.concat(chunks).toString("latin1"))))
  })
}

function repliesIn(text: string): readonly Said[] {
  const said: Said[] = []
  for (const part of text.split(/(?=HTTP\/1\.1 \d{3} )/)) {
    const [head = "", ...rest] = part.split("\r\n\r\n")
    const [line = "", ...lines] = head.split("\r\n")
    const status = line.slice(9, 12)
    const headers: Record<string, string> = {}
    for (const field of lines) {
      const colon = field.indexOf(":")
      const [name, value] = [field.slice(0, colon).toLowerCase(), field.slice(colon + 2)]
      headers[name] = isOwn(name, value, status) ? "…" : value
    }
    const sorted = Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const body = Number(status) >= 400 ? rest.join("\r\n\r\n") : ""
    said.push({ status, headers: Object.fromEntries(sorted), body })
  }
  return said
}

/** Values that differ each time. */
function isOwn(name: string, value: string, status: string): boolean {
  if (name === "x-request-id") return value !== "of-the-client"
  if (name === "content-length") return Number(status) < 300
  // An export names its own entry.
  if (name === "x-ledger-receipt") return true
  return name === "date" || name === "set-cookie" || name === "etag"
}

function kindOf(one: readonly Said[], other: readonly Said[]): string {
  const names = (all: readonly Said[]) =>
    all
      .map(({ status, body }) => `${status} ${/"error":"(\w+)"/.exec(body)?.[1] ?? ""}`.trim())
      .join(", ")
  if (names(one) !== names(other))
    return `${names(one) || "nothing"} → ${names(other) || "nothing"}`
  const at = one.findIndex((said, place) => JSON.stringify(said) !== JSON.stringify(other[place]))
  const [was, is] = [one[at], other[at]]
  const fields = new Set([...Object.keys(was?.headers ?? {}), ...Object.keys(is?.headers ?? {})])
  const changed = [...fields].filter((name) => was?.headers[name] !== is?.headers[name])
  return `${was?.status}: ${was?.body === is?.body ? "" : "another body; "}${changed.join(", ")}`
}
