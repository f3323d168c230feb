// A load that does not wait for answers: so many batches a second, as from many independent
// clients. It is a process of its own, so that it measures the service and not itself.
//
//   node test/promises/open-loop-load.ts '{"url":…,"key":…,"workspace":…,"run":…,"connections":…,"batch":…,"seconds":…,"perSecond":…}'   → one line of JSON

import { spawn } from "node:child_process"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { quantile } from "../median.ts"

export interface OpenLoopLoad {
  readonly url: string
  readonly workspace: string
  readonly key: string
  /** Makes the keys of this run different from those of others. */
  readonly run: string
  readonly connections: number
  /** Events in a request. */
  readonly batch: number
  readonly seconds: number
  /** Requests a second; absent: each connection sends as soon as it was answered. */
  readonly perSecond?: number
}

export interface LoadResult {
  /** Requests that were due, and those that could be sent because a connection was free. */
  readonly due: number
  readonly sent: number
  /** Events that were acknowledged; and how many in a second, while the load lasted. */
  readonly events: number
  readonly goodput: number
  readonly overloaded: number
  /** Answers that were neither, by their status; connections that broke are 0. */
  readonly others: Readonly<Record<string, number>>
  /** Requests that had no answer long after the load had ended. */
  readonly unanswered: number
  readonly refusedP50Ms: number
  readonly refusedP95Ms: number
  readonly acceptedP50Ms: number
  readonly acceptedP99Ms: number
}

/** Has it done by a process of its own. */
export async function runOpenLoop(given: OpenLoopLoad): Promise<LoadResult> {
  const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(given)], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const stop = () => child.kill("SIGKILL")
  process.once("exit", stop)
  const said = await text(child.stdout)
  process.off("exit", stop)
  return JSON.parse(said) as LoadResult // it says one line, a LoadResult
}

interface Count {
  due: number
  sent: number
  events: number
  overloaded: number
  readonly others: Record<string, number>
  readonly refusedMs: number[]
  readonly acceptedMs: number[]
}

async function send(given: OpenLoopLoad): Promise<LoadResult> {
  const count: Count = {
    due: 0,
    sent: 0,
    events: 0,
    overloaded: 0,
    others: {},
    refusedMs: [],
    acceptedMs: [],
  }
  const { hostname, port } = new URL(given.url)
  const free: Connection[] = []
  const lines = await Promise.all(
    Array.from({ length: given.connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject))
      return connectionOn(socket, given, count, free)
    }),
  )
  free.push(...lines)
  const startedMs = performance.now()
  const elapsedMs = (): number => performance.now() - startedMs
  while (elapsedMs() < given.seconds * 1000) {
    const { perSecond } = given
    // A due request without a free connection is skipped.
    const now =
      perSecond === undefined
        ? free.length
        : Math.floor((elapsedMs() * perSecond) / 1000) - count.due
    count.due += now
    // The connection that was free longest: a server closes one that is idle for too long.
    for (let missing = Math.min(now, free.length); missing > 0; missing--) free.shift()?.ask()
    await sleep(1)
  }
  const goodput = count.events / (elapsedMs() / 1000)
  // Waits for requests in flight, so that the count of recorded events is exact.
  while (free.length < lines.length && elapsedMs() < given.seconds * 1000 + answersWithinMs)
    await sleep(10)
  const { refusedMs, acceptedMs, ...counted } = count
  return {
    ...counted,
    goodput,
    unanswered: lines.length - free.length,
    refusedP50Ms: roundedMs(refusedMs, 0.5),
    refusedP95Ms: roundedMs(refusedMs, 0.95),
    acceptedP50Ms: roundedMs(acceptedMs, 0.5),
    acceptedP99Ms: roundedMs(acceptedMs, 0.99),
  }
}

interface Connection {
  ask(): void
}

function connectionOn(
  socket: Socket,
  given: OpenLoopLoad,
  count: Count,
  free: Connection[],
): Connection {
  let askedMs = 0
  let head = ""
  let missing = 0
  let status = ""
  const connection: Connection = {
    ask() {
      askedMs = performance.now()
      socket.write(requestOf(given, count.sent++))
    },
  }
  const done = (): void => {
    const tookMs = performance.now() - askedMs
    if (status === "202") {
      count.events += given.batch
      count.acceptedMs.push(tookMs)
    } else if (status === "503") {
      count.overloaded += 1
      count.refusedMs.push(tookMs)
    } else count.others[status] = (count.others[status] ?? 0) + 1
    free.push(connection)
  }
  socket.on("error", () => {})
  socket.on("close", () => (count.others["0"] = (count.others["0"] ?? 0) + 1))
  socket.on("data", (chunk: Buffer) => {
    if (missing > 0) {
      missing -= chunk.length
      if (missing <= 0) done()
      return
    }
    head += chunk.toString("latin1")
    const end = head.indexOf("\r\n\r\n")
    if (end < 0) return
    status = head.slice(9, 12)
    if (status === "503" && !head.includes('"overloaded"')) status = "503 for another reason"
    missing = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? "0") - (head.length - end - 4)
    head = ""
    if (missing <= 0) done()
  })
  return connection
}

// Requests differ in their keys only, so the rest is made once: the generator shares its cores with
// the service.

const answersWithinMs = 10_000
const keyDigits = 10
let template: { readonly bytes: Buffer; readonly places: readonly number[] } | undefined

function requestOf(given: OpenLoopLoad, number: number): Buffer {
  template ??= templateOf(given)
  const bytes = Buffer.from(template.bytes)
  for (const place of template.places)
    bytes.write(String(number).padStart(keyDigits, "0"), place, "latin1")
  return bytes
}

function templateOf({ workspace, key, run, batch }: OpenLoopLoad): NonNullable<typeof template> {
  const blank = "#".repeat(keyDigits)
  const events = Array.from({ length: batch }, (_, at) => ({
    idempotencyKey: `${run}-${blank}-${at}`,
    workspaceId: workspace,
    projectId: "core",
    action: "billing.invoice.approve",
    actor: { id: `usr_${at}`, type: "user", email: `user${at}@example.com` },
    target: { id: `inv_${at}`, type: "invoice", name: `Invoice ${at}` },
    occurredAt: "2026-01-31T09:30:00Z",
    source: "api",
    metadata: { amount: 1299.5, currency: "EUR", reason: "within the limit of the approver" },
  }))
  const body = JSON.stringify({ events })
  const head = `POST /v1/events/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const text = head + body
  const places: number[] = []
  for (let place = text.indexOf(blank); place >= 0; place = text.indexOf(blank, place + 1))
    places.push(place)
  return { bytes: Buffer.from(text, "latin1"), places }
}

if (import.meta.main) {
  const given = JSON.parse(process.argv[2] ?? "") as OpenLoopLoad // only `runOpenLoop` starts it
  process.stdout.write(`${JSON.stringify(await send(given))}\n`)
  process.exit(0)
}

/** A quantile in tenths of a millisecond; 0 of nothing. */
function roundedMs(numbers: readonly number[], share: number): number {
  return Math.round(10 * (quantile(numbers, share) || 0)) / 10
}
