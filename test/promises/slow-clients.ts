import assert from "node:assert/strict"
import { connect, type Socket } from "node:net"
import { eventFor, makeWorkspace, startService, type Service, type Workspace } from "../service.ts"

// Many clients that are slow on purpose: with their headers, with their bodies, in taking answers. Each that is cut off comes again at once. Beside them one good
// client writes and reads; its turns alternate with quiet ones, because the machine has other things to do as well.

export interface SlowOptions {
  readonly sockets: number
  readonly turns: number
  /** Requests of the good client in a turn. */
  readonly requests: number
  /** How long, beside the turns, it may take until as many are cut off as there are. */
  readonly cutWithinMs?: number
  readonly environment?: Readonly<Record<string, string>>
}

export interface Slowed {
  readonly sockets: number
  readonly quietP99Ms: number
  readonly amongP99Ms: number
  /** How many of each kind were cut off. */
  readonly cut: Readonly<Record<Kind, number>>
  readonly requests: number
  readonly residentMb: number
}

const kinds = ["headers", "body", "answer"] as const
type Kind = (typeof kinds)[number]

/** Few with answers: each lets megabytes be made until nothing more goes in, which costs more than slowness does. */
function kindOf(at: number): Kind {
  if (at % 10 === 0) return "answer"
  return at % 2 === 0 ? "body" : "headers"
}

function countOf(kind: Kind, sockets: number): number {
  return Array.from({ length: sockets }, (_, at) => kindOf(at)).filter((one) => one === kind).length
}

/** So that all of them are met within a turn. */
export const impatient = {
  TALLYSTICK_LIMIT_HEADERS_TIMEOUT_MS: "1000",
  TALLYSTICK_LIMIT_BODY_TIMEOUT_MS: "1500",
  TALLYSTICK_LIMIT_STILL_TIMEOUT_MS: "1000",
  TALLYSTICK_LIMIT_ANSWER_BYTES_PER_SECOND_MIN: "10000000",
  // It is the slowness of all of them that is tried, not their number from one address.
  TALLYSTICK_LIMIT_ANONYMOUS_READS_PER_MINUTE: "1000000",
} as const

export async function besideSlowClients({
  sockets,
  turns,
  requests,
  cutWithinMs = 15_000,
  environment = impatient,
}: SlowOptions): Promise<Slowed> {
  await using service = await startService({ environment })
  const workspace = await makeWorkspace(service)
  const cut: Record<Kind, number> = { headers: 0, body: 0, answer: 0 }
  await p99Of(workspace, requests)
  const quiet: number[] = []
  const among: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    quiet.push(await p99Of(workspace, requests))
    const crowd = Array.from({ length: sockets }, (_, at) => startSlow(service, workspace, kindOf(at), cut))
    try {
      // Among them from the first cuts on, when as many go as come.
      await sleepMs(4500)
      among.push(await p99Of(workspace, requests))
      if (turn === turns - 1) await allMet(cut, sockets, cutWithinMs)
    } finally {
      for (const slow of crowd) slow.stop()
    }
    await sleepMs(200)
  }
  const residentMb = Math.round(await residentOf(service))
  return { sockets, quietP99Ms: median(quiet), amongP99Ms: median(among), cut, requests: 2 * turns * requests, residentMb }
}

async function allMet(cut: Readonly<Record<Kind, number>>, sockets: number, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs
  while (kinds.some((kind) => cut[kind] < countOf(kind, sockets)) && performance.now() < endMs) await sleepMs(100)
}

/** What must hold. Below ten milliseconds it is the machine that is measured. */
export function expectUndisturbed({ sockets, quietP99Ms, amongP99Ms, cut }: Slowed): void {
  for (const kind of kinds) assert.ok(cut[kind] >= countOf(kind, sockets), `${cut[kind]} that were slow with ${kind} were cut off`)
  assert.ok(amongP99Ms <= Math.max(3 * quietP99Ms, 10), `p99 is ${amongP99Ms} ms, and ${quietP99Ms} ms when it is quiet`)
}

/** One slow client, and its successors. */
function startSlow(service: Service, workspace: Workspace, kind: Kind, cut: Record<Kind, number>): { stop(): void } {
  const { hostname, port, host } = new URL(service.url)
  let stopped = false
  let socket: Socket
  const begin = (): void => {
    socket = connect({ host: hostname, port: Number(port) })
    socket.on("error", () => {})
    socket.once("close", () => {
      if (stopped) return
      cut[kind] += 1
      begin()
    })
    if (kind === "answer") socket.pause()
    else socket.resume()
    socket.write(beginningOf(kind, host, workspace))
  }
  // A byte now and then, so that it is not stillness that gives them away.
  const timer = setInterval(
    () => {
      if (kind === "answer") socket.read(1)
      // Whoever does not read hears only when it writes that the other end is gone; HTTP takes empty lines between requests.
      if (socket.writable) socket.write(kind === "answer" ? "\r\n" : "x")
    },
    300 + Math.random() * 200,
  )
  begin()
  return {
    stop() {
      stopped = true
      clearInterval(timer)
      socket.destroy()
    },
  }
}

/** More than the buffers of both ends hold. */
const answersAsked = 24

function beginningOf(kind: Kind, host: string, { writer }: Workspace): string {
  switch (kind) {
    case "headers":
      return `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `
    case "body":
      return `POST /v1/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${writer.bearer}\r\nIdempotency-Key: slow-${crypto.randomUUID()}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"`
    case "answer":
      return `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(answersAsked)
  }
}

async function p99Of({ id, path, writer, reader }: Workspace, requests: number): Promise<number> {
  const took: number[] = []
  for (let at = 0; at < requests; at++) {
    const startedMs = performance.now()
    const reply = at % 2 === 0 ? await writer.write(eventFor(id)) : await reader.get(path)
    took.push(performance.now() - startedMs)
    assert.equal(reply.status, at % 2 === 0 ? 202 : 200, reply.text)
  }
  const sorted = took.toSorted((a, b) => a - b)
  return Math.round(10 * (sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN)) / 10
}

async function residentOf(service: Service): Promise<number> {
  const text = (await service.client().get("/metrics")).text
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 2 ** 20
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function sleepMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
